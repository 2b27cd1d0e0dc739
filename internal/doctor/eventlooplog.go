package doctor

import (
	"time"

	"brink/internal/evidence"
)

const (
	// stallsSaid lines about different stalls make a habit; one alone may be a
	// start, in which classes and modules are loaded.
	stallsSaid = 2
	// sameStall is within how long of the time that passed a report that is
	// longer by as much is of the same stall: Vert.x reports once a second.
	sameStall = 500 * time.Millisecond
)

// saidStalls judges what loops say of themselves. They report from a tenth of a
// second (asyncio) or two seconds (Vert.x) on; what counts is what users notice.
func saidStalls(l *look, a *answer) {
	said := l.EventsOf(evidence.LoopBlocked)
	if len(said) == 0 {
		return
	}
	longest := said[0].Elapsed
	var stalls []*evidence.Event
	for _, e := range said {
		if e.Elapsed.Known && e.Elapsed.Number > longest.Number {
			longest = e.Elapsed
		}
		if !e.Elapsed.AtLeast(loopOldest) {
			continue
		}
		if n := len(stalls); n > 0 && continues(stalls[n-1], e) {
			stalls[n-1] = e
			continue
		}
		stalls = append(stalls, e)
	}
	if len(stalls) < stallsSaid && !longest.AtLeast(stallLeast) {
		var w words
		a.note(Workers, "The event loop was held for "+w.n("longest", longest)+" at most, by its own account ("+w.count("reports", countOf(said), "line")+").", &w)
		return
	}
	f := &Finding{Subject: said[0].App}
	f.What = "The event loop stood still " + f.count("stalls", countOf(stalls), "time") + ", for " + f.n("longest", longest) + " at the longest, by its own account."
	f.between(stretch(stalls))
	f.level(Observed, "the loop's own watch reports it")
	f.Cause = "Something on the loop computes or waits without giving the turn away; the stack or the task in the same line names it."
	f.not("a slow backend", "waiting in the asynchronous way does not hold the loop; the report is of a turn that did not end")
	f.not("a machine that stands still", "a machine short of CPU or memory stretches every turn; readings of the kernel from the same time would tell")
	loopAdvice(f)
	a.found(f)
}

// continues reports whether a later report is of the stall of an earlier one:
// the loop has been held longer by the time that has passed.
func continues(before, e *evidence.Event) bool {
	if before.Comm == "" || before.Comm != e.Comm || before.At.IsZero() || e.At.IsZero() {
		return false
	}
	longer := time.Duration((e.Elapsed.Number - before.Elapsed.Number) * float64(time.Second))
	return longer > 0 && (e.At.Sub(before.At)-longer).Abs() <= sameStall
}
