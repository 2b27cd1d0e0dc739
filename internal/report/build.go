package report

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"brink/internal/experiment"
	"brink/internal/host"
	"brink/internal/measure"
	"brink/internal/phrase"
	"brink/internal/record"
	"brink/internal/verdict"
)

// Input is what a report is built from: a record, and what was computed from it.
type Input struct {
	Design   *experiment.Design
	Reader   *record.Reader
	Table    *measure.Table
	Verdicts []verdict.Verdict
	// Options are those that the table was measured with.
	Options measure.Options
	// Command is the command line that does the run again.
	Command string
}

// Limits of what a report lists; the record holds the rest.
const (
	maxListedEvents = 200
	maxLogsPerStep  = 4
)

// builder fills a model section by section.
type builder struct {
	Input
	ctx context.Context
	m   *Model
	run record.Run
}

// Build fills a model from a record. Its memory does not grow with the number
// of probes.
func Build(ctx context.Context, in Input) (*Model, error) {
	run, err := in.Reader.Run(ctx)
	if err != nil {
		return nil, err
	}
	b := &builder{Input: in, ctx: ctx, run: run, m: &Model{}}
	b.authored()
	for _, section := range []func() error{
		b.runFacts, b.environment, b.procedure, b.results, b.failures, b.happenings,
		b.emulation, b.reference, b.interpretation, b.takeaway, b.reproduction, b.charts,
	} {
		if err := section(); err != nil {
			return nil, err
		}
	}
	return b.m, nil
}

// authored copies what the experiment's file says.
func (b *builder) authored() {
	e, m := b.Design.Experiment, b.m
	m.Title, m.Question, m.Why = e.Title, e.Question, e.Why
	m.Symptoms, m.Expected, m.Takeaways = e.Symptoms, e.Expected, e.Takeaways
	m.Type = string(e.Type)
	m.Controlled, m.Observed = e.Variables.Controlled, e.Variables.Observed
	for _, l := range e.Related {
		m.Related = append(m.Related, Link(l))
	}
	for _, h := range e.Hypotheses {
		m.Hypotheses = append(m.Hypotheses, Hypothesis{ID: h.ID, Claim: h.Claim, Form: string(h.Form), Test: h.Test()})
	}
	for _, l := range b.Design.LeftOut {
		m.LeftOut = append(m.LeftOut, LeftOut(l))
	}
	m.LeftOutSteps = b.Design.LeftOutSteps
	m.Verdicts = b.Verdicts
}

func (b *builder) runFacts() error {
	end := b.run.EndedNs
	cut, at := b.Reader.Cut()
	if cut {
		end = at.UnixNano()
		b.notice("cut-off", fmt.Sprintf("The record was cut off: it ends at %s, and this report says what it holds until then.", at.UTC().Format("15:04:05")))
	}
	b.m.Run = Run{
		ID: b.run.ID, Experiment: b.run.Experiment, Brink: b.run.Brink, Profile: b.run.Profile,
		Seed: b.run.Seed, Host: b.run.Host, Accelerator: b.run.Accelerator,
		Started: time.Unix(0, b.run.StartedNs).UTC(), Status: b.run.Status, Reason: b.run.Reason,
	}
	if end > b.run.StartedNs {
		b.m.Run.Duration = time.Duration(end - b.run.StartedNs)
	}
	changed := slices.DeleteFunc(slices.Clone(b.run.Overrides), func(o string) bool { return strings.HasPrefix(o, "repetitions=") })
	if len(changed) > 0 {
		b.notice("override", "This run did not do what the experiment's text says throughout: it was changed by --set "+strings.Join(changed, ", --set ")+".")
	}
	switch {
	case b.run.Status == record.Interrupted && !cut:
		b.notice("interrupted", "The run was interrupted: "+b.run.Reason+".")
	case b.run.Status == record.Broken:
		b.notice("broken", "The run broke: "+b.run.Reason+".")
	}
	return b.resumptions()
}

// resumptions says that a run was made in pieces: what drifts with time has
// had more of it.
func (b *builder) resumptions() error {
	all, err := b.Reader.Resumptions(b.ctx)
	if err != nil {
		return err
	}
	for _, r := range all {
		b.m.Run.Resumed = append(b.m.Run.Resumed, Resumption{At: time.Unix(0, r.AtNs).UTC(), Brink: r.Brink, Status: r.Status, Reason: r.Reason})
	}
	if len(all) > 0 {
		b.notice("resumed", fmt.Sprintf("The run was made in %s: section 8 says when it was taken up again.", phrase.Plural(len(all)+1, "piece")))
	}
	return nil
}

func (b *builder) notice(kind, text string) {
	b.m.Notices = append(b.m.Notices, Notice{Kind: kind, Text: text})
}

func (b *builder) environment() error {
	facts, err := b.Reader.Facts(b.ctx)
	if err != nil {
		return err
	}
	for _, f := range facts {
		b.m.Environment = append(b.m.Environment, Fact(f))
	}
	missed, err := b.Reader.Requirements(b.ctx)
	if err != nil {
		return err
	}
	for _, r := range missed {
		b.m.Missed = append(b.m.Missed, Missed{Need: r.Need, App: r.App, Consequence: r.Consequence})
		if r.Substituted {
			// Substitutions are said before anything else.
			b.m.Notices = append([]Notice{{Kind: "substitute", Text: r.Consequence}}, b.m.Notices...)
		}
	}
	return b.limits()
}

// limits lists each distinct limit once: steps of one run may have several plans.
func (b *builder) limits() error {
	seen := map[host.Limit]bool{}
	for _, s := range b.Table.Steps {
		for _, rep := range s.Repetitions {
			if rep.Limits == "" {
				continue
			}
			var limits []host.Limit
			if err := json.Unmarshal([]byte(rep.Limits), &limits); err != nil {
				return fmt.Errorf("limits of repetition %d: %w", rep.ID, err)
			}
			for _, l := range limits {
				if !seen[l] {
					seen[l] = true
					b.m.Limits = append(b.m.Limits, Limit(l))
				}
			}
		}
	}
	return nil
}

func (b *builder) procedure() error {
	reps, err := b.Reader.Repetitions(b.ctx)
	if err != nil {
		return err
	}
	steps, err := b.Reader.Steps(b.ctx)
	if err != nil {
		return err
	}
	names := map[int64]string{}
	for _, s := range steps {
		names[s.ID] = s.Name
	}
	for _, r := range reps {
		x := Execution{
			Position: r.Position, Step: names[r.StepID], Number: r.Number, Twin: r.Twin,
			Start: time.Duration(r.StartedNs - b.run.StartedNs), Status: r.Status, Reason: r.Reason,
		}
		if r.EndedNs > 0 {
			x.Duration = time.Duration(r.EndedNs - r.StartedNs)
		}
		b.m.Procedure = append(b.m.Procedure, x)
	}
	return nil
}

// failures counts outcomes per step; happenings lists events and log lines.
func (b *builder) failures() error {
	counts, err := b.Reader.Failures(b.ctx)
	if err != nil {
		return err
	}
	for _, c := range counts {
		b.m.Failures = append(b.m.Failures, Failure(c))
	}
	return nil
}

func (b *builder) happenings() error {
	for _, s := range b.Table.Steps {
		for _, rep := range s.Repetitions {
			for _, e := range rep.Events {
				if len(b.m.Events) >= maxListedEvents {
					b.m.OmittedEvents++
					continue
				}
				b.m.Events = append(b.m.Events, Event{
					Step: s.Name, Number: rep.Number, App: e.App, At: time.Duration(e.AtNs - rep.TrafficNs),
					Kind: strings.ReplaceAll(string(e.Kind), "_", " "), Detail: eventDetail(e),
				})
			}
		}
	}
	logs, total, err := b.Reader.CommonLogs(b.ctx, maxLogsPerStep)
	if err != nil {
		return err
	}
	for _, l := range logs {
		b.m.Logs = append(b.m.Logs, LogLine(l))
		total -= l.Count
	}
	b.m.OmittedLogs = total
	return nil
}

// reproduction says how to do it again.
func (b *builder) reproduction() error {
	r := Reproduction{Command: b.Command}
	for _, f := range b.m.Environment {
		if strings.HasSuffix(f.Name, " version") || f.Name == "kernel" {
			r.Versions = append(r.Versions, f)
		}
	}
	r.Versions = append(r.Versions, Fact{Name: "brink version", Value: b.run.Brink})
	if scale := b.Design.Scale; scale != 1 {
		r.Notes = append(r.Notes, fmt.Sprintf("The profile %s scales durations by %g; --profile full uses the file's own.", b.run.Profile, scale))
	}
	r.Notes = append(r.Notes,
		"Everything raw is in record.db next to this report: brink query and brink export read it, brink report judges it again.",
		fmt.Sprintf("The order of the steps was drawn from seed %d.", b.run.Seed))
	b.m.Reproduction = r
	return nil
}
