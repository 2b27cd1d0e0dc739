package lab

import (
	"sync"
	"sync/atomic"
	"time"

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
	// Index counts executions from 1 to Total.
	Index, Total int
	Step         string
	Number       int
	Twin         bool
	Stage        Stage
	Elapsed      time.Duration
	// Left estimates the remaining time from the executions so far, negative
	// before there are any.
	Left time.Duration
	// Due, Done and Failed count the requests of this execution.
	Answered, Failed int64
	InFlight         int64
	// Status and Reason are those of the execution when Stage is Done.
	Status, Reason string
	// Errors are the last things that went wrong, newest last.
	Errors []string
}

// maxErrors bounds the errors that a Progress carries.
const maxErrors = 5

// tracker keeps the progress. Counters are atomic, since every answer moves
// them.
type tracker struct {
	report                     func(Progress)
	answered, failed, inFlight atomic.Int64

	mu      sync.Mutex
	now     Progress
	started time.Time
	// spent and done are time and number of the finished executions.
	spent time.Duration
	done  int
}

func (t *tracker) set(change func(*Progress)) {
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

func (t *tracker) begin(index int, p part, at time.Time) {
	t.answered.Store(0)
	t.failed.Store(0)
	t.set(func(x *Progress) {
		x.Index, x.Step, x.Number, x.Twin = index, p.step.Name, p.number, p.twin
		x.Stage, x.Status, x.Reason = Deploying, "", ""
		x.Elapsed = at.Sub(t.started)
		x.Left = -1
		if t.done > 0 {
			x.Left = t.spent / time.Duration(t.done) * time.Duration(x.Total-index+1)
		}
	})
}

func (t *tracker) end(status, reason string, at time.Time, took time.Duration) {
	t.mu.Lock()
	t.spent += took
	t.done++
	t.mu.Unlock()
	t.set(func(x *Progress) {
		x.Stage, x.Status, x.Reason = Done, status, reason
		x.Elapsed = at.Sub(t.started)
		x.Left = t.spent / time.Duration(t.done) * time.Duration(x.Total-x.Index)
	})
}

func (t *tracker) problem(text string) {
	t.set(func(x *Progress) {
		x.Errors = append(x.Errors, text)
		if len(x.Errors) > maxErrors {
			x.Errors = x.Errors[1:]
		}
	})
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
