package probe

import (
	"bufio"
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
type Log struct {
	mu   sync.Mutex
	buf  *bufio.Writer
	csv  *csv.Writer
	row  []string
	rows int64
}

// flushFrom is how many bytes may stay in memory. What is written at a time ends
// with a whole row.
const flushFrom = 32 << 10

// ErrLog is wrapped by the errors of a Log, beside what the writer said.
var ErrLog = errors.New("a request cannot be logged")

// NewLog writes the header to w.
func NewLog(w io.Writer) (*Log, error) {
	buf := bufio.NewWriterSize(w, 2*flushFrom)
	l := &Log{buf: buf, csv: csv.NewWriter(buf), row: make([]string, len(Columns))}
	if err := l.csv.Write(Columns); err != nil {
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
	if err := l.csv.Write(r); err != nil {
		return fmt.Errorf("%w: %w", ErrLog, err)
	}
	l.rows++
	if l.buf.Buffered() < flushFrom {
		return nil
	}
	return l.flush()
}

// Rows is the number of requests so far.
func (l *Log) Rows() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rows
}

// Flush writes what is still in memory.
func (l *Log) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flush()
}

func (l *Log) flush() error {
	l.csv.Flush()
	if err := l.csv.Error(); err != nil {
		return fmt.Errorf("%w: %w", ErrLog, err)
	}
	return nil
}

func instant(ns int64) string {
	return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000000Z")
}
