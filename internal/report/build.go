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
	"brink/internal/wire"
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
		b.extent, b.runFacts, b.environment, b.procedure, b.results, b.modes, b.deployPairs, b.failures, b.happenings,
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
		b.notice("cut-off", fmt.Sprintf("The record was cut off: it ends at %s, and this report says what it holds until then.", at.UTC().Format("15:04:05"))+b.soFar())
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
		b.notice("interrupted", "The run was interrupted: "+b.run.Reason+"."+b.soFar())
	case b.run.Status == record.Broken:
		b.notice("broken", "The run broke: "+b.run.Reason+"."+b.soFar())
	}
	return b.resumptions()
}

// soFar is a sentence on how much was executed of a run that is not finished.
func (b *builder) soFar() string {
	if !b.m.Extent.unfinished() {
		return ""
	}
	return " " + capital(b.m.Extent.says()) + "."
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

// limits lists each distinct limit once, with the steps that have it where not
// all do: steps of one run may have several plans.
func (b *builder) limits() error {
	place := map[host.Limit]int{}
	steps := 0
	for _, s := range b.Table.Steps {
		counted := false
		for _, rep := range s.Repetitions {
			if rep.Limits == "" {
				continue
			}
			var limits []host.Limit
			if err := json.Unmarshal([]byte(rep.Limits), &limits); err != nil {
				return fmt.Errorf("limits of repetition %d: %w", rep.ID, err)
			}
			counted = true
			for _, l := range limits {
				i, ok := place[l]
				if !ok {
					i = len(b.m.Limits)
					place[l] = i
					b.m.Limits = append(b.m.Limits, Limit{Name: l.Name, Wanted: l.Wanted, Applied: l.Applied, How: l.How})
				}
				if have := &b.m.Limits[i].Steps; !slices.Contains(*have, s.Name) {
					*have = append(*have, s.Name)
				}
			}
		}
		if counted {
			steps++
		}
	}
	for i := range b.m.Limits {
		if len(b.m.Limits[i].Steps) == steps {
			b.m.Limits[i].Steps = nil
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
	for i, r := range reps {
		x := Execution{
			Position: i + 1, Step: names[r.StepID], Number: r.Number, Twin: r.Twin, Phase: r.Phase,
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

// told are the events that a reader should see; those that every start has are
// left out where there are many.
var (
	told    = []wire.EventKind{wire.Deployed, wire.Healthy, wire.Exited, wire.Restarted, wire.OOMKilled, wire.WorkerKilled, wire.GaveUp}
	routine = []wire.EventKind{wire.Deployed, wire.Healthy}
)

func (b *builder) happenings() error {
	var all, notable []Event
	for _, s := range b.Table.Steps {
		for _, rep := range s.Repetitions {
			events, err := b.Reader.Events(b.ctx, rep.ID)
			if err != nil {
				return err
			}
			for _, e := range events {
				if !slices.Contains(told, e.Kind) {
					continue
				}
				shown := Event{Step: s.Name, Number: rep.Number, Twin: rep.Twin, App: e.App, At: sinceTraffic(e, rep),
					Kind: strings.ReplaceAll(string(e.Kind), "_", " "), Detail: eventDetail(e)}
				all = append(all, shown)
				if !slices.Contains(routine, e.Kind) {
					notable = append(notable, shown)
				}
			}
		}
	}
	b.m.Events = all
	if len(all) > maxListedEvents {
		b.m.Events = notable[:min(len(notable), maxListedEvents)]
	}
	b.m.OmittedEvents = int64(len(all) - len(b.m.Events))
	return b.logs()
}

// sinceTraffic is when an event happened, from the start of traffic, or of the
// repetition where traffic never began.
func sinceTraffic(e wire.Event, rep measure.RepetitionInfo) time.Duration {
	if rep.TrafficNs == 0 {
		return time.Duration(e.AtNs - rep.StartedNs)
	}
	return time.Duration(e.AtNs - rep.TrafficNs)
}

func (b *builder) logs() error {
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
		"Everything raw is in the record next to this report: brink query and brink export read it, brink report judges it again.",
		fmt.Sprintf("The order of the steps was drawn from seed %d.", b.run.Seed))
	b.m.Reproduction = r
	return nil
}
