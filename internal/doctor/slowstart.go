package doctor

import (
	"fmt"
	"slices"

	"brink/internal/evidence"
)

// startGrowth: a start time that doubles is the first sign of memory pressure
// (published guidance), before latency or errors.
const startGrowth = 2

// startGrown is in seconds, so that a start of two seconds may take four.
const startGrown = 30

var slowStart = Rule{
	Mode:  SlowStart,
	Needs: anyOf(evidence.HasPlatformLog, evidence.HasServerLog, evidence.HasMetrics),
	Judge: func(l *look, a *answer) {
		for _, t := range l.tries() {
			judgeSlowStart(l, a, t)
		}
		judgeStartupProbes(l, a)
		slowByItself(l, a)
		slowLadder(l, a)
	},
}

func judgeSlowStart(l *look, a *answer, t *try) {
	if len(t.late) > 0 && !t.recovered() {
		asked, _ := t.asked()
		doors := l.doors(t)
		if len(doors) > 0 && !slices.ContainsFunc(doors, func(d door) bool { return d.port == asked || asked == 0 }) || len(doors) == 0 && !t.works() ||
			len(t.exits) > 0 || len(t.failed)+len(t.inUse)+len(t.pull) > 0 || len(doors) > 0 {
			return
		}
		a.found(limitTooShort(l, t))
		return
	}
	if len(t.ready) == 0 {
		return
	}
	took := t.took()
	if len(took) == 0 {
		return
	}
	first, last := took[0], took[len(took)-1]
	switch {
	case last.took.AtLeast(slowBoot):
		f := slowButUp(l, t, last.took)
		f.see("elapsed time, as last told", last.told)
		a.found(f)
	case len(took) >= 2 && last.took.Number >= startGrowth*first.took.Number && last.took.Number-first.took.Number >= startGrown:
		f := slowButUp(l, t, last.took)
		f.What = "Starts of the app take longer and longer: " + f.n("start time", last.took) + " where they took " + f.n("start time, first", first.took) + "."
		f.see("elapsed time, as last told", last.told)
		f.see("elapsed time, as first told", first.told)
		a.found(f)
	}
}

func limitTooShort(l *look, t *try) *Finding {
	f := &Finding{Subject: t.app}
	limit, set := l.startLimit()
	f.What = "The app was still starting when the platform ended it"
	if v := t.lasted(); v.Known {
		f.What += " after " + f.n("start time", v)
	}
	f.What += ": it was alive and at work until then."
	f.n("lines of its own", countOf(t.speaks))
	f.between(stretch(slices.Concat(t.speaks, t.late)))
	f.level(Inferred, "it wrote to its log, with no error and no exit, until the limit; that it would have come up was not seen")
	f.Cause = "Its start (loading a model, filling caches, migrations) takes longer than the limit"
	if set && within(t.lasted(), limit, 0.05) {
		f.Cause += " of " + f.n(limitSetting, limit)
	} else if set {
		f.not("the limit of "+f.n(limitSetting, limit)+" that a setting names", "it was ended at another time; that setting did not hold then")
	}
	f.Cause += ", and each new attempt begins again from nothing."
	if s, ok := l.Config.Setting("start_seconds"); ok && s.Value.Known {
		took := s.Value
		took.Unit = evidence.Seconds
		f.What += " A start that was let took " + f.n("start time later", took) + "."
	}
	f.not("a crash", "no line says that it exited, and no error stands in its log")
	f.not("a wrong port", "it had not come to listen at all; no port differs")
	f.Now = []string{"Raise " + limitSetting + " (to 1800 at most) above the time of a start."}
	f.Properly = []string{"Listen first and load afterwards, or keep what is loaded in the image.", "See whether memory is short while it starts: that alone makes starts several times longer."}
	f.Settle = []string{"One start with a limit of 1800 s: how long it takes.", "Memory and swap traffic while it starts."}
	return f
}

// slowByItself judges what the app's framework says of its own start, where no
// platform has timed it.
func slowByItself(l *look, a *answer) {
	if len(a.findings) > 0 {
		return
	}
	var last *evidence.Event
	for _, e := range l.EventsOf(evidence.WorkerReady) {
		if e.Elapsed.Known && (last == nil || e.Elapsed.Number > last.Elapsed.Number) {
			last = e
		}
	}
	switch {
	case last == nil:
	case last.Elapsed.AtLeast(slowBoot):
		t := &try{app: last.App, ready: []*evidence.Event{last}}
		f := slowButUp(l, t, last.Elapsed)
		f.level(Observed, "the app's own log says how long its start took")
		a.found(f)
	default:
		var w words
		a.fine(Starts, "The app says that its start took "+w.n("start time", last.Elapsed)+" at most.", &w)
	}
}

func slowButUp(l *look, t *try, took evidence.Value) *Finding {
	f := &Finding{Subject: t.app}
	f.What = "The app needed " + f.n("start time", took) + " to start; it is up now."
	f.between(stretch(slices.Concat(t.waits, t.ready)))
	f.level(Observed, "the platform timed it")
	f.followed = "What it follows from makes every start take longer."
	f.Cause = "A start of more than two minutes is most often a machine short of memory while it starts, or a start that loads much."
	if limit, set := l.startLimit(); set {
		f.What += " The limit is " + f.n(limitSetting, limit) + "."
	} else if took.AtLeast(0.75 * startLimit) {
		f.What += fmt.Sprintf(" The platform's usual limit is %d s.", startLimit)
	}
	if v := t.failedBefore(); v.Known {
		f.What += " An attempt before that was ended after " + f.n("start time, ended", v) + "."
		f.not("a failure", "the last attempt came up; that one before did not says how near the limit is")
	} else {
		f.not("a failure", "it came up by itself")
	}
	f.Now = []string{"Do not start other apps of the same plan at the same time."}
	f.Properly = []string{"A lighter start, and more of what it waits for while it starts: memory (fewer apps on the plan, or a larger one), or CPU time (a higher quota)."}
	f.Settle = []string{"Start times of the past weeks: whether they grow.", "/proc/pressure/memory and /proc/pressure/cpu, and nr_throttled in cpu.stat, during a start."}
	return f
}

// slowLadder looks at tables of steps in which start times grow.
func slowLadder(l *look, a *answer) {
	for i := range l.Tables {
		t := &l.Tables[i]
		column := t.Column("cold_start")
		if column < 0 || len(t.Rows) < 2 {
			continue
		}
		var first, last evidence.Value
		lastRow := 0
		for r := range t.Rows {
			v := t.Value(r, "cold_start")
			if !v.Known {
				continue
			}
			if !first.Known {
				first = v
			}
			last, lastRow = v, r
		}
		if !first.Known || last.Number < startGrowth*first.Number {
			continue
		}
		f := &Finding{}
		f.What = "Starts take " + f.n("start time, last", last) + " where they took " + f.n("start time, first", first)
		if label := t.Rows[lastRow].Label; label != "" {
			f.What += " (" + label + ")"
		}
		f.What += "."
		f.level(Observed, "each figure is of one step; one repetition carries no more")
		f.Cause = "Each start has to wait for memory that others hold."
		f.not("slower code", "the app is the same in all steps")
		f.Now = []string{"Start apps one after another."}
		f.Properly = []string{"Fewer apps or more memory."}
		f.Settle = []string{"The same ladder, repeated."}
		a.found(f)
	}
}
