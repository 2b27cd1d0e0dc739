package doctor

import "brink/internal/evidence"

// cgroupMajorFaults looks at a cgroup at its limit where the kernel shows no
// refaults, as the first version of cgroups does on most kernels. There the rate
// of major faults tells: each waits for a page that has to be read from disk, and where
// next to all of the limit is anonymous, that was thrown away before. A program
// that starts faults as well, so the limit must have been hit meanwhile, too.
// With swap in use the pages may come from there, unless the machine reads few back.
//
// https://docs.kernel.org/admin-guide/cgroup-v1/memory.html (failcnt, pgmajfault)
func cgroupMajorFaults(l *look, a *answer, g *evidence.Cgroup, path string) {
	hits := l.Delta(cgroup(path, func(g *evidence.Cgroup) evidence.Value { return g.Memory.EventMax }))
	faults := l.rate(cgroup(path, func(g *evidence.Cgroup) evidence.Value { return g.Memory.PgMajFault }))
	if !hits.Above(0) || !faults.AtLeast(refaultThrash) {
		return
	}
	// What swap a cgroup holds is not told where the kernel does not account for it
	// (swapaccount=0).
	if in := l.swap.in; g.Memory.SwapCurrent.Above(0) && !in.Known || !g.Memory.SwapCurrent.AtMost(0) && in.AtLeast(faults.Number/2) {
		return
	}
	limit := g.Memory.Max.Value
	f := &Finding{Subject: subjectOf(g)}
	f.What = "Inside " + cgroupName(g) + " memory is at its limit of " + f.n("limit", limit) + ": " + f.n("anonymous memory", g.Memory.Anon) +
		" (" + f.n("anonymous share", g.Memory.Anon.PercentOf(limit)) + ") cannot be freed, it ran into the limit " + f.count("failcnt", hits, "time") +
		" between the readings, and pages are read from disk in " + f.n("major faults", faults) + "."
	f.see("file cache", g.Memory.File)
	f.over(l)
	f.level(StronglySuggested, "the limit was hit and pages were read from disk in one stretch of time; this kernel does not count which of them it had thrown away before")
	f.not("a machine that is short of memory", "the limit that was hit is the cgroup's own")
	cgroupThrashText(l, f, g)
	f.Settle = []string{"memory.oom_control and the kernel log: whether anything was killed in it.", "pgmajfault of its memory.stat with a higher limit."}
	a.found(f)
}
