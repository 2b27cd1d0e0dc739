package queue_test

import (
	"fmt"
	"iter"
	"math"
	"testing"
	"time"

	"brink/internal/queue"
)

const millisecond = time.Millisecond

func simulate(t *testing.T, cfg queue.Config, requests iter.Seq[queue.Request]) queue.Result {
	t.Helper()
	got, err := queue.Simulate(cfg, requests)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestSimulationMatchesErlangC(t *testing.T) {
	for _, c := range []struct {
		workers int
		rate    float64
	}{{1, 7}, {2, 10}, {4, 32}, {10, 80}} {
		r := seeded()
		arrivals := queue.First(1_000_000, queue.Poisson(r, c.rate))
		got := simulate(t, queue.Config{Workers: c.workers, Limit: queue.Unlimited},
			queue.Requests(arrivals, queue.Exponential(r, 100*millisecond)))
		want := queue.MMC(c.workers, c.rate, 0.1)
		if p := float64(got.Delayed) / float64(got.Arrived); !near(p, want.Probability, 0.02) || !near(got.MeanWait(), want.Mean, 0.04) {
			t.Errorf("%d workers at %v/s: %v wait, %v s, want %+v", c.workers, c.rate, p, got.MeanWait(), want)
		}
		if u := queue.Utilisation(c.workers, c.rate, 0.1); !near(got.Utilisation(), u, 0.01) {
			t.Errorf("%d workers at %v/s: utilisation %v, want %v", c.workers, c.rate, got.Utilisation(), u)
		}
	}
}

// Four workers with services of 102 ms, half, well and nearly fully loaded. Long
// queues are remembered for long: at 38/s the mean wait of 1.5 million
// requests still has a standard error of about 5 %.
func TestSimulationMatchesMDC(t *testing.T) {
	for _, c := range []struct{ rate, tolerance float64 }{{20, 0.02}, {32, 0.03}, {38, 0.15}} {
		arrivals := queue.First(1_500_000, queue.Poisson(seeded(), c.rate))
		got := simulate(t, queue.Config{Workers: 4, Limit: queue.Unlimited},
			queue.Requests(arrivals, queue.Constant(102*millisecond)))
		want := queue.MDC(4, c.rate, 0.102)
		if p := float64(got.Delayed) / float64(got.Arrived); !near(p, want.Probability, 0.01) || !near(got.MeanWait(), want.Mean, c.tolerance) {
			t.Errorf("at %v/s: %v wait, %v s, want %+v", c.rate, p, got.MeanWait(), want)
		}
	}
}

// Pollaczek and Khinchine again, for any spread: rho(1+cv^2)/(2(1-rho))
// services.
func TestSimulationMatchesPollaczekKhinchineForLogNormalServices(t *testing.T) {
	r := seeded()
	arrivals := queue.First(1_000_000, queue.Poisson(r, 6))
	got := simulate(t, queue.Config{Workers: 1, Limit: queue.Unlimited},
		queue.Requests(arrivals, queue.LogNormal(r, 100*millisecond, 0.8)))
	if want := 0.1 * 0.6 * (1 + 0.64) / (2 * 0.4); !near(got.MeanWait(), want, 0.03) {
		t.Errorf("mean wait %v s, want %v", got.MeanWait(), want)
	}
}

// Erlang B holds whatever the services look like.
func TestWithoutAQueueErlangBIsRefused(t *testing.T) {
	r := seeded()
	want := queue.ErlangB(4, 3)
	for name, service := range map[string]queue.Draw{
		"constant": queue.Constant(100 * millisecond), "exponential": queue.Exponential(r, 100*millisecond),
		"log-normal": queue.LogNormal(r, 100*millisecond, 1.5),
	} {
		arrivals := queue.First(500_000, queue.Poisson(r, 30))
		got := simulate(t, queue.Config{Workers: 4, Limit: 0}, queue.Requests(arrivals, service))
		if refused := float64(got.Refused) / float64(got.Arrived); !near(refused, want, 0.02) || got.Delayed != 0 {
			t.Errorf("%s: %v refused, %d delayed, want %v, 0", name, refused, got.Delayed, want)
		}
	}
}

// chain is the stationary distribution of the birth-death chain of c workers
// with exponential services and limited places, whose waiting clients leave at
// a rate: Erlang's A model (Palm 1946) with a limit.
type chain struct{ refused, abandoned, delayed, queue float64 }

func birthAndDeath(workers, limit int, rate, service, leave float64) (c chain) {
	states := make([]float64, workers+limit+1)
	states[0] = 1
	sum := 1.0
	for n := 1; n < len(states); n++ {
		deaths := float64(min(n, workers))/service + float64(max(n-workers, 0))*leave
		states[n] = states[n-1] * rate / deaths
		sum += states[n]
	}
	for n, p := range states {
		p /= sum
		c.queue += p * float64(max(n-workers, 0))
		switch {
		case n == workers+limit:
			c.refused = p
		case n >= workers:
			c.delayed += p
		}
	}
	c.abandoned = c.queue * leave / rate
	return c
}

func TestLimitAndAbandonmentMatchTheBirthDeathChain(t *testing.T) {
	for _, c := range []struct {
		limit      int
		rate, stay float64
	}{
		{queue.Backlog(4), 36, 1e9},
		{queue.Backlog(4), 60, 1e9},
		{200, 38, 0.2},
		{queue.Backlog(4), 60, 0.2},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			r := seeded()
			cfg := queue.Config{Workers: 4, Limit: c.limit}
			if c.stay < 1e9 {
				cfg.Patience = queue.Exponential(r, time.Duration(c.stay*1e9))
			}
			arrivals := queue.First(500_000, queue.Poisson(r, c.rate))
			got := simulate(t, cfg, queue.Requests(arrivals, queue.Exponential(r, 100*millisecond)))
			want := birthAndDeath(4, c.limit, c.rate, 0.1, 1/c.stay)
			share := func(n int) float64 { return float64(n) / float64(got.Arrived) }
			for _, x := range []struct {
				name      string
				got, want float64
			}{
				{"refused", share(got.Refused), want.refused},
				{"abandoned", share(got.Abandoned), want.abandoned},
				{"delayed", share(got.Delayed), want.delayed},
				{"mean queue", got.MeanQueue(), want.queue},
			} {
				if !near(x.got, x.want, 0.02) && math.Abs(x.got-x.want) > 1e-6 {
					t.Errorf("%s %v, want %v", x.name, x.got, x.want)
				}
			}
		})
	}
}

// If abandoned requests are served, giving up changes nobody's wait, and the
// share that gives up is the chance of M/M/c to wait longer than the patience:
// C exp(-(c/service - rate) patience).
func TestServedAbandonedRequestsRelieveNobody(t *testing.T) {
	const rate, patience = 36, 0.1
	r := seeded()
	cfg := queue.Config{
		Workers: 4, Limit: queue.Unlimited,
		Patience: queue.Constant(100 * millisecond), ServeAbandoned: true,
	}
	arrivals := queue.First(1_000_000, queue.Poisson(r, rate))
	got := simulate(t, cfg, queue.Requests(arrivals, queue.Exponential(r, 100*millisecond)))
	want := queue.ErlangC(4, 3.6) * math.Exp(-(40-rate)*patience)
	if gone := float64(got.Abandoned) / float64(got.Arrived); !near(gone, want, 0.03) {
		t.Errorf("%v gave up, want %v", gone, want)
	}
	if u := got.Utilisation(); !near(u, 0.9, 0.01) {
		t.Errorf("utilisation %v, want 0.9", u)
	}
}
