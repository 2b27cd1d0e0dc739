package record

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// Counts is how much a record holds.
type Counts struct{ Steps, Repetitions, Streams, Probes, Samples, Events, Logs int64 }

// Run returns the run. Of a record that was cut off, the status is
// interrupted and the reason says where it ends.
func (r *Reader) Run(ctx context.Context) (Run, error) {
	var x Run
	var overrides string
	var ended sql.NullInt64
	err := r.db.QueryRowContext(ctx, `SELECT id, brink, experiment, yaml, profile, seed, host, overrides,
		accelerator, started_ns, ended_ns, status, reason FROM run`).Scan(
		&x.ID, &x.Brink, &x.Experiment, &x.YAML, &x.Profile, &x.Seed, &x.Host, &overrides,
		&x.Accelerator, &x.StartedNs, &ended, &x.Status, &x.Reason)
	if err != nil {
		return Run{}, fmt.Errorf("read the run: %w", err)
	}
	if err := json.Unmarshal([]byte(overrides), &x.Overrides); err != nil {
		return Run{}, fmt.Errorf("read the overrides of the run: %w", err)
	}
	x.EndedNs = ended.Int64
	if r.cut {
		x.Status, x.Reason = Interrupted, r.cutReason()
	}
	return x, nil
}

func (r *Reader) cutReason() string { return "cut off: the record ends at " + stamp(r.end) }

// Facts returns the environment, in the order of writing.
func (r *Reader) Facts(ctx context.Context) ([]Fact, error) {
	return all(ctx, r.db, "SELECT name, value FROM facts ORDER BY id", nil, func(row scanner) (f Fact, err error) {
		return f, row.Scan(&f.Name, &f.Value)
	})
}

// Requirements returns the needs that were missed.
func (r *Reader) Requirements(ctx context.Context) ([]Requirement, error) {
	const text = "SELECT need, app, consequence, substituted FROM requirements ORDER BY id"
	return all(ctx, r.db, text, nil, func(row scanner) (q Requirement, err error) {
		return q, row.Scan(&q.Need, &q.App, &q.Consequence, &q.Substituted)
	})
}

// Steps returns the steps in their order.
func (r *Reader) Steps(ctx context.Context) ([]Step, error) {
	const text = "SELECT id, ordinal, name, title, json FROM steps ORDER BY ordinal, id"
	return all(ctx, r.db, text, nil, func(row scanner) (s Step, err error) {
		return s, row.Scan(&s.ID, &s.Ordinal, &s.Name, &s.Title, &s.JSON)
	})
}

// Repetitions returns the repetitions in the order of the run. One that is
// running in a record that no process writes was interrupted.
func (r *Reader) Repetitions(ctx context.Context) ([]Repetition, error) {
	const text = `SELECT id, step_id, number, position, twin, phase, started_ns, coalesce(traffic_ns, 0),
		coalesce(traffic_end_ns, 0), coalesce(ended_ns, 0), status, reason, limits FROM repetitions ORDER BY id`
	return all(ctx, r.db, text, nil, func(row scanner) (x Repetition, err error) {
		err = row.Scan(&x.ID, &x.StepID, &x.Number, &x.Position, &x.Twin, &x.Phase, &x.StartedNs, &x.TrafficNs,
			&x.TrafficEndNs, &x.EndedNs, &x.Status, &x.Reason, &x.Limits)
		if x.Status == Running && !r.live {
			x.Status, x.Reason = Interrupted, r.cutReason()
		}
		return x, err
	})
}

// Apps returns the apps that were deployed in a repetition.
func (r *Reader) Apps(ctx context.Context, repetition int64) ([]App, error) {
	const text = `SELECT id, repetition_id, name, runtime, server, addr, workers, json FROM apps
		WHERE repetition_id = ? ORDER BY id`
	return all(ctx, r.db, text, []any{repetition}, func(row scanner) (a App, err error) {
		return a, row.Scan(&a.ID, &a.RepetitionID, &a.Name, &a.Runtime, &a.Server, &a.Addr, &a.Workers, &a.JSON)
	})
}

// Streams returns the streams of a repetition in their order.
func (r *Reader) Streams(ctx context.Context, repetition int64) ([]Stream, error) {
	const text = `SELECT id, repetition_id, app_id, ordinal, kind, method, path, json, scheduled, sent, held,
		shortfall, note FROM streams WHERE repetition_id = ? ORDER BY ordinal, id`
	return all(ctx, r.db, text, []any{repetition}, func(row scanner) (s Stream, err error) {
		return s, row.Scan(&s.ID, &s.RepetitionID, &s.AppID, &s.Ordinal, &s.Kind, &s.Method, &s.Path, &s.JSON,
			&s.Scheduled, &s.Sent, &s.Held, &s.Shortfall, &s.Note)
	})
}

// Events returns the events of a repetition in the order of their time;
// repetition 0 is the time before the first one.
func (r *Reader) Events(ctx context.Context, repetition int64) ([]Event, error) {
	const text = `SELECT app, at_ns, kind, coalesce(pid, 0), code, coalesce(signal, 0), detail FROM events
		WHERE repetition_id = ? ORDER BY at_ns, id`
	return all(ctx, r.db, text, []any{repetition}, func(row scanner) (e Event, err error) {
		return e, row.Scan(&e.App, &e.AtNs, &e.Kind, &e.Pid, &e.Code, &e.Signal, &e.Detail)
	})
}

// Counts counts what the record holds.
func (r *Reader) Counts(ctx context.Context) (Counts, error) {
	var c Counts
	err := r.db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM steps), (SELECT count(*) FROM repetitions),
		(SELECT count(*) FROM streams), (SELECT count(*) FROM probes), (SELECT count(*) FROM samples),
		(SELECT count(*) FROM events), (SELECT count(*) FROM logs)`).Scan(
		&c.Steps, &c.Repetitions, &c.Streams, &c.Probes, &c.Samples, &c.Events, &c.Logs)
	if err != nil {
		return Counts{}, fmt.Errorf("count what the record holds: %w", err)
	}
	return c, nil
}
