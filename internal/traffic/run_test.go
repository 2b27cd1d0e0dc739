package traffic_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"brink/internal/clock"
	"brink/internal/traffic"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// seen is a probe with its instants as offsets from the start of the run.
type seen struct {
	seq             int64
	due, sent, done time.Duration // sent is -1 when it was not
	outcome         traffic.Outcome
}

// collect returns a sink that keeps every probe, by Seq.
func collect(into map[int64]seen) func(*traffic.Probe) {
	at := func(ns int64) time.Duration {
		if ns == 0 {
			return -1
		}
		return time.Duration(ns - epoch.UnixNano())
	}
	return func(p *traffic.Probe) {
		into[p.Seq] = seen{p.Seq, at(p.Due), at(p.Sent), at(p.Done), p.Outcome}
	}
}

// inVirtualTime runs f on a fake clock, which moves on to the next instant that
// anything waits for whenever everything waits.
func inVirtualTime(t *testing.T, f func(t *testing.T, clk *clock.Fake)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		clk := clock.NewFake(epoch)
		finished := make(chan struct{})
		go func() {
			defer close(finished)
			f(t, clk)
		}()
		for {
			synctest.Wait()
			select {
			case <-finished:
				return
			default:
			}
			if !clk.Step() {
				t.Fatal("everything waits, and nothing for the clock")
			}
		}
	})
}

// holding dials servers in memory that answer every request after hold, by clk.
// A hold of zero or less never ends.
func holding(clk clock.Clock, hold time.Duration) traffic.Option {
	return traffic.WithDial(func(context.Context, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			requests := bufio.NewReader(theirs)
			for {
				if !readRequest(requests) {
					return
				}
				if hold <= 0 {
					readRequest(requests) // until the client hangs up
					return
				}
				if clk.Sleep(context.Background(), hold) != nil {
					return
				}
				if _, err := theirs.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")); err != nil {
					return
				}
			}
		}()
		return ours, nil
	})
}

// readRequest reads up to the empty line, and reports whether it came.
func readRequest(r *bufio.Reader) bool {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return false
		}
		if strings.TrimSpace(line) == "" {
			return true
		}
	}
}

func expect(t *testing.T, got map[int64]seen, want []seen) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d probes, want %d", len(got), len(want))
	}
	for _, w := range want {
		if got[w.seq] != w {
			t.Errorf("got  %+v\nwant %+v", got[w.seq], w)
		}
	}
}

const (
	ok       = traffic.OutcomeOK
	second   = time.Second
	ms       = time.Millisecond
	unsentAt = -1
)

// One connection, a server that takes a second, a request due every 100 ms: by
// arithmetic request i is sent at i seconds and done a second later, and its
// latency counts from i × 100 ms.
func TestLatencyCountsFromDueWhenTheConnectionIsTaken(t *testing.T) {
	for _, reuse := range []bool{true, false} {
		inVirtualTime(t, func(t *testing.T, clk *clock.Fake) {
			got := map[int64]seen{}
			s, err := traffic.Run(t.Context(), clk, traffic.Spec{
				Kind: traffic.KindSteady, Every: 100 * ms, Count: 4, Connections: 1,
				Path: "/", Timeout: 5 * second, Reuse: reuse,
			}, "app:80", collect(got), holding(clk, second))
			if err != nil {
				t.Error(err)
			}
			expect(t, got, []seen{
				{0, 0, 0, 1 * second, ok},
				{1, 100 * ms, 1 * second, 2 * second, ok},
				{2, 200 * ms, 2 * second, 3 * second, ok},
				{3, 300 * ms, 3 * second, 4 * second, ok},
			})
			if s.Latency.Max.Round(10*ms) != 3700*ms || s.SendLag.Max.Round(10*ms) != 2700*ms {
				t.Errorf("the longest latency is %v, the longest lag %v; want 3.7 s, 2.7 s", s.Latency.Max, s.SendLag.Max)
			}
			// One request of four was sent within the 400 ms of the schedule.
			if s.Held || s.Shortfall != 0.75 || s.TargetRate != 10 || s.AchievedRate != 2.5 {
				t.Errorf("held %v, shortfall %v, target %v, achieved %v; want false, 0.75, 10, 2.5", s.Held, s.Shortfall, s.TargetRate, s.AchievedRate)
			}
			if want := "asked for 10 requests per second, sent 2.5: 3 of 4 requests were sent after their time, or not at all; " +
				"3 of 4 requests waited on this side, as the only connection was taken"; !strings.HasPrefix(s.Reason, want) {
				t.Errorf("the reason is %q, want %q", s.Reason, want)
			}
			if s.Peak != 1 || s.Connections != 1 {
				t.Errorf("peak %d of %d connections, want 1 of 1", s.Peak, s.Connections)
			}
		})
	}
}

func TestOpenLoopDoesNotWaitForTheServer(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, clk *clock.Fake) {
		got := map[int64]seen{}
		s, err := traffic.Run(t.Context(), clk, traffic.Spec{
			Kind: traffic.KindRate, Rate: 4, Duration: second, Path: "/", Timeout: 5 * second, Reuse: true,
		}, "app:80", collect(got), holding(clk, 3*second))
		if err != nil {
			t.Error(err)
		}
		expect(t, got, []seen{
			{0, 0, 0, 3000 * ms, ok},
			{1, 250 * ms, 250 * ms, 3250 * ms, ok},
			{2, 500 * ms, 500 * ms, 3500 * ms, ok},
			{3, 750 * ms, 750 * ms, 3750 * ms, ok},
		})
		if !s.Held || s.Reason != "" || s.Shortfall != 0 || s.AchievedRate != 4 || s.Peak != 4 {
			t.Errorf("held %v (%s), shortfall %v, rate %v, peak %d; want a held rate of 4 over 4 connections", s.Held, s.Reason, s.Shortfall, s.AchievedRate, s.Peak)
		}
		if s.Elapsed != 3750*ms || s.Scheduled != 4 || s.Sent != 4 || s.Count(ok) != 4 {
			t.Errorf("elapsed %v, %d scheduled, %d sent, %d ok", s.Elapsed, s.Scheduled, s.Sent, s.Count(ok))
		}
	})
}

// Of a Poisson process with two arrivals per hour, none comes in a second: that
// is what was asked for, and not a rate that was missed.
func TestNothingThatCameDueIsHeld(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, clk *clock.Fake) {
		s, err := traffic.Run(t.Context(), clk, traffic.Spec{
			Kind: traffic.KindRate, Rate: 1.0 / 1800, Arrivals: traffic.ArrivalsPoisson, Seed: 1, Duration: second, Path: "/", Timeout: second,
		}, "app:80", func(*traffic.Probe) {}, holding(clk, second))
		if err != nil || s.Scheduled != 0 || s.Shortfall != 0 || !s.Held {
			t.Errorf("error %v, %d scheduled, shortfall %v, held %v: %s", err, s.Scheduled, s.Shortfall, s.Held, s.Reason)
		}
	})
}

func TestBatchIsSentAtOnceOrStaggered(t *testing.T) {
	for _, stagger := range []time.Duration{0, 20 * ms} {
		inVirtualTime(t, func(t *testing.T, clk *clock.Fake) {
			got := map[int64]seen{}
			s, err := traffic.Run(t.Context(), clk, traffic.Spec{
				Kind: traffic.KindBatch, Count: 3, Stagger: stagger, Path: "/", Timeout: 5 * second,
			}, "app:80", collect(got), holding(clk, second))
			if err != nil || !s.Held {
				t.Errorf("error %v, held %v: %s", err, s.Held, s.Reason)
			}
			expect(t, got, []seen{
				{0, 0, 0, second, ok},
				{1, stagger, stagger, second + stagger, ok},
				{2, 2 * stagger, 2 * stagger, second + 2*stagger, ok},
			})
		})
	}
}

func TestSequentialRequestsAreDueWhenTheOneBeforeEnds(t *testing.T) {
	for _, reuse := range []bool{true, false} {
		inVirtualTime(t, func(t *testing.T, clk *clock.Fake) {
			got := map[int64]seen{}
			s, err := traffic.Run(t.Context(), clk, traffic.Spec{
				Kind: traffic.KindSequential, Count: 3, Path: "/", Timeout: 5 * second, Reuse: reuse,
			}, "app:80", collect(got), holding(clk, 3*second))
			if err != nil || !s.Held {
				t.Errorf("error %v, held %v: %s", err, s.Held, s.Reason)
			}
			expect(t, got, []seen{
				{0, 0, 0, 3 * second, ok},
				{1, 3 * second, 3 * second, 6 * second, ok},
				{2, 6 * second, 6 * second, 9 * second, ok},
			})
		})
	}
}

func TestTimeoutCountsFromSent(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, clk *clock.Fake) {
		got := map[int64]seen{}
		_, err := traffic.Run(t.Context(), clk, traffic.Spec{
			Kind: traffic.KindSteady, Every: 700 * ms, Count: 3, Connections: 2, Path: "/", Timeout: 2 * second, Reuse: true,
		}, "app:80", collect(got), holding(clk, 0))
		if err != nil {
			t.Error(err)
		}
		expect(t, got, []seen{
			{0, 0, 0, 2000 * ms, traffic.OutcomeTimeout},
			{1, 700 * ms, 700 * ms, 2700 * ms, traffic.OutcomeTimeout},
			{2, 1400 * ms, 2000 * ms, 4000 * ms, traffic.OutcomeTimeout},
		})
	})
}

func TestTimeoutCoversConnecting(t *testing.T) {
	never := traffic.WithDial(func(ctx context.Context, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	inVirtualTime(t, func(t *testing.T, clk *clock.Fake) {
		got := map[int64]seen{}
		_, err := traffic.Run(t.Context(), clk, traffic.Spec{
			Kind: traffic.KindBatch, Count: 1, Path: "/", Timeout: 2 * second,
		}, "app:80", collect(got), never)
		if err != nil {
			t.Error(err)
		}
		expect(t, got, []seen{{0, 0, 0, 2 * second, traffic.OutcomeTimeout}})
	})
}

// With one connection and 900 ms a request, requests go out at 0, 0.9, 1.8, 2.7
// and 3.6 s. At 3.6 s more than the time-out of 1 s has passed since the end of
// the schedule at 2 s, so the other 15 are not sent.
func TestRequestsThatFindNoConnectionAreRecordedUnsent(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, clk *clock.Fake) {
		got := map[int64]seen{}
		s, err := traffic.Run(t.Context(), clk, traffic.Spec{
			Kind: traffic.KindSteady, Every: 100 * ms, Duration: 2 * second, Connections: 1, Path: "/", Timeout: second, Reuse: true,
		}, "app:80", collect(got), holding(clk, 900*ms))
		if err != nil {
			t.Error(err)
		}
		if len(got) != 20 || s.Count(ok) != 5 || s.Count(traffic.OutcomeUnsent) != 15 || s.Sent != 5 || s.Held {
			t.Errorf("%d probes, %d ok, %d unsent, %d sent, held %v; want 20, 5, 15, 5, false",
				len(got), s.Count(ok), s.Count(traffic.OutcomeUnsent), s.Sent, s.Held)
		}
		if want := (seen{19, 1900 * ms, unsentAt, 3600 * ms, traffic.OutcomeUnsent}); got[19] != want {
			t.Errorf("the last is %+v, want %+v", got[19], want)
		}
		if s.Elapsed != 4500*ms {
			t.Errorf("ended after %v, want 4.5 s", s.Elapsed)
		}
	})
}

func TestCancellingRecordsWhatWasUnderWayAndDue(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, clk *clock.Fake) {
		ctx, cancel := context.WithCancel(context.Background())
		stop := clk.After(250 * ms)
		go func() { <-stop; cancel() }()
		got := map[int64]seen{}
		s, err := traffic.Run(ctx, clk, traffic.Spec{
			Kind: traffic.KindSteady, Every: 100 * ms, Count: 50, Connections: 1, Path: "/", Timeout: 60 * second, Reuse: true,
		}, "app:80", collect(got), holding(clk, 0))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want context.Canceled", err)
		}
		expect(t, got, []seen{
			{0, 0, 0, 250 * ms, traffic.OutcomeCanceled},
			{1, 100 * ms, unsentAt, 250 * ms, traffic.OutcomeUnsent},
			{2, 200 * ms, unsentAt, 250 * ms, traffic.OutcomeUnsent},
		})
		if want := "stopped after 250ms, 1 request cut short, 2 requests due and not sent"; s.Held || s.Reason != want {
			t.Errorf("held %v, reason %q, want %q", s.Held, s.Reason, want)
		}
	})
}

// Ten requests at once over nine connections, to a server that takes 1 ms: the
// tenth waits for one of the others, though by less than any tolerance for
// lateness. One connection that is taken for 21 ms of every 20 makes all but the
// first wait; with two nobody does.
func TestTrafficThatQueuesForConnectionsIsNotHeld(t *testing.T) {
	for _, c := range []struct {
		name   string
		spec   traffic.Spec
		hold   time.Duration
		queued int64
		says   string
	}{
		{"batch", traffic.Spec{Kind: traffic.KindBatch, Count: 10, Connections: 9}, ms, 1,
			"1 of 10 requests waited on this side, as all 9 connections were taken"},
		{"batch with enough", traffic.Spec{Kind: traffic.KindBatch, Count: 10, Connections: 10}, ms, 0, ""},
		{"sequence", traffic.Spec{Kind: traffic.KindSequential, Count: 10}, ms, 0, ""},
		{"rate", traffic.Spec{Kind: traffic.KindRate, Rate: 50, Count: 100, Connections: 1}, 21 * ms, 99,
			"99 of 100 requests waited on this side, as the only connection was taken"},
		{"rate with enough", traffic.Spec{Kind: traffic.KindRate, Rate: 50, Count: 100, Connections: 2}, 21 * ms, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, clk *clock.Fake) {
				c.spec.Path, c.spec.Timeout, c.spec.Reuse = "/", 5*second, true
				s, err := traffic.Run(t.Context(), clk, c.spec, "app:80", func(*traffic.Probe) {}, holding(clk, c.hold))
				if err != nil || s.Count(ok) != int64(c.spec.Count) || s.Queued != c.queued || s.Held != (c.says == "") || !strings.Contains(s.Reason, c.says) {
					t.Errorf("error %v, outcomes %v, %d queued, %q; want all ok, %d, %q", err, s.Outcomes, s.Queued, s.Reason, c.queued, c.says)
				}
			})
		})
	}
}

func TestCancellingEndsTheWaitForWhatIsNotDue(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, clk *clock.Fake) {
		ctx, cancel := context.WithCancel(context.Background())
		stop := clk.After(1500 * ms)
		go func() { <-stop; cancel() }()
		got := map[int64]seen{}
		s, err := traffic.Run(ctx, clk, traffic.Spec{
			Kind: traffic.KindSteady, Every: 3600 * second, Count: 2, Path: "/", Timeout: 60 * second, Reuse: true,
		}, "app:80", collect(got), holding(clk, second))
		if !errors.Is(err, context.Canceled) || s.Elapsed != 1500*ms || s.Held {
			t.Errorf("error %v after %v, held %v; want context.Canceled after 1.5 s, false", err, s.Elapsed, s.Held)
		}
		expect(t, got, []seen{{0, 0, 0, second, ok}})
	})
}

func TestRunRefusesWhatItCannotDo(t *testing.T) {
	sink := func(*traffic.Probe) { t.Error("a probe of a run that cannot start") }
	good := traffic.Spec{Kind: traffic.KindBatch, Count: 1, Path: "/", Timeout: second}
	if _, err := traffic.Run(t.Context(), clock.Real, traffic.Spec{}, "127.0.0.1:1", sink); err == nil {
		t.Error("an empty spec was accepted")
	}
	for _, addr := range []string{"", "127.0.0.1", "127.0.0.1:"} {
		if _, err := traffic.Run(t.Context(), clock.Real, good, addr, sink); err == nil || !strings.Contains(err.Error(), "host:port") {
			t.Errorf("address %q: %v, want a demand for host:port", addr, err)
		}
	}
}
