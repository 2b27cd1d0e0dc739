package record

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var (
	// ErrNotRun says that a path is not the directory of a run.
	ErrNotRun = errors.New("not a run")
	// ErrNotRecord says that a file is not a record of brink.
	ErrNotRecord = errors.New("not a record")
	// ErrExists says that something that must not be overwritten is there.
	ErrExists = errors.New("exists already")
	// ErrClosed says that a writer was used after Close.
	ErrClosed = errors.New("the record is closed")
	// ErrNotResumable says that a run cannot be taken up again.
	ErrNotResumable = errors.New("cannot be resumed")
	// ErrRefused says that a query would do more than read the record.
	ErrRefused = errors.New("a query may only read the record: this one would write, attach a file or change a setting")
)

// sentence is an error whose text is complete and whose kind can be asked for
// with errors.Is.
type sentence struct {
	text  string
	kinds []error
}

func (s *sentence) Error() string   { return s.text }
func (s *sentence) Unwrap() []error { return s.kinds }

func say(text string, kinds ...error) error { return &sentence{text, kinds} }

// NewerError says that a record has a schema that this program does not know.
type NewerError struct {
	// Path is the record's file.
	Path string
	// Version is the record's schema, Max the newest that can be read.
	Version, Max int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s was written by a newer brink (schema %d; this one reads up to %d)", e.Path, e.Version, e.Max)
}

// FullError says that the disk is full, and what the record holds.
type FullError struct {
	// Dir is the directory of the record.
	Dir string
	// Probes and Samples were kept, the latest of which is of Until (zero when
	// nothing was).
	Probes, Samples int64
	Until           time.Time
}

func (e *FullError) Error() string {
	if e.Until.IsZero() {
		return fmt.Sprintf("the disk that holds %s is full: no probe and no sample was kept", e.Dir)
	}
	return fmt.Sprintf("the disk that holds %s is full: %d probes and %d samples up to %s were kept",
		e.Dir, e.Probes, e.Samples, stamp(e.Until))
}

// Unwrap lets callers ask for syscall.ENOSPC.
func (e *FullError) Unwrap() error { return syscall.ENOSPC }

// stamp formats a time as records and their exports do.
func stamp(t time.Time) string { return t.UTC().Format(milli) }

// resultCode is SQLite's primary result code of err, or 0.
// See https://www.sqlite.org/rescode.html.
func resultCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// diskFull tells whether a failure on the disk that holds dir comes from its
// being full. The wal-index reports that as an I/O error of its own.
func diskFull(dir string, err error) bool {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return true
	}
	switch resultCode(err) {
	case sqlite3.SQLITE_FULL:
		return true
	case sqlite3.SQLITE_IOERR:
		var fs syscall.Statfs_t
		return syscall.Statfs(dir, &fs) == nil && uint64(fs.Bavail)*uint64(fs.Bsize) < 1<<16
	}
	return false
}
