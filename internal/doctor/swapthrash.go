package doctor

import (
	"brink/internal/evidence"
)

// Pages that are read back from swap were needed again. A trickle is normal;
// what makes it a thrash is that tasks wait for it.
const (
	// swapInThrash is in pages/s. 100 pages are 0.4 MB/s, a tenth of what the
	// slowest swap disk of a cloud plan gives (field measurement: 6 MB/s with 60
	// IOPS, where 47 % of the time was a stall).
	swapInThrash = 100
	// swapInQuiet: below it, nothing is being read back to speak of.
	swapInQuiet = 10
	// fullThrash is in percent of time in which no task could run. The
	// published lab reads 1.03 at its peak and still serves; 33 and more were
	// read while requests took twenty times as long.
	fullThrash = 10
	// iowaitThrash is in percent of all CPU time.
	iowaitThrash = 30
	// roomForAll is in percent of usable memory: with as much to spare, disks are
	// waited for because of something else.
	roomForAll = 25
	// noRoom is in percent of usable memory, below which a full swap leaves no
	// room for a start; published guidance keeps a fifth free.
	noRoom = 20
	// swapInAlone, in pages/s each way, is a thrash without further signs: 4
	// MB/s in and out at once leave a cloud disk no room for anything else. With
	// next to no memory left, less will do.
	swapInAlone = 1000
)

var swapThrash = Rule{
	Mode:  SwapThrash,
	Needs: [][]evidence.Signal{{evidence.HasSwapRate}, {evidence.HasMemoryPSI, evidence.HasSwap}, {evidence.HasCgroupMem}},
	Judge: func(l *look, a *answer) {
		if l.frozen() {
			return
		}
		if l.headroom.Below(lowHeadroom) {
			judgeSwapThrash(l, a) // there is not enough for all of them
			if len(a.findings) == 0 {
				cgroupsInSwap(l, a)
			}
			return
		}
		// The pages that a cgroup at its limit swaps are in the machine's counters, too.
		own := cgroupsInSwap(l, a)
		if len(a.findings) == 0 || l.swap.in.Above(2*own) {
			judgeSwapThrash(l, a)
		}
	},
}

func judgeSwapThrash(l *look, a *answer) {
	in, out := l.swap.in, l.swap.out
	var w words
	switch {
	case l.noSwap() && !in.Above(0):
		return
	case !in.Known:
		return // what PSI shows alone is memory pressure: see there
	case in.Below(swapInQuiet):
		text := "Pages are not read back from swap (" + w.n("swap in", l.swap.shownIn) + ")"
		if free := l.swapFree(); free.Below(5) {
			text += "; swap is full (" + w.n("swap free", free) + " free), of pages that nobody needs now"
		}
		a.fine(Swap, text+".", &w)
		if l.swapFree().Below(5) && l.headroom.Below(noRoom) {
			var w words
			a.note(Memory, "Swap is full and "+w.n("available", l.headroom)+" of memory is available: what starts next can push nothing out any more.", &w)
		}
		return
	}
	waits := l.stall.full.lasts(fullThrash)
	if !l.stall.full.known() {
		waits = l.diskWaits() // stands in for waiting for memory
	}
	both := in.AtLeast(swapInAlone) && out.AtLeast(swapInAlone) || out.AtLeast(swapInThrash) && l.headroom.Below(lowHeadroom)
	alone := !l.stall.full.known() && !l.iowait().Known && both
	if l.headroom.AtLeast(roomForAll) {
		swapWithRoom(l, a, waits || alone)
		return
	}
	if !in.AtLeast(swapInThrash) || !waits && !alone {
		return
	}
	a.found(swapFinding(l, waits))
}

func swapFinding(l *look, waits bool) *Finding {
	f := &Finding{}
	f.What = "The machine is thrashing in swap: " + f.n("swap in", l.swap.shownIn) + " are read back"
	if l.swap.out.Known {
		f.What += " and " + f.n("swap out", l.swap.shownOut) + " written out"
	}
	f.What += l.waiting(&f.words) + "."
	l.memoryLeft(f)
	f.over(l)
	if !l.swap.in.Known || l.swap.tool != "/proc/vmstat" {
		f.Span = "over the interval that " + l.swap.tool + " shows"
	}
	if waits {
		f.level(Observed, "swap traffic and the stall it causes were both seen, in one stretch of time")
	} else {
		f.level(StronglySuggested, "traffic both ways, without a sign of how long tasks wait for it")
	}
	f.Cause = "More memory is in use at the same time than the machine has: pages that are thrown out are needed again at once."
	if l.load1().Above(4*max(l.cpus().Number, 1)) && !l.busy() {
		f.not("CPU overload", "the load of "+f.n("load", l.load1())+" counts tasks that wait for the swap disk"+l.cpuLeft(f))
	}
	f.not("a full swap as such", "swap may be full of cold pages for months; what counts is the traffic")
	if free := l.swapFree(); free.AtLeast(20) {
		f.not("all is well since swap is not full", f.n("swap free", free)+" of swap is free, which does not stop the traffic")
	}
	l.noErrorsYet(f)
	f.Now = []string{"Stop or move an app, or restart the one that grew: anything that frees memory ends the thrash.",
		"Do not restart everything together: each start needs its memory at once."}
	f.Properly = []string{"Give the machine more memory, or put fewer apps on it; count each worker's memory, for every worker brings its own.",
		"Find what grows: compare each process's memory over an hour."}
	f.Settle = []string{"Memory per process or cgroup, twice, to see which one grows.", "The latency and the start times of the apps in the same minutes."}
	return f
}

// waiting tells what shows that tasks wait for memory.
func (l *look) waiting(w *words) string {
	text := ""
	full := l.stall.full
	switch {
	case full.share.AtLeast(fullThrash):
		text += ", and for " + w.n("PSI memory full", full.share) + " of the time no task could run for want of memory"
	case full.avg10.AtLeast(fullThrash) || full.avg60.AtLeast(fullThrash):
		text += ", and for " + w.n("PSI memory full avg10", full.avg10) + " of the last 10 s no task could run for want of memory"
	}
	w.see("PSI memory full avg10", full.avg10)
	w.see("PSI memory full avg60", full.avg60)
	w.see("PSI memory some avg10", l.stall.some.avg10)
	if v := l.iowait(); v.AtLeast(iowaitThrash) {
		text += ", CPUs wait for disks " + w.n("iowait", v) + " of the time"
	}
	if v := l.blocked(); v.AtLeast(4) {
		text += ", " + w.n("blocked tasks", v) + " tasks are blocked"
	}
	return text
}

// memoryLeft adds the headroom and the use of swap to a finding's numbers.
func (l *look) memoryLeft(f *Finding) {
	if l.headroom.Known {
		f.What += " " + l.leftText(&f.words)
	}
	if used := l.swapFree(); used.Known {
		f.see("swap free", used)
	}
	f.see("kswapd", l.kswapd())
}

// leftText says how much memory is left.
func (l *look) leftText(w *words) string {
	text := "Of its memory " + w.n("available", l.headroom) + " is available (" + w.n("MemAvailable", l.available) + " of " + w.n("usable memory", l.usable) + ")"
	if l.estimated {
		text += ", by an estimate, since this kernel has no MemAvailable"
	}
	return text + "."
}

// busy reports whether the CPUs themselves are at work.
func (l *look) busy() bool {
	user, system := l.busiest()
	return user.Plus(system).AtLeast(80)
}
