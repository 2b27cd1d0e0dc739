package record

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Writer writes a record. Its methods may be called from any goroutine. They
// wait while the disk is slower than the run, so that memory stays bounded
// and nothing is dropped. The first failure to write is returned by every
// later call.
type Writer struct {
	store *store
	ops   chan op
	done  chan struct{}

	// mu is held for reading while an op is sent, so that Close cannot close
	// the channel under a sender.
	mu     sync.RWMutex
	closed bool

	// Ids count from 1 and are given out before their rows are written.
	steps, repetitions, apps, streams atomic.Int64
}

// op is one thing that the writing goroutine does: a probe, another row, or a
// flush, in that order of frequency.
type op struct {
	stmt   statement
	stream int64
	probe  Probe
	args   []any
	// at is the row's own time, 0 when it has none.
	at    int64
	flush chan<- error
}

// queued bounds the ops that wait for the disk: about half a megabyte.
const queued = 2048

// Create makes a new record at path, a file or the directory to put it into,
// and never overwrites one (ErrExists). The run's status becomes running.
func Create(path string, run Run) (*Writer, error) {
	run.Status, run.EndedNs = Running, 0
	s, err := newStore(path, run)
	if err != nil {
		return nil, err
	}
	w := &Writer{store: s, ops: make(chan op, queued), done: make(chan struct{})}
	go w.loop()
	return w, nil
}

// Path is the record's file.
func (w *Writer) Path() string { return w.store.path }

// Err is the failure that ended the writing, nil while there is none: a
// *FullError when the disk is full.
func (w *Writer) Err() error {
	if p := w.store.failure.Load(); p != nil {
		return *p
	}
	return nil
}

// Failed is closed when writing has failed; Err then says why.
func (w *Writer) Failed() <-chan struct{} { return w.store.failed }

func (w *Writer) loop() {
	defer close(w.done)
	tick := time.NewTicker(commitEvery)
	defer tick.Stop()
	for {
		select {
		case o, ok := <-w.ops:
			if !ok {
				w.store.commit()
				return
			}
			w.store.apply(&o)
		case <-tick.C:
			w.store.commit()
		}
	}
}

func (w *Writer) send(o op) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if err := w.Err(); err != nil {
		return err
	}
	if w.closed {
		return ErrClosed
	}
	w.ops <- o
	return nil
}

// Flush returns when everything that was handed over before is committed.
func (w *Writer) Flush() error {
	done := make(chan error, 1)
	if err := w.send(op{flush: done}); err != nil {
		return err
	}
	return <-done
}

// Close commits what is left and closes the record. A record that was
// written to its end becomes a single file. Close may be called twice; it
// returns the failure that ended the writing, if one did.
func (w *Writer) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		<-w.done
		return w.Err()
	}
	w.closed = true
	close(w.ops)
	w.mu.Unlock()
	<-w.done
	w.store.close()
	return w.Err()
}

// Finish sets the run's last status (done, interrupted or broken) and the
// reason for it, with the present as its end, and commits.
func (w *Writer) Finish(status, reason string) error {
	if !slices.Contains([]string{Done, Interrupted, Broken}, status) {
		return fmt.Errorf("a run ends done, interrupted or broken, not %q", status)
	}
	now := time.Now().UnixNano()
	if err := w.send(op{stmt: finishRun, args: []any{status, reason, now}, at: now}); err != nil {
		return err
	}
	return w.Flush()
}

// AddFacts adds lines to the environment.
func (w *Writer) AddFacts(facts ...Fact) error {
	for _, f := range facts {
		if err := w.send(op{stmt: addFact, args: []any{f.Name, f.Value}}); err != nil {
			return err
		}
	}
	return nil
}

// AddRequirement adds a need that was missed.
func (w *Writer) AddRequirement(r Requirement) error {
	return w.send(op{stmt: addRequirement, args: []any{r.Need, r.App, r.Consequence, r.Substituted}})
}

// AddStep adds a step and returns its id. Names are unique.
func (w *Writer) AddStep(s Step) (int64, error) {
	id := w.steps.Add(1)
	return id, w.send(op{stmt: addStep, args: []any{id, s.Ordinal, s.Name, s.Title, s.JSON}})
}

// SetStepOrdinal moves a step to another place among the steps.
func (w *Writer) SetStepOrdinal(id int64, ordinal int) error {
	if err := given("step", id, &w.steps); err != nil {
		return err
	}
	return w.send(op{stmt: setStepOrdinal, args: []any{ordinal, id}})
}

// BeginRepetition adds a repetition and returns its id.
func (w *Writer) BeginRepetition(r Repetition) (int64, error) {
	if err := given("step", r.StepID, &w.steps); err != nil {
		return 0, err
	}
	id := w.repetitions.Add(1)
	return id, w.send(op{stmt: addRepetition, args: append(repetitionArgs(r), id), at: r.StartedNs})
}

// UpdateRepetition replaces everything of the repetition with r's id.
func (w *Writer) UpdateRepetition(r Repetition) error {
	if err := given("repetition", r.ID, &w.repetitions); err != nil {
		return err
	}
	return w.send(op{stmt: setRepetition, args: append(repetitionArgs(r), r.ID), at: r.EndedNs})
}

func repetitionArgs(r Repetition) []any {
	return []any{
		r.StepID, r.Number, r.Position, r.Twin, r.Phase, r.StartedNs, unlessZero(r.TrafficNs),
		unlessZero(r.TrafficEndNs), unlessZero(r.EndedNs), r.Status, r.Reason, r.Limits,
	}
}

// AddApp adds an app and returns its id.
func (w *Writer) AddApp(a App) (int64, error) {
	if err := given("repetition", a.RepetitionID, &w.repetitions); err != nil {
		return 0, err
	}
	id := w.apps.Add(1)
	args := []any{id, a.RepetitionID, a.Name, a.Runtime, a.Server, a.Addr, a.Workers, a.JSON}
	return id, w.send(op{stmt: addApp, args: args})
}

// SetAppAddr sets where an app answers, once that is known.
func (w *Writer) SetAppAddr(id int64, addr string) error {
	if err := given("app", id, &w.apps); err != nil {
		return err
	}
	return w.send(op{stmt: setAppAddr, args: []any{addr, id}})
}

// AddStream adds a stream of requests and returns its id.
func (w *Writer) AddStream(s Stream) (int64, error) {
	if err := w.streamOwners(s); err != nil {
		return 0, err
	}
	id := w.streams.Add(1)
	return id, w.send(op{stmt: addStream, args: append(streamArgs(s), id)})
}

// UpdateStream replaces everything of the stream with s's id.
func (w *Writer) UpdateStream(s Stream) error {
	if err := given("stream", s.ID, &w.streams); err != nil {
		return err
	}
	if err := w.streamOwners(s); err != nil {
		return err
	}
	return w.send(op{stmt: setStream, args: append(streamArgs(s), s.ID)})
}

func (w *Writer) streamOwners(s Stream) error {
	if err := given("repetition", s.RepetitionID, &w.repetitions); err != nil {
		return err
	}
	return given("app", s.AppID, &w.apps)
}

func streamArgs(s Stream) []any {
	return []any{
		s.RepetitionID, s.AppID, s.Ordinal, s.Kind, s.Method, s.Path, s.JSON,
		s.Scheduled, s.Sent, s.Held, s.Shortfall, s.Note,
	}
}

// Event adds an event. Repetition 0 stands for the time before the first one.
func (w *Writer) Event(repetition int64, e Event) error {
	if err := w.during(repetition); err != nil {
		return err
	}
	var code any
	if e.Code != nil {
		code = *e.Code
	}
	args := []any{
		repetition, e.App, e.AtNs, string(e.Kind), unlessZero(e.Pid), code, unlessZero(e.Signal), e.Detail,
	}
	return w.send(op{stmt: addEvent, args: args, at: e.AtNs})
}

// Log adds a line that an app wrote. Repetition 0 stands for the time before
// the first one.
func (w *Writer) Log(repetition int64, l Log) error {
	if err := w.during(repetition); err != nil {
		return err
	}
	args := []any{repetition, l.App, l.AtNs, l.Stream, l.Line, l.Cut}
	return w.send(op{stmt: addLog, args: args, at: l.AtNs})
}

// Sample adds a reading, which it does not keep. Repetition 0 stands for the
// time before the first one.
func (w *Writer) Sample(repetition int64, s *Sample) error {
	if err := w.during(repetition); err != nil {
		return err
	}
	numbers := sampleNumbers(s)
	args := make([]any, 0, 3+len(numbers))
	args = append(args, repetition, s.App, s.AtNs)
	for _, n := range numbers {
		args = append(args, unlessNegative(*n))
	}
	return w.send(op{stmt: addSample, args: args, at: s.AtNs})
}

// Probe adds a request, which it does not keep. Within a stream, Seq is
// unique.
func (w *Writer) Probe(stream int64, p *Probe) error {
	if err := given("stream", stream, &w.streams); err != nil {
		return err
	}
	return w.send(op{stmt: addProbe, stream: stream, probe: *p})
}

// during tells whether a repetition may own a row.
func (w *Writer) during(repetition int64) error {
	if repetition == 0 {
		return nil
	}
	return given("repetition", repetition, &w.repetitions)
}

// given tells whether an id was given out.
func given(what string, id int64, last *atomic.Int64) error {
	if id < 1 || id > last.Load() {
		return fmt.Errorf("the record has no %s %d", what, id)
	}
	return nil
}
