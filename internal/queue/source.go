package queue

import (
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Draw gives the next of a stream of durations: services, patiences. What is
// drawn from the same rand.Rand is independent; two that were seeded alike move
// together. A parameter without sense, such as a negative mean, makes a stream
// at which Simulate returns an error.
type Draw func() time.Duration

// Constant always gives d.
func Constant(d time.Duration) Draw {
	return func() time.Duration { return d }
}

// Exponential draws from the exponential distribution.
func Exponential(r *rand.Rand, mean time.Duration) Draw {
	return exponential(r, float64(mean))
}

func exponential(r *rand.Rand, nanoseconds float64) Draw {
	return func() time.Duration { return duration(r.ExpFloat64() * nanoseconds) }
}

// LogNormal draws from the log-normal distribution with this mean and this
// coefficient of variation (standard deviation over mean, 0 or more).
func LogNormal(r *rand.Rand, mean time.Duration, cv float64) Draw {
	if cv < 0 {
		cv = math.NaN()
	}
	variance := math.Log1p(cv * cv)
	mu, sigma := math.Log(float64(mean))-variance/2, math.Sqrt(variance)
	return func() time.Duration { return duration(math.Exp(mu + sigma*r.NormFloat64())) }
}

// Empirical draws from what was seen, with replacement. It keeps a copy.
func Empirical(r *rand.Rand, seen []time.Duration) (Draw, error) {
	if len(seen) == 0 {
		return nil, errors.New("queue: nothing was seen to draw from")
	}
	seen = slices.Clone(seen)
	return func() time.Duration { return seen[r.IntN(len(seen))] }, nil
}

// duration rounds to whole nanoseconds. What is not a number or does not fit
// becomes the most negative duration, which Simulate never accepts.
func duration(nanoseconds float64) time.Duration {
	if !(nanoseconds < math.MaxInt64) {
		return math.MinInt64
	}
	return time.Duration(math.Round(nanoseconds))
}

// Requests gives every arrival a service. Recorded arrivals are
// slices.Values of their times.
func Requests(arrivals iter.Seq[time.Duration], service Draw) iter.Seq[Request] {
	return func(yield func(Request) bool) {
		for at := range arrivals {
			if !yield(Request{At: at, Service: service()}) {
				return
			}
		}
	}
}

// Poisson arrives at random, rate times a second on average, without end. The
// same source must not be ranged over twice: it goes on drawing from r.
func Poisson(r *rand.Rand, rate float64) iter.Seq[time.Duration] {
	gap := exponential(r, float64(time.Second)/rate)
	return func(yield func(time.Duration) bool) {
		for at := gap(); yield(at); at += gap() {
		}
	}
}

// Every arrives at 0 and then after each interval, without end. An interval of
// 0 makes a batch that arrives at once.
func Every(interval time.Duration) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		for at := time.Duration(0); yield(at); at += interval {
		}
	}
}

// First keeps the first n arrivals.
func First(n int, arrivals iter.Seq[time.Duration]) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		if n < 1 {
			return
		}
		left := n
		for at := range arrivals {
			if left--; !yield(at) || left == 0 {
				return
			}
		}
	}
}

// Until keeps the arrivals before the end.
func Until(end time.Duration, arrivals iter.Seq[time.Duration]) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		for at := range arrivals {
			if at >= end || !yield(at) {
				return
			}
		}
	}
}
