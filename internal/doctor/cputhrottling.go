package doctor

import (
	"math"

	"brink/internal/evidence"
)

const (
	// throttledShare is in percent of the periods in which a cgroup ran. The
	// alert CPUThrottlingHigh of kubernetes-mixin fires above 25.
	throttledShare = 25
	// slowBoot is in seconds; the published checklist calls two minutes slow.
	slowBoot = 120
)

var cpuThrottling = Rule{
	Mode:  CPUThrottling,
	Needs: anyOf(evidence.HasCgroupCPU, evidence.HasContainers, evidence.HasPlatformLog),
	Judge: func(l *look, a *answer) {
		if l.frozen() {
			return
		}
		for _, path := range l.CgroupPaths() {
			judgeThrottling(l, a, path)
		}
	},
}

// judgeThrottling looks at the share of periods in which a cgroup was stopped.
// Periods count only while something in it wants to run, so an idle time does
// not thin the share; the interval of Wilson keeps a few periods from meaning
// much.
//
// https://docs.kernel.org/scheduler/sched-bwc.html
func judgeThrottling(l *look, a *answer, path string) {
	g := l.lastCgroup(path)
	of := func(get func(*evidence.CgroupCPU) evidence.Value) func(*evidence.Reading) evidence.Value {
		return cgroup(path, func(g *evidence.Cgroup) evidence.Value { return get(&g.CPU) })
	}
	periods := l.Delta(of(func(c *evidence.CgroupCPU) evidence.Value { return c.Periods }))
	throttled := l.Delta(of(func(c *evidence.CgroupCPU) evidence.Value { return c.Throttled }))
	stopped := l.Delta(of(func(c *evidence.CgroupCPU) evidence.Value { return c.ThrottledMicros }))
	spanned := periods.Known && throttled.Known
	if !spanned {
		periods, throttled, stopped = g.CPU.Periods, g.CPU.Throttled, g.CPU.ThrottledMicros
	}
	quota := g.CPU.QuotaCPUs()
	if !periods.Above(0) || !throttled.Known {
		switch {
		case g.CPU.QuotaMicros.Unlimited:
			if g.Own || g.Server != "" {
				a.fine(CPU, cgroupTitle(g)+" has no CPU quota.", nil)
			}
		case !periods.Known:
			quotaWithoutCount(l, a, g, quota)
		}
		return
	}
	share := throttled.PercentOf(periods)
	least, most := wilson(throttled.Number, periods.Number)
	var w words
	switch {
	case least >= throttledShare:
		a.found(throttledFinding(l, g, periods, throttled, stopped, quota, spanned))
	case most < throttledShare && !g.Own && g.Server == "" && throttled.AtMost(0):
	case most < throttledShare:
		text := cgroupTitle(g) + " was stopped by its CPU quota in " + w.n("nr_throttled", throttled) + " of " + w.n("nr_periods", periods) + " periods (" + w.n("throttled share", share) + ")"
		if stopped.Known {
			text += ", " + w.n("throttled time", stopped) + " in all"
		}
		a.fine(CPU, text+".", &w)
	default:
		text := cgroupTitle(g) + " has run in " + w.n("nr_periods", periods) + " periods only, and was stopped in " + w.n("nr_throttled", throttled) + " of them"
		if stopped.Known {
			text += ", for " + w.n("throttled time", stopped) + " in all"
		}
		a.cannotTell(CPU, text+": too few for a verdict.", "cpu.stat again after a minute of work, read twice.", &w)
	}
}

func throttledFinding(l *look, g *evidence.Cgroup, periods, throttled, stopped, quota evidence.Value, spanned bool) *Finding {
	f := &Finding{Subject: subjectOf(g)}
	f.What = cgroupTitle(g) + " is stopped by its CPU quota in " + f.n("nr_throttled", throttled) + " of " + f.n("nr_periods", periods) + " periods (" +
		f.n("throttled share", throttled.PercentOf(periods)) + ")"
	s, two := l.Span()
	switch {
	case spanned && two && s.Seconds.Known && stopped.Known:
		f.What += ", " + f.n("throttled time", stopped) + " in " + f.n("time between the readings", s.Seconds)
		if stopped.Number > s.Seconds.Number*1e6 {
			f.What += " (summed over the CPUs that it ran on)"
		}
	case stopped.Known:
		f.What += ", " + f.n("throttled time", stopped) + " in all"
	}
	if each := stopped.Over(throttled); each.Known {
		each.Unit = evidence.Micros
		f.What += ", " + f.n("stop per period", each) + " each time"
	}
	f.What += "."
	if quota.Known {
		f.What += " Its quota is " + f.n("quota", quota) + " CPUs."
		f.not("idle, since its CPU use is low", "it uses what the quota of "+f.n("quota", quota)+" CPUs lets it use")
	}
	if spanned {
		f.over(l)
		f.level(Observed, "counted by the kernel over two readings")
	} else {
		f.Span = "in sum since the cgroup was made; one reading does not tell how it is now"
		f.level(Observed, "counted by the kernel since the cgroup was made; whether it goes on needs a second reading")
		f.Settle = append(f.Settle, "cpu.stat a second time: nr_throttled over nr_periods now.")
	}
	throttleAdvice(f)
	return f
}

func throttleAdvice(f *Finding) {
	f.Cause = "Its threads use up the quota early in each period (100 ms by default) and then stand still until the next, all of them together."
	f.not("a machine that is too slow", "the machine may have idle CPUs all the while; the quota is the limit")
	f.Now = []string{"Raise or lift the CPU limit (cpu.max, --cpus, resources.limits.cpu)."}
	f.Properly = []string{"Set the limit by what a start and a burst need, not by the use at rest: starts often need a whole CPU or more.",
		"Match threads and workers to the quota: more of them than CPUs only use it up sooner."}
	f.Settle = append(f.Settle, "Start times and latencies with the limit lifted for ten minutes.")
}

var startColumn = expression(`(?i)boot|start|warm`)

// quotaWithoutCount looks at a quota whose effect nobody counted: with starts
// or health checks that take too long it is the first suspect.
func quotaWithoutCount(l *look, a *answer, g *evidence.Cgroup, quota evidence.Value) {
	if !quota.Known || !quota.Below(1) {
		return
	}
	kills, late := probeKills(l), l.slowestStart()
	failed := probeTimeouts(l)
	if len(kills)+len(failed) == 0 && !late.AtLeast(slowBoot) {
		var w words
		a.note(CPU, cgroupTitle(g)+" may use "+w.n("quota", quota)+" CPUs; how often that stops it was not seen.", &w)
		return
	}
	f := &Finding{Subject: subjectOf(g)}
	f.What = "A quota of " + f.n("quota", quota) + " CPUs"
	if late.AtLeast(slowBoot) {
		f.What += " makes a start take " + f.n("start time", late)
	} else {
		f.What += " slows the app down"
	}
	if len(kills) > 0 {
		f.What += ", and its health check has it restarted before it can answer (" + f.count("killed by health check", countOf(kills), "kill") + ")"
	} else if len(failed) > 0 {
		f.What += ", and its health check times out (" + f.count("health check time-outs", countOf(failed), "time-out") + ")"
	}
	f.What += "."
	f.see("slowest health answer", l.slowestAnswer())
	f.between(stretch(append(kills, failed...)))
	f.level(Inferred, "a small quota and late answers were seen; how often the quota stopped it was not")
	throttleAdvice(f)
	f.Settle = append([]string{"nr_throttled in cpu.stat, read twice during a start."}, f.Settle...)
	f.Now = append(f.Now, "Give it a startup probe, or a delay as long as a start takes, so that it is not killed while it starts.")
	f.not("a crash of the code", "it is ended from outside, by its health check")
	f.not("out of memory", "nothing here shows a kill for want of memory")
	f.not("a generous limit since it uses little at rest", "a start uses many times what rest does")
	a.found(f)
}

// slowestStart is the longest start that a table or a log tells, in s.
func (l *look) slowestStart() evidence.Value {
	best := evidence.Missing(evidence.NotSeen, "no start was timed")
	add := func(v evidence.Value) {
		if v = inSeconds(v); v.Known && (!best.Known || v.Number > best.Number) {
			best = v
		}
	}
	for i := range l.Tables {
		t := &l.Tables[i]
		for j, c := range t.Columns {
			if !startColumn().MatchString(c.Metric) || c.Unit != "s" && c.Unit != "ms" {
				continue
			}
			for _, row := range t.Rows {
				if j < len(row.Cells) {
					add(row.Cells[j].Number)
				}
			}
		}
	}
	for _, e := range l.EventsOf(evidence.ContainerReady, evidence.WorkerReady) {
		add(e.Elapsed)
	}
	return best
}

var answerColumn = expression(`(?i)health|probe|response|ping`)

// slowestAnswer is the longest time of a health check in a table, in s.
func (l *look) slowestAnswer() evidence.Value {
	best := evidence.Missing(evidence.NotSeen, "no health check was timed")
	for i := range l.Tables {
		t := &l.Tables[i]
		for j, c := range t.Columns {
			if !answerColumn().MatchString(c.Metric) || c.Unit != "s" && c.Unit != "ms" {
				continue
			}
			for _, row := range t.Rows {
				if j < len(row.Cells) {
					if v := inSeconds(row.Cells[j].Number); v.Known && (!best.Known || v.Number > best.Number) {
						best = v
					}
				}
			}
		}
	}
	return best
}

// inSeconds makes seconds of ms; the evidence's own number stays in the file.
func inSeconds(v evidence.Value) evidence.Value {
	if v.Unit == evidence.Millis {
		return v.Times(1e-3, evidence.Seconds)
	}
	v.Unit = evidence.Seconds
	return v
}

// wilson is the 95 % interval of a share of n, in percent.
//
// Wilson, Probable inference, the law of succession, and statistical
// inference, JASA 22 (1927).
func wilson(hits, n float64) (least, most float64) {
	const z = 1.96
	p := hits / n
	mid := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return 100 * max(mid-half, 0), 100 * min(mid+half, 1)
}
