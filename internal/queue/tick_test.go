package queue_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"brink/internal/queue"
)

// ticker is a second simulator to judge the first by. It shares no idea with
// it: it lives through every nanosecond, moves people about in a visible
// queue, and counts heads.
type ticker struct {
	cfg      queue.Config
	workers  []worker
	waiting  []int // into visits, in order of arrival
	requests []queue.Request
	deadline []time.Duration
	visits   []queue.Visit

	queued, busy, maxQueue, delayed, restarts int
}

type worker struct{ busyUntil, freeAt time.Duration }

func live(cfg queue.Config, requests []queue.Request) *ticker {
	s := &ticker{
		cfg: cfg, workers: make([]worker, cfg.Workers), requests: requests,
		deadline: make([]time.Duration, len(requests)), visits: make([]queue.Visit, len(requests)),
	}
	next := 0
	for now := time.Duration(0); next < len(requests) || len(s.waiting) > 0 || s.working(now) > 0; now++ {
		s.settle(now)
		for ; next < len(requests) && requests[next].At == now; next++ {
			s.arrive(next, now)
			s.settle(now)
		}
		s.queued += len(s.waiting)
		s.busy += s.working(now)
	}
	return s
}

func (s *ticker) working(now time.Duration) (n int) {
	for _, w := range s.workers {
		if w.busyUntil > now {
			n++
		}
	}
	return n
}

func (s *ticker) idle(now time.Duration) int {
	return slices.IndexFunc(s.workers, func(w worker) bool { return w.freeAt <= now })
}

// settle lets idle workers call the next, and then the impatient leave.
func (s *ticker) settle(now time.Duration) {
	for s.idle(now) >= 0 && len(s.waiting) > 0 {
		i := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.start(i, s.idle(now), now)
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(i int) bool {
		if now < s.deadline[i] {
			return false
		}
		s.visits[i].Outcome = queue.Abandoned
		if s.cfg.ServeAbandoned {
			return false
		}
		s.visits[i].Wait = now - s.visits[i].At
		return true
	})
}

func (s *ticker) arrive(i int, now time.Duration) {
	s.visits[i].At = now
	if w := s.idle(now); w >= 0 {
		s.start(i, w, now)
		return
	}
	if len(s.waiting) >= s.cfg.Limit {
		s.visits[i].Outcome = queue.Refused
		return
	}
	s.deadline[i] = math.MaxInt64
	if s.cfg.Patience != nil {
		s.deadline[i] = now + s.cfg.Patience()
	}
	s.waiting = append(s.waiting, i)
	s.delayed++
	s.maxQueue = max(s.maxQueue, len(s.waiting))
}

func (s *ticker) start(i, w int, now time.Duration) {
	v := &s.visits[i]
	v.Wait, v.Service = now-v.At, s.requests[i].Service
	missing := time.Duration(0)
	if s.cfg.Timeout > 0 && v.Service > s.cfg.Timeout {
		v.Service, missing = s.cfg.Timeout, s.cfg.Restart
		s.restarts++
		if v.Outcome != queue.Abandoned {
			v.Outcome = queue.TimedOut
		}
	}
	s.workers[w] = worker{busyUntil: now + v.Service, freeAt: now + v.Service + missing}
}

func TestSimulatorAgreesWithLivingThroughEveryTick(t *testing.T) {
	seen := map[queue.Outcome]int{}
	rapid.Check(t, func(t *rapid.T) {
		cfg, patience, requests := scenario(t)
		cfg.Patience = cycle(patience)
		want := live(cfg, requests)

		var visits []queue.Visit
		cfg.Patience = cycle(patience)
		cfg.Each = func(v queue.Visit) { visits = append(visits, v) }
		got, err := queue.Simulate(cfg, slices.Values(requests))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(visits, want.visits) {
			t.Fatalf("visits\n%+v, want\n%+v", visits, want.visits)
		}
		check(t, got, want)
		for _, v := range visits {
			seen[v.Outcome]++
		}
	})
	t.Log(seen)
	for o := queue.Served; o <= queue.TimedOut; o++ {
		if seen[o] == 0 {
			t.Errorf("no request was %v: the scenarios are too tame", o)
		}
	}
}

// check compares the sums. That the time which requests spent in the queue is
// the queue's length summed over time is Little's law; that every arrival has
// one outcome is conservation.
func check(t *rapid.T, got queue.Result, want *ticker) {
	nanoseconds := func(seconds float64) int { return int(math.Round(seconds * 1e9)) }
	if q := nanoseconds(got.Queued); q != want.queued {
		t.Errorf("queued for %d, the queue's lengths sum to %d", q, want.queued)
	}
	if b := nanoseconds(got.Busy); b != want.busy {
		t.Errorf("busy for %d, the busy workers sum to %d", b, want.busy)
	}
	if sum := got.Served + got.Refused + got.Abandoned + got.TimedOut; sum != got.Arrived || sum != len(want.requests) {
		t.Errorf("%d outcomes of %d arrivals, want %d", sum, got.Arrived, len(want.requests))
	}
	if got.MaxQueue != want.maxQueue || got.Delayed != want.delayed || got.Restarts != want.restarts {
		t.Errorf("longest queue %d, %d delayed, %d restarts, want %d, %d, %d",
			got.MaxQueue, got.Delayed, got.Restarts, want.maxQueue, want.delayed, want.restarts)
	}
	count := map[queue.Outcome]int{}
	waited, wasted := 0, 0
	for _, v := range want.visits {
		count[v.Outcome]++
		if v.Outcome == queue.Served {
			waited += int(v.Wait)
		} else {
			wasted += int(v.Service)
		}
	}
	if got.Served != count[queue.Served] || got.Refused != count[queue.Refused] || got.Abandoned != count[queue.Abandoned] {
		t.Errorf("%d served, %d refused, %d abandoned, want %v", got.Served, got.Refused, got.Abandoned, count)
	}
	if nanoseconds(got.Waited) != waited || nanoseconds(got.Wasted) != wasted {
		t.Errorf("waited %v, wasted %v, want %d ns, %d ns", got.Waited, got.Wasted, waited, wasted)
	}
}

// cycle deals out the patiences again and again; none at all is no limit.
func cycle(of []time.Duration) queue.Draw {
	if len(of) == 0 {
		return nil
	}
	i := -1
	return func() time.Duration { i++; return of[i%len(of)] }
}

// scenario has small numbers, so that events often fall on the same tick.
func scenario(t *rapid.T) (queue.Config, []time.Duration, []queue.Request) {
	tick := func(most int64) *rapid.Generator[time.Duration] {
		return rapid.Map(rapid.Int64Range(0, most), func(n int64) time.Duration { return time.Duration(n) })
	}
	cfg := queue.Config{
		Workers:        rapid.IntRange(1, 5).Draw(t, "workers"),
		Limit:          rapid.OneOf(rapid.IntRange(0, 6), rapid.Just(queue.Unlimited)).Draw(t, "limit"),
		ServeAbandoned: rapid.Bool().Draw(t, "serve abandoned"),
		Timeout:        tick(15).Draw(t, "timeout"),
		Restart:        tick(10).Draw(t, "restart"),
	}
	patience := rapid.SliceOfN(tick(20), 0, 4).Draw(t, "patience")
	gaps := rapid.SliceOfN(tick(4), 20, 100).Draw(t, "gaps")
	requests := make([]queue.Request, len(gaps))
	at := time.Duration(0)
	for i, gap := range gaps {
		at += gap
		requests[i] = queue.Request{At: at, Service: tick(20).Draw(t, "service")}
	}
	return cfg, patience, requests
}
