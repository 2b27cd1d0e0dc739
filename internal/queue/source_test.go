package queue_test

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"brink/internal/queue"
)

func seeded() *rand.Rand { return rand.New(rand.NewPCG(4, 2018)) }

func seconds(draw queue.Draw, n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = draw().Seconds()
	}
	return xs
}

// near reports whether got is within a relative tolerance of want.
func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance*want }

func TestDrawsHaveTheirMeanAndSpread(t *testing.T) {
	empirical, err := queue.Empirical(seeded(), []time.Duration{s, 2 * s, 6 * s})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		draw     queue.Draw
		mean, sd float64
	}{
		{"constant", queue.Constant(3 * s), 3, 0},
		{"exponential", queue.Exponential(seeded(), 3*s), 3, 3},
		{"exponential, rounded", queue.Exponential(seeded(), 10), 10e-9, 10e-9},
		{"log-normal", queue.LogNormal(seeded(), 3*s, 0.5), 3, 1.5},
		{"log-normal without spread", queue.LogNormal(seeded(), 3*s, 0), 3, 0},
		{"empirical", empirical, 3, math.Sqrt(14.0 / 3)},
	} {
		mean, sd := stat.MeanStdDev(seconds(c.draw, 400_000), nil)
		if !near(mean, c.mean, 0.01) || !near(sd, c.sd, 0.02) {
			t.Errorf("%s: mean %v, standard deviation %v, want %v, %v", c.name, mean, sd, c.mean, c.sd)
		}
	}
}

func TestEmpiricalNeedsSomething(t *testing.T) {
	if _, err := queue.Empirical(seeded(), nil); err == nil {
		t.Error("no error for nothing to draw from")
	}
}

func TestEmpiricalKeepsItsOwnCopy(t *testing.T) {
	seen := []time.Duration{s}
	draw, err := queue.Empirical(seeded(), seen)
	if seen[0] = 2 * s; err != nil || draw() != s {
		t.Error("the draw changed with the caller's slice")
	}
}

// The numbers of arrivals in a Poisson process's seconds have the rate as their
// mean and as their variance.
func TestPoissonCountsHaveEqualMeanAndVariance(t *testing.T) {
	const horizon, rate = 50_000, 20.0
	counts := make([]float64, horizon)
	for at := range queue.Until(horizon*s, queue.Poisson(seeded(), rate)) {
		counts[at/s]++
	}
	mean, variance := stat.MeanVariance(counts, nil)
	if !near(mean, rate, 0.01) || !near(variance, rate, 0.02) {
		t.Errorf("mean %v, variance %v, want %v", mean, variance, rate)
	}
}

func TestTheSameSeedGivesTheSameArrivals(t *testing.T) {
	arrivals := func() []time.Duration {
		return slices.Collect(queue.First(100, queue.Poisson(seeded(), 20)))
	}
	if a, b := arrivals(), arrivals(); !slices.Equal(a, b) {
		t.Errorf("%v and %v", a, b)
	}
}

func TestArrivalsAreCut(t *testing.T) {
	for _, c := range []struct {
		name     string
		arrivals iter.Seq[time.Duration]
		want     []time.Duration
	}{
		{"first", queue.First(3, queue.Every(2*s)), []time.Duration{0, 2 * s, 4 * s}},
		{"first none", queue.First(0, queue.Every(2*s)), nil},
		{"first of fewer", queue.First(3, slices.Values([]time.Duration{s})), []time.Duration{s}},
		{"until", queue.Until(4*s, queue.Every(2*s)), []time.Duration{0, 2 * s}},
		{"broken off", queue.First(1, queue.Until(4*s, queue.First(3, queue.Every(s)))), []time.Duration{0}},
	} {
		if got := slices.Collect(c.arrivals); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestRequestsReplayRecordedArrivals(t *testing.T) {
	recorded := []time.Duration{s, s, 4 * s}
	got := slices.Collect(queue.Requests(slices.Values(recorded), queue.Constant(2*s)))
	want := []queue.Request{{At: s, Service: 2 * s}, {At: s, Service: 2 * s}, {At: 4 * s, Service: 2 * s}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for range queue.Requests(slices.Values(recorded), queue.Constant(s)) {
		break
	}
}

func TestSenselessParametersEndInAnError(t *testing.T) {
	for name, requests := range map[string]iter.Seq[queue.Request]{
		"rate 0":        queue.Requests(queue.First(9, queue.Poisson(seeded(), 0)), queue.Constant(s)),
		"rate -1":       queue.Requests(queue.First(9, queue.Poisson(seeded(), -1)), queue.Constant(s)),
		"rate NaN":      queue.Requests(queue.First(9, queue.Poisson(seeded(), math.NaN())), queue.Constant(s)),
		"mean -1s":      queue.Requests(queue.First(9, queue.Every(s)), queue.Exponential(seeded(), -s)),
		"log mean -1s":  queue.Requests(queue.First(9, queue.Every(s)), queue.LogNormal(seeded(), -s, 1)),
		"log spread -1": queue.Requests(queue.First(9, queue.Every(s)), queue.LogNormal(seeded(), s, -1)),
		"every -1s":     queue.Requests(queue.First(9, queue.Every(-s)), queue.Constant(s)),
	} {
		// A watchdog must not cut the nonsense down to size.
		if got, err := queue.Simulate(queue.Config{Workers: 1, Limit: queue.Unlimited, Timeout: s}, requests); err == nil {
			t.Errorf("%s: no error but %+v", name, got)
		}
	}
}
