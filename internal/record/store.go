package record

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
)

// A transaction is committed when it holds commitRows rows, or at the latest
// commitEvery after it began: what a SIGKILL can cost.
const (
	commitRows  = 2000
	commitEvery = 200 * time.Millisecond
)

// store is the database behind a Writer. Only the writing goroutine uses it,
// but for failure and failed.
type store struct {
	dir, path string
	// made is path once the file is there.
	made string

	db    *sql.DB
	conn  *sql.Conn
	stmts [finishRun + 1]*sql.Stmt
	// lock tells readers that the record is being written.
	lock *os.File
	// spare keeps some of the disk for the last words of a run that fills it.
	spare *os.File

	outcomes map[string]int64
	args     [probeColumns]any
	pending  int
	// kept counts what is committed, batch what the open transaction adds.
	kept, batch tally

	failure atomic.Pointer[error]
	failed  chan struct{}
}

type tally struct{ probes, samples, until int64 }

// newStore creates the file under another name first, so that a record never
// exists without its schema and its run.
func newStore(path string, run Run) (_ *store, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, FileName)
	}
	s := &store{dir: filepath.Dir(path), path: path, outcomes: map[string]int64{}, failed: make(chan struct{})}
	if _, err := os.Lstat(path); err == nil {
		return nil, say(path+" exists already: a record is never overwritten", ErrExists)
	}
	fresh := path + ".new"
	defer func() {
		if err == nil {
			return
		}
		s.release()
		for _, name := range []string{fresh, fresh + "-journal", s.made, s.made + "-wal", s.made + "-shm"} {
			_ = os.Remove(name)
		}
		if diskFull(s.dir, err) {
			err = &FullError{Dir: s.dir}
			return
		}
		err = fmt.Errorf("create the record %s: %w", path, err)
	}()
	if err := s.claim(fresh); err != nil {
		return nil, err
	}
	if err := initialise(fresh, run); err != nil {
		return nil, err
	}
	if err := os.Rename(fresh, path); err != nil {
		return nil, err
	}
	s.made = path
	return s, s.open(lockWriter)
}

// claim empties the file of an earlier attempt and checks, with a clearer
// error than SQLite's, that the directory can be written.
func (s *store) claim(fresh string) error {
	_ = os.Remove(fresh + "-journal")
	f, err := os.Create(fresh)
	if bad := new(fs.PathError); errors.As(err, &bad) {
		return bad.Err
	}
	return f.Close()
}

func initialise(file string, run Run) error {
	overrides, err := json.Marshal(append([]string{}, run.Overrides...))
	if err != nil {
		return err
	}
	ctx := context.Background()
	return onConn(ctx, file, nil, func(conn *sql.Conn) error {
		if err := migrate(ctx, conn, 0); err != nil {
			return err
		}
		_, err := conn.ExecContext(ctx, insert("run", "one", "id", "brink", "experiment", "yaml", "profile", "seed",
			"host", "overrides", "accelerator", "started_ns", "status", "reason"),
			1, run.ID, run.Brink, run.Experiment, run.YAML, run.Profile, run.Seed,
			run.Host, string(overrides), run.Accelerator, run.StartedNs, run.Status, run.Reason)
		return err
	})
}

// open opens the file for writing; lock takes the lock that tells of it.
func (s *store) open(lock func(path string) (*os.File, error)) (err error) {
	ctx := context.Background()
	s.db, err = openDB(s.path, url.Values{"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(NORMAL)"}})
	if err != nil {
		return err
	}
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return err
	}
	rows, err := s.conn.QueryContext(ctx, "SELECT id, name FROM outcomes")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var name string
		if err := rows.Scan(&id, &name); err != nil {
			return err
		}
		s.outcomes[name] = id
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for i, text := range statements() {
		if s.stmts[i], err = s.conn.PrepareContext(ctx, text); err != nil {
			return err
		}
	}
	s.spare = setAside(s.dir)
	s.lock, err = lock(s.path)
	return err
}

// setAside takes 64 KiB of the disk in a file without a name. It is an aid
// only: without it the run's last status may be missing.
func setAside(dir string) *os.File {
	f, err := os.CreateTemp(dir, ".spare-*")
	if err != nil {
		return nil
	}
	_ = os.Remove(f.Name())
	_, _ = f.Write(make([]byte, 64<<10))
	return f
}

// apply does one op. After a failure it does nothing more, so that senders
// are not held up before they see it.
func (s *store) apply(o *op) {
	switch {
	case o.flush != nil:
		s.commit()
		if p := s.failure.Load(); p != nil {
			o.flush <- *p
			return
		}
		o.flush <- nil
		return
	case s.failure.Load() != nil:
		return
	}
	if err := s.row(o); err != nil {
		s.fail(err)
		return
	}
	if s.pending++; s.pending >= commitRows {
		s.commit()
	}
}

func (s *store) row(o *op) error {
	ctx := context.Background()
	if s.pending == 0 {
		if _, err := s.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
			return err
		}
	}
	args, at := o.args, o.at
	switch o.stmt {
	case addProbe:
		p := &o.probe
		outcome, err := s.outcome(ctx, p.Outcome)
		if err != nil {
			return err
		}
		args, at = s.probeArgs(o.stream, p, outcome), max(p.Due, p.Sent, p.Done)
		s.batch.probes++
	case addSample:
		s.batch.samples++
	}
	if _, err := s.stmts[o.stmt].ExecContext(ctx, args...); err != nil {
		return err
	}
	s.batch.until = max(s.batch.until, at)
	return nil
}

// outcome is the number of an outcome, which may be a new word.
func (s *store) outcome(ctx context.Context, name string) (int64, error) {
	if id, ok := s.outcomes[name]; ok {
		return id, nil
	}
	id := int64(len(s.outcomes) + 1)
	if _, err := s.stmts[addOutcome].ExecContext(ctx, id, name); err != nil {
		return 0, err
	}
	s.outcomes[name] = id
	return id, nil
}

func (s *store) probeArgs(stream int64, p *Probe, outcome int64) []any {
	var text any
	if p.Err != "" {
		text = p.Err
	}
	s.args = [probeColumns]any{
		stream, p.Seq, unlessZero(p.Due), unlessZero(p.Sent), unlessZero(p.Connected), unlessZero(p.FirstByte),
		unlessZero(p.Done), unlessZero(p.Status), outcome, text, unlessZero(p.Pid), unlessNegative(p.ServedNs), p.Bytes,
	}
	return s.args[:]
}

func (s *store) commit() {
	if s.pending == 0 || s.failure.Load() != nil {
		return
	}
	if _, err := s.conn.ExecContext(context.Background(), "COMMIT"); err != nil {
		s.fail(err)
		return
	}
	s.pending = 0
	s.kept.probes += s.batch.probes
	s.kept.samples += s.batch.samples
	s.kept.until = max(s.kept.until, s.batch.until)
	s.batch = tally{}
}

// fail ends the writing. What was committed stays; the run's status says what
// happened if there is still room for it.
func (s *store) fail(err error) {
	ctx := context.Background()
	if diskFull(s.dir, err) {
		full := &FullError{Dir: s.dir, Probes: s.kept.probes, Samples: s.kept.samples}
		if s.kept.until > 0 {
			full.Until = time.Unix(0, s.kept.until)
		}
		err = full
	} else {
		err = fmt.Errorf("write the record %s: %w", s.path, err)
	}
	_, _ = s.conn.ExecContext(ctx, "ROLLBACK")
	if s.spare != nil {
		_ = s.spare.Close()
		s.spare = nil
	}
	_, _ = s.stmts[finishRun].ExecContext(ctx, Broken, err.Error(), time.Now().UnixNano())
	s.failure.Store(&err)
	close(s.failed)
}

// close folds the log into the file, so that a record that is complete is one
// file that can be read where nothing can be written. With a reader on it, or
// no room left, the log stays beside it and loses nothing.
func (s *store) close() {
	for _, stmt := range s.stmts {
		_ = stmt.Close()
	}
	ctx := context.Background()
	_, _ = s.conn.ExecContext(ctx, "PRAGMA busy_timeout = 250")
	_, _ = s.conn.ExecContext(ctx, "PRAGMA journal_mode = DELETE")
	s.release()
}

func (s *store) release() {
	if s.conn != nil {
		_ = s.conn.Close()
	}
	if s.db != nil {
		_ = s.db.Close()
	}
	for _, f := range []*os.File{s.spare, s.lock} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// lockWriter locks the write-ahead log, which exists exactly as long as it is
// needed and on which SQLite itself takes no locks. The kernel drops the lock
// when the process dies.
func lockWriter(path string) (*os.File, error) {
	f, err := os.Open(path + "-wal")
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
	}
	return f, nil
}

// lockIdle locks a record that no process writes. Readers hold the lock for an
// instant when they look whether one does.
func lockIdle(path string) (*os.File, error) {
	f, err := os.Open(path + "-wal")
	if err != nil {
		return nil, err
	}
	for range 100 {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = beingWritten(path)
	}
	return nil, errors.Join(err, f.Close())
}

// writerHolds tells whether a living process writes the record.
func writerHolds(path string) bool {
	f, err := os.Open(path + "-wal")
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
