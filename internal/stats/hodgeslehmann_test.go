package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// R 4.2.2, wilcox.test(..., conf.int = TRUE), on the example of its help page
// (Hollander and Wolfe 1973, p. 69 ff.) and on logarithms. Levels: 1 -
// 2*pwilcox(k-1, n, m).
func TestHodgesLehmannAgreesWithR(t *testing.T) {
	s := HodgesLehmann(permeabilityTerm, permeabilityEarly, Points, 0.95)
	wantExact(t, "shift", s.Estimate, 0.305)
	wantInterval(t, "interval", s.Interval, -0.15, 0.76, 0.96003996004)

	a := Of(17.2, 19.5, 18.1, 21.0, 16.4, 20.3)
	b := Of(44.0, 51.2, 39.7, 47.9, 58.3, 49.1)
	r := HodgesLehmann(a, b, Ratio, 0.95)
	near(t, "ratio", r.Estimate.X, 2.5400898338139, 1e-12)
	near(t, "lower end", r.Interval.Lo, 2.1933701657459, 1e-12)
	near(t, "upper end", r.Interval.Hi, 2.9897435897436, 1e-12)
	near(t, "level", r.Interval.Level, 1-2*(1+1+2+3+5+7)/924., 1e-12)
}

// The level of [smallest, largest] is 1 - 2/C(2n, n), by counting.
func TestMosesIntervalSaysWhenTooSmall(t *testing.T) {
	a, b := Of(1, 2, 3), Of(11, 12, 13)
	if s := HodgesLehmann(a, b, Points, 0.95); s.Interval.Known() || s.Interval.Reason == "" {
		t.Errorf("three and three give a 95 %% interval: %v", s.Interval)
	}
	s := HodgesLehmann(a, b, Points, 0.90)
	wantInterval(t, "90 % interval", s.Interval, 8, 12, 0.90)
	wantExact(t, "shift", s.Estimate, 10)
	if s := HodgesLehmann(Of(1), Of(2), Points, 0.5); s.Interval.Known() {
		t.Errorf("one and one give an interval: %v", s.Interval)
	}
}

func TestHodgesLehmannWithCensoredValues(t *testing.T) {
	a := Of(100, 101, 102, 103, 104)
	b := Sample{{X: 200}, AtLeast(230), AtLeast(230), AtLeast(230), AtLeast(230)}
	s := HodgesLehmann(a, b, Points, 0.95)
	// 20 of 25 differences are at least 126 to 130, 5 are 96 to 100.
	if s.Estimate.Bound != LowerBound || s.Estimate.X != 127 {
		t.Errorf("shift %v, want ≥ 127", s.Estimate)
	}
	if s.Interval.LoOpen || s.Interval.Lo != 98 || !s.Interval.HiOpen || s.Interval.Reason == "" {
		t.Errorf("interval %v (%s), want [98, …)", s.Interval, s.Interval.Reason)
	}
	back := HodgesLehmann(b, a, Points, 0.95)
	if back.Estimate.Bound != UpperBound || back.Estimate.X != -127 || !back.Interval.LoOpen || back.Interval.Hi != -98 {
		t.Errorf("the other way: %v %v", back.Estimate, back.Interval)
	}
	all := Sample{AtLeast(230), AtLeast(230), AtLeast(230), AtLeast(230), AtLeast(230)}
	if s := HodgesLehmann(all, all, Points, 0.95); s.Estimate.Known() || s.Interval.Known() || s.Interval.Level != 0 {
		t.Errorf("nothing is known, and yet: %v %v", s.Estimate, s.Interval)
	}
	r := HodgesLehmann(a, b, Ratio, 0.95)
	if r.Estimate.Bound != LowerBound || r.EffectWord() != "large" || !r.Interval.HiOpen {
		t.Errorf("ratio %v %v %q", r.Estimate, r.Interval, r.EffectWord())
	}
}

// Whatever the censored values really were, the bounds must hold.
func TestCensoredBoundsHoldForEveryTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := samples(1, 12, true).Draw(t, "a"), samples(1, 12, true).Draw(t, "b")
		truth := func(s Sample) Sample {
			out := make(Sample, len(s))
			for i, o := range s {
				out[i].X = o.X
				if o.Censored {
					out[i].X += float64(rapid.IntRange(0, 100).Draw(t, "beyond"))
				}
			}
			return out
		}
		known, full := HodgesLehmann(a, b, Points, 0.8), HodgesLehmann(truth(a), truth(b), Points, 0.8)
		if s := known.Estimate.span(); full.Estimate.X < s.lo || full.Estimate.X > s.hi {
			t.Fatalf("estimate %v, but the truth gives %v", known.Estimate, full.Estimate)
		}
		if full.Interval.Known() && !(known.Interval.Contains(full.Interval.Lo) && known.Interval.Contains(full.Interval.Hi)) {
			t.Fatalf("interval %v, but the truth gives %v", known.Interval, full.Interval)
		}
	})
}

func TestHodgesLehmannFollowsShiftScaleAndSwap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := samples(1, 50, false).Draw(t, "a"), samples(1, 50, false).Draw(t, "b")
		by := float64(rapid.IntRange(-40, 40).Draw(t, "by"))
		s := HodgesLehmann(a, b, Points, 0.9)
		moved := HodgesLehmann(a, b.mapped(func(x float64) float64 { return x + by }), Points, 0.9)
		scaled := HodgesLehmann(a.mapped(func(x float64) float64 { return 4 * x }), b.mapped(func(x float64) float64 { return 4 * x }), Points, 0.9)
		swapped := HodgesLehmann(b, a, Points, 0.9)
		if moved.Estimate.X != s.Estimate.X+by || scaled.Estimate.X != 4*s.Estimate.X || swapped.Estimate.X != -s.Estimate.X {
			t.Fatalf("%v: moved %v, scaled %v, swapped %v", s.Estimate, moved.Estimate, scaled.Estimate, swapped.Estimate)
		}
		if iv := s.Interval; iv.Known() {
			if moved.Interval.Lo != iv.Lo+by || scaled.Interval.Hi != 4*iv.Hi || swapped.Interval.Lo != -iv.Hi || iv.Level < 0.9 {
				t.Fatalf("%v: moved %v, scaled %v, swapped %v", iv, moved.Interval, scaled.Interval, swapped.Interval)
			}
		}
		r := HodgesLehmann(a, b, Ratio, 0.9)
		back := HodgesLehmann(b, a, Ratio, 0.9)
		if math.Abs(r.Estimate.X*back.Estimate.X-1) > 1e-9 {
			t.Fatalf("ratio %v swapped is %v", r.Estimate, back.Estimate)
		}
	})
}

// The interval belongs to the test: without ties it excludes zero exactly when
// the two-sided p is at most one minus the level.
func TestMosesIntervalIsTheInvertedTest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "n")
		m := rapid.IntRange(2, 12).Draw(t, "m")
		order := rapid.Permutation(Of(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576, 2097152, 4194304, 8388608)).Draw(t, "order")
		a, b := order[:n], order[n:n+m]
		iv := HodgesLehmann(a, b, Points, 0.95).Interval
		if p := MannWhitney(a, b).P; iv.Contains(0) != (p > 0.05*(1+slack)) {
			t.Fatalf("p = %v but interval %v", p, iv)
		}
	})
}

func TestRatioNeedsPositiveValues(t *testing.T) {
	for _, s := range []Sample{Of(0, 1, 2), Of(-1, 1, 2)} {
		if r := HodgesLehmann(s, Of(1, 2, 3), Ratio, 0.9); r.Estimate.Known() || r.Estimate.Reason == "" || r.Interval.Known() {
			t.Errorf("%v: %v %v", s, r.Estimate, r.Interval)
		}
	}
}
