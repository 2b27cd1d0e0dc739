package queue_test

import (
	"testing"
	"time"

	"brink/internal/queue"
)

// BenchmarkMD4 is the simulator's promise: five million customers per second
// on one core, their random arrivals included.
func BenchmarkMD4(b *testing.B) {
	const customers, promised = 5_000_000, 5e6
	cfg := queue.Config{Workers: 4, Limit: queue.Unlimited}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		arrivals := queue.First(customers, queue.Poisson(seeded(), 32))
		if _, err := queue.Simulate(cfg, queue.Requests(arrivals, queue.Constant(100*time.Millisecond))); err != nil {
			b.Fatal(err)
		}
		n += customers
	}
	rate := float64(n) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "customers/s")
	if rate < promised {
		b.Errorf("%.3g customers/s, promised %.3g", rate, promised)
	}
}

// BenchmarkEverything turns on all that a configuration has.
func BenchmarkEverything(b *testing.B) {
	const customers = 1_000_000
	r := seeded()
	var longest time.Duration
	cfg := queue.Config{
		Workers: 4, Limit: queue.Backlog(64), Patience: queue.Exponential(r, time.Second),
		Timeout: 400 * time.Millisecond, Restart: time.Second,
		Each: func(v queue.Visit) { longest = max(longest, v.Wait) },
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		arrivals := queue.First(customers, queue.Poisson(r, 38))
		if _, err := queue.Simulate(cfg, queue.Requests(arrivals, queue.Exponential(r, 100*time.Millisecond))); err != nil {
			b.Fatal(err)
		}
		n += customers
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "customers/s")
}
