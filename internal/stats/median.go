package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// MedianInterval is the distribution-free interval of the median between the
// k-th smallest and the k-th largest observation, with the largest k whose exact
// binomial level 1-2·P(B < k), B ~ Bin(n, ½), reaches the asked one (Hollander,
// Wolfe and Chicken, Nonparametric Statistical Methods, 3.6). benchmath has such
// an interval too, but leans it to the left and approximates it beyond n = 30.
//
// Where n is too small for the level there is no interval and the Reason names
// the n that would do.
func MedianInterval(s Sample, level float64) Interval {
	if p := s.problem(); p != "" {
		return noInterval(p)
	}
	if p := levelProblem(level); p != "" {
		return noInterval(p)
	}
	n := len(s)
	k, reached := medianOrder(n, level)
	if k == 0 {
		return noInterval(fmt.Sprintf("n too small: a %s interval of the median needs %d observations, not %d",
			percent(level), medianNeeds(level), n))
	}
	return orderInterval(s.spans(), k, reached)
}

// medianOrder returns the rank from either end, or 0 if even the extremes do
// not reach the level.
func medianOrder(n int, level float64) (k int, reached float64) {
	b := distuv.Binomial{N: float64(n), P: 0.5}
	tail := (1 - level) / 2 * (1 + slack)
	for k < n/2 && b.CDF(float64(k)) <= tail {
		k++
	}
	if k == 0 {
		return 0, 0
	}
	return k, max(level, 1-2*b.CDF(float64(k-1)))
}

// medianNeeds is the smallest n with 1-2^(1-n) ≥ level.
func medianNeeds(level float64) int {
	return max(2, int(math.Ceil(1-math.Log2(1-level)-slack)))
}
