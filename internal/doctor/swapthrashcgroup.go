package doctor

import (
	"cmp"
	"slices"
	"strings"

	"brink/internal/evidence"
)

// ownSwap is a cgroup at its own limit, and what is known of its swap.
type ownSwap struct {
	l     *look
	g     *evidence.Cgroup
	limit evidence.Value // the one that it has reached
	high  bool           // that is memory.high, not memory.max
	psi   stall
	hits  evidence.Value // how often it ran into the limit between the readings
	// in is how fast its own pages come back from swap, faults how fast it waits for
	// any page from disk.
	in, faults evidence.Value
}

// cgroupsInSwap looks for cgroups that thrash in swap at their own limit, on a
// machine that may have memory left: what was swapped out is read back at once. It
// returns how much of what the machine reads back is theirs, in pages/s. A limit
// holds for all below it, so that of cgroups in each other the innermost is told.
func cgroupsInSwap(l *look, a *answer) float64 {
	paths := l.CgroupPaths()
	slices.SortStableFunc(paths, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var told []string
	sum := 0.0
	for _, path := range paths {
		if slices.ContainsFunc(told, func(inner string) bool { return strings.HasPrefix(inner, strings.TrimSuffix(path, "/")+"/") }) {
			continue
		}
		s, ok := l.ownSwap(path)
		if !ok {
			continue
		}
		if f := s.judge(); f != nil {
			a.found(f)
			told = append(told, path)
			sum += s.in.Else(s.faults).Number
		}
	}
	return sum
}

// ownSwap reports whether a cgroup is at a limit of its own and may have swap.
//
// https://docs.kernel.org/admin-guide/cgroup-v2.html (memory.high, memory.stat)
func (l *look) ownSwap(path string) (*ownSwap, bool) {
	get := func(of func(*evidence.CgroupMemory) evidence.Value) func(*evidence.Reading) evidence.Value {
		return cgroup(path, func(g *evidence.Cgroup) evidence.Value { return of(&g.Memory) })
	}
	s := &ownSwap{l: l, g: l.lastCgroup(path), psi: l.cgroupStall(path)}
	m := &s.g.Memory
	s.limit = m.Max.Value
	s.hits = l.Delta(get(func(m *evidence.CgroupMemory) evidence.Value { return m.EventMax }))
	if high := m.High; high.Known && !high.Unlimited && (!s.limit.Known || m.Max.Unlimited || high.Number < s.limit.Number) {
		s.limit, s.high = high.Value, true
		s.hits = l.Delta(get(func(m *evidence.CgroupMemory) evidence.Value { return m.EventHigh }))
	}
	if !s.limit.Known || !s.high && m.Max.Unlimited || m.SwapMax.Known && !m.SwapMax.Unlimited && m.SwapMax.AtMost(0) {
		return nil, false
	}
	s.in = l.rate(get(func(m *evidence.CgroupMemory) evidence.Value { return m.RefaultAnon }))
	s.faults = l.rate(get(func(m *evidence.CgroupMemory) evidence.Value { return m.PgMajFault }))
	used := m.Current.PercentOf(s.limit)
	return s, used.AtLeast(limitNear) || !used.Known && s.hits.Above(0)
}

// judge returns what was found, nil if nothing was. Where the kernel accounts for
// the stalls of the cgroup (PSI of the second version, unless it is switched off),
// these decide; elsewhere the disks stand in for them.
func (s *ownSwap) judge() *Finding {
	switch {
	case s.psi.full.known() && !s.psi.full.lasts(fullThrash):
		return nil
	case !s.psi.full.known() && s.l.stall.some.below(1):
		return nil // nothing waits on all of the machine
	case s.in.Known:
		return s.byRefaults()
	}
	return s.byFaults()
}

// waits reports whether there is a sign that tasks wait for what is read back.
func (s *ownSwap) waits() bool {
	return s.psi.full.known() || s.l.stalled() || s.l.diskWaits()
}

// byRefaults judges by what the cgroup itself counts, as kernels from 5.9 on do.
func (s *ownSwap) byRefaults() *Finding {
	if !s.in.AtLeast(swapInThrash) || !s.waits() && !(s.in.AtLeast(swapInAlone) && s.hits.Above(0)) {
		return nil
	}
	f := s.finding()
	f.What += f.n("anonymous refaults", s.in) + " that were swapped out are read back"
	if s.psi.full.known() {
		f.What += ", and no task in it could run for " + s.psi.full.told(&f.words, "PSI memory full")
		f.level(Observed, "refaults from swap over two readings, and the stalls of this cgroup")
	} else {
		f.level(StronglySuggested, "refaults from swap over two readings, at the limit; the stalls of this cgroup are not accounted for")
	}
	s.rest(f)
	f.Settle = []string{"workingset_refault_anon in its memory.stat and its memory.pressure, with a higher limit."}
	return f
}

// byFaults judges where the cgroup does not count what came back from swap, as the
// first version of cgroups does not on most kernels, nor the second before 5.9. Where
// it ran into its limit meanwhile and waits for pages from disk, and the machine
// reads as many back from swap, that is it.
//
// https://docs.kernel.org/admin-guide/cgroup-v1/memory.html (failcnt, pgmajfault)
func (s *ownSwap) byFaults() *Finding {
	if !s.hits.Above(0) || !s.faults.AtLeast(swapInThrash) || !s.fromSwap() {
		return nil
	}
	waits := s.waits() || s.l.swap.in.AtLeast(swapInAlone)
	if !waits && (s.l.iowait().Known || s.l.stall.full.known()) {
		return nil // quick disks: nothing waits to speak of
	}
	f := s.finding()
	f.What += "it ran into the limit " + f.count(s.hitsName(), s.hits, "time") + " between the readings, and major faults come at " + f.n("major faults", s.faults)
	if s.l.swap.in.Known {
		f.What += ", while the machine reads " + f.n("swap in", s.l.swap.shownIn) + " back from swap"
	}
	if s.psi.full.known() {
		f.What += "; no task in it could run for " + s.psi.full.told(&f.words, "PSI memory full")
	}
	s.rest(f)
	if waits && s.l.swap.in.Known {
		f.level(StronglySuggested, "the limit was hit, pages were read from disk and swap was read back in one stretch of time; this kernel does not count whose swap it was")
	} else {
		f.level(Inferred, "the limit was hit and pages were read from disk in one stretch of time; that they were swap, and that much waits for it, follows from what the cgroup holds")
	}
	f.Settle = []string{"Its memory.stat (swap, pgmajfault) with a higher limit.", "/proc/vmstat of the machine twice (pswpin), and its iowait."}
	return f
}

// fromSwap reports whether major faults are of swap: the machine reads about as
// many pages back meanwhile, a fault bringing several at times (vm.page-cluster). Where
// only the cgroup is seen, that it holds swap and next to no cache stands in for it.
func (s *ownSwap) fromSwap() bool {
	m := &s.g.Memory
	if m.SwapCurrent.AtMost(0) {
		return false
	}
	if in := s.l.swap.in; in.Known {
		return in.AtLeast(swapInThrash) && in.AtLeast(s.faults.Number/2)
	}
	return m.SwapCurrent.Known && m.Anon.PercentOf(s.limit).AtLeast(limitByAnon) && m.File.PercentOf(s.limit).Below(cacheGone)
}

// diskWaits reports whether CPUs or tasks wait for disks, which stands in for
// waiting for memory where pages are read back.
func (l *look) diskWaits() bool {
	blocked := l.blocked().AtLeast(4) && (!l.cpus().Known || l.blocked().Above(2*l.cpus().Number))
	return l.iowait().AtLeast(iowaitThrash) || blocked
}

// finding begins one about the cgroup.
func (s *ownSwap) finding() *Finding {
	f := &Finding{Subject: subjectOf(s.g)}
	f.What = "Inside " + cgroupName(s.g) + " work thrashes in swap at "
	if s.high {
		f.What += "memory.high of " + f.n("memory.high", s.limit) + ": "
	} else {
		f.What += "the limit of " + f.n("limit", s.limit) + ": "
	}
	f.over(s.l)
	f.Cause = "What runs in it needs more memory than its limit. What does not fit is swapped out and needed again at once."
	if s.l.headroom.AtLeast(roomForAll) {
		f.not("a machine that is short of memory", f.n("available", s.l.headroom)+" of the machine's memory is available; the limit that was reached is the cgroup's own")
	} else {
		f.not("a machine that is short of memory", "the limit that was reached is the cgroup's own")
	}
	f.not("more swap would help", "it has swap, and thrashes in it")
	f.Now = []string{"Raise its limit (memory.max, --memory, resources.limits.memory), or let it run fewer workers: each brings its own memory."}
	if s.high {
		f.Now[0] = "Raise memory.high (MemoryHigh= of the unit), or let it run fewer workers: each brings its own memory."
	}
	f.Properly = []string{"Set the limit by the memory that it needs at its peak; swap below a limit hides for how long it has been too small.",
		"Find what grows: memory of each of its processes over an hour."}
	return f
}

// rest ends the sentence, and says how much swap the cgroup holds and what waits.
func (s *ownSwap) rest(f *Finding) {
	m := &s.g.Memory
	f.What += "."
	if m.SwapCurrent.Above(0) {
		f.What += " It holds " + f.n("swap of the cgroup", m.SwapCurrent) + " of swap"
		if most := m.SwapMax; most.Known && !most.Unlimited {
			f.What += ", of " + f.n("limit of swap", most.Value) + " that it may"
		}
		f.What += "."
	}
	if v := s.l.iowait(); !s.psi.full.known() && v.AtLeast(iowaitThrash) {
		f.What += " CPUs wait for disks " + f.n("iowait", v) + " of the time."
	}
	f.see("anonymous memory", m.Anon)
	f.see(s.hitsName(), s.hits)
}

// hitsName is what the kernel calls the count of how often it ran into the limit.
func (s *ownSwap) hitsName() string {
	switch {
	case s.g.Version == "v1":
		return "memory.failcnt"
	case s.high:
		return "memory.events high"
	}
	return "memory.events max"
}

// cgroupStall is for how long tasks of a cgroup waited for memory.
func (l *look) cgroupStall(path string) stall {
	return stallOf(l.Case, func(r *evidence.Reading) evidence.Pressure {
		if g := r.Cgroup(path); g != nil {
			return g.PSI.Memory
		}
		return evidence.Pressure{}
	})
}
