package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Hollander and Wolfe, example 6.2 (Hundal 1969, motivational effect of knowing
// one's output): J = 79. Without ties P(J ≥ 79) = 0.0231 in their table for three
// groups of six; with the ties of the data 400,000 relabelings in NumPy give 0.0207
// one-sided and 0.0417 two-sided.
func TestJonckheereAgreesWithHollanderAndWolfe(t *testing.T) {
	steps := []Sample{Of(40, 35, 38, 43, 44, 41), Of(38, 40, 47, 44, 40, 42), Of(48, 40, 45, 43, 46, 44)}
	got := JonckheereTerpstra(steps, 1)
	if got.J != 79 || got.Pairs != 108 {
		t.Errorf("J = %v of %d pairs, want 79 of 108", got.J, got.Pairs)
	}
	near(t, "PRising", got.PRising, 0.0207, 0.004)
	near(t, "P", got.P, 0.0417, 0.006)
	if got.Exact || got.Note == "" {
		t.Error("17 million relabelings were not drawn but enumerated, or the note is missing")
	}
	if again := JonckheereTerpstra(steps, 1); again != got {
		t.Error("the same seed gives another p")
	}
	near(t, "table", tailsOf(jonckheereNull([]int{6, 6, 6}), 79).greater, 0.0230637126646, 1e-12)
}

// R 4.2.2, by convolution of dwilcox.
func TestJonckheereNullAgreesWithR(t *testing.T) {
	near(t, "3+4+5+2", tailsOf(jonckheereNull([]int{3, 4, 5, 2}), 50).greater, 0.054563293849, 1e-11)
	near(t, "5+5+5+5", tailsOf(jonckheereNull([]int{5, 5, 5, 5}), 100).greater, 0.0498304283272, 1e-11)
}

// With one observation per step J is Kendall's statistic: scipy 1.10.1,
// kendalltau(range(8), y), exact p.
func TestJonckheereOfSingleValuesIsKendall(t *testing.T) {
	var steps []Sample
	for _, y := range []float64{2, 1, 4, 3, 6, 8, 5, 7} {
		steps = append(steps, Of(y))
	}
	got := JonckheereTerpstra(steps, 1)
	near(t, "P", got.P, 0.03115079365079365, 1e-12)
	near(t, "tau", 2*got.J/float64(got.Pairs)-1, 0.6428571428571428, 1e-12)
	near(t, "MinP", got.MinP, 2./40320, 1e-15)
	near(t, "JonckheereMinP", JonckheereMinP(1, 1, 1, 1, 1, 1, 1, 1), 2./40320, 1e-15)
}

// Two steps make it a Mann-Whitney test, ties included.
func TestJonckheereOfTwoStepsIsMannWhitney(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := samples(1, 6, true).Draw(t, "a"), samples(1, 6, true).Draw(t, "b")
		j, u := JonckheereTerpstra([]Sample{a, b}, 1), MannWhitney(a, b)
		if j.J != u.U || math.Abs(j.P-u.P) > 1e-12 || math.Abs(j.PRising-u.PGreater) > 1e-12 || math.Abs(j.MinP-u.MinP) > 1e-12 {
			t.Fatalf("%+v is not %+v", j, u)
		}
	})
}

func TestTrendFollowsTransformsAndReversal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(samples(1, 3, true), 2, 3).Draw(t, "steps")
		got := JonckheereTerpstra(steps, 1)
		sound(t, got)
		var logs, reversed []Sample
		for i := range steps {
			logs = append(logs, steps[i].mapped(math.Log))
			reversed = append(reversed, steps[len(steps)-1-i])
		}
		if same := JonckheereTerpstra(logs, 1); same.J != got.J || same.P != got.P {
			t.Fatalf("logs: %+v became %+v", got, same)
		}
		back := JonckheereTerpstra(reversed, 1)
		if back.J != float64(got.Pairs)-got.J || math.Abs(back.PFalling-got.PRising) > 1e-12 {
			t.Fatalf("reversed: %+v became %+v", got, back)
		}
	})
}

// Hollander and Wolfe, example 9.1 (Smith 1967, cloud seeding): the slope is -0.056;
// scipy 1.10.1 theilslopes gives -0.05625. Kendall's p is 0.2333 two-sided.
func TestTheilSenAgreesWithHollanderAndWolfe(t *testing.T) {
	steps := []Sample{Of(1.26), Of(1.27), Of(1.12), Of(1.16), Of(1.03)}
	s := TheilSen([]float64{1, 2, 3, 4, 5}, steps, Points, 0.95)
	near(t, "slope", s.Estimate.X, -0.05625, 1e-12)
	near(t, "total", s.Total.X, -0.225, 1e-12)
	near(t, "P", JonckheereTerpstra(steps, 1).P, 0.23333333333333334, 1e-12)
	// P(J ≤ 0) = 1/120 and P(J ≤ 1) = 5/120: the extremes are the interval.
	near(t, "lower end", s.Interval.Lo, -0.15, 1e-12)
	near(t, "upper end", s.Interval.Hi, 0.04, 1e-12)
	near(t, "level", s.Interval.Level, 1-2./120, 1e-12)
}

// The slopes sorted and the ranks counted by a program of its own in Python.
func TestTheilSenOverRepeatedSteps(t *testing.T) {
	levels := []float64{2, 4, 6}
	steps := []Sample{Of(76, 78, 75, 77), Of(83, 85, 82, 86), Of(91, 88, 93, 90)}
	s := TheilSen(levels, steps, Points, 0.95)
	wantExact(t, "slope", s.Estimate, 3.5)
	wantInterval(t, "interval", s.Interval, 2.75, 4, 0.9542857142857143)
	wantExact(t, "total", s.Total, 14)
	wantInterval(t, "total", s.TotalInterval, 11, 16, 0.9542857142857143)

	var doubling []Sample
	for i := range steps {
		f := math.Exp2(float64(i))
		doubling = append(doubling, Of(10*f, 11*f, 9*f, 10*f))
	}
	r := TheilSen(levels, doubling, Ratio, 0.95)
	near(t, "factor per unit", r.Estimate.X, math.Sqrt2, 1e-9)
	near(t, "factor in all", r.Total.X, 4, 1e-9)
}

func TestTheilSenWithCensoredSteps(t *testing.T) {
	cut := Sample{AtLeast(230), AtLeast(230), AtLeast(230)}
	s := TheilSen([]float64{1, 2, 3}, []Sample{Of(20, 21, 22), Of(60, 61, 62), cut}, Points, 0.95)
	if s.Estimate.Bound != LowerBound || s.Interval.LoOpen || !s.Interval.HiOpen || s.TotalInterval.Reason == "" {
		t.Errorf("slope %v %v, want a lower bound and an open end", s.Estimate, s.Interval)
	}
}

func TestTheilSenRefusesBadLevels(t *testing.T) {
	for _, levels := range [][]float64{{1}, {2, 1}, {1, 1}, {1, math.NaN()}} {
		if s := TheilSen(levels, []Sample{Of(1), Of(2)}, Points, 0.9); s.Estimate.Known() || s.Estimate.Reason == "" || s.TotalInterval.Known() {
			t.Errorf("levels %v: %v", levels, s.Estimate)
		}
	}
}

func TestTheilSenFollowsShiftAndScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(samples(1, 6, true), 2, 4).Draw(t, "steps")
		levels := []float64{1, 2, 3, 4}[:len(steps)]
		s := TheilSen(levels, steps, Points, 0.9)
		sound(t, s)
		var moved []Sample
		for i, step := range steps {
			moved = append(moved, step.mapped(func(x float64) float64 { return 2*x + 12*levels[i] }))
		}
		m := TheilSen(levels, moved, Points, 0.9)
		if m.Estimate.Bound != s.Estimate.Bound || s.Estimate.Known() && math.Abs(m.Estimate.X-2*s.Estimate.X-12) > 1e-9 {
			t.Fatalf("%v became %v", s.Estimate, m.Estimate)
		}
	})
}

// Ten steps of fifty are approximated; the approximation is checked against the
// exact distribution where that can still be had, at P about 0.05.
func TestJonckheereApproximatesLargeDesigns(t *testing.T) {
	var steps []Sample
	for i := range 10 {
		var s Sample
		for j := range 50 {
			s = append(s, Obs{X: math.Mod(float64(i*50+j)*0.6180339887, 1)})
		}
		steps = append(steps, s)
	}
	got := JonckheereTerpstra(steps, 1)
	if got.Exact || got.Note == "" || got.P < 0.5 {
		t.Errorf("evenly spread values: %+v", got)
	}
	if s := TheilSen([]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, steps, Points, 0.95); !s.Interval.Contains(0) || s.Interval.Reason == "" {
		t.Errorf("interval %v (%s)", s.Interval, s.Interval.Reason)
	}
	sizes := []int{10, 10, 10, 10}
	null := jonckheereNull(sizes)
	for j := 360; j < 420; j += 10 {
		exact := tailsOf(null, j)
		near(t, "P", approximateTails(float64(j), 300, jonckheereVariance(sizes)).two, exact.two, 1e-3)
	}
}
