package measure

import (
	"fmt"
	"testing"
	"time"

	"brink/internal/experiment"
	"brink/internal/wire"
)

func TestColdStartIsTheSlowestApps(t *testing.T) {
	s := newStory(t)
	s.step("s")
	s.repetition("s", 1, time.Second, func(r *told) {
		r.event("a", -9*time.Second, wire.Deployed)
		r.event("a", -8500*time.Millisecond, wire.Healthy)
		r.event("b", -8*time.Second, wire.Deployed)
		r.event("b", -6*time.Second, wire.Healthy)
		// A restart is no cold start.
		r.event("a", 100*time.Millisecond, wire.Exited)
		r.event("a", 200*time.Millisecond, wire.Restarted)
		r.event("a", 900*time.Millisecond, wire.Healthy)
	})
	wants(t, s.load(Options{}), "s", map[string]float64{"cold_start_s": 2, "exits": 1, "restarts": 1})
}

// App b was given up after 3 s. How long the rest of the repetition took says
// nothing about it.
func TestAnAppThatNeverBecameHealthyIsABound(t *testing.T) {
	s := newStory(t)
	s.step("s")
	s.repetition("s", 1, time.Minute, func(r *told) {
		r.event("a", -9*time.Second, wire.Deployed)
		r.event("a", -8*time.Second, wire.Healthy)
		r.event("b", -8*time.Second, wire.Deployed)
		r.event("b", -8*time.Second, wire.Started)
		r.event("b", -5*time.Second, wire.Stopped)
		r.event("a", time.Minute, wire.Stopped)
	})
	v := only(t, s.load(Options{}), "s", "cold_start_s")
	if !v.Censored || v.X != 3 || v.Missing != "" {
		t.Errorf("cold_start_s is %+v, want at least 3", v)
	}
}

func TestAnAppThatCouldNotBeExecutedHasNoColdStart(t *testing.T) {
	s := newStory(t)
	s.step("s")
	s.repetition("s", 1, time.Second, func(r *told) { r.event("a", -time.Second, wire.Deployed) })
	lacks(t, s.load(Options{}), "s", "no app began to start", "cold_start_s")
}

// A worker that is killed while it serves was no boot kill, whenever it booted.
func TestBootKillsEndWithTheFirstAnswer(t *testing.T) {
	s := newStory(t)
	s.step("s")
	s.repetition("s", 1, time.Second, func(r *told) {
		r.event("a", -9*time.Second, wire.Deployed)
		r.event("a", -8*time.Second, wire.WorkerBooted)
		r.event("a", -7*time.Second, wire.WorkerKilled)
		r.event("a", -6*time.Second, wire.WorkerBooted)
		r.event("a", -5*time.Second, wire.WorkerKilled)
		r.event("a", -4*time.Second, wire.WorkerBooted)
		r.event("a", -3*time.Second, wire.Healthy)
		r.event("a", 500*time.Millisecond, wire.WorkerKilled)
	})
	wants(t, s.load(Options{}), "s", map[string]float64{"boot_kills": 2, "exits": 0})
}

func TestCascade(t *testing.T) {
	restart := func(app string, at time.Duration) wire.Event {
		return wire.Event{App: app, AtNs: int64(at), Kind: wire.Restarted}
	}
	healthy := func(app string, at time.Duration) wire.Event {
		return wire.Event{App: app, AtNs: int64(at), Kind: wire.Healthy}
	}
	exited := func(app string, at time.Duration) wire.Event {
		return wire.Event{App: app, AtNs: int64(at), Kind: wire.Exited}
	}
	killed := func(app string, at time.Duration) wire.Event {
		return wire.Event{App: app, AtNs: int64(at), Kind: wire.WorkerKilled}
	}
	// The claim: 3 apps within 10 s, unrecovered for 60 s.
	for _, tc := range []struct {
		name   string
		events []wire.Event
		want   bool
	}{
		{"three restart and stay down", []wire.Event{restart("a", 1*sec), restart("b", 5*sec), restart("c", 11*sec)}, true},
		{"the third is too late", []wire.Event{restart("a", 1*sec), restart("b", 5*sec), restart("c", 12*sec)}, false},
		{"one app three times is no cascade", []wire.Event{restart("a", 1*sec), restart("a", 3*sec), restart("a", 7*sec)}, false},
		{"all are back after 30 s", []wire.Event{
			restart("a", 1*sec), restart("b", 2*sec), restart("c", 3*sec), healthy("a", 20*sec), healthy("b", 25*sec), healthy("c", 31*sec),
		}, false},
		{"all are back after 61 s", []wire.Event{
			restart("a", 1*sec), restart("b", 2*sec), restart("c", 3*sec), healthy("a", 20*sec), healthy("b", 25*sec), healthy("c", 62*sec),
		}, true},
		{"two are back, one is not", []wire.Event{
			restart("a", 1*sec), restart("b", 2*sec), restart("c", 3*sec), healthy("a", 20*sec), healthy("b", 25*sec),
		}, true},
		{"each was back, but never all at once", []wire.Event{
			restart("a", 1*sec), restart("b", 2*sec), restart("c", 3*sec), healthy("a", 20*sec), exited("a", 22*sec),
			healthy("b", 25*sec), healthy("c", 30*sec), healthy("a", 90*sec),
		}, true},
		{"an early restart alone, then three", []wire.Event{
			restart("a", 1*sec), healthy("a", 2*sec), restart("a", 30*sec), restart("b", 32*sec), restart("c", 35*sec),
		}, true},
		{"workers are killed while they boot, which is no restart", []wire.Event{
			killed("a", 1*sec), killed("b", 2*sec), killed("c", 3*sec), healthy("a", 40*sec), healthy("b", 50*sec), healthy("c", 90*sec),
		}, true},
		{"workers are killed that had served", []wire.Event{
			healthy("a", 0), healthy("b", 0), healthy("c", 0), killed("a", 1*sec), killed("b", 2*sec), killed("c", 3*sec),
		}, false},
		{"nothing restarts", []wire.Event{healthy("a", 1*sec), exited("a", 2*sec)}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStory(t)
			s.step("s")
			s.repetition("s", 1, 119*sec, func(r *told) {
				for _, e := range tc.events {
					e.AtNs = at(time.Duration(e.AtNs))
					r.check(r.w.Event(r.ID, e))
				}
			})
			info, _ := s.load(Options{}).Step("s")
			if got := info.Repetitions[0].Cascade(3, experiment.Duration(10*sec), experiment.Duration(60*sec)); got != tc.want {
				t.Errorf("cascade: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestEventsOfARepetitionAreBounded(t *testing.T) {
	s := newStory(t)
	s.step("s")
	s.repetition("s", 1, time.Second, func(r *told) {
		for i := range maxEvents + 500 {
			r.event(fmt.Sprint(i%3), time.Duration(i), wire.Restarted)
		}
	})
	table := s.load(Options{})
	wants(t, table, "s", map[string]float64{"restarts": maxEvents + 500})
	if info, _ := table.Step("s"); len(info.Repetitions[0].Events) != maxEvents {
		t.Errorf("%d events are kept, want %d", len(info.Repetitions[0].Events), maxEvents)
	}
}

// Apps a and b start over at 1 s and 5 s. Both are up again at 31 s, and a is
// restarted once more after that.
func TestRecoveryIsWhenAllAreBack(t *testing.T) {
	s := newStory(t)
	s.step("back")
	s.step("gone")
	down := func(r *told) {
		r.event("a", 1*sec, wire.Exited)
		r.event("a", 1*sec, wire.Restarted)
		r.event("b", 5*sec, wire.WorkerKilled)
		r.event("b", 20*sec, wire.Healthy)
	}
	s.repetition("back", 1, 59*sec, func(r *told) {
		down(r)
		r.event("a", 31*sec, wire.Healthy)
	})
	s.repetition("gone", 1, 59*sec, down)
	table := s.load(Options{})
	wants(t, table, "back", map[string]float64{"recovery_s": 30, "restarted_apps": 1})
	if v := only(t, table, "gone", "recovery_s"); !v.Censored || v.X != 59 {
		t.Errorf("recovery_s is %+v, want at least 59 s, to the end of the repetition", v)
	}
}
