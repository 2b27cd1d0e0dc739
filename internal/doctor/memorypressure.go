package doctor

import (
	"brink/internal/evidence"
)

const (
	// lowHeadroom is in percent of usable memory; earlyoom acts at 10 too
	// (https://github.com/rfjakob/earlyoom), and the published checklist calls
	// 90 % used a risk.
	lowHeadroom = 10
	// noHeadroom: what is left is about the kernel's own reserves.
	noHeadroom = 5
	// reserves: below this share not even those are whole (the low watermark is
	// one to two percent of a usual machine), and no cache gives way in time.
	reserves = 2
	// somePressure is in percent of time in which some task waited for memory.
	// The published peak is 5.79 over five minutes, called significant; 7 was
	// read on a plan that still started apps at once, 19 where starts slowed.
	somePressure = 10
	// directReclaim is in pages/s that tasks scan themselves because kswapd does
	// not keep up: each such scan delays who asked for memory.
	directReclaim = 100
	// hardReclaim is the share of scanned pages that could be freed, in percent,
	// below which reclaim works for little. Easy cache gives back 99.
	hardReclaim = 50
	// planRisk and planWatch are MemoryPercentage of a plan, in percent
	// (published checklist: above 90 restarts are a risk, above 80 pressure is
	// likely). It is 1 - MemAvailable / MemTotal.
	planRisk  = 90
	planWatch = 80
)

var memoryPressure = Rule{
	Mode: MemoryPressure,
	Needs: anyOf(evidence.HasMeminfo, evidence.HasMemoryPSI, evidence.HasReclaimRate, evidence.HasCgroupMem, evidence.HasVmstat,
		evidence.HasMetrics, evidence.HasContainers, evidence.HasPlatformLog),
	Judge: func(l *look, a *answer) {
		if l.frozen() {
			a.cannotTell(Source, "The source does not move: uptime and counters are the same in both readings. It is no live /proc, and that nothing changed says nothing.",
				"The same files from the machine itself.", nil)
			return
		}
		machinePressure(l, a)
		for _, path := range l.CgroupPaths() {
			cgroupPressure(l, a, path)
		}
		planPressure(l, a)
		evictions(l, a)
	},
}

func machinePressure(l *look, a *answer) {
	direct := l.rate(vmstat(func(v *evidence.Vmstat) evidence.Value { return v.PgscanDirect }))
	stalled := l.stalled()
	hidden, part := l.hiddenPart()
	low := l.headroom.Below(lowHeadroom)
	reclaims := direct.AtLeast(directReclaim) || l.kswapd().AtLeast(kswapdBusy)
	empty := l.headroom.Below(noHeadroom) && !(l.arcFills() && l.headroom.AtLeast(reserves)) && !(l.stall.some.below(somePressure) && hidden != "" && part.AtLeast(hiddenLarge))
	switch {
	case stalled && (low || reclaims || !l.headroom.Known), low && reclaims && !l.stall.some.below(1), empty:
		a.found(l.pressureFinding(direct, stalled, reclaims))
	case stalled:
		var w words
		a.suspect(Memory, "Tasks wait for memory ("+l.stall.some.told(&w, "PSI memory some")+") although "+
			w.n("available", l.headroom)+" of it is available: a cgroup may be at its own limit.",
			"memory.pressure, memory.max and memory.events of the cgroups.", &w)
	case l.headroom.Known:
		l.enough(a)
	case l.stall.some.known():
		var w words
		a.fine(Memory, "Tasks hardly wait for memory ("+w.n("PSI memory some", l.stall.some.lately())+" of the time).", &w)
	default:
		l.reclaimTotals(a)
		l.freeAlone(a)
	}
}

// freeAlone says what is free where nothing tells how much could be given out: much
// is enough, and little says nothing.
func (l *look) freeAlone(a *answer) {
	var w words
	free := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.MemFree })
	if !free.Known || !l.usable.Known {
		return
	}
	if share := free.PercentOf(l.usable); share.AtLeast(2 * lowHeadroom) {
		a.fine(Memory, w.n("free", share)+" of memory is free ("+w.n("MemFree", free)+" of "+w.n("usable memory", l.usable)+"); cache that can be given back is not counted.", &w)
		return
	}
	a.cannotTell(Memory, w.n("MemFree", free)+" of "+w.n("usable memory", l.usable)+" is free; how much of the rest is cache that can be given back, nothing here tells.",
		"The whole of /proc/meminfo: MemAvailable, or Cached, Buffers and SReclaimable of a kernel before 3.14.", &w)
}

// pressureFinding tells about a machine that is short of memory.
func (l *look) pressureFinding(direct evidence.Value, stalled, reclaims bool) *Finding {
	f := &Finding{}
	switch {
	case stalled:
		f.What = "Work waits for memory"
		if l.stall.some.known() {
			f.What += " " + l.stall.some.told(&f.words, "PSI memory some")
			f.see("PSI memory some avg60", l.stall.some.avg60)
		}
		f.level(Observed, "the kernel's own account of stalls over time")
	case reclaims:
		f.What = "The machine is short of memory and busy reclaiming it"
		f.level(Observed, l.reclaimRule(direct))
	default:
		f.What = "The machine has next to no memory left"
		f.level(Observed, "seen in one reading; that anything waits for it was not seen")
	}
	if direct.Above(0) {
		f.What += "; tasks scan " + f.n("direct reclaim", direct) + " themselves"
	}
	f.What += l.waiting(&f.words) + "."
	l.memoryLeft(f)
	l.efficiency(f)
	f.over(l)
	f.Cause = "More is in use than fits. Before anything fails the kernel pays in CPU time and disk reads: kswapd in the background, direct reclaim inside the tasks that ask for memory."
	if l.load1().Above(4*max(l.cpus().Number, 1)) && !l.busy() {
		f.not("CPU overload", "the load of "+f.n("load", l.load1())+" counts tasks that wait")
	}
	switch {
	case l.estimated:
		f.not("harmless cache", "the estimate counts cache, buffers and what slab can give back as available")
	case l.available.Known:
		f.not("harmless cache", "MemAvailable already counts the cache that can be freed; MemFree alone would prove nothing")
	}
	l.noErrorsYet(f)
	pressureAdvice(f)
	if !stalled {
		f.Settle = append(f.Settle, "/proc/pressure/memory: whether anything waits.", "/proc/vmstat twice, 10 s apart: pgscan_direct, pswpin, workingset_refault_file.")
	}
	f.Settle = append(f.Settle, "Memory per process or cgroup, twice.")
	return f
}

// reclaimRule says what showed that the machine reclaims.
func (l *look) reclaimRule(direct evidence.Value) string {
	if direct.AtLeast(directReclaim) {
		return "reclaim was counted over time while little was left"
	}
	return "kswapd uses a CPU while little is left"
}

func pressureAdvice(f *Finding) {
	f.Now = []string{"Do not start or restart several apps at once; starts need the most.", "Free memory: stop or move what is not needed."}
	f.Properly = []string{"Fewer apps or workers on it, or more memory. Keep a fifth of a small plan free for starts.",
		"Count workers by memory: workers × memory of one, for every app, must fit beside the platform's share."}
}

// efficiency adds how much of what was scanned could be freed.
func (l *look) efficiency(f *Finding) {
	scan := l.Delta(vmstat(scanned))
	steal := l.Delta(vmstat(stolen))
	if share := steal.PercentOf(scan); share.Known {
		if share.Below(hardReclaim) {
			f.What += " Only " + f.n("reclaimed of scanned", share) + " of the scanned pages could be freed."
		} else {
			f.see("reclaimed of scanned", share)
		}
	}
}

// scanned and stolen add what kswapd and tasks did; never by prefix, which
// would count the split by kind of page twice, and without
// pgscan_direct_throttle, which counts events.
func scanned(v *evidence.Vmstat) evidence.Value {
	return v.PgscanKswapd.Plus(v.PgscanDirect)
}

func stolen(v *evidence.Vmstat) evidence.Value {
	return v.PgstealKswapd.Plus(v.PgstealDirect)
}

// enough says how much memory is left.
func (l *look) enough(a *answer) {
	var w words
	text := w.n("available", l.headroom) + " of memory is available (" + w.n("MemAvailable", l.available) + " of " + w.n("usable memory", l.usable) + ")"
	if l.estimated {
		text += ", by an estimate: the file has no MemAvailable"
	}
	if l.headroom.Below(lowHeadroom) {
		if l.stall.some.below(1) {
			a.fine(Memory, text+", which is little, but nothing waits for it ("+w.n("PSI memory some", l.stall.some.lately())+").", &w)
			return
		}
		if arc := l.arc(); l.arcFills() {
			a.cannotTell(Memory, text+"; beside that the cache of ZFS may give back "+w.n("ARC to give back", arc.Minus(orZero(l.arcLeast())))+
				", later than tasks ask for it.", "/proc/pressure/memory: whether anything waits for memory.", &w)
			return
		}
		a.suspect(Memory, text+", which is little.", "/proc/pressure/memory, and /proc/vmstat twice: whether anything waits for memory.", &w)
		return
	}
	free := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.MemFree })
	hidden, part := l.hiddenPart()
	if share := free.PercentOf(l.usable); share.Below(lowHeadroom) && !l.estimated && !(hidden == "tmpfs" && part.AtLeast(hiddenLarge)) {
		text += "; that only " + w.n("MemFree", share) + " is free is cache at work"
	}
	if l.stall.some.known() {
		text += "; tasks wait for memory " + w.n("PSI memory some", l.stall.some.lately()) + " of the time"
	}
	if l.view() == evidence.ViewHost {
		text += ". These are the host's figures: inside the container its cgroup counts"
	}
	a.fine(Memory, text+".", &w)
}

// reclaimTotals says what totals since boot can say.
func (l *look) reclaimTotals(a *answer) {
	var w words
	scan := l.Latest(vmstat(scanned))
	share := l.Latest(vmstat(stolen)).PercentOf(scan)
	if !scan.Above(0) || !share.Known {
		return
	}
	kswapd := l.Latest(vmstat(func(v *evidence.Vmstat) evidence.Value { return v.PgscanKswapd }))
	direct := l.Latest(vmstat(func(v *evidence.Vmstat) evidence.Value { return v.PgscanDirect }))
	text := "Since boot kswapd scanned " + w.n("pgscan_kswapd", kswapd) + " and tasks " + w.n("pgscan_direct", direct) + ", of which " +
		w.n("reclaimed of scanned", share) + " could be freed"
	swapped := l.Latest(vmstat(func(v *evidence.Vmstat) evidence.Value { return v.Pswpout }))
	if swapped.AtMost(0) {
		text += " and none had to be swapped out"
	}
	if share.AtLeast(90) && swapped.AtMost(0) {
		a.note(Memory, text+": cache that is easily given back. It shows no pressure.", &w)
	}
	a.cannotTell(Memory, "Totals since boot are no rates: whether memory is short now, one reading does not tell.",
		"/proc/meminfo, /proc/pressure/memory, and /proc/vmstat a second time.", &w)
}

// cgroupPressure looks at one cgroup: its throttle memory.high, and its limit.
func cgroupPressure(l *look, a *answer, path string) {
	g := l.lastCgroup(path)
	psi := l.cgroupStall(path)
	high := l.Delta(cgroup(path, func(g *evidence.Cgroup) evidence.Value { return g.Memory.EventHigh })).Else(g.Memory.EventHigh)
	limit := g.Memory.Max
	hits := l.Delta(cgroup(path, func(g *evidence.Cgroup) evidence.Value { return g.Memory.EventMax })).Else(g.Memory.EventMax)
	stalled := psi.some.lasts(somePressure) || psi.full.lasts(fullThrash)
	used := g.Memory.Current.PercentOf(limit.Value)
	switch {
	case stalled && (high.Above(0) || hits.Above(0) || used.AtLeast(limitNear) || !l.stall.some.known()):
		f := cgroupFinding(g, psi, high, hits, used)
		if f.Span = "over the time that the pressure averages cover"; psi.full.share.AtLeast(fullThrash) {
			f.over(l)
		}
		a.found(f)
	case (g.Own || g.Server != "") && psi.some.below(somePressure) && limit.Known && !limit.Unlimited:
		var w words
		a.fine(Memory, "In "+cgroupName(g)+" tasks hardly wait for memory ("+w.n("PSI memory some", psi.some.lately())+").", &w)
	default:
		cgroupRoom(l, a, g, used)
	}
}

func cgroupFinding(g *evidence.Cgroup, psi stall, high, hits, used evidence.Value) *Finding {
	f := &Finding{Subject: subjectOf(g), ownCause: high.Above(0)}
	f.What = "Work in " + cgroupName(g) + " waits for memory"
	if psi.full.most().AtLeast(1) {
		f.What += " and stands still " + psi.full.told(&f.words, "PSI memory full")
	}
	f.see("PSI memory full avg300", psi.full.avg300)
	f.see("PSI memory some avg60", psi.some.avg60)
	throttled := high.Above(0) && !hits.Above(0)
	if throttled {
		f.What += ": it was throttled at memory.high " + f.count("memory.events high", high, "time")
	} else if hits.Above(0) {
		f.What += ": it ran into its limit " + f.count("memory.events max", hits, "time")
	}
	share := g.Memory.PgSteal.PercentOf(g.Memory.PgScan)
	if share.Below(hardReclaim) {
		f.What += ", and of what was scanned only " + f.n("reclaimed of scanned", share) + " could be freed"
	}
	f.What += "."
	f.see("anonymous memory", g.Memory.Anon)
	f.see("file cache", g.Memory.File)
	f.see("used of limit", used)
	f.level(Observed, "the kernel's own account of stalls of this cgroup, over time")
	f.Cause = "Its working set is larger than what it may have."
	if throttled {
		f.Cause += " memory.high does not kill: it makes every allocation reclaim first, which goes on for ever if there is nothing to free."
		f.not("healthy since nothing was killed", "memory.high never kills; a process can stand still in it and still count as running")
		f.not("network or login trouble", "what stands still inside looks like that from outside")
		f.Now = []string{"Raise or lift memory.high (MemoryHigh= of the unit), or restart what is in it."}
		f.Properly = []string{"Set memory.high above the working set at its peak, with memory.max above it, so that the end is a restart and not a standstill."}
	} else {
		f.not("a machine that is short of memory", "these are the stalls of this cgroup, at its own limit; the machine may have memory left")
		f.Now = []string{"Raise the limit, or restart what grew in it."}
		f.Properly = []string{"Set the limit by workers × memory of one at its peak, with a reserve for starts."}
	}
	f.Settle = []string{"memory.stat and memory.events a second time, 10 s later."}
	return f
}

// cgroupRoom says how much of a cgroup's limit is in use, and by what.
func cgroupRoom(l *look, a *answer, g *evidence.Cgroup, used evidence.Value) {
	var w words
	limit := g.Memory.Max
	m := &g.Memory
	stuck := m.Anon
	if m.Shmem.Known {
		stuck = stuck.Plus(m.Shmem) // tmpfs counts as file, and cannot be dropped
	}
	anon := stuck.PercentOf(limit.Value)
	switch {
	case !g.Own && g.Server == "" && (limit.Unlimited || used.Below(100-lowHeadroom)):
	case limit.Unlimited && m.Current.Known:
		a.fine(Memory, cgroupTitle(g)+" uses "+w.n("memory.current", m.Current)+" and has no limit.", &w)
	case !used.Known:
	case used.Below(100 - lowHeadroom):
		a.fine(Memory, cgroupTitle(g)+" uses "+w.n("used of limit", used)+" of its limit ("+w.n("memory.current", m.Current)+" of "+w.n("limit", limit.Value)+").", &w)
	case anon.Below(100 - lowHeadroom):
		a.fine(Memory, cgroupTitle(g)+" uses "+w.n("used of limit", used)+" of its limit, but only "+w.n("anonymous memory", stuck)+" ("+w.n("anonymous share", anon)+
			") of that cannot be freed; the rest is cache. That is in order unless refaults or major faults grow.", &w)
	default:
		text := cgroupTitle(g) + " uses " + w.n("used of limit", used) + " of its limit of " + w.n("limit", limit.Value)
		settle := "memory.stat (how much is anonymous), memory.events and memory.pressure of it."
		if anon.Known {
			settle = l.fullCgroup(g, &text, &w)
		}
		a.suspect(Memory, text+".", settle, &w)
	}
}

// fullCgroup says what happened between the readings at the limit of a cgroup, and
// returns what would tell more.
func (l *look) fullCgroup(g *evidence.Cgroup, text *string, w *words) string {
	hits := l.Delta(cgroup(g.Path, func(g *evidence.Cgroup) evidence.Value { return g.Memory.EventMax }))
	faults := l.rate(cgroup(g.Path, func(g *evidence.Cgroup) evidence.Value { return g.Memory.PgMajFault }))
	if hits.Known {
		*text += ", ran into it " + w.count("failcnt", hits, "time") + " between the readings"
	}
	if faults.Known {
		*text += ", and waits for pages from disk at " + w.n("major faults", faults)
	}
	switch {
	case !faults.Known || !hits.Known:
		return "memory.stat a second time (pgmajfault, workingset_refault), and how often it runs into the limit (memory.events, memory.failcnt)."
	case !l.cgroupStall(g.Path).some.known():
		return "memory.pressure of it, or where there is none its latency, and whether the machine reads pages back from swap (pswpin)."
	}
	return "The same an hour later, and the kernel log: whether anything was killed in it."
}

func cgroupTitle(g *evidence.Cgroup) string {
	if g.Own {
		return "This cgroup"
	}
	return "Cgroup " + g.Path
}
