package measure

import (
	"slices"
	"testing"
	"time"

	"brink/internal/experiment"
	"brink/internal/wire"
)

func apps(names ...string) func(*experiment.Step) {
	return func(s *experiment.Step) {
		for _, n := range names {
			s.Apps = append(s.Apps, experiment.App{Name: n})
		}
	}
}

// Two apps of 4 and 2 workers, by hand: 4 of 6 busy with one waiting, then all
// 6 with three waiting.
func TestWorkersAddUpOverApps(t *testing.T) {
	s := newStory(t)
	s.step("both", apps("a", "b"))
	pool := func(total, busy, queued int64) func(*wire.Sample) {
		return func(x *wire.Sample) { x.Workers, x.Busy, x.Queued = total, busy, queued }
	}
	s.repetition("both", 1, 2*time.Second, func(r *told) {
		r.sample("a", -time.Second, pool(4, 4, 9)) // before traffic
		r.sample("a", 0, pool(4, 3, 1))
		r.sample("b", 10*time.Millisecond, pool(2, 1, 0))
		r.sample("a", time.Second, pool(4, 4, 2))
		r.sample("b", time.Second+time.Millisecond, pool(2, 2, 1))
	})
	rec := s.open()
	table, err := Load(t.Context(), rec, Options{})
	s.check(err)
	w, err := table.Workers(t.Context(), rec, "both")
	s.check(err)
	if w.Repetitions != 1 || len(w.Unknown) != 0 || len(w.Busy) != 2 {
		t.Fatalf("%+v", w)
	}
	if w.Total[0].P50 != 6 || w.Busy[0].P50 != 4 || w.Queued[0].P50 != 1 {
		t.Errorf("at first %v workers, %v busy, %v waiting; want 6, 4 and 1", w.Total[0].P50, w.Busy[0].P50, w.Queued[0].P50)
	}
	// The bin at 1 s holds 4 + 1 and then 4 + 2 busy.
	if w.Busy[1].P50 != 5.5 || Most(w.Queued) != 2.5 {
		t.Errorf("then %v busy, at most %v waiting; want the means 5.5 and 2.5", w.Busy[1].P50, Most(w.Queued))
	}
}

// A pool inside the process is unknown, and so is the sum with it.
func TestWorkersThatCannotBeSeenAreNamed(t *testing.T) {
	s := newStory(t)
	s.step("both", apps("gevent", "sync"))
	s.repetition("both", 1, time.Second, func(r *told) {
		r.sample("sync", 0, func(x *wire.Sample) { x.Workers, x.Busy, x.Queued = 4, 1, 0 })
		r.sample("gevent", 0, func(x *wire.Sample) { x.QueueDepth = 0 })
	})
	s.step("silent")
	s.repetition("silent", 1, time.Second, nil)
	rec := s.open()
	table, err := Load(t.Context(), rec, Options{})
	s.check(err)
	w, err := table.Workers(t.Context(), rec, "both")
	s.check(err)
	if !slices.Equal(w.Unknown, []string{"gevent"}) || len(w.Busy) != 0 {
		t.Errorf("%+v: gevent is unknown, so the sum is", w)
	}
	if w, err = table.Workers(t.Context(), rec, "silent"); err != nil || len(w.Unknown) != 0 || len(w.Total) != 0 {
		t.Errorf("without samples: %+v, %v", w, err)
	}
}
