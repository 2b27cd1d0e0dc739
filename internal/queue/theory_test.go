package queue_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mathext"
	"pgregory.net/rapid"

	"brink/internal/queue"
)

// Traffic in erlangs that loses 1 % of its calls, from the Erlang B tables in
// every teletraffic handbook.
func TestErlangBMatchesTheOnePercentTable(t *testing.T) {
	for workers, offered := range map[int]float64{
		1: 0.0101, 2: 0.153, 3: 0.455, 4: 0.869, 5: 1.361, 6: 1.909, 7: 2.501,
		8: 3.128, 9: 3.783, 10: 4.461, 15: 8.108, 20: 12.03, 50: 37.90, 100: 84.06,
	} {
		if b := queue.ErlangB(workers, offered); !near(b, 0.01, 0.005) {
			t.Errorf("B(%d, %v) = %v, want 0.01", workers, offered, b)
		}
	}
}

// The fractions are the formula worked out by hand. The decimals are the worked
// examples of call-centre handbooks: 200 calls an hour of 3 minutes and 14
// agents, 17.4 % wait; 360 calls in half an hour of 4 minutes and 55 agents,
// 23.9 % wait.
func TestErlangCMatchesPublishedValues(t *testing.T) {
	for _, c := range []struct {
		workers       int
		offered, want float64
		tolerance     float64
	}{
		{1, 0.3, 0.3, 1e-15},
		{2, 1, 1.0 / 3, 1e-15},
		{3, 2, 4.0 / 9, 1e-15},
		{4, 2, 4.0 / 23, 1e-15},
		{4, 3, 27.0 / 53, 1e-15},
		{14, 10, 0.174, 0.003},
		{55, 48, 0.239, 0.003},
	} {
		if got := queue.ErlangC(c.workers, c.offered); !near(got, c.want, c.tolerance) {
			t.Errorf("C(%d, %v) = %v, want %v", c.workers, c.offered, got, c.want)
		}
	}
}

// The mean waits of the same two worked examples, in seconds.
func TestMMCMatchesPublishedMeanWaits(t *testing.T) {
	if got := queue.MMC(14, 200.0/3600, 180).Mean; !near(got, 7.8, 0.01) {
		t.Errorf("14 agents: %v s, want 7.8", got)
	}
	if got := queue.MMC(55, 360.0/1800, 240).Mean; !near(got, 8.2, 0.01) {
		t.Errorf("55 agents: %v s, want 8.2", got)
	}
}

// Pollaczek and Khinchine: a single worker with constant services makes
// requests wait rho/(2(1-rho)) services, and rho of them wait at all.
func TestMDCIsPollaczekKhinchineForOneWorker(t *testing.T) {
	for _, rho := range []float64{0.01, 0.3, 0.5, 0.8, 0.95, 0.999, 0.999999} {
		const service = 0.1
		got := queue.MDC(1, rho/service, service)
		if want := service * rho / (2 * (1 - rho)); !near(got.Mean, want, 1e-9) || !near(got.Probability, rho, 1e-12) {
			t.Errorf("rho %v: %+v, want mean %v, probability %v", rho, got, want, rho)
		}
	}
}

// crommelin sums the series of Crommelin (1934, Post Office Electrical
// Engineers' Journal 26, 266-274) for the mean wait, in services, and the chance
// to wait. It needs no zeros: Spitzer's identity gives both from the chance that
// l*c gaps of a Poisson stream fit into l services, which is an incomplete gamma
// function.
func crommelin(workers int, offered float64) queue.Wait {
	var mean, log float64
	for l := 1.0; ; l++ {
		k, x := l*float64(workers), l*offered
		fits := mathext.GammaIncReg(k, x)
		mean += fits - float64(workers)/offered*mathext.GammaIncReg(k+1, x)
		log += fits / l
		if fits < 1e-18 {
			return queue.Wait{Probability: -math.Expm1(-log), Mean: mean}
		}
	}
}

func TestMDCIsCrommelinsSeries(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 4, 8, 10, 50, 200} {
		for _, rho := range []float64{0.05, 0.2, 0.5, 0.8, 0.9, 0.95} {
			offered := rho * float64(workers)
			got, want := queue.MDC(workers, offered, 1), crommelin(workers, offered)
			if math.Abs(got.Mean-want.Mean) > 1e-12 || math.Abs(got.Probability-want.Probability) > 1e-12 {
				t.Errorf("%d workers, rho %v: %+v, want %+v", workers, rho, got, want)
			}
		}
	}
}

// In heavy traffic a constant service halves the wait (Kingman): the mean tends
// to 1/(2c(1-rho)) services.
func TestMDCHasItsHeavyTrafficLimit(t *testing.T) {
	for _, workers := range []int{1, 4, 100, 1000} {
		const slack = 1e-6
		c := float64(workers)
		got := queue.MDC(workers, c*(1-slack), 1)
		if want := 1 / (2 * c * slack); !near(got.Mean, want, 1e-4) || !near(got.Probability, 1, 1e-4) {
			t.Errorf("%d workers: %+v, want %v, 1", workers, got, want)
		}
	}
}

// Mean waits in ms that were calculated independently for 4 sync workers at 20,
// 32 and 38 requests/s, for the measured service of 102 ms and for the nominal
// 100 ms. 102 is rounded, and at 38/s half a millisecond moves the wait by a
// fifth, so the last ones leave room.
func TestMDCMatchesAnIndependentCalculation(t *testing.T) {
	for _, c := range []struct{ rate, service, want, tolerance float64 }{
		{20, 0.102, 5.5, 0.02},
		{32, 0.102, 45, 0.02},
		{38, 0.102, 401, 0.05},
		{38, 0.100, 227, 0.02},
	} {
		if got := 1000 * queue.MDC(4, c.rate, c.service).Mean; !near(got, c.want, c.tolerance) {
			t.Errorf("%v/s of %v s: %v ms, want %v", c.rate, c.service, got, c.want)
		}
	}
}

func TestModelsKnowTheirLimits(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, model := range map[string]queue.Model{"MMC": queue.MMC, "MDC": queue.MDC} {
		for _, c := range []struct {
			workers       int
			rate, service float64
			want          queue.Wait
		}{
			{4, 0, 1, queue.Wait{}},
			{4, 1, 0, queue.Wait{}},
			{4, 4, 1, queue.Wait{Probability: 1, Mean: inf}},
			{4, 9, 1, queue.Wait{Probability: 1, Mean: inf}},
			{4, inf, 1, queue.Wait{Probability: 1, Mean: inf}},
			{0, 1, 1, queue.Wait{Probability: nan, Mean: nan}},
			{4, -1, 1, queue.Wait{Probability: nan, Mean: nan}},
			{4, 1, -1, queue.Wait{Probability: nan, Mean: nan}},
			{4, nan, 1, queue.Wait{Probability: nan, Mean: nan}},
			{4, inf, 0, queue.Wait{Probability: nan, Mean: nan}},
		} {
			if got := model(c.workers, c.rate, c.service); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%s(%d, %v, %v) = %v, want %v", name, c.workers, c.rate, c.service, got, c.want)
			}
		}
	}
	if b, c := queue.ErlangB(-1, 1), queue.ErlangC(0, 1); !math.IsNaN(b) || !math.IsNaN(c) {
		t.Errorf("B(-1, 1) = %v, C(0, 1) = %v, want NaN", b, c)
	}
	if b, c := queue.ErlangB(0, 1), queue.ErlangC(2, 2); b != 1 || c != 1 {
		t.Errorf("B(0, 1) = %v, C(2, 2) = %v, want 1, 1", b, c)
	}
}

// Four workers and a dependency of 10 s sustain 0.4 requests per second.
func TestSustainableRateIsTheUtilisationLaw(t *testing.T) {
	rate := queue.SustainableRate(4, 10)
	if rate != 0.4 || queue.Utilisation(4, rate, 10) != 1 {
		t.Errorf("%v/s at a utilisation of %v, want 0.4 and 1", rate, queue.Utilisation(4, rate, 10))
	}
}

// 13 agents would leave callers waiting for 17 s, 14 for 7.8 s, by the same
// worked example.
func TestWorkersForTheWorkedExample(t *testing.T) {
	if got, err := queue.WorkersFor(8, 200.0/3600, 180, queue.MMC); got != 14 || err != nil {
		t.Errorf("%d, %v, want 14", got, err)
	}
}

func TestWorkersForIsTheLeastThatMeetsTheTarget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0.01, 300).Draw(t, "rate")
		target := rapid.Float64Range(1e-4, 10).Draw(t, "target")
		for name, model := range map[string]queue.Model{"MMC": queue.MMC, "MDC": queue.MDC} {
			n, err := queue.WorkersFor(target, rate, 0.1, model)
			if err != nil {
				t.Fatal(err)
			}
			if w := model(n, rate, 0.1).Mean; w > target {
				t.Errorf("%s: %d workers wait for %v s, over the target", name, n, w)
			}
			if n > 1 && model(n-1, rate, 0.1).Mean <= target {
				t.Errorf("%s: %d workers would do, not only %d", name, n-1, n)
			}
		}
	})
}

func TestWorkersForNamesWhatItCannotUse(t *testing.T) {
	for _, c := range []struct {
		target, rate, service float64
		want                  string
	}{
		{0, 1, 1, "target is 0"},
		{1, -1, 1, "rate is -1"},
		{1, 1, math.Inf(1), "service is +Inf"},
		{1, 1e9, 1, "more than 10000 workers"},
		{1e-9, 9999.9, 1, "more than 10000 workers"},
	} {
		if n, err := queue.WorkersFor(c.target, c.rate, c.service, queue.MDC); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d, %v, want %q", n, err, c.want)
		}
	}
	if n, err := queue.WorkersFor(3, 9999.5, 1, queue.MMC); n != 10_000 || err != nil {
		t.Errorf("%d, %v, want 10000", n, err)
	}
}
