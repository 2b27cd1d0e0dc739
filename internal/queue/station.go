package queue

import (
	"fmt"
	"time"
)

// station needs no event list. Under first come, first served nobody who comes
// later changes what happens to a request, so its whole future follows from
// when each worker is next free.
type station struct {
	cfg  Config
	free minHeap // when each worker is next free
	line line

	arrived, delayed, restarts, maxQueue int
	outcomes                             [TimedOut + 1]int

	first, latest, end time.Duration // arrival, arrival, end of a request

	// In nanoseconds. Sums of waits outgrow a time.Duration; as whole
	// numbers in floats they are exact up to 2^53 ns, which is 104 days.
	waited, queued, busy, wasted float64
}

func newStation(cfg Config) *station {
	return &station{cfg: cfg, free: make(minHeap, cfg.Workers)}
}

// take decides what becomes of the next arrival and books it.
func (s *station) take(r Request) error {
	s.arrived++
	if r.At < s.latest {
		return fmt.Errorf("queue: request %d arrives at %v, before %v: arrivals must not go back in time", s.arrived, r.At, s.latest)
	}
	if r.Service < 0 {
		return fmt.Errorf("queue: request %d needs a service of %v, it must be 0 or more", s.arrived, r.Service)
	}
	if s.arrived == 1 {
		s.first = r.At
	}
	s.latest = r.At

	v := Visit{At: r.At}
	stays, err := s.join(&v)
	if err != nil {
		return err
	}
	if stays {
		if err := s.serve(&v, r.Service); err != nil {
			return err
		}
	}
	s.book(v)
	return nil
}

// join takes the visit through the queue, and reports whether a worker will
// take it up.
func (s *station) join(v *Visit) (stays bool, err error) {
	if s.free[0] <= v.At {
		return true, nil
	}
	s.line.advance(v.At)
	if s.line.len() >= s.cfg.Limit {
		v.Outcome = Refused
		return false, nil
	}
	v.Wait = s.free[0] - v.At
	stays = true
	if s.cfg.Patience != nil {
		patience := s.cfg.Patience()
		if patience < 0 {
			return false, fmt.Errorf("queue: request %d has a patience of %v, it must be 0 or more", s.arrived, patience)
		}
		if v.Wait > patience {
			v.Outcome = Abandoned
			if stays = s.cfg.ServeAbandoned; !stays {
				v.Wait = patience
			}
		}
	}
	s.delayed++
	if stays {
		s.line.starts.push(v.At + v.Wait)
	} else {
		s.line.quits.push(v.At + v.Wait)
	}
	s.maxQueue = max(s.maxQueue, s.line.len())
	return stays, nil
}

// serve gives the visit to the worker that is free first.
func (s *station) serve(v *Visit, service time.Duration) error {
	start, lost := v.At+v.Wait, time.Duration(0)
	if s.cfg.Timeout > 0 && service > s.cfg.Timeout {
		service, lost = s.cfg.Timeout, s.cfg.Restart
		s.restarts++
		if v.Outcome == Served {
			v.Outcome = TimedOut
		}
	}
	v.Service = service
	again := start + service + lost
	if again < start {
		return fmt.Errorf("queue: request %d keeps its worker for longer than virtual time lasts, which is 292 years", s.arrived)
	}
	s.free.replaceMin(again)
	return nil
}

func (s *station) book(v Visit) {
	s.outcomes[v.Outcome]++
	s.end = max(s.end, v.End())
	s.queued += float64(v.Wait)
	s.busy += float64(v.Service)
	if v.Outcome == Served {
		s.waited += float64(v.Wait)
	} else {
		s.wasted += float64(v.Service)
	}
	if s.cfg.Each != nil {
		s.cfg.Each(v)
	}
}

func (s *station) result() Result {
	seconds := func(ns float64) float64 { return ns / float64(time.Second) }
	return Result{
		Workers:   s.cfg.Workers,
		Arrived:   s.arrived,
		Served:    s.outcomes[Served],
		Refused:   s.outcomes[Refused],
		Abandoned: s.outcomes[Abandoned],
		TimedOut:  s.outcomes[TimedOut],
		Delayed:   s.delayed,
		Restarts:  s.restarts,
		MaxQueue:  s.maxQueue,
		Span:      s.end - s.first,
		Waited:    seconds(s.waited),
		Queued:    seconds(s.queued),
		Busy:      seconds(s.busy),
		Wasted:    seconds(s.wasted),
	}
}
