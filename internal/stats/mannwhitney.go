package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// exactLimit is the largest sample for which distributions are computed in full.
// Beyond it the normal approximation is good to several digits, and results say
// that they use it.
const exactLimit = 100

// RankTest is a Mann-Whitney test of a base a against b.
type RankTest struct {
	// N and M are the numbers of observations in a and b.
	N, M int
	// U counts the pairs in which b exceeds a, ties as one half: 0 to N·M.
	// The U of the other direction is N·M-U.
	U float64
	// P is two-sided: everything at least as far from N·M/2 as U. PGreater
	// is for "b tends to be larger", PLess for "b tends to be smaller". All
	// are 1 if there is a Reason.
	P, PGreater, PLess float64
	// MinP is the smallest two-sided P that these sizes and ties allow.
	MinP float64
	// Exact is false where the normal approximation was used.
	Exact bool
	// Note is a caveat that leaves the test valid, such as censored values.
	Note string
	// Reason says why there is no test, and is empty if there is one.
	Reason string
}

// MannWhitney tests whether a and b come from the same distribution. The p
// values are exact and conditional on the ties (Lehmann, Nonparametrics, 1.4);
// censored values count as ties at the lowest limit. Samples beyond 100
// observations use the normal approximation with correction for ties and
// continuity.
func MannWhitney(a, b Sample) RankTest {
	t := RankTest{N: len(a), M: len(b), P: 1, PGreater: 1, PLess: 1, MinP: 1}
	if t.Reason = firstProblem(a, b); t.Reason != "" {
		return t
	}
	values, note := commonValues([]Sample{a, b})
	t.Note = note
	doubled := doubledU(values[0], values[1])
	t.U = float64(doubled) / 2

	ties := tieSizes(values...)
	var p tails
	if t.Exact = max(t.N, t.M) <= exactLimit; t.Exact {
		p = tailsOf(tiedUNull(ties, t.M), doubled)
	} else {
		t.Note = joinNotes(t.Note, "normal approximation")
		p = approximateTails(float64(doubled)/2, float64(t.N*t.M)/2, uVariance(ties, t.N, t.M))
	}
	t.P, t.PGreater, t.PLess, t.MinP = p.two, p.greater, p.less, p.least
	if len(ties) == 1 {
		t.Note = joinNotes(t.Note, "all values are equal")
	}
	return t
}

// MannWhitneyMinP is the two-sided p of complete separation: the smallest that n
// and m observations without ties can reach. It is 1 for empty samples.
func MannWhitneyMinP(n, m int) float64 {
	if n < 1 || m < 1 {
		return 1
	}
	return min(1, 2/choose(n+m, m))
}

// doubledU counts 2 for each pair in which b exceeds a and 1 for each tie.
func doubledU(a, b []float64) int {
	u := 0
	for _, x := range a {
		for _, y := range b {
			switch {
			case y > x:
				u += 2
			case y == x:
				u++
			}
		}
	}
	return u
}

func uVariance(ties []int, n, m int) float64 {
	total := float64(n + m)
	lost := 0.0
	for _, t := range ties {
		lost += float64(t) * float64(t) * float64(t)
		lost -= float64(t)
	}
	return float64(n) * float64(m) / 12 * (total + 1 - lost/(total*(total-1)))
}

// approximateTails uses the normal distribution with continuity correction of
// one half.
func approximateTails(x, mean, variance float64) tails {
	if variance <= 0 {
		return tails{1, 1, 1, 1}
	}
	sd := math.Sqrt(variance)
	z := func(d float64) float64 { return distuv.UnitNormal.CDF(d / sd) }
	off := math.Abs(x - mean)
	return tails{
		less:    z(x - mean + 0.5),
		greater: z(mean - x + 0.5),
		two:     min(1, 2*z(0.5-off)),
		least:   min(1, 2*z(0.5-mean)),
	}
}

func joinNotes(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}
