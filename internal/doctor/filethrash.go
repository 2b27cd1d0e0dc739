package doctor

import (
	"brink/internal/evidence"
)

// Without swap, or with a full one, anonymous memory cannot leave. Reclaim
// takes the only thing that can: pages of files, programs' own code among them,
// which are read again at once. Streaming through large files refaults too, so
// refaults count only where nothing else is left to free.
const (
	// refaultThrash is in pages/s: the rate at which swapping counts as well.
	refaultThrash = swapInThrash
	// cacheGone: below this share of memory, the file cache is what programs
	// run from (field case: 0.4 % with kswapd at 99 %).
	cacheGone = 5
	// kswapdBusy is in percent of one CPU.
	kswapdBusy = 50
	// rereadTimes: a cgroup that has read its cache this many times over has not
	// only streamed once through its files.
	rereadTimes = 100
	// limitNear and limitByAnon are in percent of a cgroup's limit.
	limitNear   = 95
	limitByAnon = 80
)

var fileThrash = Rule{
	Mode: FileThrash,
	Needs: [][]evidence.Signal{
		{evidence.HasMeminfo, evidence.HasRefaultRate}, {evidence.HasMeminfo, evidence.HasMemoryPSI},
		{evidence.HasMeminfo, evidence.HasProcesses}, {evidence.HasMeminfo, evidence.HasCPURate}, {evidence.HasCgroupMem},
	},
	Judge: func(l *look, a *answer) {
		if l.frozen() {
			return
		}
		machineFileThrash(l, a)
		for _, path := range l.CgroupPaths() {
			cgroupFileThrash(l, a, path)
		}
	},
}

func machineFileThrash(l *look, a *answer) {
	noSwap := l.noSwap() || l.swapFree().Below(5)
	if !noSwap || !l.headroom.Below(lowHeadroom) {
		return
	}
	total := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.MemTotal })
	cache := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.Cached }).
		Minus(orZero(l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.Shmem })))
	share := cache.PercentOf(total)
	refaults := l.rate(vmstat(func(v *evidence.Vmstat) evidence.Value { return v.WorkingsetRefaultFile }))
	waits := l.stall.full.lasts(fullThrash) || l.iowait().AtLeast(iowaitThrash)
	reclaims := l.kswapd().AtLeast(kswapdBusy)
	seen := refaults.AtLeast(refaultThrash) && waits
	inferred := !refaults.Known && share.Below(cacheGone) && (reclaims || waits)
	if !seen && !inferred {
		return
	}
	f := &Finding{}
	f.What = "The machine is thrashing without swap: memory is exhausted"
	if !l.noSwap() {
		f.What = "The machine is thrashing with nothing left of its swap: memory is exhausted"
	}
	if share.Known {
		f.What += ", the file cache is down to " + f.n("file cache", share)
	}
	if refaults.Known {
		f.What += ", and file pages are read again at " + f.n("file refaults", refaults)
	}
	if v := l.kswapd(); v.Known {
		f.What += ", kswapd takes " + f.n("kswapd", v) + " of a CPU"
	}
	f.What += l.waiting(&f.words) + "."
	l.memoryLeft(f)
	f.over(l)
	if seen {
		f.level(Observed, "refaults and the stall they cause were both seen, in one stretch of time")
	} else if reclaims && waits {
		f.level(StronglySuggested, "exhausted memory, busy reclaim and waiting CPUs agree; refaults themselves were not counted")
	} else {
		f.level(Inferred, "exhausted memory with one sign of reclaim; refaults themselves were not counted")
	}
	f.Cause = "Anonymous memory fills the machine and cannot be moved out. Reclaim can only evict pages of files, so programs keep reading their own code from disk."
	f.not("a slow disk", "the disk reads what memory just threw away; it is the load that is wrong, not the disk")
	if l.noSwap() {
		f.not("all is well since nothing swaps", "without swap a thrash shows as file refaults and waiting, not as swap traffic")
	}
	if l.load1().Above(4 * max(l.cpus().Number, 1)) {
		f.not("CPU overload", "the load of "+f.n("load", l.load1())+" counts tasks that wait for pages")
	}
	fileAdvice(f)
	if !l.noSwap() {
		f.Properly = f.Properly[:1] // it has swap, which is full
	}
	f.Settle = []string{"workingset_refault_file and pgmajfault in /proc/vmstat, read twice 10 s apart.", "/proc/pressure/memory."}
	a.found(f)
}

// cgroupFileThrash looks at a cgroup that has reached its limit with memory
// that cannot be freed.
func cgroupFileThrash(l *look, a *answer, path string) {
	g := l.lastCgroup(path)
	limit := g.Memory.Max
	if !limit.Known || limit.Unlimited {
		return
	}
	anon := g.Memory.Anon.PercentOf(limit.Value)
	hits := l.Delta(cgroup(path, func(g *evidence.Cgroup) evidence.Value { return g.Memory.EventMax })).Else(g.Memory.EventMax)
	if !anon.AtLeast(limitByAnon) || !hits.Above(0) && !g.Memory.Current.PercentOf(limit.Value).AtLeast(limitNear) {
		return
	}
	get := cgroup(path, func(g *evidence.Cgroup) evidence.Value { return g.Memory.RefaultFile })
	rate, total := l.rate(get), g.Memory.RefaultFile
	if !total.Known {
		cgroupMajorFaults(l, a, g, path)
		return
	}
	filePages := g.Memory.File.Over(evidence.Known(usualPage, evidence.Bytes))
	if !rate.AtLeast(refaultThrash) && (rate.Known || !total.Over(filePages).AtLeast(rereadTimes)) {
		return
	}
	f := &Finding{Subject: subjectOf(g)}
	f.What = "Inside " + cgroupName(g) + " memory is at its limit of " + f.n("limit", limit.Value) + ": " + f.n("anonymous memory", g.Memory.Anon) +
		" (" + f.n("anonymous share", anon) + ")" + stuck(g) + ", and pages of files "
	if rate.Known {
		f.What += "are read again at " + f.n("file refaults", rate) + "."
		f.over(l)
		f.level(Observed, "refaults were counted over two readings, at the limit")
	} else {
		f.What += "were read again " + f.count("file refaults", total, "time") + " since it was made, while " + f.n("file cache", g.Memory.File) + " of them fit."
		f.Span = "in sum since the cgroup was made; how fast now, one reading does not tell"
		f.level(Inferred, "a sum since the cgroup was made, many times its cache; one reading is no rate")
	}
	if hits.Above(0) {
		f.What += " It ran into the limit " + f.count("memory.events max", hits, "time") + "."
	}
	cgroupThrashText(l, f, g)
	f.Settle = []string{"memory.pressure of the cgroup.", "workingset_refault_file in its memory.stat, read twice."}
	a.found(f)
}

// stuck says of anonymous memory that it stays, where there is no swap for it.
func stuck(g *evidence.Cgroup) string {
	if g.Memory.SwapCurrent.Above(0) {
		return " is no cache"
	}
	return " cannot be freed"
}

// cgroupThrashText is what holds of every cgroup that thrashes at its limit.
func cgroupThrashText(l *look, f *Finding, g *evidence.Cgroup) {
	f.Cause = "What runs in it needs more than its limit. It pays with disk reads, and whoever shares the disk pays as well."
	if l.load1().Known {
		f.not("CPU overload of the host", "a load of "+f.n("load", l.load1())+" counts tasks that wait for these reads too")
	}
	if g.Memory.EventOOMKill.AtMost(0) {
		f.not("memory is no problem since nothing was killed", "as long as some file page can be evicted, the kernel evicts instead of killing")
	}
	fileAdvice(f)
	if g.Memory.SwapCurrent.Above(0) { // it has swap already
		f.Properly = f.Properly[:1]
	}
}

func fileAdvice(f *Finding) {
	f.Now = []string{"Stop what is dispensable: memory has to be freed, nothing else ends it."}
	f.Properly = []string{"Raise the limit or the machine's memory, or run fewer workers: each brings its own memory.",
		"Some swap (or zram) lets cold anonymous pages leave instead of code that runs."}
}

func orZero(v evidence.Value) evidence.Value { return v.Else(evidence.Known(0, v.Unit)) }

// subjectOf is the subject of a finding about a cgroup.
func subjectOf(g *evidence.Cgroup) string {
	switch {
	case g.Server != "":
		return g.Server
	case g.Own:
		return "" // whatever else the capture holds is in it
	}
	return g.Path
}
