// Package lab takes an experiment, a host and a record, and executes the
// experiment step by step. It judges nothing.
package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"brink/internal/clock"
	"brink/internal/experiment"
	"brink/internal/host"
	"brink/internal/record"
)

// Options are what a run needs. Progress may be nil; it is called from several
// goroutines, one call at a time, and must not block.
type Options struct {
	Design   *experiment.Design
	Host     host.Host
	Record   *record.Writer
	Clock    clock.Clock
	Seed     int64
	Sampling time.Duration
	Progress func(Progress)
	// Earlier is what the record holds of the same run, when it is resumed: it
	// goes on at the first unit that was not executed to its end. The record is
	// then one of [record.Resume], design and seed those that it holds.
	Earlier *Earlier
}

// Result says how a run ended.
type Result struct {
	// Done, Failed and Invalid count executions, without those of earlier runs.
	Done, Failed, Invalid int
	// NeverServed names the steps that were tried and of which no app ever became
	// healthy, though no platform looked after them.
	NeverServed []string
	Interrupted bool
	// CleanUp lists what could not be taken down; it spoils nothing.
	CleanUp []string
}

// lab is one run in progress.
type lab struct {
	Options
	tracker tracker
	stepIDs map[string]int64
	// served tells of each step that got so far whether an app ever served.
	served map[string]bool
	result Result
	index  int
}

// Run executes every step of the design in the order that the seed gives and
// writes everything to the record, which it finishes. Apps that do not start
// or die are data. An error means that the run itself broke; what was recorded
// until then stays.
//
// The run stops at once when ctx ends or the record can no longer be written;
// the error then is the record's.
func Run(ctx context.Context, o Options) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-o.Record.Failed():
			cancel(o.Record.Err())
		case <-ctx.Done():
		}
	}()
	l := &lab{Options: o, stepIDs: map[string]int64{}, served: map[string]bool{}}
	l.tracker.report = o.Progress
	l.tracker.started = o.Clock.Now()
	units := order(o.Design, o.Seed)
	err := l.prepare(ctx)
	l.lookAhead(units)
	for _, u := range units {
		if err != nil || ctx.Err() != nil {
			break
		}
		var skip bool
		if skip, err = l.skip(u); err == nil && !skip {
			err = l.unit(ctx, u)
		}
	}
	return l.finish(ctx, err)
}

// lookAhead tells the tracker what is to be executed and what has been.
func (l *lab) lookAhead(units []unit) {
	t := &l.tracker
	for _, u := range units {
		t.now.Total += len(u.parts)
	}
	t.pace = newPace(l.Design.Estimate() / time.Duration(max(t.now.Total, 1)))
	for _, u := range units {
		all, ended := l.done(u)
		for i, rep := range ended {
			t.pace.saw(u.parts[i].step.Name, time.Duration(rep.EndedNs-rep.StartedNs))
		}
		if all {
			t.now.Index += len(u.parts)
			continue
		}
		for _, p := range u.parts {
			t.pace.left[p.step.Name]++
		}
	}
}

// prepare writes down what is executed and where, unless an earlier run has.
func (l *lab) prepare(ctx context.Context) error {
	if err := Check(l.Host, l.Design); err != nil {
		return err
	}
	if l.Earlier != nil {
		if err := l.Earlier.Fits(l.Design); err != nil {
			return err
		}
		if err := l.place(l.Earlier.steps); err != nil {
			return err
		}
	}
	if err := l.describe(ctx); err != nil {
		return err
	}
	for i, s := range l.Design.Steps {
		if l.stepIDs[s.Name] != 0 {
			continue
		}
		text, err := json.Marshal(s)
		if err != nil {
			return fmt.Errorf("step %s: %w", s.Name, err)
		}
		id, err := l.Record.AddStep(record.Step{Ordinal: i + 1, Name: s.Name, Title: s.Title, JSON: string(text)})
		if err != nil {
			return err
		}
		l.stepIDs[s.Name] = id
	}
	return nil
}

// place takes the steps that an earlier run has added for its own, each in its
// place in the design.
func (l *lab) place(steps []record.Step) error {
	for _, s := range steps {
		l.stepIDs[s.Name] = s.ID
		at := 1 + slices.IndexFunc(l.Design.Steps, func(d experiment.Step) bool { return d.Name == s.Name })
		if at == s.Ordinal {
			continue
		}
		if err := l.Record.SetStepOrdinal(s.ID, at); err != nil {
			return err
		}
	}
	return nil
}

// describe writes down the environment.
func (l *lab) describe(ctx context.Context) error {
	if l.Earlier != nil && l.Earlier.described {
		return nil
	}
	facts, err := l.Host.Environment(ctx)
	if err != nil {
		return fmt.Errorf("read the environment: %w", err)
	}
	rows := make([]record.Fact, len(facts))
	for i, f := range facts {
		rows[i] = record.Fact(f)
	}
	return l.Record.AddFacts(rows...)
}

// finish closes the record's story: done, interrupted or broken.
func (l *lab) finish(ctx context.Context, err error) (Result, error) {
	for _, s := range l.Design.Steps {
		// Under a platform, apps that never come up are an outcome.
		if served, tried := l.served[s.Name]; tried && !served && s.Plan.Platform == (experiment.Platform{}) {
			l.result.NeverServed = append(l.result.NeverServed, s.Name)
		}
	}
	status, reason := "done", strings.Join(l.result.CleanUp, "; ")
	failed := l.Record.Err()
	switch {
	case failed != nil:
		err = failed // the record has said so itself, as far as it could
		status, reason = "broken", err.Error()
	case err != nil && ctx.Err() == nil:
		status, reason = "broken", err.Error()
	case ctx.Err() != nil:
		l.result.Interrupted = true
		status, reason = "interrupted", "stopped by the user"
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			reason = cause.Error()
		}
		err = nil
	}
	if ferr := l.Record.Finish(status, reason); ferr != nil && err == nil {
		err = ferr
	}
	return l.result, err
}
