package stats

import (
	"fmt"
	"math"
	"slices"
)

// Holm returns the p values adjusted for testing all of them at once: step-down
// Bonferroni, in the order given (Holm 1979, Scand. J. Statist. 6, 65-70). Reject
// where the adjusted value is below the level. A declared hypothesis whose test
// could not be computed belongs in the family with p = 1. It is an error if a
// value does not lie between 0 and 1.
func Holm(ps []float64) ([]float64, error) {
	order := make([]int, len(ps))
	for i, p := range ps {
		if !(p >= 0 && p <= 1) {
			return nil, fmt.Errorf("p value %d must lie between 0 and 1, not %v", i+1, p)
		}
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case ps[i] < ps[j]:
			return -1
		case ps[i] > ps[j]:
			return 1
		}
		return 0
	})
	adjusted := make([]float64, len(ps))
	highest := 0.0
	for rank, i := range order {
		highest = max(highest, min(1, float64(len(ps)-rank)*ps[i]))
		adjusted[i] = highest
	}
	return adjusted, nil
}

// HolmCapacity is how many hypotheses may be tested together so that one with
// the smallest possible p, minP, can still come out below alpha when no other
// does: 23 for six repetitions against six at 0.05, 6 for five, 1 for four.
func HolmCapacity(minP, alpha float64) int {
	if !(minP > 0 && minP < alpha && alpha < 1) {
		return 0
	}
	n := int(min(alpha/minP, math.MaxInt32))
	if float64(n)*minP >= alpha {
		n--
	}
	return n
}
