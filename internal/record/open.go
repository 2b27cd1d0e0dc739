package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// Reader reads a record and never changes it. Its methods may be called from
// any goroutine, also while the record is being written.
type Reader struct {
	path string
	// source is how SQLite opens the file that is read: the record, or a copy.
	source string
	params url.Values
	// temp holds the copy, nil without one.
	temp *scratch
	db   *sql.DB

	// schema is the record's own, before any upgrade.
	schema int
	// compact tells whether the file is a compact record.
	compact bool
	// live tells whether a process was writing the record when it was opened.
	live bool
	cut  bool
	// end is the latest time of any row, where the record was not finished.
	end time.Time

	mu       sync.Mutex
	outcomes map[int64]string
	// queryDB is opened by the first Query.
	queryDB *sql.DB
}

// connections bounds how many iterations a Reader runs at once before the
// next one waits.
const connections = 8

// Open opens the record at path, a file or the directory of a run. What is no
// record is told apart: ErrNotRun, ErrNotRecord, *NewerError. Older records
// are read through a copy that is led to the present schema, and those of
// ExportCompact through a temporary one. A record that was cut off opens with
// what it has; see Cut.
func Open(path string) (*Reader, error) {
	file, err := find(path)
	if err != nil {
		return nil, err
	}
	r := &Reader{path: file, source: file, params: url.Values{"mode": {"ro"}}}
	if err := r.open(context.Background()); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// find returns the file of a record.
func find(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", say(path+" is no run: it does not exist", ErrNotRun, fs.ErrNotExist)
	case err != nil:
		return "", err
	case info.IsDir():
		dir := path
		path = filepath.Join(dir, FileName)
		if info, err = os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			path = filepath.Join(dir, CompactFileName)
			info, err = os.Stat(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return "", say(fmt.Sprintf("%s is no run: it holds no %s", dir, FileName), ErrNotRun)
		} else if err != nil {
			return "", err
		}
	}
	if !info.Mode().IsRegular() {
		return "", say(path+" is no record: it is no regular file", ErrNotRecord)
	}
	if info.Size() == 0 {
		return "", say(path+" is no record: it is empty", ErrNotRecord)
	}
	if compact, err := isCompact(path); compact || err != nil {
		return path, err
	}
	// A page of SQLite, which takes less for an empty database, is at least 512
	// bytes. See https://www.sqlite.org/fileformat2.html.
	if info.Size() < 512 {
		return "", say(path+" is no record: it is no SQLite file", ErrNotRecord)
	}
	return path, nil
}

func (r *Reader) open(ctx context.Context) error {
	if compact, err := isCompact(r.path); err != nil {
		return err
	} else if compact {
		if err := r.unpack(ctx); err != nil {
			return err
		}
	}
	// Asked before anything is read: a writer that ends meanwhile leaves a
	// status that says so.
	r.live = writerHolds(r.path)
	version, err := r.connect(ctx)
	if needsCopy(err) {
		if err := r.copy(); err != nil {
			return err
		}
		version, err = r.connect(ctx)
	}
	if err != nil {
		return err
	}
	r.schema = version
	if version < SchemaVersion() {
		if err := r.upgrade(ctx, version); err != nil {
			return err
		}
	}
	return r.findEnd(ctx)
}

// connect opens the source and returns its schema version, if it is a record
// that can be read.
func (r *Reader) connect(ctx context.Context) (version int, err error) {
	if r.db != nil {
		_ = r.db.Close()
	}
	if r.db, err = openDB(r.source, r.params); err != nil {
		return 0, err
	}
	r.db.SetMaxOpenConns(connections)
	var id, schema int
	err = r.db.QueryRowContext(ctx, `SELECT a.application_id, u.user_version, s.schema_version
		FROM pragma_application_id a, pragma_user_version u, pragma_schema_version s`).Scan(&id, &version, &schema)
	switch {
	case resultCode(err) == sqlite3.SQLITE_NOTADB:
		return 0, say(r.path+" is no record: it is no SQLite file", ErrNotRecord)
	case resultCode(err) == sqlite3.SQLITE_CORRUPT:
		return 0, say(r.path+" is no record that can be read: it is damaged", ErrNotRecord)
	case err != nil:
		return 0, fmt.Errorf("open %s: %w", r.path, err)
	case id != applicationID:
		return 0, say(r.path+" is no record: it is an SQLite file of another program", ErrNotRecord)
	case version > SchemaVersion():
		return 0, &NewerError{Path: r.path, Version: version, Max: SchemaVersion()}
	}
	return version, nil
}

// needsCopy tells whether SQLite could not read a record because it may not
// write beside it: the log of a record that was cut off needs an index.
func needsCopy(err error) bool {
	switch resultCode(err) {
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
		return true
	}
	return false
}

// copy makes the source a copy of the record with its logs.
func (r *Reader) copy() (err error) {
	if err := r.makeTemp(); err != nil {
		return err
	}
	to := r.temp.file(FileName)
	for _, suffix := range []string{"", "-wal", "-journal"} {
		if err := copyFile(to+suffix, r.path+suffix); err != nil && (suffix == "" || !errors.Is(err, fs.ErrNotExist)) {
			return fmt.Errorf("copy %s in order to read it: %w", r.path, err)
		}
	}
	r.source, r.params = to, nil
	return nil
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// upgrade makes the source a copy of the record in the newest schema.
func (r *Reader) upgrade(ctx context.Context, from int) (err error) {
	if err := r.makeTemp(); err != nil {
		return err
	}
	to := r.temp.file("upgraded.db")
	if _, err := r.db.ExecContext(ctx, "VACUUM INTO ?", to); err != nil {
		return fmt.Errorf("copy %s in order to read its schema %d: %w", r.path, from, err)
	}
	if err := onConn(ctx, to, nil, func(c *sql.Conn) error { return migrate(ctx, c, from) }); err != nil {
		return fmt.Errorf("read %s, which has schema %d: %w", r.path, from, err)
	}
	r.source, r.params = to, url.Values{"mode": {"ro"}}
	_, err = r.connect(ctx)
	return err
}

// Close releases the record.
func (r *Reader) Close() error {
	var errs []error
	for _, db := range []*sql.DB{r.db, r.queryDB} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if r.temp != nil {
		errs = append(errs, r.temp.remove())
	}
	return errors.Join(errs...)
}

// Path is the file of the record.
func (r *Reader) Path() string { return r.path }

// Cut tells whether the record was cut off: it says that its run goes on, but
// no process writes it any more. The time is that of its latest row.
func (r *Reader) Cut() (bool, time.Time) { return r.cut, r.end }

// findEnd finds out whether the record was cut off, and where it ends.
// Repetitions that ended carry their end, so that only the probes of the ones
// that did not need looking at.
func (r *Reader) findEnd(ctx context.Context) error {
	if r.live {
		return nil
	}
	var status string
	if err := r.db.QueryRowContext(ctx, "SELECT status FROM run").Scan(&status); err != nil {
		return fmt.Errorf("read the run of %s: %w", r.path, err)
	}
	r.cut = status == Running
	var end int64
	err := r.db.QueryRowContext(ctx, `
		SELECT max(at) FROM (
			SELECT max(started_ns, coalesce(ended_ns, 0)) AS at FROM run
			UNION ALL SELECT max(started_ns, coalesce(traffic_ns, 0), coalesce(traffic_end_ns, 0), coalesce(ended_ns, 0))
				FROM repetitions
			UNION ALL SELECT max(at_ns) FROM events
			UNION ALL SELECT max(at_ns) FROM logs
			UNION ALL SELECT max(at_ns) FROM samples
			UNION ALL SELECT max(coalesce(done_ns, sent_ns, due_ns)) FROM probes
				WHERE stream_id IN (SELECT s.id FROM streams s JOIN repetitions r ON r.id = s.repetition_id
					WHERE r.status = ?)
		)`, Running).Scan(&end)
	if err != nil {
		return fmt.Errorf("find the end of %s: %w", r.path, err)
	}
	r.end = time.Unix(0, end)
	return nil
}
