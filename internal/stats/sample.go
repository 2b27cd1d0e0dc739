package stats

import (
	"fmt"
	"math"
)

// Obs is one observation: the summary of one independent repetition.
type Obs struct {
	// X is the value in the metric's unit, or the limit if Censored.
	X float64
	// Censored marks a value that is only known to be at least X, such as a
	// start that had not happened when the time limit ran out.
	Censored bool
}

// AtLeast is an observation that is known only to reach limit.
func AtLeast(limit float64) Obs { return Obs{X: limit, Censored: true} }

// Sample is a set of observations, in any order. No function changes it.
type Sample []Obs

// Of makes a sample of values that were all observed in full.
func Of(xs ...float64) Sample {
	s := make(Sample, len(xs))
	for i, x := range xs {
		s[i].X = x
	}
	return s
}

// Censored is the number of censored observations.
func (s Sample) Censored() int {
	n := 0
	for _, o := range s {
		if o.Censored {
			n++
		}
	}
	return n
}

// Values returns the values, censored ones at their limits.
func (s Sample) Values() []float64 {
	xs := make([]float64, len(s))
	for i, o := range s {
		xs[i] = o.X
	}
	return xs
}

// problem says why the sample cannot be used at all, or is empty.
func (s Sample) problem() string {
	if len(s) == 0 {
		return "no observations"
	}
	for i, o := range s {
		if !finite(o.X) {
			return fmt.Sprintf("observation %d is not a finite number", i+1)
		}
	}
	return ""
}

func firstProblem(samples ...Sample) string {
	for _, s := range samples {
		if p := s.problem(); p != "" {
			return p
		}
	}
	return ""
}

// problemOn adds what the scale demands: a ratio has no meaning at or below zero.
func problemOn(scale Scale, samples ...Sample) string {
	if p := firstProblem(samples...); p != "" {
		return p
	}
	if scale != Ratio {
		return ""
	}
	for _, s := range samples {
		for _, o := range s {
			if o.X <= 0 {
				return fmt.Sprintf("a ratio needs values above zero, not %v", o.X)
			}
		}
	}
	return ""
}

// onScale returns the sample in terms in which the scale is additive.
func (s Sample) onScale(scale Scale) Sample {
	if scale != Ratio {
		return s
	}
	out := make(Sample, len(s))
	for i, o := range s {
		out[i] = Obs{X: math.Log(o.X), Censored: o.Censored}
	}
	return out
}

// commonValues makes samples comparable by rank. With L the lowest limit of any
// censored observation, min(x, L) is known for every observation, so a rank test
// on it is exact; values at or above L become ties at L. The note says so when
// that costs a value which was observed in full.
func commonValues(samples []Sample) (values [][]float64, note string) {
	limit := math.Inf(1)
	for _, s := range samples {
		for _, o := range s {
			if o.Censored {
				limit = min(limit, o.X)
			}
		}
	}
	beyond, censored := 0, 0
	values = make([][]float64, len(samples))
	for i, s := range samples {
		values[i] = make([]float64, len(s))
		censored += s.Censored()
		for j, o := range s {
			values[i][j] = min(o.X, limit)
			if !o.Censored && o.X > limit {
				beyond++
			}
		}
	}
	if censored > 0 {
		note = fmt.Sprintf("%d censored values count as ties at %v", censored, limit)
	}
	if beyond > 0 {
		note += fmt.Sprintf(", and so do %d observed values beyond it", beyond)
	}
	return values, note
}

// spans returns what is known of each observation.
func (s Sample) spans() []span {
	out := make([]span, len(s))
	for i, o := range s {
		out[i] = span{o.X, o.X}
		if o.Censored {
			out[i].hi = math.Inf(1)
		}
	}
	return out
}
