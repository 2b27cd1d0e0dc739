package traffic

import (
	"math"
	"math/rand/v2"
	"time"
)

// schedule yields the due instants of a run, as offsets from its start, in
// ascending order. It ends by returning false and is not asked again.
type schedule func() (offset time.Duration, ok bool)

// schedule returns the spec's due instants. Sequential traffic has none: each of
// its requests is due when the one before it has ended.
func (s Spec) schedule() schedule {
	switch s.Kind {
	case KindSteady:
		return s.bounded(func(i int64) time.Duration { return time.Duration(i) * s.Every })
	case KindRate:
		if s.Arrivals == ArrivalsPoisson {
			return s.bounded(poisson(s.Rate, s.Seed))
		}
		// From the index and not from a running sum, so that rounding to whole
		// nanoseconds never adds up.
		return s.bounded(func(i int64) time.Duration {
			return time.Duration(math.Round(float64(i) * float64(time.Second) / s.Rate))
		})
	case KindBatch:
		return s.bounded(func(i int64) time.Duration { return time.Duration(i) * s.Stagger })
	}
	return s.bounded(func(int64) time.Duration { return 0 })
}

// bounded ends a sequence of offsets at the spec's count and duration.
func (s Spec) bounded(offset func(i int64) time.Duration) schedule {
	var i int64
	return func() (time.Duration, bool) {
		if s.Count > 0 && i == int64(s.Count) {
			return 0, false
		}
		at := offset(i)
		i++
		return at, s.Duration == 0 || at < s.Duration
	}
}

// poisson returns the arrivals of a Poisson process: gaps that are independent
// and exponential with mean 1/rate. The same seed gives the same arrivals.
func poisson(rate float64, seed int64) func(int64) time.Duration {
	rng := rand.New(rand.NewPCG(uint64(seed), 0))
	at := 0.0 // seconds
	return func(int64) time.Duration {
		at += rng.ExpFloat64() / rate
		return time.Duration(at * float64(time.Second))
	}
}
