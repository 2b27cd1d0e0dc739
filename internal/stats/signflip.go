package stats

import (
	"fmt"
	"math"
	"slices"
)

// Contrast is on against off within one repetition: the difference of the means,
// or on Ratio the quotient of the geometric means. In the orders ABBA and BAAB the
// means cancel a drift that is linear in time. Censored values make it a bound:
// from below when on is censored, from above when off is.
func Contrast(off, on Sample, scale Scale) Estimate {
	if p := problemOn(scale, off, on); p != "" {
		return unknown(p)
	}
	a, b := Mean(off.onScale(scale)).span(), Mean(on.onScale(scale)).span()
	e := span{b.lo - a.hi, b.hi - a.lo}.estimate("censored values take part in it")
	if scale == Ratio {
		e = e.through(math.Exp)
	}
	return e
}

// SignFlipTest is a test of contrasts, one per repetition, against no effect.
type SignFlipTest struct {
	// N is the number of contrasts; Positive and Negative count those whose
	// direction is known and not nil.
	N, Positive, Negative int
	// P is two-sided, PGreater for contrasts above no effect, PLess for below;
	// 1 if there is a Reason.
	P, PGreater, PLess float64
	// MinP is the smallest two-sided P that could have come out.
	MinP float64
	// Effect is the Hodges-Lehmann estimate (the median of the Walsh
	// averages) and the interval that belongs to the test.
	Effect Shift
	// Note is a caveat that leaves the test valid.
	Note string
	// Reason says why there is no test, and is empty if there is one.
	Reason string
}

// maxContrasts bounds the work for the exact distribution.
const maxContrasts = 300

// SignFlip tests whether contrasts are symmetric around no effect (0 on Points, 1
// on Ratio) by flipping signs: the sum of the signed ranks against its exact
// distribution over all 2^n flips. It is Wilcoxon's signed-rank test conditional on
// ties, with zeros ranked but never counted (Pratt 1959). The interval lies between
// Walsh averages (Tukey; Hollander, Wolfe and Chicken, 3.1-3.3).
//
// A bound whose direction is known counts as a tie at the smallest such bound. If
// a contrast's direction is not known there is no test, though there may be an
// interval.
func SignFlip(contrasts []Estimate, scale Scale, level float64) SignFlipTest {
	t := SignFlipTest{N: len(contrasts), P: 1, PGreater: 1, PLess: 1, MinP: 1}
	spans, problem := contrastSpans(contrasts, scale)
	if problem != "" {
		t.Reason = problem
		t.Effect = Shift{Scale: scale, Estimate: unknown(problem), Interval: noInterval(problem)}
		return t
	}
	t.Effect = walshShift(spans, scale, level)
	signed, note, undirected := signedMagnitudes(spans)
	for _, d := range signed {
		switch {
		case d > 0:
			t.Positive++
		case d < 0:
			t.Negative++
		}
	}
	if undirected > 0 {
		t.Reason = fmt.Sprintf("the direction of %d of %d contrasts is not known", undirected, t.N)
		return t
	}
	t.Note = note
	weights, sum := signedRanks(signed)
	p := tailsOf(signedRankNull(weights), sum)
	t.P, t.PGreater, t.PLess, t.MinP = p.two, p.greater, p.less, p.least
	return t
}

// SignFlipMinP is the two-sided p of n contrasts that all agree: 2^(1-n).
func SignFlipMinP(n int) float64 {
	if n < 1 {
		return 1
	}
	return math.Exp2(float64(1 - n))
}

func contrastSpans(contrasts []Estimate, scale Scale) ([]span, string) {
	if len(contrasts) == 0 {
		return nil, "no contrasts"
	}
	if len(contrasts) > maxContrasts {
		return nil, fmt.Sprintf("%d contrasts are more than the %d that can be tested exactly", len(contrasts), maxContrasts)
	}
	spans := make([]span, len(contrasts))
	for i, c := range contrasts {
		if !finite(c.X) || !finite(c.Upper) {
			return nil, fmt.Sprintf("contrast %d is not a finite number", i+1)
		}
		if scale == Ratio && c.Known() && c.X <= 0 {
			return nil, fmt.Sprintf("a ratio needs contrasts above zero, not %v", c.X)
		}
		if scale == Ratio {
			c = c.through(math.Log)
		}
		spans[i] = c.span()
	}
	return spans, ""
}

func walshShift(spans []span, scale Scale, level float64) Shift {
	averages := make([]span, 0, len(spans)*(len(spans)+1)/2)
	for i, a := range spans {
		for _, b := range spans[i:] {
			averages = append(averages, span{a.lo/2 + b.lo/2, a.hi/2 + b.hi/2})
		}
	}
	s := Shift{Scale: scale, Estimate: quantileOf(averages, 0.5)}
	s.Interval = walshInterval(averages, len(spans), level)
	if scale == Ratio {
		s.Estimate, s.Interval = s.Estimate.through(math.Exp), s.Interval.through(math.Exp)
	}
	return s
}

func walshInterval(averages []span, n int, level float64) Interval {
	if p := levelProblem(level); p != "" {
		return noInterval(p)
	}
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i + 1
	}
	k, reached := criticalRank(signedRankNull(ranks), level)
	if k == 0 {
		return noInterval(fmt.Sprintf("n too small: %d contrasts reach at most %s, not %s",
			n, percent(1-SignFlipMinP(n)), percent(level)))
	}
	return orderInterval(averages, k, reached)
}

// signedMagnitudes returns the contrasts, cut at the smallest magnitude that is
// only a bound: an odd function, which leaves symmetry around zero as it was.
func signedMagnitudes(spans []span) (signed []float64, note string, undirected int) {
	limit := math.Inf(1)
	bounds := 0
	for _, s := range spans {
		if s.lo == s.hi {
			continue
		}
		if nearest := max(s.lo, -s.hi); nearest > 0 {
			limit = min(limit, nearest)
			bounds++
		}
	}
	for _, s := range spans {
		switch {
		case s.lo == s.hi || s.lo > 0:
			signed = append(signed, max(-limit, min(limit, s.lo)))
		case s.hi < 0:
			signed = append(signed, max(-limit, s.hi))
		default:
			undirected++
		}
	}
	if bounds > 0 {
		note = fmt.Sprintf("%d contrasts are bounds and count as ties at the smallest", bounds)
	}
	return signed, note, undirected
}

// signedRanks returns the doubled midranks of the magnitudes that are not zero,
// and the sum of those of the positive ones.
func signedRanks(signed []float64) (weights []int, sum int) {
	magnitudes := make([]float64, len(signed))
	for i, d := range signed {
		magnitudes[i] = math.Abs(d)
	}
	ranks := pool([][]float64{magnitudes}).doubledRanks()
	sorted := slices.Sorted(slices.Values(magnitudes))
	for _, d := range signed {
		if d == 0 {
			continue
		}
		at, _ := slices.BinarySearch(sorted, math.Abs(d))
		weights = append(weights, ranks[at])
		if d > 0 {
			sum += ranks[at]
		}
	}
	return weights, sum
}
