package measure

import (
	"math"

	"brink/internal/record"
)

// busyWorkers accumulates what the gauge saw of the apps' workers.
type busyWorkers struct {
	// busy and workers are worker nanoseconds.
	busy, workers float64
	// sum is how many were busy in all apps together.
	sum  gauge
	last map[string]busyReading
}

type busyReading struct{ at, busy, workers int64 }

// add takes a reading of an app. What it shows is taken to hold until the
// app's next one.
func (b *busyWorkers) add(x *record.Sample) {
	before, ok := b.last[x.App]
	if x.Busy < 0 || x.Workers < 0 {
		delete(b.last, x.App)
		return
	}
	if ok {
		span := float64(x.AtNs - before.at)
		b.busy += span * float64(before.busy)
		b.workers += span * float64(before.workers)
	}
	b.last[x.App] = busyReading{x.AtNs, x.Busy, x.Workers}
	b.sum.add(b.now())
}

// now is how many workers were busy by the last readings of all apps.
func (b *busyWorkers) now() int64 {
	var sum int64
	for _, l := range b.last {
		sum += l.busy
	}
	return sum
}

// wasted is the time that workers spent on requests which were never answered,
// as far as readings at intervals can tell.
func (s *signals) wasted(r *requests) Value {
	switch {
	case !s.seen:
		return Value{Missing: noSamples}
	case s.busy.workers == 0:
		return Value{Missing: unreadable}
	case r.answers > 0 && r.served.TotalCount() < r.answers:
		return Value{Missing: notSaid}
	}
	return Value{X: math.Max(0, s.busy.busy-r.servedSum) / 1e9, N: s.busy.sum.n}
}
