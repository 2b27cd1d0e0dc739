package lab

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"brink/internal/clock"
	"brink/internal/experiment"
	"brink/internal/record"
)

// Pauses that nothing else has: before traffic, between phases, and before a
// stream that starts later.
const (
	settle = 91 * time.Second
	wash   = 92 * time.Second
	later  = 93 * time.Second
)

// A run may be stopped anywhere. It then says so, keeps what it has, closes the
// host once and begins nothing more.
func TestAnInterruptedRun(t *testing.T) {
	type at struct {
		// Each is a place where the run can be stopped.
		open, deploy bool
		pause        time.Duration
		hang         bool
	}
	for _, tc := range []struct {
		name   string
		at     at
		reason string
		closed []int
		// reps are the repetitions begun, probes the requests of the last.
		reps, probes int
	}{
		{"while the plan is set up", at{open: true}, "stopped while the plan was set up", nil, 1, 0},
		{"while deploying", at{deploy: true}, "stopped while deploying", []int{1}, 1, 0},
		{"while settling", at{pause: settle}, "stopped before traffic", []int{1}, 1, 0},
		{"just before traffic", at{pause: tail}, "stopped before traffic", []int{1}, 1, 0},
		{"before a delayed stream", at{pause: later}, "stopped while traffic ran", []int{1}, 1, 3},
		{"while washing out", at{pause: wash}, "stopped before traffic", []int{1}, 2, 0},
		{"while requests are under way", at{hang: true}, "stopped while traffic ran", []int{1}, 1, 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var mu sync.Mutex
			hung := 0
			h := newFakeHost(t, func() {
				mu.Lock()
				defer mu.Unlock()
				if hung++; hung == 4 {
					cancel()
				}
			})
			if tc.at.open {
				h.open = func(ctx context.Context) error { cancel(); return ctx.Err() }
			}
			if tc.at.deploy {
				h.deploy = func(ctx context.Context, _ experiment.App) error { cancel(); return ctx.Err() }
			}
			c := hookedClock{clock.Real, func(d time.Duration) bool {
				if d > 0 && d == tc.at.pause {
					cancel()
				}
				return true
			}}
			on, off := plain("on"), plain("off")
			for _, s := range []*experiment.Step{&on, &off} {
				s.Settle, s.WashOut = experiment.Duration(settle), experiment.Duration(wash)
				second := pings("site", 4)
				if tc.at.hang {
					second.Kind, second.Path = "batch", "/hang"
				}
				if tc.at.pause == later {
					second.Start = experiment.Duration(later)
				}
				s.Traffic = append(s.Traffic, second)
			}
			d := design(2, on, off)
			d.Experiment.Hypotheses = []experiment.Hypothesis{{Form: experiment.CausedBy, On: "on", Off: "off"}}

			r := run(t, ctx, Options{Design: d, Host: h, Clock: c})
			if r.err != nil || !r.Interrupted || len(r.NeverServed) != 0 || r.Failed+r.Invalid != 0 || r.Done != tc.reps-1 {
				t.Errorf("%+v, %v; want interrupted after %d done", r.Result, r.err, tc.reps-1)
			}
			r.ended("interrupted", "stopped by the user")
			reps := r.repetitions()
			if len(reps) != tc.reps {
				t.Fatalf("%d repetitions were begun, want %d", len(reps), tc.reps)
			}
			last := reps[len(reps)-1]
			if last.Status != "interrupted" || last.Reason != tc.reason || last.EndedNs == 0 {
				t.Errorf("the repetition is %s: %s; want interrupted: %s", last.Status, last.Reason, tc.reason)
			}
			if !slices.Equal(h.closes(), tc.closed) {
				t.Errorf("sessions closed %v, want %v", h.closes(), tc.closed)
			}
			probes := r.probes(last.ID)
			if len(probes) > tc.probes {
				t.Errorf("%d requests are kept, want at most %d", len(probes), tc.probes)
			}
			if tc.at.hang {
				if len(probes) < 4 {
					t.Fatalf("%d requests are kept, want those that were under way", len(probes))
				}
				for _, p := range probes[len(probes)-4:] {
					if p.Outcome != "canceled" || p.Status != 0 || p.Done < p.Due {
						t.Errorf("a request that was under way: %+v, want canceled", p)
					}
				}
				if s := r.streams(last.ID)[1]; s.Held || s.Scheduled != 4 {
					t.Errorf("its stream is %+v, want 4 requests, not held", s)
				}
			}
			for _, v := range r.table().Cell(r.stepNames()[last.StepID], "requests").Values {
				if v.Number == last.Number && v.Missing != "interrupted: "+tc.reason {
					t.Errorf("the repetition has the value %+v", v)
				}
			}
		})
	}
}

// The reason of a run that something else than the user stopped is that cause.
func TestTheCauseOfAnInterruptIsKept(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the time is up"))
	h := newFakeHost(t, nil)
	r := run(t, ctx, Options{Design: design(1, plain("a")), Host: h})
	if r.err != nil || !r.Interrupted || len(h.sessions) != 0 {
		t.Errorf("%+v, %v", r.Result, r.err)
	}
	r.ended(record.Interrupted, "the time is up")
}
