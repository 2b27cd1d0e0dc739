package probe

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"brink/internal/stats"
	"brink/internal/traffic"
)

// The expected ranks are from sums of the binomial distribution in exact rational
// arithmetic (Python's fractions).
func TestRanksEncloseTheQuantile(t *testing.T) {
	for _, c := range []struct {
		n      int64
		q      float64
		lo, hi int64
	}{
		{1, 0.5, 0, 2},
		{5, 0.5, 0, 6},
		{6, 0.5, 1, 6},
		{20, 0.5, 6, 15},
		{100, 0.5, 40, 61},
		{1000, 0.5, 469, 532},
		{60, 0.95, 53, 61},
		{71, 0.95, 63, 72},
		{72, 0.95, 64, 72},
		{300, 0.95, 277, 293},
		{300, 0.99, 293, 301},
		{367, 0.99, 359, 368},
		{368, 0.99, 360, 368},
		{1000, 0.99, 983, 997},
	} {
		lo, hi, reached := ranks(c.n, c.q, 0.95)
		if lo != c.lo || hi != c.hi || reached < 0.95 {
			t.Errorf("n = %d, q = %v: ranks %d and %d at %v, want %d and %d", c.n, c.q, lo, hi, reached, c.lo, c.hi)
		}
	}
}

// For the median the ranks lie symmetrically, and stats.MedianInterval finds the
// same ones another way.
func TestRanksOfTheMedianAreThoseOfStats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(6, 3000).Draw(t, "n")
		var sample stats.Sample
		for i := range n {
			sample = append(sample, stats.Obs{X: float64(i + 1)})
		}
		want := stats.MedianInterval(sample, 0.95)
		lo, hi, reached := ranks(int64(n), 0.5, 0.95)
		if float64(lo) != want.Lo || float64(hi) != want.Hi || math.Abs(reached-want.Level) > 1e-9 {
			t.Errorf("ranks %d and %d at %v, want %v at %v", lo, hi, reached, want, want.Level)
		}
	})
}

// At ten million the normal approximation is as good as exact: half the width is
// 1.96 standard deviations of the binomial distribution, within a rank or two.
func TestRanksOfManyRequests(t *testing.T) {
	const n = 10_000_000
	for _, q := range []float64{0.5, 0.95, 0.99} {
		lo, hi, _ := ranks(n, q, 0.95)
		half := 1.959964 * math.Sqrt(n*q*(1-q))
		if math.Abs(float64(lo)-(n*q-half)) > 3 || math.Abs(float64(hi)-(n*q+half)) > 3 {
			t.Errorf("q = %v: ranks %d and %d, want about %.0f and %.0f", q, lo, hi, n*q-half, n*q+half)
		}
	}
}

// The interval must hold for any distribution, so for the exponential one, whose
// quantiles are known: -log(1-q). Of 600 samples at most 5 % and three
// standard errors of that may miss. The seed is fixed.
func TestIntervalsCoverTheTrueQuantile(t *testing.T) {
	const samples, n = 600, 400
	rng := rand.New(rand.NewPCG(1, 2))
	for _, q := range []float64{0.5, 0.95, 0.99} {
		missed := 0
		for range samples {
			a := NewAccount()
			for range n {
				a.Add(answered(time.Duration(rng.ExpFloat64() * float64(time.Second))))
			}
			if !a.Latency(q).Interval.Contains(-1000 * math.Log(1-q)) {
				missed++
			}
		}
		if limit := samples*0.05 + 3*math.Sqrt(samples*0.05*0.95); float64(missed) > limit {
			t.Errorf("q = %v: %d of %d intervals miss, want at most %.0f", q, missed, samples, limit)
		}
	}
}

// The expected ends solve Clopper and Pearson's equations by bisection on exact
// sums (Python's mpmath with 40 digits).
func TestShareHasTheIntervalOfClopperAndPearson(t *testing.T) {
	for _, c := range []struct {
		k, n   int64
		lo, hi float64
	}{
		{0, 10, 0, 30.84971078},
		{1, 10, 0.2528578544, 44.5016117},
		{3, 50, 1.254858784, 16.54819466},
		{2, 300, 0.08083864128, 2.387349757},
		{50, 100, 39.83211295, 60.16788705},
		{10, 10, 69.15028922, 100},
	} {
		f := share(c.k, c.n)
		if f.X != 100*float64(c.k)/float64(c.n) || math.Abs(f.Interval.Lo-c.lo) > 1e-7 || math.Abs(f.Interval.Hi-c.hi) > 1e-7 {
			t.Errorf("%d of %d: %v in %v, want [%v, %v]", c.k, c.n, f.X, f.Interval, c.lo, c.hi)
		}
	}
	if f := share(0, 0); f.Known() || f.Interval.Known() {
		t.Errorf("of nothing: %v in %v, want unknown", f.X, f.Interval)
	}
}

func answered(d time.Duration) *traffic.Probe {
	return &traffic.Probe{Due: 1, Sent: 1, Done: 1 + int64(d), Status: 200}
}

func ended(o traffic.Outcome, d time.Duration) *traffic.Probe {
	return &traffic.Probe{Due: 1, Sent: 1, Done: 1 + int64(d), Outcome: o}
}

// near holds for what three significant digits cannot tell apart.
func near(a, b float64) bool { return math.Abs(a-b) <= 0.001*b }

// Of 1 to n ms, in any order, the q-quantile by nearest rank is ⌈qn⌉ ms.
func TestQuantilesOfKnownLatencies(t *testing.T) {
	a := NewAccount()
	for _, i := range rand.New(rand.NewPCG(3, 4)).Perm(1000) {
		a.Add(answered(time.Duration(i+1) * time.Millisecond))
	}
	for _, c := range []struct{ q, x, lo, hi float64 }{
		{0.5, 500, 469, 532}, {0.95, 950, 936, 964}, {0.99, 990, 983, 997},
	} {
		f := a.Latency(c.q)
		if f.Bound != stats.Exact || !near(f.X, c.x) {
			t.Errorf("q = %v: %v, want %v", c.q, f.Estimate, c.x)
		}
		lo, hi, _ := ranks(1000, c.q, Level) // whose table is above
		if !near(f.Interval.Lo, float64(lo)) || !near(f.Interval.Hi, float64(hi)) || f.Interval.Level < 0.95 {
			t.Errorf("q = %v: interval %v at %v, want [%d, %d]", c.q, f.Interval, f.Interval.Level, lo, hi)
		}
	}
}

// The numbers of requests are those of docs/METHODOLOGY.md.
func TestTooFewRequestsForAPercentileAreRefused(t *testing.T) {
	a := NewAccount()
	for range 59 {
		a.Add(answered(time.Millisecond))
	}
	for q, want := range map[float64]string{0.95: "n too small: 59 of 60 needed", 0.99: "n too small: 59 of 300 needed"} {
		if f := a.Latency(q); f.Known() || f.Interval.Known() || f.Reason != want {
			t.Errorf("q = %v: %v in %v, %q; want unknown, %q", q, f.Estimate, f.Interval, f.Reason, want)
		}
	}
	a.Add(answered(time.Millisecond))
	if f := a.Latency(0.95); !f.Known() || f.Interval.LoOpen || !f.Interval.HiOpen || f.Interval.Reason != "n too small for an upper end" {
		t.Errorf("p95 of 60: %v in %v, %q; want a number with an open upper end", f.Estimate, f.Interval, f.Interval.Reason)
	}
	for range 240 {
		a.Add(answered(time.Millisecond))
	}
	if f := a.Latency(0.99); !f.Known() {
		t.Errorf("p99 of 300: %q, want a number", f.Reason)
	}
	if f := NewAccount().Latency(0.5); f.Known() || f.Reason != "no request was answered" {
		t.Errorf("median of nothing: %v, %q", f.Estimate, f.Reason)
	}
}

// Of 100 requests 90 take 1 ms and 10 are given up after 10 s: the median is 1 ms,
// p95 is 10 s or more. Ranks 89 and 100 enclose p95, so that the interval begins
// in the 1 ms and has no upper end.
func TestTimeoutsMakePercentilesBounds(t *testing.T) {
	a := NewAccount()
	for range 90 {
		a.Add(answered(time.Millisecond))
	}
	for range 10 {
		a.Add(ended(traffic.OutcomeTimeout, 10*time.Second))
	}
	if f := a.Latency(0.5); f.Bound != stats.Exact || !near(f.X, 1) || !f.Interval.Bounded() {
		t.Errorf("median %v in %v, want 1 in a bounded interval", f.Estimate, f.Interval)
	}
	f := a.Latency(0.95)
	if f.Bound != stats.LowerBound || !near(f.X, 10_000) || f.Interval.LoOpen || !f.Interval.HiOpen {
		t.Errorf("p95 %v in %v, want ≥ 10000 and an open end", f.Estimate, f.Interval)
	}
	if want := "the upper end falls on requests that timed out"; f.Interval.Reason != want {
		t.Errorf("the interval says %q, want %q", f.Interval.Reason, want)
	}
	if f := a.Failures(); f.X != 10 {
		t.Errorf("%v %% failed, want 10", f.X)
	}
}

// A request that is sent late and answered after 12 s counts from when it was due;
// others were given up after 10 s. What lies between is known as far as that.
func TestAnswersThatTookLongerThanOthersWereWaitedFor(t *testing.T) {
	a := NewAccount()
	a.Add(answered(12 * time.Second))
	a.Add(ended(traffic.OutcomeTimeout, 10*time.Second))
	if f := a.Latency(0.5); f.Bound != stats.Between || !near(f.X, 10_000) || !near(f.Upper, 12_000) {
		t.Errorf("median %v, want 10000 to 12000", f.Estimate)
	}
}

// What has no latency is not in a percentile, and what says nothing about the
// server is nowhere.
func TestWhichOutcomesCount(t *testing.T) {
	for o := range traffic.Outcome(13) {
		a := NewAccount()
		a.Add(ended(o, time.Millisecond))
		latency := slices.Contains([]traffic.Outcome{traffic.OutcomeOK, traffic.OutcomeHTTP4xx, traffic.OutcomeHTTP5xx, traffic.OutcomeTimeout}, o)
		ours := slices.Contains([]traffic.Outcome{traffic.OutcomeCanceled, traffic.OutcomeUnsent, traffic.OutcomeOutOfFiles, traffic.OutcomeOutOfPorts}, o)
		if got := a.Latency(0.5).Known(); got != latency {
			t.Errorf("%v: has a latency: %v, want %v", o, got, latency)
		}
		f := a.Failures()
		if f.Known() == ours || !ours && (f.X == 0) != (o == traffic.OutcomeOK) {
			t.Errorf("%v: failures %v", o, f.Estimate)
		}
	}
}

func TestFigureInJSONIsNullWhereUnknown(t *testing.T) {
	a := NewAccount()
	for range 7 {
		a.Add(ended(traffic.OutcomeTimeout, time.Second))
	}
	for _, c := range []struct {
		f    Figure
		want []string
	}{
		{a.Latency(0.5), []string{`"value":1000`, `"at_least":true`, `"high":null`, `"note":"it falls on requests that timed out"`}},
		{a.Latency(0.99), []string{`"value":null,"low":null,"high":null,"missing":"n too small: 7 of 300 needed"`}},
		{a.Failures(), []string{`"value":100,"low":`, `"high":100,"level":0.95`}},
	} {
		text, err := json.Marshal(c.f)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s does not hold %s", text, want)
			}
		}
	}
}
