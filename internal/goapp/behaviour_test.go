package goapp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What the built-in server has to share with gunicorn's sync workers is tested
// on both; gunicorn is the reference.

var workerKinds = []string{"flask", "go"}

// dial connects, which puts the connection into the accept queue, and sends a
// request.
func (s *server) dial(t *testing.T, path string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: test\r\n\r\n", path); err != nil {
		t.Fatal(err)
	}
	return conn
}

func receive(conn net.Conn) (answer, error) {
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	return readAnswer(resp)
}

func mustReceive(t *testing.T, conn net.Conn) answer {
	t.Helper()
	a, err := receive(conn)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A worker server answers the later request after the one that holds. An event
// loop answers it meanwhile, unless the hold blocks the loop.
func TestWhatAHoldHoldsUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, path string
		blocks     bool
	}{
		{"flask", "/thread-hold", true}, {"flask", "/block-hold", true},
		{"go", "/thread-hold", true}, {"go", "/block-hold", true},
		{"asgi", "/thread-hold", false}, {"asgi", "/block-hold", true},
		{"node", "/thread-hold", false}, {"node", "/block-hold", true},
	} {
		t.Run(c.kind+c.path, func(t *testing.T) {
			t.Parallel()
			s := start(t, c.kind, launch{})
			held := s.dial(t, c.path+"?secs=2")
			time.Sleep(200 * time.Millisecond) // or a loop may find both in one turn
			mustReceive(t, s.dial(t, "/ping"))
			if err := held.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			_, err := held.Read(make([]byte, 1))
			if answered := err == nil; answered != c.blocks {
				t.Errorf("the hold was answered before the later request: %v (%v), want %v", answered, err, c.blocks)
			}
		})
	}
}

// The worker counts what it serves; behind a hold, the connections must get
// the numbers that follow in the order in which they connected.
func TestOneWorkerServesOneAtATimeInOrderOfArrival(t *testing.T) {
	for _, kind := range workerKinds {
		t.Run(kind, func(t *testing.T) {
			s := start(t, kind, launch{})
			before := s.get(t, "/stats").body["served"].(float64)
			began := time.Now()
			hold := s.dial(t, "/thread-hold?secs=0.3")
			var queue []net.Conn
			for range 20 {
				queue = append(queue, s.dial(t, "/stats"))
			}
			mustReceive(t, hold)
			for i, conn := range queue {
				if got, want := mustReceive(t, conn).body["served"], before+float64(i)+2; got != want {
					t.Errorf("connection %d was served as number %v, want %v", i, got, want)
				}
			}
			if took := time.Since(began); took < 300*time.Millisecond {
				t.Errorf("the queue was answered in %s, within the hold", took)
			}
		})
	}
}

// S concurrent holds on W workers take ceil(S / W) rounds at least (the law of
// the worker-exhaustion experiment), and never more than W pids.
func TestHoldsBeyondTheWorkersTakeAnotherRound(t *testing.T) {
	t.Parallel()
	const workers, holds, secs = 2, 5, 0.2
	for _, kind := range workerKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := start(t, kind, launch{workers: workers})
			pids := s.workerPIDs(t, workers)
			began := time.Now()
			var conns []net.Conn
			for range holds {
				conns = append(conns, s.dial(t, fmt.Sprintf("/thread-hold?secs=%v", secs)))
			}
			for _, conn := range conns {
				if a := mustReceive(t, conn); !pids[a.pid] {
					t.Errorf("answered by %d, the workers are %v", a.pid, pids)
				}
			}
			if took := time.Since(began).Seconds(); took < 3*secs {
				t.Errorf("%d holds of %v s on %d workers took %.3f s, less than 3 rounds", holds, secs, workers, took)
			}
		})
	}
}

// workerPIDs returns when n workers answer, each in a process of its own that
// is a child of the master.
func (s *server) workerPIDs(t *testing.T, n int) map[int]bool {
	t.Helper()
	pids := map[int]bool{}
	ok := eventually(func() bool {
		var conns []net.Conn
		for range n {
			conns = append(conns, s.dial(t, "/thread-hold?secs=0.05"))
		}
		clear(pids)
		for _, conn := range conns {
			pids[mustReceive(t, conn).pid] = true
		}
		return len(pids) == n
	})
	if !ok {
		t.Fatalf("%d concurrent holds never met %d workers, but %v", n, n, pids)
	}
	started := map[int]bool{}
	for _, pid := range children(t, s.cmd.Process.Pid) {
		started[pid] = true
	}
	for pid := range pids {
		if !started[pid] {
			t.Errorf("worker %d is no child of the master; those are %v", pid, started)
		}
	}
	return pids
}

func TestEveryWorkerHasItsOwnPID(t *testing.T) {
	for _, kind := range workerKinds {
		t.Run(kind, func(t *testing.T) {
			start(t, kind, launch{workers: 4}).workerPIDs(t, 4)
		})
	}
}

// gunicorn's threads and greenlets let one process answer many at once; the
// app must be right under all of its worker classes.
func TestFlaskUnderOtherWorkerClasses(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"gthread": {"--worker-class=gthread", "--threads=8"},
		"gevent":  {"--worker-class=gevent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, "flask", launch{flags: flags, env: []string{"ALLOC_MB=4"}})
			before := s.get(t, "/stats").body["served"].(float64)
			held := s.dial(t, "/thread-hold?secs=2")
			if a := mustReceive(t, s.dial(t, "/work?touch_mb=4&file_mb=2&payload_kb=1")); a.body["read_mb"] != 2.0 {
				t.Errorf("/work during a hold: %v", a.body)
			}
			if err := held.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			if _, err := held.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the hold was over before the later request (%v)", err)
			}
			if got := s.get(t, "/stats").body["served"]; got != before+3 {
				t.Errorf("served is %v after three more requests, it was %v", got, before)
			}
		})
	}
}

// Preloaded, the module runs once in the master; what a worker says about
// itself must be its own.
func TestFlaskPreloaded(t *testing.T) {
	s := start(t, "flask", launch{workers: 2, flags: []string{"--preload"}, env: []string{"ALLOC_MB=4"}})
	pids := s.workerPIDs(t, 2)
	if pids[s.cmd.Process.Pid] {
		t.Errorf("the master's pid is among %v", pids)
	}
	a := s.get(t, "/stats")
	if a.body["workers"] != 2.0 || a.body["alloc_mb"] != 4.0 || a.body["pid"] != float64(a.pid) {
		t.Errorf("/stats says %v", a.body)
	}
}

// A worker that is silent for longer than the time-out is killed: its client
// gets nothing, and another worker takes its place.
func TestWatchdogKillsASilentWorker(t *testing.T) {
	t.Parallel()
	for _, kind := range workerKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := start(t, kind, launch{timeout: time.Second})
			victim := s.get(t, "/ping").pid
			began := time.Now()
			_, err := receive(s.dial(t, "/thread-hold?secs=60"))
			if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, unix.ECONNRESET) {
				t.Errorf("the held client got %v, want an empty reply", err)
			}
			if took := time.Since(began); took < 900*time.Millisecond || took > 50*time.Second {
				t.Errorf("the worker was killed after %s with a time-out of 1 s", took)
			}
			if next := s.get(t, "/ping").pid; next == victim {
				t.Errorf("worker %d still answers", victim)
			}
			if want := fmt.Sprintf("[CRITICAL] WORKER TIMEOUT (pid:%d)\n", victim); !strings.Contains(s.output(), want) {
				t.Errorf("no %q in the log:\n%s", want, s.output())
			}
			if !eventually(func() bool { return gone(victim) }) {
				t.Errorf("worker %d is still there", victim)
			}
		})
	}
}

// An idle worker reports on its own: three time-outs later nobody was killed.
func TestWatchdogSparesIdleWorkers(t *testing.T) {
	t.Parallel()
	s := start(t, "go", launch{timeout: time.Second})
	before := s.get(t, "/ping").pid
	time.Sleep(3 * time.Second)
	if after := s.get(t, "/ping").pid; after != before {
		t.Errorf("worker %d was replaced by %d:\n%s", before, after, s.output())
	}
}

func TestAKilledWorkerIsReplaced(t *testing.T) {
	for _, kind := range workerKinds {
		t.Run(kind, func(t *testing.T) {
			s := start(t, kind, launch{})
			victim := s.get(t, "/ping").pid
			if err := unix.Kill(victim, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			want := "[WARNING] Worker with pid " + strconv.Itoa(victim) + " was terminated due to signal 9\n"
			if !eventually(func() bool { return strings.Contains(s.output(), want) }) {
				t.Errorf("no %q in the log:\n%s", want, s.output())
			}
			if next := s.get(t, "/ping").pid; next == victim {
				t.Errorf("worker %d still answers", victim)
			}
		})
	}
}
