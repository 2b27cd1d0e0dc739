package doctor

import (
	"slices"
	"time"

	"brink/internal/evidence"
)

// started is how long a start took until the app was ready, and the last time
// that a line before that tells.
type started struct{ took, told evidence.Value }

// took lists the starts that got up. How long one took is told: as the line says
// that calls it ready, or by the last line before it that tells how long the
// platform has waited, and the time between the two. Such lines are 15 s and
// more apart.
func (t *try) took() []started {
	var all []started
	for i, up := range t.ready {
		began := t.attemptBegan(up)
		if i > 0 && t.ready[i-1].At.After(began) {
			began = t.ready[i-1].At
		}
		s := started{took: up.Elapsed}
		for _, e := range t.waits {
			if e.At.After(up.At) || !began.IsZero() && !e.At.After(began) || !e.Elapsed.Known {
				continue
			}
			if !up.Elapsed.Known && (!s.told.Known || e.Elapsed.Number > s.told.Number) {
				s = started{told: e.Elapsed, took: e.Elapsed.Plus(evidence.Known(gap(e, up).Seconds(), evidence.Seconds, up.From))}
			}
		}
		if s.took.Known {
			all = append(all, s)
		}
	}
	return all
}

// attemptBegan is the last end of another attempt before one came up.
func (t *try) attemptBegan(up *evidence.Event) time.Time {
	var began time.Time
	for _, e := range slices.Concat(t.late, t.pinged, t.exits) {
		if e.At.Before(up.At) && e.At.After(began) {
			began = e.At
		}
	}
	return began
}

// failedBefore is how long the attempt took that was ended before the last that
// came up, missing if none was within the time in which the platform tries again.
func (t *try) failedBefore() evidence.Value {
	none := evidence.Missing(evidence.NotSeen, "no attempt was ended")
	if len(t.ready) == 0 {
		return none
	}
	up := t.ready[len(t.ready)-1]
	for _, e := range slices.Backward(t.late) {
		if e.At.Before(up.At) && up.At.Sub(e.At) < 2*startLimitMost && e.Elapsed.Known {
			return e.Elapsed
		}
	}
	return none
}

// startLimitMost is the longest that a start may be given on App Service.
//
// https://learn.microsoft.com/azure/app-service/reference-app-settings
const startLimitMost = 1800 * time.Second
