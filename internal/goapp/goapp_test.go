package goapp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// queue is what ss says of the listener: the connections that wait in its
// accept queue (Recv-Q), and the backlog that listen(2) was given (Send-Q).
func (s *server) queue(t *testing.T) (waiting, backlog int) {
	t.Helper()
	ss, err := exec.LookPath("ss")
	if err != nil {
		t.Fatal("ss is missing: install the Debian package iproute2")
	}
	out, err := exec.Command(ss, "-Hltn", "src", s.addr).Output()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(string(out), "LISTEN %d %d", &waiting, &backlog); err != nil {
		t.Fatalf("ss says %q: %v", out, err)
	}
	return waiting, backlog
}

// hold returns the connection of a request that a worker has taken on.
func (s *server) hold(t *testing.T, path string) net.Conn {
	t.Helper()
	conn := s.dial(t, path)
	taken := eventually(func() bool {
		waiting, _ := s.queue(t)
		return waiting == 0
	})
	if !taken {
		t.Fatalf("nobody takes on %s", path)
	}
	return conn
}

func TestTheBacklogIsExact(t *testing.T) {
	for _, kind := range kinds {
		for _, want := range []int{1, 7, 100} {
			s := startOnly(t, kind, launch{backlog: want, env: []string{"BACKLOG=" + strconv.Itoa(want)}})
			if _, got := s.queue(t); got != want {
				t.Errorf("%s: the backlog is %d, want %d", kind, got, want)
			}
		}
	}
}

func TestABacklogBeyondTheKernelsLimitIsLogged(t *testing.T) {
	b, err := os.ReadFile("/proc/sys/net/core/somaxconn")
	if err != nil {
		t.Fatal(err)
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, "go", launch{backlog: limit + 1})
	want := fmt.Sprintf("[WARNING] The backlog of %d is cut to %d by net.core.somaxconn\n", limit+1, limit)
	if !strings.Contains(s.output(), want) {
		t.Errorf("no %q in the log:\n%s", want, s.output())
	}
}

func TestAPortThatIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for kind, why := range map[string]string{"go": "address already in use", "node": "EADDRINUSE"} {
		cmd := command(t, kind, launch{bind: taken.Addr().String(), env: []string{"PORT=" + port}})
		out, _ := cmd.CombinedOutput()
		want := fmt.Sprintf("cannot listen on %s: %s\n", taken.Addr(), why)
		if code := cmd.ProcessState.ExitCode(); code != 1 || string(out) != want {
			t.Errorf("%s: got code %d and %q, want 1 and %q", kind, code, out, want)
		}
	}
}

func TestListenReportsTheErrno(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cfg := DefaultConfig()
	cfg.Bind = taken.Addr().String()
	if err := Main(t.Context(), cfg, io.Discard); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("got %v, want one that wraps EADDRINUSE", err)
	}
}

func TestNoWorkerOutlivesAKilledMaster(t *testing.T) {
	t.Parallel()
	s := start(t, "go", launch{workers: 3})
	pids := s.workerPIDs(t, 3)
	// One in the middle of a request, too.
	s.hold(t, "/thread-hold?secs=600")
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	for pid := range pids {
		if !eventually(func() bool { return gone(pid) }) {
			t.Errorf("worker %d lives on", pid)
		}
	}
}

// Gunicorn's master stops with code 3 when a worker leaves with 3 before it
// has booted; any other end is followed by another try.
func TestAWorkerThatCannotBootEndsTheMasterWithCode3(t *testing.T) {
	cmd := command(t, "go", launch{workers: 2, env: []string{workerExitEnv + "=3"}})
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 3 || !strings.Contains(string(out), "[ERROR] Worker failed to boot.\n") {
		t.Errorf("got code %d and\n%s", code, out)
	}
}

func TestAWorkerThatCrashesAtBootIsTriedAgain(t *testing.T) {
	s := startOnly(t, "go", launch{timeout: 2 * time.Second, env: []string{workerExitEnv + "=7"}})
	ok := eventually(func() bool { return strings.Count(s.output(), "exited with code 7\n") >= 3 })
	if !ok {
		t.Errorf("less than three tries:\n%s", s.output())
	}
	select {
	case <-s.ended:
		t.Errorf("the master gave up:\n%s", s.output())
	default:
	}
}

func TestAnImpossibleAllocation(t *testing.T) {
	// 64 TiB: more than half of what an x86-64 or arm64 process can address.
	if b, err := newBlock(100 << 20); !errors.Is(err, unix.ENOMEM) {
		t.Errorf("got %d bytes and %v, want ENOMEM", len(b), err)
	}
}

func TestSIGTERMLetsARequestFinish(t *testing.T) {
	t.Parallel()
	s := start(t, "go", launch{})
	held := s.hold(t, "/thread-hold?secs=1")
	if err := s.cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if a := mustReceive(t, held); a.body["held_secs"] != 1.0 {
		t.Errorf("the held client got %v", a.body)
	}
	s.ends(t, 0)
}

func TestSIGINTDoesNotWait(t *testing.T) {
	s := start(t, "go", launch{})
	held := s.hold(t, "/thread-hold?secs=600")
	if err := s.cmd.Process.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	if a, err := receive(held); err == nil {
		t.Errorf("the held client got %v", a.body)
	}
	s.ends(t, 0)
}

// ends waits for the master's end.
func (s *server) ends(t *testing.T, code int) {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		t.Fatalf("the master does not end:\n%s", s.output())
	}
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("the master ended with code %d, want %d:\n%s", got, code, s.output())
	}
}

func TestKeepAliveIsWhatTheConfigurationSays(t *testing.T) {
	for _, keep := range []time.Duration{0, 20 * time.Second} {
		s := start(t, "go", launch{workers: 2, keepAlive: keep})
		conn := s.dial(t, "/ping")
		in := bufio.NewReader(conn)
		first, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := readAnswer(first)
		if err != nil {
			t.Fatal(err)
		}
		if first.Close != (keep == 0) {
			t.Errorf("keep-alive %s: Connection: close is %v", keep, first.Close)
		}
		_, _ = io.WriteString(conn, "GET /ping HTTP/1.1\r\nHost: test\r\n\r\n")
		second, err := http.ReadResponse(in, nil)
		if keep == 0 {
			if err == nil {
				t.Error("a second request was answered without keep-alive")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if b, err := readAnswer(second); err != nil || b.pid != a.pid {
			t.Errorf("the second request was answered by %d (%v), the first by %d", b.pid, err, a.pid)
		}
	}
}

// A client that connects and says nothing occupies a gunicorn worker until the
// watchdog kills it; ours hangs up in time.
func TestASilentClientDoesNotCostAWorker(t *testing.T) {
	t.Parallel()
	s := start(t, "go", launch{timeout: 2 * time.Second})
	before := s.get(t, "/ping").pid
	silent, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if after := s.get(t, "/ping").pid; after != before {
		t.Errorf("worker %d was replaced by %d:\n%s", before, after, s.output())
	}
}

func TestRequestsThatAreNone(t *testing.T) {
	s := start(t, "go", launch{})
	for name, c := range map[string]struct{ request, sentence string }{
		"garbage": {
			"\x16\x03\x01 hello\r\n\r\n", "the request cannot be read: ",
		},
		"endless head": {
			"GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 70<<10), "the request cannot be read: its head is longer than 65536 bytes",
		},
		"bad escape": {
			"GET /work?touch_mb=%zz HTTP/1.1\r\nHost: test\r\n\r\n", "the query cannot be parsed: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", s.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			// The end of an endless head may be refused with a reset.
			_, _ = io.WriteString(conn, c.request)
			a, err := receive(conn)
			sentence, _ := a.body["error"].(string)
			if err != nil || a.status != http.StatusBadRequest || !strings.HasPrefix(sentence, c.sentence) {
				t.Errorf("got %d %v (%v), want 400 %s", a.status, a.body, err, c.sentence)
			}
		})
	}
	if a := s.get(t, "/ping"); a.status != http.StatusOK {
		t.Errorf("afterwards /ping says %d", a.status)
	}
}

// The body of a request that is refused is read up to a bound, so that the
// refusal reaches the client instead of a reset.
func TestABodyIsReadAndForgotten(t *testing.T) {
	s := start(t, "go", launch{})
	for range 20 {
		resp, err := http.Post("http://"+s.addr+"/ping", "text/plain", strings.NewReader(strings.Repeat("x", 900<<10)))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("got %d, want 405", resp.StatusCode)
		}
	}
}

// Other holders of the listener would block in accept, and starve their
// heartbeat, if starting a worker took O_NONBLOCK from the socket.
func TestStartingAWorkerLeavesTheListenerNonBlocking(t *testing.T) {
	bind := mustAddr(t, "127.0.0.1:0")
	listener, _, err := listen(bind, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	cmd := exec.Command("/bin/true")
	cmd.ExtraFiles = []*os.File{listener}
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	flags, err := unix.FcntlInt(listener.Fd(), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_NONBLOCK == 0 {
		t.Errorf("the listener's flags are %#x (%v), without O_NONBLOCK", flags, err)
	}
}
