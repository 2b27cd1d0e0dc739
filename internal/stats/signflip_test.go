package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func exacts(xs ...float64) []Estimate {
	out := make([]Estimate, len(xs))
	for i, x := range xs {
		out[i] = Estimate{X: x, Bound: Exact}
	}
	return out
}

// Darwin's plants, the example of scipy.stats.wilcoxon; Hamilton's depression
// scores, that of R's wilcox.test (Hollander and Wolfe 1973, p. 29 ff.), and two
// more runs of wilcox.test(conf.int = TRUE), one of them on logarithms.
func TestSignFlipAgreesWithPublishedExamples(t *testing.T) {
	plants := SignFlip(exacts(6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75), Points, 0.95)
	near(t, "plants P", plants.P, 0.041259765625, 1e-15)
	near(t, "plants PGreater", plants.PGreater, 0.0206298828125, 1e-15)

	before := Of(1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30)
	after := Of(0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29)
	var d []Estimate
	for i := range before {
		d = append(d, Contrast(before[i:i+1], after[i:i+1], Points))
	}
	depression := SignFlip(d, Points, 0.95)
	near(t, "depression P", depression.P, 0.0390625, 1e-15)
	near(t, "depression PLess", depression.PLess, 0.01953125, 1e-15)
	wantExact(t, "depression effect", depression.Effect.Estimate, -0.46)
	wantInterval(t, "depression interval", depression.Effect.Interval, -0.786, -0.010, 0.9609375)

	seven := SignFlip(exacts(12.1, -3.2, 8.8, 15.5, 9.7, 20.2, 11.3), Points, 0.95)
	near(t, "seven P", seven.P, 0.03125, 1e-15)
	wantExact(t, "seven effect", seven.Effect.Estimate, 11.1)
	near(t, "seven lower end", seven.Effect.Interval.Lo, 3.25, 1e-12)
	near(t, "seven upper end", seven.Effect.Interval.Hi, 16.15, 1e-12)

	ratio := SignFlip(exacts(1.31, 1.12, 0.95, 1.44, 1.27, 1.38, 1.22, 1.19), Ratio, 0.95)
	near(t, "ratio P", ratio.P, 0.015625, 1e-15)
	near(t, "ratio effect", ratio.Effect.Estimate.X, 1.24398506165, 1e-10)
	near(t, "ratio lower end", ratio.Effect.Interval.Lo, 1.07656862299, 1e-10)
	near(t, "ratio upper end", ratio.Effect.Interval.Hi, 1.37346277707, 1e-10)
}

// coin 1.4-2: wilcoxsign_test(distribution = "exact", zero.method = "Pratt").
func TestSignFlipWithZerosAndTiesAgreesWithCoin(t *testing.T) {
	got := SignFlip(exacts(0, 0, 1, 1, 2, -2, 3, 3, -1, 4), Points, 0.9)
	near(t, "P", got.P, 0.140625, 1e-12)
	near(t, "PGreater", got.PGreater, 0.0703125, 1e-12)
	if got.N != 10 || got.Positive != 6 || got.Negative != 2 {
		t.Errorf("n=%d, %d up, %d down", got.N, got.Positive, got.Negative)
	}
}

// The published table for α = 0.05 two-sided (R: qsignrank(0.025, n) - 1).
func TestSignedRankCriticalValues(t *testing.T) {
	for n, critical := range map[int]int{6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 15: 25, 20: 52, 25: 89, 50: 434} {
		ranks := make([]int, n)
		for i := range ranks {
			ranks[i] = i + 1
		}
		null := signedRankNull(ranks)
		if tailsOf(null, critical).two > 0.05 || tailsOf(null, critical+1).two <= 0.05 {
			t.Errorf("n = %d: critical value is not %d", n, critical)
		}
	}
}

// The oracle flips every sign.
func TestSignFlipEqualsEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.IntRange(-5, 5), 1, 9).Draw(t, "xs")
		sum := func(mask int) (s float64) {
			for i, x := range xs {
				rank := 0.0
				for _, y := range xs {
					switch a, b := math.Abs(float64(x)), math.Abs(float64(y)); {
					case b < a:
						rank++
					case b == a:
						rank += 0.5
					}
				}
				up := x > 0
				if mask>>i&1 == 1 {
					up = x < 0
				}
				if up {
					s += rank + 0.5
				} else if x != 0 {
					s -= rank + 0.5
				}
			}
			return s
		}
		observed, hits := sum(0), 0.0
		for mask := range 1 << len(xs) {
			if math.Abs(sum(mask)) >= math.Abs(observed)-1e-9 {
				hits++
			}
		}
		var d []Estimate
		for _, x := range xs {
			d = append(d, Estimate{X: float64(x), Bound: Exact})
		}
		if got, want := SignFlip(d, Points, 0.9).P, hits/math.Exp2(float64(len(xs))); math.Abs(got-want) > 1e-12 {
			t.Fatalf("P = %v, want %v", got, want)
		}
	})
}

func TestSignFlipAtEveryN(t *testing.T) {
	for n := 1; n <= 50; n++ {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = float64(i + 1)
		}
		got := SignFlip(exacts(xs...), Points, 0.95)
		near(t, "P", got.P, math.Exp2(float64(1-n)), 1e-15)
		near(t, "MinP", SignFlipMinP(n), got.MinP, 1e-15)
		if got.Effect.Interval.Known() != (n >= 6) {
			t.Errorf("n = %d: %v (%s)", n, got.Effect.Interval, got.Effect.Interval.Reason)
		}
	}
}

// ABBA: with a drift of 10 per period the difference of means still is the effect.
func TestContrastCancelsALinearDrift(t *testing.T) {
	wantExact(t, "ABBA", Contrast(Of(100, 130), Of(110+7, 120+7), Points), 7)
	wantExact(t, "BAAB", Contrast(Of(110, 120), Of(100+7, 130+7), Points), 7)
	wantExact(t, "ratio", Contrast(Of(100, 400), Of(200, 200), Ratio), 1)
}

func TestContrastsWithCensoredValues(t *testing.T) {
	slow := Contrast(Of(100), Sample{AtLeast(230)}, Points)
	if slow.String() != "≥ 130" {
		t.Errorf("on is cut: %v", slow)
	}
	if quick := Contrast(Sample{AtLeast(230)}, Of(100), Points); quick.String() != "≤ -130" {
		t.Errorf("off is cut: %v", quick)
	}
	if both := Contrast(Sample{AtLeast(230)}, Sample{AtLeast(230)}, Points); both.Known() {
		t.Errorf("both are cut: %v", both)
	}
	got := SignFlip(append(exacts(120, 125, 140, 150, 135), slow), Points, 0.95)
	near(t, "P", got.P, 2./64, 1e-15)
	if got.Effect.Interval.Lo != 120 || !got.Effect.Interval.HiOpen || got.Note == "" {
		t.Errorf("interval %v, note %q", got.Effect.Interval, got.Note)
	}
	// "At least 2" and 9, -9 rank alike: cut at 2 they are three ties beside 1.
	cut := append(exacts(1, 9, -9), Estimate{X: 2, Bound: LowerBound})
	if got, want := SignFlip(cut, Points, 0.5), SignFlip(exacts(1, 2, -2, 2), Points, 0.5); got.P != want.P || got.PLess != want.PLess {
		t.Errorf("P = %v and %v, want %v and %v", got.P, got.PLess, want.P, want.PLess)
	}
	undirected := Contrast(Of(300), Sample{AtLeast(230)}, Points)
	if got := SignFlip(append(exacts(1, 2, 3), undirected), Points, 0.5); got.P != 1 || got.Reason == "" {
		t.Errorf("at least -70 has a direction: %+v", got)
	}
}

func TestSignFlipFollowsScaleAndSwap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.IntRange(-40, 40), 1, 50).Draw(t, "xs")
		var d, scaled, negated []Estimate
		for _, x := range xs {
			d = append(d, Estimate{X: float64(x), Bound: Exact})
			scaled = append(scaled, Estimate{X: 4 * float64(x), Bound: Exact})
			negated = append(negated, Estimate{X: -float64(x), Bound: Exact})
		}
		a, b, c := SignFlip(d, Points, 0.9), SignFlip(scaled, Points, 0.9), SignFlip(negated, Points, 0.9)
		sound(t, a)
		if b.P != a.P || 4*a.Effect.Estimate.X != b.Effect.Estimate.X || 4*a.Effect.Interval.Lo != b.Effect.Interval.Lo {
			t.Fatalf("scaled: %+v became %+v", a, b)
		}
		if math.Abs(c.P-a.P) > 1e-12 || math.Abs(c.PLess-a.PGreater) > 1e-12 || c.Effect.Estimate.X != -a.Effect.Estimate.X {
			t.Fatalf("negated: %+v became %+v", a, c)
		}
	})
}
