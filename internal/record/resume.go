package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// Resumption is one time that a run which had ended early was taken up again.
type Resumption struct {
	AtNs int64
	// Brink is the version of the program that took it up.
	Brink string
	// FromRepetition is the id of the first repetition begun since.
	FromRepetition int64
	// Status and Reason are those that the run had before: interrupted or
	// broken, and why; done, and of which profile, where it was extended.
	Status, Reason string
}

// Resume opens the record at path, a file or the directory of a run that
// ended early, to be written on. Its ids go on, its status becomes running,
// repetitions that had not ended become interrupted, and the record keeps a
// [Resumption]. Steps that were added stay: [Reader.Steps] has their ids. The
// error is ErrNotResumable for a run that is done, one that another process
// writes, and a record of an older schema, which is left as it is; otherwise
// it is one of those of Open. brink is the version of the program.
func Resume(path, brink string) (*Writer, error) { return reopen(path, brink, nil) }

// Extension is what becomes of a run that more is executed of than it was made for.
type Extension struct {
	// YAML, Profile and Overrides take the place of the run's; see [Run].
	YAML, Profile string
	Overrides     []string
}

// Extend opens the record at path as [Resume] does, of a run that may also be
// done, and makes it one of a larger design.
func Extend(path, brink string, to Extension) (*Writer, error) { return reopen(path, brink, &to) }

func reopen(path, brink string, to *Extension) (*Writer, error) {
	s, last, err := resumeStore(path, brink, to)
	if err != nil {
		return nil, err
	}
	w := &Writer{store: s, ops: make(chan op, queued), done: make(chan struct{})}
	w.steps.Store(last.steps)
	w.repetitions.Store(last.repetitions)
	w.apps.Store(last.apps)
	w.streams.Store(last.streams)
	go w.loop()
	return w, nil
}

// ids are the last ones that were given out.
type ids struct{ steps, repetitions, apps, streams int64 }

func resumeStore(path, brink string, to *Extension) (_ *store, last ids, err error) {
	before, kept, err := endedEarly(path, to != nil)
	if err != nil {
		return nil, last, err
	}
	file := before.path
	s := &store{dir: filepath.Dir(file), path: file, kept: kept, outcomes: map[string]int64{}, failed: make(chan struct{})}
	defer func() {
		if err == nil {
			return
		}
		s.release()
		switch {
		case errors.Is(err, ErrNotResumable):
		case resultCode(err) == sqlite3.SQLITE_BUSY:
			err = beingWritten(file)
		case diskFull(s.dir, err):
			err = &FullError{Dir: s.dir, Probes: kept.probes, Samples: kept.samples, Until: before.end}
		default:
			err = fmt.Errorf("resume %s: %w", file, err)
		}
	}()
	if err := s.open(lockIdle); err != nil {
		return nil, last, err
	}
	if last, err = s.lastIDs(); err != nil {
		return nil, last, err
	}
	return s, last, s.takeUp(before, last.repetitions+1, brink, to)
}

// ended is how a run had ended before it is taken up.
type ended struct {
	path           string
	status, reason string
	end            time.Time
	// cutReason is for the repetitions that had not ended.
	cutReason string
	// extent says what a run that is done was.
	extent string
}

// endedEarly reads how the run at path ended and what it holds, and refuses
// what cannot be resumed: also one that is done, unless extend is set.
func endedEarly(path string, extend bool) (e ended, kept tally, err error) {
	defer func() {
		if resultCode(err) == sqlite3.SQLITE_BUSY {
			err = beingWritten(path)
		}
	}()
	r, err := Open(path)
	if err != nil {
		return e, kept, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	ctx := context.Background()
	run, err := r.Run(ctx)
	if err != nil {
		return e, kept, err
	}
	switch {
	case r.compact:
		return e, kept, say(r.path+" cannot be resumed: it is a compact copy; resume the run that it was made of", ErrNotResumable)
	case r.live:
		return e, kept, beingWritten(r.path)
	case r.schema < SchemaVersion():
		return e, kept, say(fmt.Sprintf("%s cannot be resumed: an older brink began it (schema %d; this one writes %d)",
			r.path, r.schema, SchemaVersion()), ErrNotResumable)
	case run.Status == Done && !extend:
		return e, kept, say(r.path+" cannot be resumed: its run is done", ErrNotResumable)
	}
	counts, err := r.Counts(ctx)
	kept = tally{probes: counts.Probes, samples: counts.Samples, until: r.end.UnixNano()}
	return ended{path: r.path, status: run.Status, reason: run.Reason, end: r.end, cutReason: r.cutReason(),
		extent: strings.TrimSpace("all of profile " + run.Profile)}, kept, err
}

func beingWritten(path string) error {
	return say(path+" cannot be resumed: a process is writing it", ErrNotResumable)
}

func (s *store) lastIDs() (last ids, err error) {
	const text = `SELECT (SELECT coalesce(max(id), 0) FROM steps), (SELECT coalesce(max(id), 0) FROM repetitions),
		(SELECT coalesce(max(id), 0) FROM apps), (SELECT coalesce(max(id), 0) FROM streams)`
	row := s.conn.QueryRowContext(context.Background(), text)
	return last, row.Scan(&last.steps, &last.repetitions, &last.apps, &last.streams)
}

// change is a statement that takeUp executes.
type change struct {
	text string
	args []any
}

// takeUp writes down that the run goes on, all of it or nothing.
func (s *store) takeUp(before ended, from int64, brink string, to *Extension) (err error) {
	ctx := context.Background()
	changes := []change{
		{"UPDATE repetitions SET status = ?, reason = ? WHERE status = ?", []any{Interrupted, before.cutReason, Running}},
		{"UPDATE run SET status = ?, reason = '', ended_ns = NULL", []any{Running}},
	}
	if to != nil {
		overrides, err := json.Marshal(append([]string{}, to.Overrides...))
		if err != nil {
			return err
		}
		changes = append(changes, change{"UPDATE run SET yaml = ?, profile = ?, overrides = ?", []any{to.YAML, to.Profile, string(overrides)}})
		if before.status == Done {
			before.reason = before.extent
		}
	}
	changes = append(changes, change{
		insert("resumptions", "at_ns", "brink", "from_repetition", "status", "reason"),
		[]any{time.Now().UnixNano(), brink, from, before.status, before.reason},
	})
	if _, err := s.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, _ = s.conn.ExecContext(ctx, "ROLLBACK")
		}
	}()
	for _, c := range append(changes, change{"COMMIT", nil}) {
		if _, err := s.conn.ExecContext(ctx, c.text, c.args...); err != nil {
			return err
		}
	}
	return nil
}

// Resumptions returns the times that the run was taken up again, in their
// order.
func (r *Reader) Resumptions(ctx context.Context) ([]Resumption, error) {
	const text = "SELECT at_ns, brink, from_repetition, status, reason FROM resumptions ORDER BY id"
	return all(ctx, r.db, text, nil, func(row scanner) (x Resumption, err error) {
		return x, row.Scan(&x.AtNs, &x.Brink, &x.FromRepetition, &x.Status, &x.Reason)
	})
}
