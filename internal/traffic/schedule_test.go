package traffic

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func offsets(s Spec) []time.Duration {
	var all []time.Duration
	next := s.schedule()
	for at, ok := next(); ok; at, ok = next() {
		all = append(all, at)
	}
	return all
}

func TestSteadyIsDueEveryInterval(t *testing.T) {
	got := offsets(Spec{Kind: KindSteady, Every: 250 * time.Millisecond, Duration: time.Second})
	want := []time.Duration{0, 250e6, 500e6, 750e6}
	if !slices.Equal(got, want) {
		t.Errorf("due at %v, want %v", got, want)
	}
	if n := len(offsets(Spec{Kind: KindSteady, Every: 250 * time.Millisecond, Duration: time.Second, Count: 3})); n != 3 {
		t.Errorf("count 3 gave %d requests", n)
	}
}

// A third of a second is no whole number of nanoseconds: what is rounded away
// must not add up over an hour.
func TestConstantRateDoesNotDrift(t *testing.T) {
	got := offsets(Spec{Kind: KindRate, Rate: 3, Duration: time.Hour})
	if len(got) != 3*3600 {
		t.Fatalf("an hour at 3/s has %d requests, want 10800", len(got))
	}
	for second := range 3600 {
		if at := got[3*second]; at != time.Duration(second)*time.Second {
			t.Fatalf("request %d is due at %v, want %d s", 3*second, at, second)
		}
	}
}

func TestSchedulesAscendAndKeepTheirBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Spec{
			Kind:     rapid.SampledFrom([]Kind{KindSteady, KindRate, KindBatch}).Draw(t, "kind"),
			Count:    rapid.IntRange(1, 500).Draw(t, "count"),
			Every:    time.Duration(rapid.Int64Range(1, 1e9).Draw(t, "every")),
			Rate:     rapid.Float64Range(0.01, maxRate).Draw(t, "rate"),
			Arrivals: rapid.SampledFrom([]string{ArrivalsConstant, ArrivalsPoisson}).Draw(t, "arrivals"),
			Seed:     rapid.Int64().Draw(t, "seed"),
			Stagger:  time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "stagger")),
		}
		if s.Kind != KindBatch {
			s.Duration = time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "duration"))
		}
		all := offsets(s)
		if len(all) > s.Count || !slices.IsSorted(all) {
			t.Fatalf("%d requests for a count of %d, sorted %v", len(all), s.Count, slices.IsSorted(all))
		}
		if n := len(all); n > 0 && (all[0] < 0 || s.Duration > 0 && all[n-1] >= s.Duration) {
			t.Fatalf("due from %v to %v, want within [0, %v)", all[0], all[n-1], s.Duration)
		}
	})
}

// The gaps of a Poisson process of rate r are exponential with mean 1/r. With n
// gaps the mean's standard error is 1/(r√n), and the Kolmogorov-Smirnov distance
// to the exponential distribution exceeds 1.63/√n for one sample in a hundred
// (Smirnov's asymptotic 1 % point). The seeds are fixed, so this never flickers.
func TestPoissonGapsAreExponential(t *testing.T) {
	const rate, n = 200.0, 20_000
	for seed := range int64(3) {
		all := offsets(Spec{Kind: KindRate, Rate: rate, Arrivals: ArrivalsPoisson, Seed: seed, Count: n})
		gaps := make([]float64, n)
		last := time.Duration(0)
		for i, at := range all {
			gaps[i] = (at - last).Seconds()
			last = at
		}
		if mean := last.Seconds() / n; math.Abs(mean-1/rate) > 3/(rate*math.Sqrt(n)) {
			t.Errorf("seed %d: the mean gap is %v s, want %v within three standard errors", seed, mean, 1/rate)
		}
		slices.Sort(gaps)
		distance := 0.0
		for i, g := range gaps {
			cdf := 1 - math.Exp(-rate*g)
			distance = max(distance, cdf-float64(i)/n, float64(i+1)/n-cdf)
		}
		if limit := 1.63 / math.Sqrt(n); distance > limit {
			t.Errorf("seed %d: Kolmogorov-Smirnov distance %v, want at most %v", seed, distance, limit)
		}
		// The counts of a Poisson process vary as much as their mean; evenly
		// spaced arrivals would not vary at all. The bound is three standard
		// errors of a variance of 100 counts.
		if d := dispersion(all, time.Second); math.Abs(d-1) > 3*math.Sqrt(2.0/99) {
			t.Errorf("seed %d: variance over mean of the counts per second is %v, want 1", seed, d)
		}
	}
}

// dispersion is the variance of the counts per bin over their mean, in the first
// 95 bins, all of which lie within 20,000 arrivals at 200/s.
func dispersion(all []time.Duration, bin time.Duration) float64 {
	counts := make([]float64, 95)
	for _, at := range all {
		if i := int(at / bin); i < len(counts) {
			counts[i]++
		}
	}
	mean, variance := 0.0, 0.0
	for _, c := range counts {
		mean += c / float64(len(counts))
	}
	for _, c := range counts {
		variance += (c - mean) * (c - mean) / float64(len(counts)-1)
	}
	return variance / mean
}

func TestPoissonIsReproducibleFromItsSeed(t *testing.T) {
	s := Spec{Kind: KindRate, Rate: 50, Arrivals: ArrivalsPoisson, Seed: 42, Duration: 10 * time.Second}
	first := offsets(s)
	if !slices.Equal(first, offsets(s)) {
		t.Error("the same seed gave other arrivals")
	}
	s.Seed = 43
	if slices.Equal(first, offsets(s)) {
		t.Error("another seed gave the same arrivals")
	}
}

func TestBatchAtOnceAndStaggered(t *testing.T) {
	if got := offsets(Spec{Kind: KindBatch, Count: 3}); !slices.Equal(got, []time.Duration{0, 0, 0}) {
		t.Errorf("at once: due at %v", got)
	}
	got := offsets(Spec{Kind: KindBatch, Count: 3, Stagger: 20 * time.Millisecond})
	if !slices.Equal(got, []time.Duration{0, 20e6, 40e6}) {
		t.Errorf("staggered: due at %v", got)
	}
}
