package doctor

import (
	"slices"

	"brink/internal/evidence"
)

// Memory that is in no process and in no cache that can be dropped: what is
// missing when the sum of all processes is small and nothing is left.
const (
	// hiddenLarge is in percent of MemTotal.
	hiddenLarge = 25
	// shmemHeadroom: without swap tmpfs cannot leave at all, and huge pages never,
	// so what is left counts already at this share, in percent.
	shmemHeadroom = 25
)

var hiddenMemory = Rule{
	Mode:  HiddenMemory,
	Needs: anyOf(evidence.HasMeminfo, evidence.HasCgroupMem),
	Judge: func(l *look, a *answer) {
		judgeHiddenMemory(l, a)
		for _, path := range l.CgroupPaths() {
			cgroupTmpfs(l, a, path)
		}
	},
}

func judgeHiddenMemory(l *look, a *answer) {
	if l.view() == evidence.ViewMixed {
		var w words
		total := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.MemTotal })
		a.note(Source, "This meminfo mixes the container's figures with its host's (some parts are larger than the whole of "+w.n("MemTotal", total)+
			"): MemTotal and MemFree hold, the parts that contradict them were set aside.", &w)
	}
	kind, part := l.hiddenPart()
	l.compressedNote(a)
	if !part.AtLeast(hiddenLarge) {
		return
	}
	low := l.headroom.Below(lowHeadroom)
	stuck := kind == "tmpfs" && l.noSwap() && l.headroom.Below(shmemHeadroom)
	if kind == arcKind && l.arcGivesWay() {
		low = false
	}
	idle := kind == "huge pages" && l.idlePool()
	if kind == unaccountedKind && l.maybeCompressed(a, part) {
		return
	}
	var w words
	if !low && !stuck && !idle {
		a.note(Memory, l.hiddenText(kind, part, &w)+l.hiddenUse(kind, &w), &w)
		return
	}
	f := &Finding{}
	f.What = l.hiddenText(kind, part, &f.words) + " Of " + restOf(kind) + " " + f.n("available", l.headroom) + " is available (" + f.n("MemAvailable", l.available) + ")."
	growth := l.hiddenGrowth(kind, &f.words)
	f.What += growth
	if stuck && !low {
		f.What = "There is less room than it looks: " + lower(f.What) + " No thrash is seen."
	}
	f.over(l)
	f.level(Observed, "both figures stand in one reading; how they came about is not in it")
	if idle && !low {
		l.missedPool(f)
	}
	hiddenCause(f, kind, l)
	if free := l.swapFree(); free.AtLeast(50) {
		f.not("safe since swap is free", f.n("swap free", free)+" of swap is free, but this memory cannot be swapped")
	}
	f.Settle = []string{"The same files an hour later: whether it grows.", "/proc/pressure/memory and the kernel log: whether anything waits or was killed."}
	if growth != "" {
		f.Settle[0] = "The same files an hour later: whether that goes on."
	}
	a.found(f)
}

// growing is how much larger a part must be at the last reading for that to be told.
const growing = 1.2

// hiddenGrowth says how a part grew between the first reading and the last, where it
// did.
func (l *look) hiddenGrowth(kind string, w *words) string {
	get := func(r *evidence.Reading) evidence.Value { return r.Meminfo.Shmem }
	switch kind {
	case "tmpfs":
	case "kernel slab":
		get = func(r *evidence.Reading) evidence.Value { return r.Meminfo.SUnreclaim }
	case arcKind:
		get = func(r *evidence.Reading) evidence.Value { return r.ZFS.Size }
	default:
		return ""
	}
	s, ok := l.Span()
	if !ok || !s.Seconds.Known {
		return ""
	}
	first, last := get(s.From), get(s.To)
	if !first.Above(0) || !grew(first, last, growing) {
		return ""
	}
	return " It was " + w.n("at the first reading", first) + " " + lasting(s.Duration()) + " before."
}

// restOf names what the share that is available is of: huge pages are set apart.
func restOf(kind string) string {
	if kind == "huge pages" {
		return "the memory beside them"
	}
	return "all memory"
}

const unaccountedKind = "unaccounted memory"

// swapUsed is how much of swap is in use.
func (l *look) swapUsed() evidence.Value {
	return l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.SwapTotal }).
		Minus(l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.SwapFree }))
}

// hiddenPart finds the largest such part, and its share of MemTotal.
func (l *look) hiddenPart() (string, evidence.Value) {
	total := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.MemTotal })
	parts := []struct {
		kind string
		size evidence.Value
	}{
		{"tmpfs", l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.Shmem })},
		{"huge pages", l.hugePages()},
		{"kernel slab", l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.SUnreclaim })},
		{arcKind, l.arc()},
		{unaccountedKind, l.unaccounted()},
	}
	kind, most := "", evidence.Missing(evidence.NotSeen, "no part is known")
	for _, p := range parts {
		if share := p.size.PercentOf(total); share.Known && (!most.Known || share.Number > most.Number) {
			kind, most = p.kind, share
		}
	}
	return kind, most
}

// unaccounted is what no line of meminfo accounts for: drivers, a balloon, a
// cache of a file system of its own.
func (l *look) unaccounted() evidence.Value {
	rest := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.MemTotal })
	for _, get := range []func(*evidence.Meminfo) evidence.Value{
		func(m *evidence.Meminfo) evidence.Value { return m.MemFree },
		func(m *evidence.Meminfo) evidence.Value { return m.Buffers },
		func(m *evidence.Meminfo) evidence.Value { return m.Cached },
		func(m *evidence.Meminfo) evidence.Value { return m.AnonPages },
		func(m *evidence.Meminfo) evidence.Value { return m.Slab },
		func(m *evidence.Meminfo) evidence.Value { return m.PageTables },
		func(m *evidence.Meminfo) evidence.Value { return m.KernelStack },
	} {
		rest = rest.Minus(l.meminfo(get))
	}
	// Without swap nothing is in its cache, and some files leave the line out.
	if cached := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.SwapCached }); cached.Known || !l.noSwap() {
		rest = rest.Minus(cached)
	}
	if huge := l.hugePages(); huge.Known {
		rest = rest.Minus(huge)
	}
	if arc := l.arc(); arc.Known {
		rest = rest.Minus(arc)
	}
	if pool := l.compressed(); pool.Known {
		rest = rest.Minus(pool)
	}
	if l.view() == evidence.ViewMixed {
		return evidence.Missing(evidence.Implausible, "the file mixes two machines", rest.From...)
	}
	return rest
}

// hiddenText says what the part is and how large.
func (l *look) hiddenText(kind string, part evidence.Value, w *words) string {
	share := w.n("share of MemTotal", part)
	switch kind {
	case "tmpfs":
		shmem := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.Shmem })
		text := w.n("Shmem", shmem) + " (" + share + " of memory) is tmpfs or shared memory"
		if cached := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.Cached }); cached.Known {
			text += "; it stands under Cached (" + w.n("Cached", cached) + ") and cannot be dropped"
		}
		return text + "."
	case "huge pages":
		pages := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.HugePagesTotal })
		return w.n("huge pages", l.hugePages()) + " (" + share + " of memory) is set aside for " + w.count("HugePages_Total", pages, "huge page") + "."
	case arcKind:
		arc := l.arc()
		text := "The cache of ZFS holds " + w.n("ARC size", arc) + " (" + share + " of memory), outside processes, page cache and slab"
		if least := l.arcLeast(); least.Known {
			text += "; it may shrink to " + w.n("ARC minimum", least) + ", but slowly"
		}
		return text + "."
	case "kernel slab":
		slab := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.SUnreclaim })
		return "The kernel holds " + w.n("SUnreclaim", slab) + " (" + share + " of memory) in slab that cannot be reclaimed."
	}
	return w.n("unaccounted memory", l.unaccounted()) + " (" + share + " of memory) is in no line of meminfo: a driver, a balloon, or a file system's own cache."
}

// hiddenUse says whether huge pages are in use.
func (l *look) hiddenUse(kind string, w *words) string {
	if kind != "huge pages" {
		return ""
	}
	free := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.HugePagesFree })
	text := ""
	if size := l.pool(free); size.Above(0) {
		text = " Of these, " + w.count("HugePages_Free", free, "page") + " (" + w.n("free huge pages", size) + ") are free: nobody uses them, and no process holds that memory."
	}
	if l.headroom.Known {
		text += " Of the " + w.n("usable memory", l.usable) + " beside them " + w.n("available", l.headroom) + " is available."
	}
	return text
}

func hiddenCause(f *Finding, kind string, l *look) {
	var w words
	switch kind {
	case "tmpfs":
		f.Cause = "Files in tmpfs (/dev/shm, /tmp, /run) or shared memory of a program. Without swap they stay until somebody deletes them."
		f.not("free cache", "Cached contains Shmem; only the rest can be dropped")
		f.Now = []string{"Find it (df -h -t tmpfs; ipcs -m) and delete what is not needed."}
		f.Properly = []string{"Give each tmpfs a size, put large files on a disk, or add swap."}
	case "huge pages":
		f.Cause = "vm.nr_hugepages sets them aside; nothing else can use that memory." + l.hiddenUse(kind, &w)
		f.not("a leak in a process", "no process holds them")
		f.Now = []string{"Lower vm.nr_hugepages to what is in use."}
		f.Properly = []string{"Size the pool by what the program that needs it really maps."}
	case arcKind:
		f.Cause = "ZFS keeps its own cache. It is not counted as available, and it shrinks more slowly than tasks can ask for memory."
		f.not("a leak in a process", "the memory is in no process")
		f.Now = []string{"Lower zfs_arc_max at run time (/sys/module/zfs/parameters/zfs_arc_max)."}
		f.Properly = []string{"Set zfs_arc_max so that ARC, apps and a reserve fit."}
	case "kernel slab":
		f.Cause = "The kernel itself holds it: leaked or very many kernel objects (dentries, sockets, cgroups that were never freed)."
		f.not("a leak in a process", "slab belongs to no process")
		f.Now = []string{"slabtop -o -s c: which cache it is."}
		f.Properly = []string{"Mend what makes those objects, or update the kernel or driver that loses them."}
	default:
		f.Cause = "Something outside processes and caches holds it."
		f.not("a leak in a process", "the sum of all lines leaves this much over")
		f.Now = []string{"Look for a memory balloon, a driver, or a file system with a cache of its own."}
		f.Properly = []string{"Bound what holds it."}
	}
	f.words.numbers = slices.Concat(f.words.numbers, w.numbers)
}

// lower makes the first letter small.
func lower(text string) string {
	if text == "" || text[0] < 'A' || text[0] > 'Z' {
		return text
	}
	return string(text[0]+'a'-'A') + text[1:]
}
