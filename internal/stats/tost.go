package stats

import (
	"fmt"
	"math"
)

// PairEquivalence is the comparison of two steps within an Equivalence.
type PairEquivalence struct {
	// I and J are the indices of the two steps, I < J.
	I, J int
	// Shift is from I to J, with an interval of level 1-2·alpha.
	Shift Shift
	// P is the larger of the two one-sided exact p values.
	P float64
	// Equivalent: P is below alpha and the interval inside the margin.
	Equivalent bool
	// Reason says why the pair could not be judged.
	Reason string
}

// Equivalence says whether all of several steps are equivalent within a margin.
type Equivalence struct {
	Margin Margin
	Pairs  []PairEquivalence
	// P is for "some pair differs by the margin or more": the largest of the
	// pairs' p values. It needs no correction for the number of pairs.
	P float64
	// Equivalent: every pair is, and nothing is pinned.
	Equivalent bool
	// Pinned lists the steps all of whose values sit on a bound of the
	// metric. Two of them can differ out of sight, so they are no plateau.
	Pinned []int
	// Reason says what stands against equivalence or against an answer.
	Reason string
}

// EquivalentWithin tests all pairs of steps for equivalence by two one-sided exact
// Mann-Whitney tests against the margin's ends (Schuirmann 1987; rank version in
// Wellek, Testing Statistical Hypotheses of Equivalence, 6.2). Steps equivalent as
// a whole are an intersection-union test. bounds are the values at which the metric
// saturates, such as 0 and 100 for percentages.
func EquivalentWithin(steps []Sample, margin Margin, alpha float64, bounds ...float64) Equivalence {
	e := Equivalence{Margin: margin, P: 1}
	e.Reason = equivalenceProblem(steps, margin, alpha)
	if e.Reason != "" {
		return e
	}
	e.P, e.Equivalent = 0, true
	for i := range steps {
		for j := i + 1; j < len(steps); j++ {
			pair := equivalentPair(steps[i], steps[j], margin, alpha)
			pair.I, pair.J = i, j
			e.Pairs = append(e.Pairs, pair)
			e.P = max(e.P, pair.P)
			e.Equivalent = e.Equivalent && pair.Equivalent
			e.Reason = firstReason(e.Reason, pair.Reason)
		}
	}
	e.Pinned = pinned(steps, bounds)
	if len(e.Pinned) >= 2 {
		e.P, e.Equivalent = 1, false
		e.Reason = fmt.Sprintf("%d of %d steps are pinned at a bound of the metric", len(e.Pinned), len(steps))
	}
	return e
}

func equivalenceProblem(steps []Sample, margin Margin, alpha float64) string {
	for _, p := range []string{
		stepsProblem(steps, 2), margin.problem(), levelProblem(alpha), problemOn(margin.Scale, steps...),
	} {
		if p != "" {
			return p
		}
	}
	if alpha >= 0.5 {
		return fmt.Sprintf("alpha must be below 0.5, not %v", alpha)
	}
	return ""
}

func equivalentPair(a, b Sample, margin Margin, alpha float64) PairEquivalence {
	lo, hi := margin.Equivalent()
	pair := PairEquivalence{Shift: HodgesLehmann(a, b, margin.Scale, 1-2*alpha)}
	above := MannWhitney(a.moved(margin.Scale, lo), b)
	below := MannWhitney(a.moved(margin.Scale, hi), b)
	pair.Reason = firstReason(above.Reason, below.Reason)
	pair.P = max(above.PGreater, below.PLess)
	pair.Equivalent = pair.P < alpha && pair.Shift.Interval.Inside(lo, hi)
	if !pair.Shift.Interval.Bounded() {
		pair.Reason = firstReason(pair.Reason, pair.Shift.Interval.Reason)
	}
	return pair
}

// moved shifts a sample by a difference or a factor.
func (s Sample) moved(scale Scale, by float64) Sample {
	out := make(Sample, len(s))
	for i, o := range s {
		out[i] = Obs{X: o.X + by, Censored: o.Censored}
		if scale == Ratio {
			out[i].X = o.X * by
		}
	}
	return out
}

func pinned(steps []Sample, bounds []float64) []int {
	var at []int
	for i, s := range steps {
		for _, b := range bounds {
			if allAt(s, b) {
				at = append(at, i)
				break
			}
		}
	}
	return at
}

func allAt(s Sample, bound float64) bool {
	for _, o := range s {
		if math.Abs(o.X-bound) > slack*max(1, math.Abs(bound)) {
			return false
		}
	}
	return true
}

func firstReason(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
