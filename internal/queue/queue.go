// Package queue simulates c identical workers behind one first-come,
// first-served queue, in virtual time, and holds the formulas that predict the
// same.
//
// The simulator is exact: time is whole nanoseconds, so a batch ends when
// arithmetic says, and replaying the due times of a run shows what that very
// run should have seen. It covers what a pool of synchronous workers does
// besides serving: a full accept queue refuses, clients give up while they
// wait, workers serve requests whose client is gone, a watchdog kills a worker
// that serves too long.
//
// Times of single requests are time.Duration since the start of virtual time;
// means and integrals are float64 seconds.
package queue

import (
	"fmt"
	"iter"
	"math"
	"time"
)

// Unlimited is the Limit of a queue that never refuses.
const Unlimited = math.MaxInt

// Backlog is the Limit of a listening socket with this backlog. The kernel
// refuses when the accept queue is longer than the backlog, not as long
// (sk_acceptq_is_full in include/net/sock.h), so one more fits.
func Backlog(backlog int) int { return backlog + 1 }

// Config describes the workers and their queue.
type Config struct {
	// Workers is the number of workers, each serving one request at a time;
	// at least 1.
	Workers int
	// Limit is the number of requests that may wait, those in service not
	// counted: Unlimited, Backlog(n), or any number from 0, which refuses
	// whatever finds all workers busy.
	Limit int
	// Patience gives how long the client of a request that has to wait stays
	// in the queue; one that would be served at the very moment when its
	// patience ends is served. Nil: nobody gives up.
	Patience Draw
	// ServeAbandoned keeps a request in the queue after its client has given
	// up, and serves it in full, as workers behind an accept queue do.
	// Otherwise the request leaves the queue with its client.
	ServeAbandoned bool
	// Timeout is the watchdog: a service that takes longer is cut off there
	// and its worker is killed. 0: there is no watchdog.
	Timeout time.Duration
	// Restart is how long a killed worker is missing.
	Restart time.Duration
	// Each, if set, is told every request, in order of arrival, as soon as
	// its end is known, which may lie ahead in virtual time.
	Each func(Visit)
}

func (c Config) validate() error {
	switch {
	case c.Workers < 1:
		return fmt.Errorf("queue: Workers is %d, it must be at least 1", c.Workers)
	case c.Limit < 0:
		return fmt.Errorf("queue: Limit is %d, it must be 0 or more", c.Limit)
	case c.Timeout < 0:
		return fmt.Errorf("queue: Timeout is %v, it must be 0 (none) or more", c.Timeout)
	case c.Restart < 0:
		return fmt.Errorf("queue: Restart is %v, it must be 0 or more", c.Restart)
	}
	return nil
}

// Request is one arrival and the work that it brings.
type Request struct {
	// At is when it arrives: 0 or later, and not before the request ahead.
	At time.Duration
	// Service is how long a worker needs for it; 0 or more.
	Service time.Duration
}

// Outcome is how a request ended, as its client sees it.
type Outcome uint8

// Every request has exactly one of these outcomes.
const (
	// Served: answered in full.
	Served Outcome = iota
	// Refused: found the queue full.
	Refused
	// Abandoned: the client gave up in the queue, whether or not a worker
	// served the request later.
	Abandoned
	// TimedOut: the watchdog killed the worker while it served this request.
	TimedOut
)

// String names the outcome in lower case.
func (o Outcome) String() string {
	switch o {
	case Served:
		return "served"
	case Refused:
		return "refused"
	case Abandoned:
		return "abandoned"
	case TimedOut:
		return "timed out"
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// Visit is what became of one request.
type Visit struct {
	At time.Duration
	// Wait is the time that the request, or its abandoned remains, spent in
	// the queue.
	Wait time.Duration
	// Service is the time that a worker spent on it; 0 if none took it up.
	Service time.Duration
	Outcome Outcome
}

// End is when the request left the queue or its worker.
func (v Visit) End() time.Duration { return v.At + v.Wait + v.Service }

// Result sums up a simulation. Arrived is the sum of the four outcomes.
type Result struct {
	Workers int
	Arrived int

	Served, Refused, Abandoned, TimedOut int

	// Delayed counts the requests that entered the queue.
	Delayed int
	// Restarts counts the workers that the watchdog killed, while they served
	// abandoned requests too.
	Restarts int
	// MaxQueue is the largest number of requests that waited at once.
	MaxQueue int
	// Span is from the first arrival to the end of the last request.
	Span time.Duration
	// Waited is the time in the queue of all requests that were served.
	Waited float64
	// Queued is the time in the queue of all requests: the integral of the
	// queue's length.
	Queued float64
	// Busy is the time that workers spent on requests: the integral of the
	// number of busy workers.
	Busy float64
	// Wasted is the part of Busy that went into abandoned and timed-out
	// requests.
	Wasted float64
}

// MeanWait is the mean time in the queue of a served request, in seconds; NaN
// if none was served.
func (r Result) MeanWait() float64 { return r.Waited / float64(r.Served) }

// MeanQueue is the mean number of waiting requests over the span; NaN if the
// span is 0.
func (r Result) MeanQueue() float64 { return r.Queued / r.Span.Seconds() }

// Utilisation is the share of the workers' time that went into requests, 0 to
// 1; NaN if the span is 0.
func (r Result) Utilisation() float64 {
	return r.Busy / (float64(r.Workers) * r.Span.Seconds())
}

// Simulate runs the requests through the workers. It costs memory for the
// longest queue only. The error names the field of cfg, or the request, that
// is not as described there.
func Simulate(cfg Config, requests iter.Seq[Request]) (Result, error) {
	if err := cfg.validate(); err != nil {
		return Result{}, err
	}
	s := newStation(cfg)
	for r := range requests {
		if err := s.take(r); err != nil {
			return Result{}, err
		}
	}
	return s.result(), nil
}
