package doctor

import (
	"slices"
	"strconv"
	"strings"

	"brink/internal/evidence"
)

const (
	// cpuFull is in percent of all CPU time.
	cpuFull = 95
	// cpuQuiet: below it there is room.
	cpuQuiet = 85
	// cpuWaits is in percent of time in which some task that could run waited
	// for a CPU. At a utilisation of 80 % on few CPUs, 50 is usual.
	cpuWaits = 60
	// stolen time is in percent of all CPU time that the hypervisor kept.
	stolenTime = 15
	// waitShare is the share, in percent, of the time in which a server's process
	// wanted to run that it spent without a CPU, and hardlyWaits where that is not
	// worth a word. One that ran for less than runsAtAll of the time, in percent,
	// tells nothing: a master of idle workers runs for microseconds, and one wait of
	// a tick is then nearly all of its time.
	waitShare   = 30
	hardlyWaits = 10
	runsAtAll   = 1
	// hangsLoad is the load per CPU from which it is no part of the usual.
	hangsLoad = 2
)

var cpuContention = Rule{
	Mode:  CPUContention,
	Needs: anyOf(evidence.HasCPURate, evidence.HasCPUPSI, evidence.HasLoad, evidence.HasMetrics),
	Judge: judgeContention,
}

func judgeContention(l *look, a *answer) {
	if l.frozen() {
		return
	}
	user, system := l.busiest()
	steal := l.active(func(x *evidence.Activity) evidence.Value { return x.Steal })
	use := user.Plus(system)
	psi := stallOf(l.Case, func(r *evidence.Reading) evidence.Pressure { return r.PSI.CPU })
	late, who := l.lateness()
	full := use.AtLeast(cpuFull) && (psi.some.lasts(cpuWaits) || late.AtLeast(waitShare) || !psi.some.known() && l.queued())
	switch {
	case full && late.Below(waitShare) && !steal.AtLeast(stolenTime):
		var w words
		text := "but the servers hardly wait for one"
		if late.AtLeast(hardlyWaits) {
			text = "and the servers wait for one, though not for most of what they run"
		}
		a.note(CPU, "The CPUs are busy "+w.n("CPU use", use)+" of the time, "+text+" ("+who+" for "+w.n("wait for a CPU", late)+" of the time in which it wanted to run).", &w)
	case full, steal.AtLeast(stolenTime):
		a.found(contentionFinding(l, use, user, system, steal, psi))
		return
	case use.AtLeast(cpuFull) && !late.Known && !psi.some.known() && !l.load1().Over(l.cpus()).Below(1):
		var w words
		a.suspect(CPU, "The CPUs are busy "+w.n("CPU use", use)+" of the time; whether more wants to run than they can is not told.",
			"/proc/pressure/cpu twice, or the column r of vmstat beside the number of CPUs.", &w)
	case use.Below(cpuQuiet) && l.load1().Over(l.cpus()).AtLeast(hangsLoad) && l.blocked().Over(l.cpus()).AtLeast(1) && l.iowait().Below(iowaitThrash):
		var w words
		a.suspect(CPU, "The load of "+w.n("load", l.load1())+" is of "+w.count("blocked tasks", l.blocked(), "task")+" that hang in the kernel, while the CPUs are busy "+w.n("CPU use", use)+
			" of the time and hardly wait for disks ("+w.n("iowait", l.iowait())+"): a network file system or a driver does not answer.",
			"Who hangs, and where: ps -eo pid,stat,wchan:32,comm, /proc/PID/stack as root, and hung tasks in the kernel's log.", &w)
	case use.Below(cpuQuiet) && l.iowait().AtLeast(iowaitThrash):
		l.waitsForDisks(a)
	case use.Known && use.Below(cpuQuiet):
		var w words
		a.fine(CPU, "The CPUs are busy "+w.n("CPU use", use)+" of the time.", &w)
	case psi.some.below(cpuWaits) && !use.Known:
		var w words
		text := "Tasks wait for a CPU " + w.n("PSI cpu some", psi.some.lately()) + " of the time"
		if !psi.full.known() && !fromRun(psi.some.lately()) {
			text += "; that the file has no line full is normal before kernel 5.13"
		}
		a.fine(CPU, text+".", &w)
	case l.load1().Below(1) || l.load1().Over(l.cpus()).AtMost(1):
		var w words
		a.fine(CPU, "The load is "+w.n("load", l.load1())+".", &w)
	}
	planCPU(l, a)
}

// queued reports whether more tasks want to run than there are CPUs twice over.
func (l *look) queued() bool {
	run := l.active(func(x *evidence.Activity) evidence.Value { return x.Runnable })
	return l.cpus().Known && run.Over(l.cpus()).AtLeast(2)
}

// lateness is the largest share of the time in which a server's process wanted
// to run that it had no CPU, and which process that was.
func (l *look) lateness() (share evidence.Value, who string) {
	share = evidence.Missing(evidence.NotSeen, "no server's process ran between two looks")
	s, ok := l.Span()
	if !ok || !s.Seconds.Known {
		return share, ""
	}
	for _, to := range s.To.Sched {
		i := slices.IndexFunc(s.From.Sched, func(from evidence.Sched) bool { return from.PID == to.PID })
		if i < 0 {
			continue
		}
		wait, run := to.Wait.Minus(s.From.Sched[i].Wait), to.Run.Minus(s.From.Sched[i].Run)
		if !run.PercentOf(s.Seconds).AtLeast(runsAtAll) {
			continue
		}
		if v := wait.PercentOf(wait.Plus(run)); v.Known && (!share.Known || v.Number > share.Number) {
			share, who = v, schedName(&to)
		}
	}
	return share, who
}

// schedName names a server's process.
func schedName(s *evidence.Sched) string {
	name := "process " + strconv.Itoa(s.PID)
	if s.Comm != "" {
		name += " (" + s.Comm + ")"
	}
	return name
}

func contentionFinding(l *look, use, user, system, steal evidence.Value, psi stall) *Finding {
	f := &Finding{}
	stolen := steal.AtLeast(stolenTime)
	if stolen {
		f.What = "The hypervisor keeps " + f.n("stolen time", steal) + " of the CPU time from this machine"
		f.Cause = "Other machines on the same host use the CPU, or the plan's own share of it is used up."
		f.Now = []string{"Move to another host or a size with CPUs of its own; nothing inside this machine helps."}
	} else {
		f.What = "The CPUs are busy " + f.n("CPU use", use) + " of the time, and more wants to run"
		f.Cause = "More work than the CPUs can do at once."
		f.Now = []string{"Find who uses it (top, pidstat); a build or a start that runs now will end by itself.", "Slow down or stop what is not urgent."}
	}
	f.see("user", user)
	f.see("system", system)
	if v := psi.some.most(); v.Known {
		f.What += ": some task waits for a CPU " + f.n("PSI cpu some", v) + " of the time"
	}
	if late, who := l.lateness(); late.Known {
		f.What += "; " + who + ", a server's, had none for " + f.n("wait for a CPU", late) + " of the time in which it wanted to run"
	}
	f.What += "."
	f.over(l)
	f.level(Observed, "counted by the kernel over the readings")
	f.not("waiting for disks", "time spent waiting for disks counts as idle and is not in these figures")
	f.Properly = []string{"Fewer apps or workers per CPU, or more CPUs. More workers than CPUs × 2 do not speed up work that needs the CPU.",
		"Build outside the machine that serves."}
	f.Settle = []string{"CPU time per process or cgroup over the same minute."}
	return f
}

// fromRun reports whether a value is a run's, which keeps no file as it stands.
func fromRun(v evidence.Value) bool {
	return slices.ContainsFunc(v.From, func(s evidence.Source) bool { return strings.HasPrefix(s.Field, "samples.") })
}

// planCPU reads CpuPercentage of a plan.
func planCPU(l *look, a *answer) {
	for _, s := range l.shares("CpuPercentage") {
		above := lastingAbove(s, cpuFull)
		var w words
		if !above.Known {
			if s.Max().Below(cpuQuiet) {
				a.fine(CPU, "CpuPercentage"+ofWhom(s)+" is "+w.n("CpuPercentage", s.Last())+", at most "+w.n("highest CpuPercentage", s.Max())+".", &w)
			}
			continue
		}
		if len(l.EventsOf(evidence.StartTimeout, evidence.ContainerExited, evidence.ContainerKilled)) > 0 {
			a.note(CPU, "CpuPercentage"+ofWhom(s)+" is "+w.n("CpuPercentage", s.Last())+": starts that are repeated use it up.", &w)
			continue
		}
		f := &Finding{}
		f.What = "The plan's CPUs" + ofWhom(s) + " are " + f.n("CpuPercentage", s.Last()) + " busy, for " + f.count("readings above", above, "reading") + " of the metric."
		f.betweenSamples(s.Points[len(s.Points)-int(above.Number):])
		f.level(Inferred, "a platform's average per minute, which does not tell who waits")
		f.Cause = "More work than the plan's CPUs can do, or starts that repeat."
		f.Now = []string{"See whether apps are being built, started or restarted in these minutes."}
		f.Properly = []string{"Fewer apps on the plan, or a larger size."}
		f.Settle = []string{"/proc/stat and /proc/pressure/cpu from inside; starts and restarts in AppServicePlatformLogs."}
		f.not("traffic", "the metric does not tell: compare the request rate of the same minutes")
		a.found(f)
	}
}
