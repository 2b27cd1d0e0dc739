package stats

import (
	"fmt"
	"math"
)

// Slope is how a metric changes with an ordered factor.
type Slope struct {
	// Scale gives the meaning of the numbers: on Points they are the change,
	// on Ratio the factor.
	Scale Scale
	// Estimate and Interval are per unit of the factor.
	Estimate Estimate
	Interval Interval
	// Total and TotalInterval are over the whole range of the factor, from
	// its first level to its last: what a smallest effect is held against.
	Total         Estimate
	TotalInterval Interval
}

// TheilSen estimates the slope over the levels of a factor (ascending, one per
// step) as the median of the slopes between all observations of different steps
// (Sen 1968, JASA 63, 1379-1389). The interval inverts the Jonckheere-Terpstra
// test: the number of slopes above the true one is distributed as its J. On Ratio
// the logarithms are fitted. Censored values make bounds, as in HodgesLehmann.
func TheilSen(levels []float64, steps []Sample, scale Scale, level float64) Slope {
	s := Slope{Scale: scale}
	if p := slopeProblem(levels, steps, scale); p != "" {
		s.Estimate, s.Total = unknown(p), unknown(p)
		s.Interval, s.TotalInterval = noInterval(p), noInterval(p)
		return s
	}
	spans, sizes := slopes(levels, steps, scale)
	s.Estimate = quantileOf(spans, 0.5)
	s.Interval = slopeInterval(spans, sizes, level)
	reach := levels[len(levels)-1] - levels[0]
	stretch := func(x float64) float64 { return x * reach }
	s.Total, s.TotalInterval = s.Estimate.through(stretch), s.Interval.through(stretch)
	if scale == Ratio {
		s.Estimate, s.Total = s.Estimate.through(math.Exp), s.Total.through(math.Exp)
		s.Interval, s.TotalInterval = s.Interval.through(math.Exp), s.TotalInterval.through(math.Exp)
	}
	return s
}

func slopeProblem(levels []float64, steps []Sample, scale Scale) string {
	if p := stepsProblem(steps, 2); p != "" {
		return p
	}
	if len(levels) != len(steps) {
		return fmt.Sprintf("%d levels do not fit %d steps", len(levels), len(steps))
	}
	for i, x := range levels {
		if !finite(x) || i > 0 && x <= levels[i-1] {
			return "the levels of the factor must be finite and ascending"
		}
	}
	pairs, before := 0, 0
	for _, s := range steps {
		pairs += before * len(s)
		before += len(s)
	}
	if pairs > maxPairs {
		return fmt.Sprintf("%d observations make too many pairs", before)
	}
	return problemOn(scale, steps...)
}

func slopes(levels []float64, steps []Sample, scale Scale) (spans []span, sizes []int) {
	for j, later := range steps {
		sizes = append(sizes, len(later))
		for i, earlier := range steps[:j] {
			run := levels[j] - levels[i]
			for _, d := range differences(earlier.onScale(scale), later.onScale(scale)) {
				spans = append(spans, span{d.lo / run, d.hi / run})
			}
		}
	}
	return spans, sizes
}

func slopeInterval(spans []span, sizes []int, level float64) Interval {
	if p := levelProblem(level); p != "" {
		return noInterval(p)
	}
	if trendCost(sizes) > exactTrendCost {
		k := approximateRank(len(spans), jonckheereVariance(sizes), level)
		iv := orderInterval(spans, k, level)
		iv.Reason = joinNotes(iv.Reason, "normal approximation")
		return iv
	}
	k, reached := criticalRank(jonckheereNull(sizes), level)
	if k == 0 {
		return noInterval(fmt.Sprintf("n too small: these steps reach at most %s, not %s",
			percent(1-JonckheereMinP(sizes...)), percent(level)))
	}
	return orderInterval(spans, k, reached)
}
