package traffic_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"brink/internal/clock"
	"brink/internal/traffic"
)

// crowdVar makes the test binary a server that answers only once as many
// requests as it says are there at the same time, or each at once when it says 0.
// A process of its own has its own file descriptors.
const crowdVar = "BRINK_TEST_CROWD"

func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv(crowdVar)); err == nil {
		serveCrowd(n)
		return
	}
	os.Exit(m.Run())
}

// serveCrowd says its address and serves until its standard input is closed.
func serveCrowd(n int) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	var here sync.WaitGroup
	here.Add(n)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if _, err := c.Read(make([]byte, 256)); err != nil {
					return
				}
				if n > 0 {
					here.Done()
					here.Wait()
				}
				fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			}()
		}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func startCrowd(t *testing.T, n int) (addr string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", crowdVar, n))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	addr, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(addr)
}

// The server answers nobody until all are connected, so every answer proves that
// ten thousand connections stood at once.
func TestTenThousandConnectionsAtOnce(t *testing.T) {
	const n = 10_000
	if limit := fileLimit(t).Cur; limit < n+200 {
		t.Fatalf("this test needs %d file descriptors, ulimit -n is %d", n+200, limit)
	}
	addr := startCrowd(t, n)
	s, err := traffic.Run(t.Context(), clock.Real, traffic.Spec{
		Kind: traffic.KindBatch, Count: n, Path: "/", Timeout: 2 * time.Minute,
	}, addr, func(*traffic.Probe) {})
	if err != nil {
		t.Fatal(err)
	}
	if s.Count(traffic.OutcomeOK) != n || s.Peak != n {
		t.Errorf("outcomes %v at a peak of %d, want all ok at %d", s.Outcomes, s.Peak, n)
	}
	t.Logf("sent: half after %v, the last after %v", s.SendLag.P50, s.SendLag.Max)
}

func fileLimit(t *testing.T) syscall.Rlimit {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	return limit
}

// lowerFileLimit leaves room for that many more files, until the test ends.
func lowerFileLimit(t *testing.T, room int) (limit uint64) {
	t.Helper()
	before := fileLimit(t)
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	lowered := before
	lowered.Cur = uint64(len(open) + room)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &lowered); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	})
	return lowered.Cur
}

func TestOutOfFileDescriptorsIsAnOutcomeOfItsOwn(t *testing.T) {
	addr := startCrowd(t, 1_000_000) // answers nobody
	limit := lowerFileLimit(t, 40)
	want := fmt.Sprintf("out of file descriptors: ulimit -n is %d", limit)
	s, err := traffic.Run(t.Context(), clock.Real, traffic.Spec{
		Kind: traffic.KindBatch, Count: 100, Connections: 100, Path: "/", Timeout: time.Second,
	}, addr, func(p *traffic.Probe) {
		if p.Outcome == traffic.OutcomeOutOfFiles && p.Err != want {
			t.Errorf("error %q, want %q", p.Err, want)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := s.Count(traffic.OutcomeOutOfFiles); n < 50 || n+s.Count(traffic.OutcomeTimeout) != 100 {
		t.Errorf("outcomes %v, want at least 50 out of files and time-outs else", s.Outcomes)
	}
	if s.Held || !strings.Contains(s.Reason, "of 100 requests found no free file descriptor") {
		t.Errorf("held %v, reason %q", s.Held, s.Reason)
	}
}

// Left to itself the client opens no more connections than it may: the other
// requests wait their turn.
func TestDefaultNumberOfConnectionsKeepsWithinTheFileLimit(t *testing.T) {
	addr := startCrowd(t, 0)
	lowerFileLimit(t, 200)
	s, err := traffic.Run(t.Context(), clock.Real, traffic.Spec{
		Kind: traffic.KindRate, Rate: 1e6, Count: 400, Path: "/", Timeout: time.Minute,
	}, addr, func(*traffic.Probe) {})
	if err != nil {
		t.Fatal(err)
	}
	if s.Connections < 1 || s.Connections > 200-64 || s.Peak > s.Connections {
		t.Errorf("peak %d of %d connections, want at most 136", s.Peak, s.Connections)
	}
	if s.Count(traffic.OutcomeOK) != 400 {
		t.Errorf("outcomes %v, want all ok", s.Outcomes)
	}
}

// Requests that wait for a connection which the limit of open files does not
// allow are said to, with the limit.
func TestTheFileLimitIsNamedWhereRequestsWaitForIt(t *testing.T) {
	addr := startCrowd(t, 1_000_000) // answers nobody
	limit := lowerFileLimit(t, 100)
	s, err := traffic.Run(t.Context(), clock.Real, traffic.Spec{
		Kind: traffic.KindRate, Rate: 1000, Count: 100, Path: "/", Timeout: 300 * time.Millisecond,
	}, addr, func(*traffic.Probe) {})
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("connections were taken (ulimit -n is %d)", limit); s.Held || s.Queued == 0 || !strings.HasSuffix(s.Reason, want) {
		t.Errorf("%d queued, reason %q; want some, %q", s.Queued, s.Reason, want)
	}
}

// A batch at once that finds no room is refused before anything is sent. One
// request always has room, and so has a batch of as many as MostConnections says.
func TestABatchThatTheFileLimitDoesNotAllowIsRefused(t *testing.T) {
	limit := lowerFileLimit(t, 100)
	most := traffic.MostConnections()
	if most < 20 || most > 36 {
		t.Fatalf("%d connections, with room for 100 files of which 64 are for others", most)
	}
	for _, n := range []int{1, most} {
		if err := traffic.Room(n, 1); err != nil {
			t.Errorf("%d at once: %v, want room for %d", n, err, most)
		}
	}
	_, err := traffic.Run(t.Context(), clock.Real, traffic.Spec{
		Kind: traffic.KindBatch, Count: 300, Path: "/", Timeout: time.Minute,
	}, closedPort(t), func(*traffic.Probe) { t.Error("a request of a batch that is refused") })
	want := fmt.Sprintf("traffic: 300 requests at once need 300 open files, and ulimit -n, which is %d, leaves room for %d: send fewer at once, or allow ", limit, most)
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Fatalf("%v, want %s", err, want)
	}

	// What the sentence advises is enough.
	var advised uint64
	if _, err := fmt.Sscanf(strings.TrimPrefix(err.Error(), want), "%d open files as root", &advised); err != nil {
		t.Fatal(err)
	}
	raised := fileLimit(t)
	raised.Cur = advised
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised); err != nil {
		t.Fatal(err)
	}
	if err := traffic.Room(300, 1); err != nil {
		t.Errorf("with %d open files: %v", advised, err)
	}
	if err := traffic.Room(300, 3); err == nil || !strings.HasPrefix(err.Error(), "300 requests at once need 900 open files") {
		t.Errorf("with %d open files, of which each request takes 3: %v", advised, err)
	}
}
