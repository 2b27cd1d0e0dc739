package record

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"strings"
)

// scanner is the row that a query stands on.
type scanner interface{ Scan(dest ...any) error }

// querier is a database or one connection of it.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// each runs a query and yields what scan makes of each row.
func each[T any](ctx context.Context, q querier, query string, args []any, scan func(scanner) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		rows, err := q.QueryContext(ctx, query, args...)
		if err != nil {
			yield(zero, fmt.Errorf("read the record: %w", err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			x, err := scan(rows)
			if err != nil {
				yield(zero, fmt.Errorf("read the record: %w", err))
				return
			}
			if !yield(x, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(zero, fmt.Errorf("read the record: %w", err))
		}
	}
}

// all collects what each yields.
func all[T any](ctx context.Context, q querier, query string, args []any, scan func(scanner) (T, error)) ([]T, error) {
	var xs []T
	for x, err := range each(ctx, q, query, args, scan) {
		if err != nil {
			return nil, err
		}
		xs = append(xs, x)
	}
	return xs, nil
}

// Probes yields the requests of a stream in the order of Seq. The probe is
// reused: it is valid until the next one. Memory does not depend on their
// number. After an error nothing follows.
func (r *Reader) Probes(ctx context.Context, stream int64) iter.Seq2[*Probe, error] {
	const text = `SELECT seq, coalesce(due_ns, 0), coalesce(sent_ns, 0), coalesce(connected_ns, 0),
		coalesce(first_byte_ns, 0), coalesce(done_ns, 0), coalesce(status, 0), outcome, coalesce(err, ''),
		coalesce(pid, 0), coalesce(served_ns, -1), bytes FROM probes WHERE stream_id = ? ORDER BY seq`
	p := &Probe{}
	var outcome, known int64
	return each(ctx, r.db, text, []any{stream}, func(row scanner) (_ *Probe, err error) {
		err = row.Scan(&p.Seq, &p.Due, &p.Sent, &p.Connected, &p.FirstByte, &p.Done, &p.Status, &outcome, &p.Err,
			&p.Pid, &p.ServedNs, &p.Bytes)
		if err == nil && outcome != known {
			p.Outcome, err = r.outcome(ctx, outcome)
			known = outcome
		}
		return p, err
	})
}

// outcome names an outcome, also one that came after the record was opened.
func (r *Reader) outcome(ctx context.Context, id int64) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if name, ok := r.outcomes[id]; ok {
		return name, nil
	}
	if r.outcomes == nil {
		r.outcomes = map[int64]string{}
	}
	var name string
	if err := r.db.QueryRowContext(ctx, "SELECT name FROM outcomes WHERE id = ?", id).Scan(&name); err != nil {
		return "", fmt.Errorf("outcome %d: %w", id, err)
	}
	r.outcomes[id] = name
	return name, nil
}

// Samples yields the readings of a repetition in the order of their time;
// repetition 0 is the time before the first one. The sample is reused: it is
// valid until the next one. What could not be read is -1. After an error
// nothing follows.
func (r *Reader) Samples(ctx context.Context, repetition int64) iter.Seq2[*Sample, error] {
	text := "SELECT app, at_ns, coalesce(" + strings.Join(sampleNames(), ", -1), coalesce(") +
		", -1) FROM samples WHERE repetition_id = ? ORDER BY at_ns, id"
	s := &Sample{}
	dest := []any{&s.App, &s.AtNs}
	for _, n := range sampleNumbers(s) {
		dest = append(dest, n)
	}
	return each(ctx, r.db, text, []any{repetition}, func(row scanner) (*Sample, error) {
		return s, row.Scan(dest...)
	})
}

// Logs yields the lines that the apps of a repetition wrote, in the order of
// their time; repetition 0 is the time before the first one. The log is
// reused: it is valid until the next one. After an error nothing follows.
func (r *Reader) Logs(ctx context.Context, repetition int64) iter.Seq2[*Log, error] {
	const text = "SELECT app, at_ns, stream, line, cut FROM logs WHERE repetition_id = ? ORDER BY at_ns, id"
	l := &Log{}
	return each(ctx, r.db, text, []any{repetition}, func(row scanner) (*Log, error) {
		return l, row.Scan(&l.App, &l.AtNs, &l.Stream, &l.Line, &l.Cut)
	})
}
