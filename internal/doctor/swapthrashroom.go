package doctor

// swapWithRoom judges pages that come back from swap although the machine has memory
// to spare. Reclaim of the machine does not do that: something below it is full, a
// cgroup at its own limit or the NUMA nodes that a program is bound to, of which the
// evidence shows nothing. Pages that only come back are what a program that has ended,
// or swapoff, leaves behind; with disks that are waited for because of a backup, some
// cold pages move as well.
//
// https://docs.kernel.org/admin-guide/cgroup-v2.html (memory.max, memory.high)
func swapWithRoom(l *look, a *answer, hurts bool) {
	const settle = "memory.current, memory.max, memory.high, memory.stat (workingset_refault_anon) and memory.pressure of every cgroup, twice; numastat -m."
	in, out := l.swap.in, l.swap.out
	switch {
	case !in.AtLeast(swapInThrash) || !hurts || !l.stall.full.known() && !in.AtLeast(swapInAlone):
		return
	case !out.AtLeast(swapInThrash):
		var w words
		a.suspect(Swap, w.n("swap in", l.swap.shownIn)+" are read back from swap"+l.waiting(&w)+", although "+w.n("available", l.headroom)+
			" of memory is available: what was swapped out before is needed again, or a cgroup is at its own limit.", settle, &w)
		return
	}
	f := &Finding{}
	f.What = "Something on this machine thrashes in swap: " + f.n("swap in", l.swap.shownIn) + " are read back and " + f.n("swap out", l.swap.shownOut) + " written out" +
		l.waiting(&f.words) + "."
	l.memoryLeft(f)
	f.over(l)
	if l.swap.tool != "/proc/vmstat" {
		f.Span = "over the interval that " + l.swap.tool + " shows"
	}
	f.level(StronglySuggested, "much swap traffic both ways was seen, beside memory that is available; whose it is was not")
	f.Cause = "The machine has memory to spare, so that what swaps is held below that by a limit of its own: of a cgroup (memory.max, memory.high, a container's), or of the NUMA nodes that it is bound to."
	f.not("a machine that is short of memory", f.n("available", l.headroom)+" of it is available")
	f.not("a full swap as such", "swap may be full of cold pages for months; what counts is the traffic")
	f.Now = []string{"Find whose it is: memory.swap.current and memory.pressure of the cgroups, docker stats, systemd-cgtop -m.", "Raise that limit, or let it run fewer workers."}
	f.Properly = []string{"Set each limit by the memory that is needed at the peak; swap below a limit hides for how long it has been too small."}
	f.Settle = []string{settle}
	a.found(f)
}
