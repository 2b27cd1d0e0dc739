package record

import "context"

// Failure counts the requests of one step that came to nothing in one way.
type Failure struct {
	Step string
	// Outcome is a word of traffic.Outcome, other than ok.
	Outcome string
	Count   int64
	// Example is the error text of one of them.
	Example string
}

// Failures counts failed requests by step and outcome, in the order of steps.
func (r *Reader) Failures(ctx context.Context) ([]Failure, error) {
	const text = `SELECT st.name, o.name, count(*), coalesce(max(p.err), '')
		FROM probes p
		JOIN outcomes o ON o.id = p.outcome
		JOIN streams s ON s.id = p.stream_id
		JOIN repetitions r ON r.id = s.repetition_id
		JOIN steps st ON st.id = r.step_id
		WHERE o.name <> 'ok'
		GROUP BY st.ordinal, o.name ORDER BY st.ordinal, o.name`
	return all(ctx, r.db, text, nil, func(row scanner) (f Failure, err error) {
		return f, row.Scan(&f.Step, &f.Outcome, &f.Count, &f.Example)
	})
}

// CommonLog is a line that apps wrote in a step, with how often.
type CommonLog struct {
	Step, App, Stream, Line string
	Count                   int64
}

// CommonLogs returns up to perStep different lines of each step that apps
// wrote, those that are not mere information first, and how many lines the record holds in all.
func (r *Reader) CommonLogs(ctx context.Context, perStep int) (lines []CommonLog, total int64, err error) {
	const text = `SELECT name, app, stream, line, n FROM (
			SELECT st.ordinal, st.name, l.app, l.stream, l.line, count(*) AS n, min(l.id) AS first,
				row_number() OVER (PARTITION BY st.ordinal ORDER BY l.line LIKE '%[INFO]%', min(l.id)) AS place
			FROM logs l
			JOIN repetitions r ON r.id = l.repetition_id
			JOIN steps st ON st.id = r.step_id
			WHERE l.app <> ''
			GROUP BY st.ordinal, l.app, l.stream, l.line)
		WHERE place <= ? ORDER BY ordinal, first`
	lines, err = all(ctx, r.db, text, []any{perStep}, func(row scanner) (l CommonLog, err error) {
		return l, row.Scan(&l.Step, &l.App, &l.Stream, &l.Line, &l.Count)
	})
	if err != nil {
		return nil, 0, err
	}
	counts, err := r.Counts(ctx)
	return lines, counts.Logs, err
}
