package traffic_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"brink/internal/clock"
	"brink/internal/traffic"
)

// Requests that go out a second apart and take three overlap as the comments
// say, whether they are answered or given up.
func TestInFlightIsWhatWasSentAndHasNotEnded(t *testing.T) {
	for name, hold := range map[string]time.Duration{"answered": 3*second - ms, "given up": 0} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, clk *clock.Fake) {
				var n atomic.Int64
				var readings []int64
				var reading sync.WaitGroup
				reading.Go(func() {
					_ = clk.Sleep(context.Background(), 500*ms)
					for range 8 {
						readings = append(readings, n.Load())
						_ = clk.Sleep(context.Background(), second)
					}
				})
				_, err := traffic.Run(t.Context(), clk, traffic.Spec{
					Kind: traffic.KindBatch, Count: 5, Stagger: second, Path: "/", Timeout: 3 * second,
				}, "app:80", func(*traffic.Probe) {}, holding(clk, hold), traffic.WithInFlight(&n))
				if err != nil {
					t.Error(err)
				}
				reading.Wait()
				// Sent at 0, 1, 2, 3 and 4 s and ended 3 s later, read at 0.5 s and every second.
				if want := []int64{1, 2, 3, 3, 3, 2, 1, 0}; !slices.Equal(readings, want) {
					t.Errorf("in flight %v, want %v", readings, want)
				}
			})
		})
	}
}

// A run that is cancelled leaves nothing in the gauge.
func TestNothingIsInFlightAfterACancelledRun(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, clk *clock.Fake) {
		var n atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_ = clk.Sleep(context.Background(), 1500*ms)
			if got := n.Load(); got != 2 {
				t.Errorf("%d requests in flight before the run is cancelled, want 2", got)
			}
			cancel()
		}()
		_, err := traffic.Run(ctx, clk, traffic.Spec{
			Kind: traffic.KindBatch, Count: 5, Stagger: second, Path: "/", Timeout: 30 * second,
		}, "app:80", func(*traffic.Probe) {}, holding(clk, 0), traffic.WithInFlight(&n))
		if err == nil {
			t.Error("no error of a cancelled run")
		}
		if got := n.Load(); got != 0 {
			t.Errorf("%d requests in flight after the run, want 0", got)
		}
	})
}
