package doctor

import "brink/internal/evidence"

const arcKind = "ZFS ARC"

// arc is what the cache of ZFS holds, arcLeast what it may shrink to.
func (l *look) arc() evidence.Value {
	return l.Latest(func(r *evidence.Reading) evidence.Value { return r.ZFS.Size })
}

func (l *look) arcLeast() evidence.Value {
	return l.Latest(func(r *evidence.Reading) evidence.Value { return r.ZFS.Min })
}

// arcGivesWay reports whether a large ARC leaves tasks enough: it gives memory
// back, late but surely. Where nothing waits, what is left does not matter;
// where nothing tells whether anything waits, only a share next to nothing does.
//
// https://openzfs.github.io/openzfs-docs/Performance%20and%20Tuning/Module%20Parameters.html (zfs_arc_sys_free)
func (l *look) arcGivesWay() bool {
	return l.stall.some.below(somePressure) || l.headroom.AtLeast(noHeadroom) && !l.stalled()
}

// arcFills reports whether it is the ARC that fills the machine.
func (l *look) arcFills() bool {
	kind, part := l.hiddenPart()
	return kind == arcKind && part.AtLeast(hiddenLarge)
}

// stalled reports whether tasks wait for memory, and not for one moment.
func (l *look) stalled() bool {
	return l.stall.some.lasts(somePressure) || l.stall.full.lasts(fullThrash)
}

// idlePool reports whether huge pages that nobody uses take memory that is
// missed: tasks wait for memory beside them, or most of swap is in use and would
// fit into them.
func (l *look) idlePool() bool {
	free := l.pool(l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.HugePagesFree }))
	total := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.MemTotal })
	swapped := l.swapFree().Below(50) && free.Minus(l.swapUsed()).Above(0)
	return free.PercentOf(total).AtLeast(hiddenLarge) && l.headroom.Below(shmemHeadroom) && (swapped || l.stalled())
}

// missedPool says what shows that the memory of an idle pool is missed.
func (l *look) missedPool(f *Finding) {
	if l.stalled() {
		f.What += " Tasks wait for memory " + l.stall.some.told(&f.words, "PSI memory some") + " beside it."
		f.level(StronglySuggested, "tasks wait for memory beside a pool that nobody uses; that its memory would end that follows from both")
		return
	}
	f.What += " Of swap " + f.n("swap used", l.swapUsed()) + " is in use; the free huge pages would hold all of that."
	f.level(Inferred, "memory had to be swapped out beside a pool that nobody uses; that it was for want of that memory follows from both")
}
