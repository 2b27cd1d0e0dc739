package probe

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"brink/internal/clock"
	"brink/internal/traffic"
)

// serve serves h on a loopback port and returns the URL.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

func targets(t *testing.T, urls ...string) []Target {
	t.Helper()
	var all []Target
	for _, u := range urls {
		target, err := ParseTarget(u)
		if err != nil {
			t.Fatal(err)
		}
		if err := target.Lookup(t.Context()); err != nil {
			t.Fatal(err)
		}
		all = append(all, target)
	}
	return all
}

func newLog(t *testing.T, w *bytes.Buffer) *Log {
	t.Helper()
	l, err := NewLog(w)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// rows reads a log back: the header, then a row for each request.
func rows(t *testing.T, w *bytes.Buffer) [][]string {
	t.Helper()
	all, err := csv.NewReader(bytes.NewReader(w.Bytes())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(all[0], Columns) {
		t.Errorf("the header is %v", all[0])
	}
	return all[1:]
}

func TestTwoURLsSideBySide(t *testing.T) {
	var hosts atomic.Int64
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Host == "app-1.test" {
			hosts.Add(1)
		}
		w.Header().Set("X-Brink-Pid", "4711")
		w.Header().Set("X-Brink-Front", "frontend")
		if r.URL.Path == "/gone" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	var text bytes.Buffer
	log := newLog(t, &text)
	var progress Progress
	streams, err := Run(t.Context(), targets(t, base+"/here", base+"/gone"), Options{
		Clock: clock.Real, Log: log, Host: "app-1.test", Progress: &progress,
		Traffic: traffic.Spec{Kind: traffic.KindBatch, Count: 5, Timeout: 20 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	here, gone := streams[0], streams[1]
	if here.URL != base+"/here" || here.Requests != 5 || here.Sent != 5 || here.Outcomes["ok"] != 5 || len(here.Outcomes) != 1 || here.Failures.X != 0 {
		t.Errorf("here: %+v", here)
	}
	if gone.URL != base+"/gone" || gone.Outcomes["http_5xx"] != 5 || gone.Failures.X != 100 || !gone.Median.Known() {
		t.Errorf("gone: %+v", gone)
	}
	if hosts.Load() != 10 {
		t.Errorf("%d requests with the Host header that was asked for, want 10", hosts.Load())
	}
	if progress.Ended.Load() != 10 || progress.Failed.Load() != 5 || progress.InFlight.Load() != 0 {
		t.Errorf("progress: %d ended, %d failed, %d in flight; want 10, 5, 0", progress.Ended.Load(), progress.Failed.Load(), progress.InFlight.Load())
	}
	all := rows(t, &text)
	if len(all) != 10 || log.Rows() != 10 {
		t.Fatalf("%d rows, %d counted; want 10", len(all), log.Rows())
	}
	for _, r := range all {
		want := "200 ok"
		if r[1] == base+"/gone" {
			want = "503 http_5xx"
		}
		if got := r[2] + " " + r[6]; got != want || r[7] != "4711" || r[8] != "frontend" || r[9] != "" {
			t.Errorf("%v, want %s from process 4711", r, want)
		}
	}
}

// A server that takes 50 ms: no row says less, due is the schedule's, and the
// instants are in order.
func TestLogOfAServerWhoseLatencyIsKnown(t *testing.T) {
	const hold = 50 * time.Millisecond
	base := serve(t, func(http.ResponseWriter, *http.Request) { time.Sleep(hold) })
	var text bytes.Buffer
	_, err := Run(t.Context(), targets(t, base), Options{
		Clock: clock.Real, Log: newLog(t, &text),
		Traffic: traffic.Spec{Kind: traffic.KindSteady, Every: 20 * time.Millisecond, Count: 10, Timeout: 20 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	var due []time.Time
	for _, r := range rows(t, &text) {
		at, err1 := time.Parse(time.RFC3339Nano, r[4])
		sent, err2 := time.Parse(time.RFC3339Nano, r[5])
		elapsed, err3 := strconv.ParseFloat(r[3], 64)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		if r[0] != r[4] || len(r[0]) != len("2026-01-02T15:04:05.000000000Z") || sent.Before(at) || elapsed < 50 {
			t.Errorf("%v: want the timestamp to be due, sent not before, and at least 50 ms", r)
		}
		due = append(due, at)
	}
	slices.SortFunc(due, time.Time.Compare)
	for i := range due {
		if got := due[i].Sub(due[0]); got != time.Duration(i)*20*time.Millisecond {
			t.Errorf("request %d is due %v after the first, want %v", i, got, time.Duration(i)*20*time.Millisecond)
		}
	}
}

func TestInterruptedRunLeavesEveryRowAndASummary(t *testing.T) {
	held := make(chan struct{})
	base := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hold" {
			<-held
		}
	})
	defer close(held)
	ctx, cancel := context.WithCancel(t.Context())
	var text bytes.Buffer
	var progress Progress
	go func() {
		for progress.InFlight.Load() < 3 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	streams, err := Run(ctx, targets(t, base+"/hold"), Options{
		Clock: clock.Real, Log: newLog(t, &text), Progress: &progress,
		Traffic: traffic.Spec{Kind: traffic.KindSteady, Every: 10 * time.Millisecond, Duration: time.Hour, Timeout: time.Hour},
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	s := streams[0]
	if s.Held || s.Outcomes["canceled"] < 3 || s.Failures.Known() || s.Median.Known() {
		t.Errorf("%+v, want canceled requests that tell nothing", s)
	}
	if got := rows(t, &text); int64(len(got)) != s.Requests || got[0][6] != "canceled" || got[0][2] != "" {
		t.Errorf("%d rows for %d requests, the first is %v", len(got), s.Requests, got[0])
	}
}

// A log that cannot be written stops the traffic, long before its hour is over.
func TestLogThatCannotBeWrittenStopsTheTraffic(t *testing.T) {
	base := serve(t, func(http.ResponseWriter, *http.Request) {})
	full := errors.New("no space left")
	log, err := NewLog(writerFunc(func(p []byte) (int, error) {
		if bytes.HasPrefix(p, []byte(Columns[0])) {
			return len(p), nil
		}
		return 0, full
	}))
	if err != nil {
		t.Fatal(err)
	}
	streams, err := Run(t.Context(), targets(t, base), Options{
		Clock: clock.Real, Log: log,
		Traffic: traffic.Spec{Kind: traffic.KindRate, Rate: 1000, Duration: time.Hour, Timeout: time.Hour, Connections: 2},
	})
	if !errors.Is(err, full) || !errors.Is(err, ErrLog) || len(streams) != 1 || streams[0].Held {
		t.Errorf("error %v, streams %+v; want that the disk is full", err, streams)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// disk is a file on a disk of which so many bytes are left.
type disk struct {
	bytes.Buffer
	left  int
	fixed bool // it cannot be truncated
}

func (d *disk) Write(p []byte) (int, error) {
	n, _ := d.Buffer.Write(p[:min(len(p), d.left)])
	if d.left -= n; n < len(p) {
		return n, &fs.PathError{Op: "write", Path: "t.csv", Err: syscall.ENOSPC}
	}
	return n, nil
}

func (d *disk) Truncate(size int64) error {
	if d.fixed {
		return syscall.EINVAL
	}
	d.Buffer.Truncate(int(size))
	return nil
}

// Wherever in a row the disk is full: the file ends with a whole row, the log says
// how many rows that are, and takes none afterwards even if there is space again.
func TestLogOnADiskThatIsFull(t *testing.T) {
	header := len(strings.Join(Columns, ",") + "\n")
	rapid.Check(t, func(t *rapid.T) {
		d := &disk{left: header + rapid.IntRange(0, 2000).Draw(t, "left")}
		log, err := NewLog(d)
		for i := 0; err == nil && i < 40; i++ {
			err = log.Add("http://127.0.0.1:8000/", answered(time.Duration(i)*time.Second))
			if rapid.Bool().Draw(t, "flush") {
				err = cmp.Or(err, log.Flush())
			}
		}
		if err = cmp.Or(err, log.Flush()); !errors.Is(err, ErrLog) || !errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrTorn) {
			t.Fatalf("%v, want that the disk is full", err)
		}
		d.left = 1 << 20
		if err := cmp.Or(log.Add("http://127.0.0.1:8000/", answered(0)), log.Flush()); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("afterwards: %v", err)
		}
		text := d.String()
		if whole := int64(strings.Count(text, "\n")) - 1; !strings.HasSuffix(text, "\n") || log.Rows() != whole {
			t.Errorf("%d rows, in the file %d, which ends with %q", log.Rows(), whole, text[len(text)-20:])
		}
		_, err = csv.NewReader(strings.NewReader(text)).ReadAll() // as many cells in every row
		if err != nil {
			t.Error(err)
		}
	})
	d := &disk{left: header + 5, fixed: true}
	log, err := NewLog(d)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmp.Or(log.Add("http://h/", answered(0)), log.Flush()); !errors.Is(err, ErrTorn) || !errors.Is(err, syscall.ENOSPC) || log.Rows() != 0 {
		t.Errorf("%v, %d rows; want that the disk is full and the last row torn, 0", err, log.Rows())
	}
}

// That the last rows could not be written is not hidden by Ctrl-C.
func TestInterruptedRunSaysThatItsLogIsNotWhole(t *testing.T) {
	base := serve(t, func(http.ResponseWriter, *http.Request) {})
	log, err := NewLog(&disk{left: 200})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Run(ctx, targets(t, base), Options{
		Clock: clock.Real, Log: log, Traffic: traffic.Spec{Kind: traffic.KindBatch, Count: 9, Timeout: time.Second},
	})
	if !errors.Is(err, ErrLog) || log.Rows() != 0 {
		t.Errorf("%v, %d rows; want that the log cannot be written, 0", err, log.Rows())
	}
}

// A batch needs a connection for each of its requests, to all URLs together.
func TestABatchThatFindsNoRoomIsRefused(t *testing.T) {
	all := targets(t, "http://127.0.0.1:1/a", "http://127.0.0.1:1/b")
	o := Options{Traffic: traffic.Spec{Kind: traffic.KindBatch, Count: 1 << 30, Timeout: time.Second}}
	if _, err := o.Specs(all); err == nil || !strings.HasPrefix(err.Error(), "2147483648 requests at once need 2147483648 open files, and ulimit -n, which is ") {
		t.Errorf("error %v", err)
	}
	o.Traffic.Count = 3
	specs, err := o.Specs(all)
	if err != nil || specs[0].Connections < 3 || specs[1].Connections < 3 {
		t.Errorf("%+v, %v; want at least 3 connections each", specs, err)
	}
}

// Requests that were not sent have no time of sending and took no time, and text
// from a server stays in its cell.
func TestRowsOfRequestsWithoutAnAnswer(t *testing.T) {
	var text bytes.Buffer
	log := newLog(t, &text)
	second := int64(time.Second)
	for _, p := range []traffic.Probe{
		{Due: second, Done: 3 * second, Outcome: traffic.OutcomeUnsent, Err: "no connection was free for it"},
		{Due: second, Sent: second + 1, Done: 3 * second, Outcome: traffic.OutcomeAborted, Err: "not HTTP: the answer starts with \"a,b\\n\""},
	} {
		if err := log.Add("http://h/?a=1,2", &p); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Flush(); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%q", rows(t, &text))
	const due = `"1970-01-01T00:00:01.000000000Z"`
	want := `[[` + due + ` "http://h/?a=1,2" "" "" ` + due + ` "" "unsent" "" "" "no connection was free for it"] ` +
		`[` + due + ` "http://h/?a=1,2" "" "2000.000" ` + due + ` "1970-01-01T00:00:01.000000001Z" "aborted" "" "" "not HTTP: the answer starts with \"a,b\\n\""]]`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What is written at a time ends with a whole row, so that a process that is
// killed leaves no half of one.
func TestLogIsWrittenInWholeRows(t *testing.T) {
	writes := 0
	log, err := NewLog(writerFunc(func(p []byte) (int, error) {
		if writes++; p[len(p)-1] != '\n' {
			t.Errorf("write %d ends with %q", writes, p[len(p)-20:])
		}
		return len(p), nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	for range 10_000 {
		if err := log.Add("http://127.0.0.1:8000/", answered(time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Flush(); err != nil || writes < 10 {
		t.Errorf("error %v, %d writes; want none and tens", err, writes)
	}
}
