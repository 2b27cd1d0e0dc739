package probe

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"brink/internal/traffic"
)

// Columns are those of a Log. The first four have the names that published
// traffic.csv files give them; instants are RFC 3339 in UTC with nanoseconds.
//
//	timestamp    when the request was due
//	url          as it was given
//	status       of the answer, empty without one
//	elapsed_ms   from due to the end, empty if the request was not sent
//	due, sent    when it was to be sent, and was; sent is empty if it was not
//	outcome      its name in package traffic
//	pid          of the worker that answered (X-Brink-Pid), empty if unknown
//	answered_by  app or frontend (X-Brink-Front), empty if unknown
//	err          why the outcome is not an answer
var Columns = []string{"timestamp", "url", "status", "elapsed_ms", "due", "sent", "outcome", "pid", "answered_by", "err"}

// Log writes requests as CSV. Several goroutines may use it.
//
// What is written ends with a whole row, even where the disk is full in the
// middle of one: a writer that can be truncated, as a file can that was empty, is
// then cut back to the last whole row. After its first error a log takes nothing
// more.
type Log struct {
	mu      sync.Mutex
	w       io.Writer
	pending bytes.Buffer
	csv     *csv.Writer // into pending
	row     []string
	ends    []int // of the rows in pending
	rows    int64 // that w holds, without the header
	size    int64 // of w up to the last whole row
	err     error
}

// flushFrom is how many bytes may stay in memory.
const flushFrom = 32 << 10

// ErrLog is wrapped by the errors of a Log, beside what the writer said.
var ErrLog = errors.New("a request cannot be logged")

// ErrTorn is wrapped by the error of a Log whose writer could not be cut back and
// ends in the middle of a row.
var ErrTorn = errors.New("it ends in the middle of a row")

// NewLog writes the header to w.
func NewLog(w io.Writer) (*Log, error) {
	l := &Log{w: w, row: make([]string, len(Columns)), rows: -1}
	l.csv = csv.NewWriter(&l.pending)
	copy(l.row, Columns)
	if err := l.append(); err != nil {
		return nil, err
	}
	return l, l.Flush()
}

// Add writes one request to url.
func (l *Log) Add(url string, p *traffic.Probe) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.row
	r[0], r[1], r[2], r[3], r[4], r[5] = instant(p.Due), url, "", "", instant(p.Due), ""
	r[6], r[7], r[8], r[9] = p.Outcome.String(), "", p.By.String(), p.Err
	if p.Status != 0 {
		r[2] = strconv.Itoa(p.Status)
	}
	if p.Sent != 0 {
		r[3] = strconv.FormatFloat(milliseconds(p.Done-p.Due), 'f', 3, 64)
		r[5] = instant(p.Sent)
	}
	if p.Pid != 0 {
		r[7] = strconv.Itoa(int(p.Pid))
	}
	if err := l.append(); err != nil {
		return err
	}
	if l.pending.Len() < flushFrom {
		return nil
	}
	return l.flush()
}

// append adds the row to what is to be written.
func (l *Log) append() error {
	if l.err != nil {
		return l.err
	}
	err := l.csv.Write(l.row)
	l.csv.Flush()
	if err := cmp.Or(err, l.csv.Error()); err != nil {
		return fmt.Errorf("%w: %w", ErrLog, err)
	}
	l.ends = append(l.ends, l.pending.Len())
	return nil
}

// Rows is the number of requests that have been written as a whole.
func (l *Log) Rows() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(0, l.rows)
}

// Flush writes what is still in memory.
func (l *Log) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flush()
}

func (l *Log) flush() error {
	if l.err != nil || l.pending.Len() == 0 {
		return l.err
	}
	n, err := l.w.Write(l.pending.Bytes())
	whole := 0
	for _, end := range l.ends {
		if end <= n {
			whole = end
			l.rows++
		}
	}
	l.size += int64(whole)
	if err != nil {
		l.err = fmt.Errorf("%w: %w", ErrLog, errors.Join(err, l.cutBack(n-whole)))
	}
	l.pending.Reset()
	l.ends = l.ends[:0]
	return l.err
}

// cutBack takes the torn bytes that were written of a row away again.
func (l *Log) cutBack(torn int) error {
	w, ok := l.w.(interface{ Truncate(size int64) error })
	if torn <= 0 || !ok {
		return nil
	}
	if err := w.Truncate(l.size); err != nil {
		return fmt.Errorf("%w: %w", ErrTorn, err)
	}
	return nil
}

func instant(ns int64) string {
	return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000000Z")
}
