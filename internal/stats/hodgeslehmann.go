package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Shift is by how much b differs from a base a.
type Shift struct {
	// Scale gives the meaning of the numbers: on Points they are b-a, on
	// Ratio b/a.
	Scale    Scale
	Estimate Estimate
	Interval Interval
}

// maxPairs bounds the memory for pairwise differences.
const maxPairs = 4_000_000

// HodgesLehmann estimates the shift from a to b as the median of all pairwise
// differences, with Moses' distribution-free interval between the k-th smallest
// and k-th largest of them (Hollander, Wolfe and Chicken, 4.2 and 4.3). On Ratio
// it works on logarithms and returns quotients. Ties make the interval wider than
// it needs to be, never narrower.
//
// Differences with a censored value are known from one side; where they decide,
// the estimate is a bound and the end of the interval open.
func HodgesLehmann(a, b Sample, scale Scale, level float64) Shift {
	s := Shift{Scale: scale}
	problem := problemOn(scale, a, b)
	if problem == "" && len(a)*len(b) > maxPairs {
		problem = fmt.Sprintf("%d and %d observations make too many pairs", len(a), len(b))
	}
	if problem != "" {
		s.Estimate, s.Interval = unknown(problem), noInterval(problem)
		return s
	}
	diffs := differences(a.onScale(scale), b.onScale(scale))
	s.Estimate = quantileOf(diffs, 0.5)
	s.Interval = mosesInterval(diffs, len(a), len(b), level)
	if scale == Ratio {
		s.Estimate, s.Interval = s.Estimate.through(math.Exp), s.Interval.through(math.Exp)
	}
	return s
}

// differences returns what is known of b-a for all pairs.
func differences(a, b Sample) []span {
	diffs := make([]span, 0, len(a)*len(b))
	for _, x := range a.spans() {
		for _, y := range b.spans() {
			diffs = append(diffs, span{y.lo - x.hi, y.hi - x.lo})
		}
	}
	return diffs
}

func mosesInterval(diffs []span, n, m int, level float64) Interval {
	if p := levelProblem(level); p != "" {
		return noInterval(p)
	}
	if max(n, m) > exactLimit {
		variance := float64(n) * float64(m) * float64(n+m+1) / 12
		iv := orderInterval(diffs, approximateRank(len(diffs), variance, level), level)
		iv.Reason = joinNotes(iv.Reason, "normal approximation")
		return iv
	}
	k, reached := criticalRank(uNull(n, m), level)
	if k == 0 {
		return noInterval(fmt.Sprintf("n too small: %d and %d observations reach at most %s, not %s",
			n, m, percent(1-MannWhitneyMinP(n, m)), percent(level)))
	}
	return orderInterval(diffs, k, reached)
}

// approximateRank is criticalRank for large samples.
func approximateRank(numbers int, variance, level float64) int {
	z := distuv.UnitNormal.Quantile((1 + level) / 2)
	return max(1, int(math.Floor(float64(numbers)/2-z*math.Sqrt(variance))))
}
