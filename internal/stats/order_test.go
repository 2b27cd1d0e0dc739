package stats

import (
	"math"
	"testing"

	"golang.org/x/perf/benchmath"
	"pgregory.net/rapid"
)

// Figures of R 4.2.2, quantile(x, type = 7).
func TestQuantileAgreesWithR(t *testing.T) {
	s := Of(1.2, 3.4, 0.5, 7.7, 2.2, 9.1, 4)
	for q, want := range map[float64]float64{
		0: 0.5, 0.1: 0.92, 0.25: 1.7, 0.5: 3.4, 0.75: 5.85, 0.9: 8.26, 1: 9.1,
	} {
		wantExact(t, "quantile", Quantile(s, q), want)
	}
	wantExact(t, "IQR", IQR(s), 5.85-1.7)
	wantExact(t, "min", Min(s), 0.5)
	wantExact(t, "max", Max(s), 9.1)
	wantExact(t, "mean", Mean(s), 28.1/7)
}

func TestQuantileHitsTheOrderStatisticItMeans(t *testing.T) {
	s := Of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	for i := range 11 {
		if got := Quantile(s, float64(i)/10); got.X != float64(i) {
			t.Errorf("quantile %d/10 of 0..10 = %v", i, got.X)
		}
	}
}

// By hand, from what "at least 230" means.
func TestCensoredValuesMakeBounds(t *testing.T) {
	s := Sample{{X: 150}, AtLeast(230), {X: 197}, AtLeast(230)}
	for _, c := range []struct {
		what string
		got  Estimate
		want string
	}{
		{"median of two seen, two not", Median(s), "≥ 213.5"},
		{"median of three with one cut", Median(Sample{{X: 150}, AtLeast(230), {X: 197}}), "197"},
		{"median of three with two cut", Median(Sample{{X: 150}, AtLeast(230), AtLeast(230)}), "≥ 230"},
		{"min", Min(s), "150"},
		{"max", Max(s), "≥ 230"},
		{"IQR", IQR(s), "≥ 44.75"},
		{"mean", Mean(s), "≥ 201.75"},
		{"max beyond a lower limit", Max(Sample{{X: 300}, AtLeast(230)}), "≥ 300"},
		{"IQR with both quartiles cut", IQR(Sample{AtLeast(1), AtLeast(1), AtLeast(1)}), "unknown"},
	} {
		if c.got.String() != c.want {
			t.Errorf("%s = %v (%s), want %s", c.what, c.got, c.got.Reason, c.want)
		}
		if c.got.Bound != Exact && c.got.Reason == "" {
			t.Errorf("%s is a bound without a reason", c.what)
		}
	}
}

// The rule "p99 needs about 300, p95 about 60".
func TestTailQuantileSaysWhenTooSmall(t *testing.T) {
	for _, c := range []struct {
		n     int
		q     float64
		known bool
	}{{299, 0.99, false}, {300, 0.99, true}, {59, 0.95, false}, {60, 0.95, true}, {59, 0.05, false}, {6, 0.5, true}} {
		s := make(Sample, c.n)
		for i := range s {
			s[i].X = float64(i)
		}
		if got := TailQuantile(s, c.q); got.Known() != c.known {
			t.Errorf("n=%d q=%v: %v (%s)", c.n, c.q, got, got.Reason)
		}
	}
}

func TestSummaryWarnsOfAMisleadingMean(t *testing.T) {
	if s := Summarize(Of(1, 1, 1, 10), 0.95); !s.MeanMisleads {
		t.Error("mean 3.25 beside median 1 passes without a warning")
	}
	if s := Summarize(Of(1, 1, 1, 2), 0.95); s.MeanMisleads {
		t.Error("mean 1.25 beside median 1 is warned of")
	}
	if s := Summarize(Sample{{X: 1}, AtLeast(9), {X: 2}}, 0.95); s.N != 3 || s.Censored != 1 {
		t.Errorf("n=%d censored=%d, want 3 and 1", s.N, s.Censored)
	}
}

// Ranks and levels from R 4.2.2: k = qbinom(0.025, n, 0.5),
// level = 1 - 2*pbinom(k-1, n, 0.5). Dixon and Massey's table A-25 has the same k.
func TestMedianIntervalAgreesWithBinomialTable(t *testing.T) {
	for _, c := range []struct {
		n, k  int
		level float64
	}{
		{6, 1, 0.96875}, {7, 1, 0.984375}, {8, 1, 0.9921875}, {9, 2, 0.9609375}, {10, 2, 0.978515625},
		{11, 2, 0.98828125}, {12, 3, 0.96142578125}, {15, 4, 0.96484375}, {20, 6, 0.958610534668},
		{25, 8, 0.956714749336}, {30, 10, 0.957226054743}, {40, 14, 0.961522691716}, {50, 18, 0.967160862436},
	} {
		s := make(Sample, c.n)
		for i := range s {
			s[i].X = float64(c.n - i)
		}
		wantInterval(t, "interval", MedianInterval(s, 0.95), float64(c.k), float64(c.n+1-c.k), c.level)
	}
}

// benchmath needs 6 observations for 95 % and 8 for 99 %, and its interval of an
// even sample at n = 6 is the same as ours.
func TestMedianIntervalAgreesWithBenchmath(t *testing.T) {
	xs := []float64{-10, 2, 3, 4, 5, 6}
	theirs := benchmath.AssumeNothing.Summary(benchmath.NewSample(xs, &benchmath.DefaultThresholds), 0.95)
	wantInterval(t, "interval", MedianInterval(Of(xs...), 0.95), theirs.Lo, theirs.Hi, theirs.Confidence)
	wantExact(t, "median", Median(Of(xs...)), theirs.Center)
	for level, need := range map[float64]int{0.95: 6, 0.99: 8, 0.5: 2} {
		for n := 1; n <= 12; n++ {
			iv := MedianInterval(make(Sample, n), level)
			if iv.Known() != (n >= need) {
				t.Errorf("level %v n=%d: %v (%s)", level, n, iv, iv.Reason)
			}
		}
	}
}

func TestMedianIntervalOpensAtCensoredEnds(t *testing.T) {
	iv := MedianInterval(Sample{{X: 3}, {X: 1}, AtLeast(9), {X: 2}, {X: 4}, AtLeast(9)}, 0.95)
	if iv.LoOpen || iv.Lo != 1 || !iv.HiOpen || iv.Reason == "" {
		t.Errorf("got %v (%s), want [1, …)", iv, iv.Reason)
	}
	if iv.Contains(0) || !iv.Contains(1e9) || iv.Inside(0, 1e9) {
		t.Error("an open end must exclude nothing above it")
	}
}

func TestOrderStatisticsFollowShiftAndScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := samples(1, 50, true).Draw(t, "s")
		by := float64(rapid.IntRange(-50, 50).Draw(t, "by"))
		moved := s.mapped(func(x float64) float64 { return 4*x + by })
		for _, q := range []float64{0, 0.25, 0.5, 0.75, 1} {
			a, b := Quantile(s, q), Quantile(moved, q)
			if a.Bound != b.Bound || math.Abs(4*a.X+by-b.X) > 1e-9 {
				t.Fatalf("quantile %v: %v became %v", q, a, b)
			}
		}
		a, b := MedianInterval(s, 0.9), MedianInterval(moved, 0.9)
		if a.LoOpen != b.LoOpen || a.HiOpen != b.HiOpen || a.Level != b.Level ||
			!a.LoOpen && 4*a.Lo+by != b.Lo || !a.HiOpen && 4*a.Hi+by != b.Hi {
			t.Fatalf("interval %v became %v", a, b)
		}
		if a.Known() && a.Level < 0.9 {
			t.Fatalf("level %v is below the one asked for", a.Level)
		}
	})
}
