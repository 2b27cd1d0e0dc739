package goapp

import (
	"errors"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Each worker of uvicorn says once that it can serve, and says the truth: the
// workers that answer are those that said so.
func TestEachUvicornWorkerSaysThatItIsReady(t *testing.T) {
	const workers = 3
	s := start(t, "asgi", launch{workers: workers})
	ready := map[int]bool{}
	for _, found := range regexp.MustCompile(`Worker ready with pid: (\d+)\b`).FindAllStringSubmatch(s.output(), -1) {
		pid, err := strconv.Atoi(found[1])
		if err != nil || ready[pid] {
			t.Errorf("%q: it is said twice, or not of a pid", found[0])
		}
		ready[pid] = true
	}
	if len(ready) != workers {
		t.Fatalf("%d workers are ready, want %d:\n%s", len(ready), workers, s.output())
	}
	for range 20 {
		if pid := s.get(t, "/ping").pid; !ready[pid] || pid == s.cmd.Process.Pid {
			t.Errorf("answered by %d; %v said that they are ready, the parent is %d", pid, ready, s.cmd.Process.Pid)
		}
	}
}

// A single worker is the process that was started, and no worker among others.
func TestASingleUvicornWorkerHasNoParent(t *testing.T) {
	s := start(t, "asgi", launch{})
	if a := s.get(t, "/stats"); a.pid != s.cmd.Process.Pid || a.body["workers"] != 1.0 {
		t.Errorf("answered by %d with %v, it was started as %d", a.pid, a.body, s.cmd.Process.Pid)
	}
	if strings.Contains(s.output(), "Worker ready") {
		t.Errorf("it says that it is a worker:\n%s", s.output())
	}
}

// When a worker says that it is ready, its listener is open: no connection is
// refused from then on.
func TestAReadyUvicornWorkerListens(t *testing.T) {
	s := startOnly(t, "asgi", launch{workers: 2, env: []string{"ALLOC_MB=64"}})
	if !eventually(func() bool { return strings.Contains(s.output(), "Worker ready with pid: ") }) {
		t.Fatalf("no worker gets ready:\n%s", s.output())
	}
	if _, err := s.try(http.MethodGet, "/ping"); err != nil {
		t.Error(err)
	}
}

// Asked to stop, uvicorn answers what it has begun and then ends with 0,
// having told the app: that is the lifespan protocol of ASGI.
func TestUvicornStopsGracefully(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 2} {
		t.Run(strconv.Itoa(workers), func(t *testing.T) {
			t.Parallel()
			s := start(t, "asgi", launch{workers: workers})
			held := s.dial(t, "/thread-hold?secs=1")
			time.Sleep(200 * time.Millisecond) // so that it has begun
			if err := s.cmd.Process.Signal(unix.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if a := mustReceive(t, held); a.body["held_secs"] != 1.0 {
				t.Errorf("the hold was answered with %d %v", a.status, a.body)
			}
			<-s.ended
			if code := s.cmd.ProcessState.ExitCode(); code != 0 {
				t.Errorf("it ended with code %d:\n%s", code, s.output())
			}
			if got := strings.Count(s.output(), "Application shutdown complete."); got != workers {
				t.Errorf("%d of %d workers were told:\n%s", got, workers, s.output())
			}
		})
	}
}

// uvicorn keeps an idle connection for --timeout-keep-alive, and closes it then.
func TestUvicornClosesIdleConnections(t *testing.T) {
	t.Parallel()
	s := start(t, "asgi", launch{flags: []string{"--timeout-keep-alive=1"}})
	conn := s.dial(t, "/ping")
	mustReceive(t, conn)
	began := time.Now()
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the idle connection got %v, want its end", err)
	}
	if took := time.Since(began); took < 900*time.Millisecond {
		t.Errorf("it was closed after %s, want 1 s", took)
	}
}
