package lab

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"brink/internal/clock"
	"brink/internal/traffic"
	"brink/internal/wire"
)

// Stage is where a run is within one execution.
type Stage string

// The stages of an execution, in order.
const (
	Deploying Stage = "deploying"
	Traffic   Stage = "traffic"
	Closing   Stage = "closing"
	Done      Stage = "done"
)

// Progress is the state of a run for people who watch it. A snapshot is safe
// to keep.
type Progress struct {
	// Index counts executions from 1 to Total, those of the run that this one
	// resumes included.
	Index, Total int
	Step         string
	Number       int
	Twin         bool
	Stage        Stage
	Elapsed      time.Duration
	// Left estimates the remaining time, from the executions so far, by step, or,
	// before there are any, from the design.
	Left time.Duration
	// Answered and Failed count the requests of this execution that have ended,
	// InFlight those that were sent and have not.
	Answered, Failed, InFlight int64
	// Status and Reason are those of the execution when Stage is Done.
	Status, Reason string
	// Errors are the last things that went wrong, newest last.
	Errors []string
}

// maxErrors bounds the errors that a Progress carries.
const maxErrors = 5

// pulseEvery is how often the counters are reported while traffic runs.
const pulseEvery = 250 * time.Millisecond

// tracker keeps the progress. Counters are atomic, since every answer moves
// them.
type tracker struct {
	report func(Progress)
	// reporting is held from a change to the end of its report, so that reports
	// come one at a time and in order.
	reporting                  sync.Mutex
	answered, failed, inFlight atomic.Int64

	mu      sync.Mutex
	now     Progress
	started time.Time
	pace    *pace
}

func (t *tracker) set(change func(*Progress)) {
	t.reporting.Lock()
	defer t.reporting.Unlock()
	t.mu.Lock()
	change(&t.now)
	p := t.snapshotLocked()
	t.mu.Unlock()
	if t.report != nil {
		t.report(p)
	}
}

func (t *tracker) snapshotLocked() Progress {
	p := t.now
	p.Answered, p.Failed, p.InFlight = t.answered.Load(), t.failed.Load(), t.inFlight.Load()
	p.Errors = append([]string(nil), t.now.Errors...)
	return p
}

func (t *tracker) begin(p part, at time.Time) {
	t.answered.Store(0)
	t.failed.Store(0)
	t.set(func(x *Progress) {
		x.Index++
		x.Step, x.Number, x.Twin = p.step.Name, p.number, p.twin
		x.Stage, x.Status, x.Reason = Deploying, "", ""
		x.Elapsed = at.Sub(t.started)
		x.Left = t.pace.remaining()
	})
}

func (t *tracker) end(status, reason string, at time.Time, took time.Duration) {
	t.set(func(x *Progress) {
		t.pace.saw(x.Step, took)
		t.pace.left[x.Step]--
		x.Stage, x.Status, x.Reason = Done, status, reason
		x.Elapsed = at.Sub(t.started)
		x.Left = t.pace.remaining()
	})
}

// pulse reports the counters from time to time until stop is called.
func (t *tracker) pulse(ctx context.Context, c clock.Clock) (stop func()) {
	if t.report == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var beating sync.WaitGroup
	beating.Go(func() {
		for c.Sleep(ctx, pulseEvery) == nil {
			t.set(func(*Progress) {})
		}
	})
	return func() {
		cancel()
		beating.Wait()
	}
}

// probe counts a request that has ended. Its error waits for the next report:
// there may be thousands in a second.
func (t *tracker) probe(p *traffic.Probe) {
	if p.Outcome == traffic.OutcomeOK {
		t.answered.Add(1)
		return
	}
	t.failed.Add(1)
	if p.Outcome == traffic.OutcomeCanceled || p.Outcome == traffic.OutcomeUnsent {
		return // the run was stopped, or could not keep up and says so itself
	}
	text := "request: " + p.Outcome.String()
	if p.Err != "" {
		text += ": " + p.Err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now.note(text)
}

func (t *tracker) problem(text string) { t.set(func(x *Progress) { x.note(text) }) }

// note adds to the last errors what does not only repeat the last one.
func (p *Progress) note(text string) {
	if n := len(p.Errors); n > 0 && p.Errors[n-1] == text {
		return
	}
	p.Errors = append(p.Errors, text)
	if len(p.Errors) > maxErrors {
		p.Errors = p.Errors[1:]
	}
}

func (t *tracker) event(e wire.Event) {
	switch e.Kind {
	case wire.Exited, wire.GaveUp, wire.OOMKilled, wire.WorkerKilled:
		text := e.App + ": " + string(e.Kind)
		if e.Detail != "" {
			text += ": " + e.Detail
		}
		t.problem(text)
	}
}
