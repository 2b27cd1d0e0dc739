package gauge

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"brink/internal/servertest"
)

// Two sync workers that hold a request each, and five connections behind them:
// what listen(2) and the accept queue's description promise.
func TestAcceptQueue(t *testing.T) {
	t.Parallel()
	p := servertest.Gunicorn(t, "", "-w", "2", "--backlog", "7")
	g := watching(t, onPort(p.Port))
	grown(t, g, 3)
	servertest.Hold(t, 2, p.URL("?1000"))
	servertest.Eventually(t, "both are busy", func() bool { return only(t, g).Busy == num(2) })
	waiting := make([]net.Conn, 5)
	for i := range waiting {
		waiting[i] = sendOnly(t, p)
	}
	var s *Server
	servertest.Eventually(t, "five wait", func() bool { s = only(t, g); return s.Queued == num(5) && s.Sockets[0].Abandoned.Known })
	wantNum(t, "workers", s.Workers, 2)
	wantNum(t, "busy", s.Busy, 2)
	wantNum(t, "idle", s.Idle, 0)
	wantNum(t, "limit", s.Sockets[0].Limit, 7)
	wantNum(t, "abandoned", s.Sockets[0].Abandoned, 0)
	if s.Sockets[0].Queue != 5 {
		t.Errorf("accept queue of %d, want 5", s.Sockets[0].Queue)
	}
	began := time.Now()
	servertest.Eventually(t, "the oldest grows older than a second", func() bool {
		age := only(t, g).Sockets[0].Oldest
		return age.Known && age.Value > 1
	})
	if age := only(t, g).Sockets[0].Oldest.Value; age > time.Since(began).Seconds()+servertest.Patience.Seconds() {
		t.Errorf("the oldest waits for %v s, longer than it can", age)
	}
	waiting[3].Close()
	servertest.Eventually(t, "one has given up", func() bool { return only(t, g).Sockets[0].Abandoned == num(1) })

	// The queue holds one above its limit of 7; what comes then is turned away.
	dropped := uint64(0)
	for range 5 {
		go func() {
			if c, err := net.DialTimeout("tcp4", p.Address(), 2*time.Second); err == nil {
				c.Close()
			}
		}()
	}
	servertest.Eventually(t, "connections are turned away", func() bool {
		dropped += only(t, g).Sockets[0].Drops.Value
		return dropped > 0
	})
}

// sendOnly sends a request and does not wait for the answer.
func sendOnly(t testing.TB, p *servertest.Process) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp4", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, "GET /?1000 HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return c
}

// A gthread worker with two threads takes in all of five connections: its
// accept queue stays empty, and three requests wait inside.
func TestRequestsThatWaitInsideGthread(t *testing.T) {
	t.Parallel()
	p := servertest.Gunicorn(t, "", "-w", "1", "--threads", "2")
	g := watching(t, onPort(p.Port))
	grown(t, g, 2)
	for range 5 {
		sendOnly(t, p)
	}
	var s *Server
	servertest.Eventually(t, "two are served and three wait", func() bool {
		s = only(t, g)
		return s.Busy == num(2) && s.Queued == num(3) && s.Processes[1].Held == num(5)
	})
	wantNum(t, "workers", s.Workers, 2)
	if s.Sockets[0].Queue != 0 {
		t.Errorf("accept queue of %d, want 0", s.Sockets[0].Queue)
	}
	if s.Processes[1].Unread.Value == 0 {
		t.Error("the waiting requests have no unread bytes")
	}
	servertest.Eventually(t, "the oldest of them has waited for more than a second", func() bool {
		oldest := only(t, g).Processes[1].Oldest
		return oldest.Known && oldest.Value > 1
	})
}

// A thread may leave a body unread while it serves, and nobody waits then.
func TestABodyThatNobodyReadsDoesNotWait(t *testing.T) {
	t.Parallel()
	p := servertest.Gunicorn(t, "", "-w", "1", "--threads", "2")
	g := watching(t, onPort(p.Port))
	grown(t, g, 2)
	c, err := net.Dial("tcp4", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const large = 1 << 20 // more than the server reads on its own
	if _, err := fmt.Fprintf(c, "POST /?1000 HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", large); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(make([]byte, 100<<10)); err != nil {
		t.Fatal(err)
	}
	var s *Server
	servertest.Eventually(t, "one is served, with unread bytes, and none waits", func() bool {
		s = only(t, g)
		return s.Busy == num(1) && s.Processes[1].Unread.Value > 0 && s.Queued == num(0)
	})
	if s.Processes[1].Oldest.Known {
		t.Errorf("the oldest waits for %v, and nobody does", s.Processes[1].Oldest)
	}
}

// A connection that is kept open after its answer occupies no gthread thread.
func TestKeptConnectionIsIdle(t *testing.T) {
	t.Parallel()
	p := servertest.Gunicorn(t, "", "-w", "1", "--threads", "4", "--keep-alive", "60")
	g := watching(t, onPort(p.Port))
	grown(t, g, 2)
	c, err := net.Dial("tcp4", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := bufio.NewReader(c)
	for range 2 {
		// 0.1 s lies between request and answer: many ticks of the kernel.
		if _, err := io.WriteString(c, "GET /?0.1 HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	var s *Server
	servertest.Eventually(t, "the connection is held", func() bool { s = only(t, g); return s.Processes[1].Held == num(1) })
	wantNum(t, "busy", s.Busy, 0)
	wantNum(t, "idle", s.Idle, 4)
	time.Sleep(50 * time.Millisecond) // many ticks again
	if _, err := io.WriteString(c, "GET /?1000 HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "the next request makes it busy", func() bool { return only(t, g).Busy == num(1) })
}

// An app that keeps its connection to the upstream open until the next request
// has a new socket at rest. It is not taken for a request.
func TestLeftoverSocketsAreNoRequests(t *testing.T) {
	t.Parallel()
	up := servertest.NewUpstream(t, 0)
	const app = `
import os, socket
keep = None
def app(env, start):
    global keep
    host, port = os.environ["UPSTREAM"][7:].split(":")
    new = socket.create_connection((host, int(port)))
    keep = new
    start("200 OK", [("Content-Length", "0")])
    return [b""]
`
	port := servertest.FreePort(t)
	p := servertest.Launch(t, port, map[string]string{"app.py": app}, []string{"UPSTREAM=" + up.URL}, servertest.GunicornBin,
		"-w", "2", "-b", fmt.Sprintf("127.0.0.1:%d", port), "app:app")
	g := watching(t, onPort(port))
	grown(t, g, 3)
	wrong := 0
	const readings = 60
	for range readings {
		ask(p, 4, "")
		if busy := only(t, g).Busy; busy.Known && busy.Value > 0 {
			wrong++
		}
	}
	// At most what it takes to find out.
	if wrong > readings/20 {
		t.Errorf("%d of %d readings of idle workers said busy", wrong, readings)
	}
}

// The built-in workload: four Go processes, each with one connection at a time.
func TestBuiltInApp(t *testing.T) {
	t.Parallel()
	port := servertest.FreePort(t)
	p := servertest.Launch(t, port, nil, []string{masterEnv + "=" + strconv.Itoa(port)}, testBinary(t))
	g := watching(t, onPort(port))
	servertest.Eventually(t, "four workers", func() bool {
		g.rescan.wanted = true // they were forked by threads of the master
		snap := sample(t, g)
		return len(snap.Servers) == 1 && snap.Servers[0].Workers == num(4)
	})
	for _, q := range []int{3, 6} {
		servertest.Hold(t, 3, p.URL("thread-hold?secs=600"))
		servertest.Eventually(t, fmt.Sprintf("%d held", q), func() bool {
			s := only(t, g)
			return s.Busy == num(uint64(min(q, 4))) && s.Queued == num(uint64(max(q-4, 0)))
		})
	}
	if s := only(t, g); s.Kind != BrinkApp {
		t.Errorf("kind %q (%s)", s.Kind, s.Why)
	}
}

// What a worker waits on is the upstream, where the rights suffice.
func TestWaitsOnUpstream(t *testing.T) {
	t.Parallel()
	up := servertest.NewUpstream(t, time.Hour)
	p := servertest.Gunicorn(t, up.URL, "-w", "1")
	cfg := onPort(p.Port)
	cfg.Detail = true
	g := watching(t, cfg)
	grown(t, g, 2)
	servertest.Hold(t, 1, p.URL(""))
	want := strings.TrimPrefix(up.URL, "http://")
	servertest.Eventually(t, "it waits on the upstream", func() bool {
		s := only(t, g)
		wait := s.Processes[1].Wait
		return s.Busy == num(1) && wait.Peer.IsValid() && wait.Peer.String() == want && wait.Call != ""
	})
	up.CloseClientConnections()
}

// Workers and masters that die, and servers that come and go, are no errors.
func TestDeathsAreNoErrors(t *testing.T) {
	t.Parallel()
	p := servertest.Gunicorn(t, "", "-w", "3")
	g := watching(t, onPort(p.Port))
	before := grown(t, g, 4)
	killed := before.Processes[2].PID
	servertest.Hold(t, 2, p.URL("?1000"))
	servertest.Eventually(t, "two are busy", func() bool { return only(t, g).Busy == num(2) })
	if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "another takes its place", func() bool {
		s := only(t, g)
		if s.Workers.Value > 3 {
			t.Fatalf("%v workers of 3", s.Workers)
		}
		for _, q := range s.Processes {
			if q.PID == killed {
				return false
			}
		}
		return len(s.Processes) == 4
	})
	servertest.End(p.Cmd)
	servertest.Eventually(t, "the server is gone", func() bool { return len(sample(t, g).Servers) == 0 })
	again := servertest.Launch(t, p.Port, map[string]string{"app.py": servertest.WSGI}, nil, servertest.GunicornBin,
		"-w", "2", "-b", p.Address(), "app:app")
	if s := grown(t, g, 3); s.PID != again.Process.Pid || s.Workers != num(2) {
		t.Errorf("server of pid %d with %v workers, want the new one, %d, with 2", s.PID, s.Workers, again.Process.Pid)
	}
}

// A worker that has died but that its master has not looked after is neither
// busy nor idle.
func TestUnreapedWorkerIsGone(t *testing.T) {
	t.Parallel()
	p := servertest.Gunicorn(t, "", "-w", "3")
	g := watching(t, onPort(p.Port))
	grown(t, g, 4)
	for range 15 { // until a glance is trusted
		ask(p, 6, "?0")
		only(t, g)
	}
	servertest.Hold(t, 2, p.URL("?1000"))
	servertest.Eventually(t, "two are busy", func() bool { return only(t, g).Busy == num(2) })
	if err := syscall.Kill(p.Process.Pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	states := map[State]int{}
	for _, q := range only(t, g).Processes[1:] {
		if states[q.State]++; states[q.State] > 1 {
			continue
		}
		if err := syscall.Kill(q.PID, syscall.SIGKILL); err != nil { // one of each
			t.Fatal(err)
		}
	}
	var s *Server
	servertest.Eventually(t, "one is left", func() bool { s = only(t, g); return s.Workers == num(1) })
	if s.Busy != num(1) || s.Idle != num(0) || len(s.Processes) != 2 {
		t.Errorf("busy %v, idle %v, %d processes, want 1, 0, 2", s.Busy, s.Idle, len(s.Processes))
	}
}

// A server in a network namespace of its own is seen with its queue, without
// rights too, and its end is no error.
func TestNetworkNamespace(t *testing.T) {
	for _, diag := range []bool{true, false} {
		t.Run(map[bool]string{true: "entered", false: "text tables"}[diag], func(t *testing.T) {
			t.Parallel()
			diag := diag && os.Getuid() == 0 // only root may enter
			dir := t.TempDir()
			writeFile(t, dir, "app.py", servertest.WSGI)
			writeFile(t, dir, "hold.py", "import socket, sys, time\ncs = [socket.create_connection(('127.0.0.1', 8123)) for i in range(5)]\n"+
				"for c in cs: c.sendall(b'GET /?1000 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')\ntime.sleep(1000)\n")
			script := "ip link set lo up && " + servertest.GunicornBin + " -w 2 -b 127.0.0.1:8123 app:app & sleep 0.1; " +
				"until ss -Hltn | grep -q 8123; do sleep 0.1; done; exec /usr/bin/python3 hold.py"
			cmd := exec.Command("unshare", "--user", "--map-root-user", "--net", "sh", "-c", script)
			cmd.Dir = dir
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer servertest.End(cmd)
			g := watching(t, Config{PIDs: []int{cmd.Process.Pid}})
			var s *Server
			servertest.Eventually(t, "two are busy and three wait", func() bool {
				g.rescan.wanted = true
				for _, sp := range g.spaces {
					if !sp.own && !diag && sp.diag != nil {
						_ = sp.diag.Close()
						sp.diag = nil
					}
				}
				snap := sample(t, g)
				if len(snap.Servers) == 1 {
					s = snap.Servers[0]
				}
				return s != nil && s.Busy == num(2) && s.Queued == num(3) && s.Sockets[0].Limit.Known == diag &&
					s.Sockets[0].Oldest.Known == diag
			})
			if s.NetNS == 0 {
				t.Error("it is said to be in our namespace")
			}
			servertest.End(cmd)
			servertest.Eventually(t, "it is gone", func() bool { return len(sample(t, g).Servers) == 0 && len(g.spaces) == 1 })
		})
	}
}
