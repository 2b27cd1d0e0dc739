package doctor

import (
	"slices"
	"time"

	"brink/internal/evidence"
)

// planPressure reads MemoryPercentage of a plan.
func planPressure(l *look, a *answer) {
	for _, s := range l.shares("MemoryPercentage") {
		var w words
		last, top := s.Last(), s.Max()
		above := lastingAbove(s, planRisk)
		switch {
		case above.Known && !l.headroom.AtLeast(lowHeadroom):
			f := &Finding{}
			f.What = "The plan's memory" + ofWhom(s) + " is " + f.n("MemoryPercentage", last) + " in use, and was above " + decimals(planRisk) + " % for " + f.count("readings above", above, "reading") + " of the metric."
			f.see("highest MemoryPercentage", top)
			f.level(Inferred, "a platform's average per minute, not the kernel's own figures")
			f.betweenSamples(s.Points)
			f.Cause = "More is in use than leaves room for a start; the metric counts what cannot be freed (1 − MemAvailable / MemTotal)."
			f.not("harmless cache", "on Linux plans the metric leaves reclaimable cache out")
			pressureAdvice(f)
			f.Settle = []string{"/proc/pressure/memory and /proc/vmstat twice, from inside the app."}
			a.found(f)
		case last.Below(planWatch) && top.Below(planRisk):
			a.fine(Memory, "MemoryPercentage"+ofWhom(s)+" is "+w.n("MemoryPercentage", last)+", at most "+w.n("highest MemoryPercentage", top)+".", &w)
		case l.headroom.AtLeast(lowHeadroom):
			a.note(Memory, "MemoryPercentage"+ofWhom(s)+" is "+w.n("MemoryPercentage", last)+", at most "+w.n("highest MemoryPercentage", top)+".", &w)
		default:
			a.suspect(Memory, "MemoryPercentage"+ofWhom(s)+" is "+w.n("MemoryPercentage", last)+", at most "+w.n("highest MemoryPercentage", top)+". Above 80 the figure alone tells little: it can stand still while the kernel swaps.",
				"/proc/vmstat twice and /proc/pressure/memory from inside the app; start times.", &w)
		}
	}
}

// ofWhom names the plan or instance that a series is of, where it tells.
func ofWhom(s *evidence.Series) string {
	if s.App == "" {
		return ""
	}
	return " (" + s.App + ")"
}

// shares are the series of a metric that is a share, one for each resource: the
// average where there is one, since the highest of an hour is one instant's.
// Sums and counts of shares mean nothing.
func (l *look) shares(metric string) []*evidence.Series {
	all := l.SeriesOf(metric)
	averaged := map[string]bool{}
	for _, s := range all {
		if s.Of == "average" {
			averaged[s.From.File+"\x00"+s.App] = true
		}
	}
	return slices.DeleteFunc(all, func(s *evidence.Series) bool {
		return s.Of == "total" || s.Of == "count" || s.Of != "average" && averaged[s.From.File+"\x00"+s.App]
	})
}

const (
	// lastsFor is how long a metric must stay above a threshold to be a state,
	// and lastsPoints how many points of a minute that is.
	lastsFor    = 5 * time.Minute
	lastsPoints = 5
)

// lastingAbove counts the points above x at the end of a series; missing if they
// do not last, for a minute is no state. Two averages of a longer interval do.
func lastingAbove(s *evidence.Series, x float64) evidence.Value {
	n := 0
	for i := len(s.Points) - 1; i >= 0 && s.Points[i].Number >= x; i-- {
		n++
	}
	if n < lastsPoints && (n < 2 || s.Of == "maximum" || s.Points[len(s.Points)-1].At.Sub(s.Points[len(s.Points)-n].At) < lastsFor) {
		return evidence.Missing(evidence.NotSeen, "it is not above for long", s.From)
	}
	from := s.From
	from.Line = s.Points[len(s.Points)-n].Line
	return evidence.Known(float64(n), evidence.Events, from)
}
