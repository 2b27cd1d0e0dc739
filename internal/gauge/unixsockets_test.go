package gauge

import (
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"brink/internal/servertest"
)

func gunicornOnUnixSocket(t testing.TB, upstream string, args ...string) *servertest.Process {
	t.Helper()
	args = append(args, "-b", "unix:@DIR@/app.sock", "app:app")
	return servertest.LaunchAt(t, "unix", "@DIR@/app.sock", map[string]string{"app.py": servertest.WSGI}, []string{"UPSTREAM=" + upstream}, servertest.GunicornBin, args...)
}

func socketOf(p *servertest.Process) string { return filepath.Join(p.Dir, "app.sock") }

// sendToUnixSocket sends a request that lasts, and does not wait for an answer.
func sendToUnixSocket(t *testing.T, p *servertest.Process) {
	t.Helper()
	c, err := net.Dial("unix", socketOf(p))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, "GET /?1000 HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
}

// Two sync workers behind a Unix socket, as nginx has them: what they hold and
// what waits is told, what the kernel does not keep of such sockets is unknown.
func TestUnixSocket(t *testing.T) {
	p := gunicornOnUnixSocket(t, "", "-w", "2", "--backlog", "7")
	for _, cfg := range []Config{{Listen: []Address{{Path: socketOf(p)}}}, {PIDs: []int{p.Process.Pid}}, {}} {
		g := watching(t, cfg)
		servertest.Eventually(t, "it is seen", func() bool { s := at(t, g, p); return s != nil && s.Workers == num(2) && s.Busy == num(0) })
	}
	g := watching(t, Config{Listen: []Address{{Path: socketOf(p)}}})
	for range 5 {
		sendToUnixSocket(t, p)
	}
	var s *Server
	servertest.Eventually(t, "two are busy and three wait", func() bool {
		s = at(t, g, p)
		return s != nil && s.Busy == num(2) && s.Queued == num(3)
	})
	wantNum(t, "idle", s.Idle, 0)
	wantNum(t, "limit", s.Sockets[0].Limit, 7)
	k := s.Sockets[0]
	if s.Kind != GunicornSync || k.Address() != "unix:"+socketOf(p) || k.Queue != 3 {
		t.Errorf("%s at %s with %d waiting", s.Kind, k.Address(), k.Queue)
	}
	if k.Oldest.Known || k.Abandoned.Known || k.Drops.Known || s.Open.Known {
		t.Errorf("oldest %v, abandoned %v, drops %v, open %v, want unknown", k.Oldest, k.Abandoned, k.Drops, s.Open)
	}
	for _, q := range s.Processes[1:] {
		if q.Held != num(1) || q.Unread.Known {
			t.Errorf("process %d holds %v with %v unread bytes, want 1, unknown", q.PID, q.Held, q.Unread)
		}
	}
	now := g.snap.At
	take := func() {
		now = now.Add(time.Second)
		g.rescan.at = now            // a search has its own cost
		g.spaces[0].at = time.Time{} // look at the connections each time
		if _, err := g.Sample(now); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		take()
	}
	if allocs := testing.AllocsPerRun(50, take); allocs != 0 {
		t.Errorf("%v allocations per reading, want 0", allocs)
	}
	if s := at(t, g, p); s == nil || s.Busy != num(2) || s.Queued != num(3) {
		t.Errorf("later there are %+v", s)
	}
}

// at reads the server at the process's socket.
func at(t *testing.T, g *Gauge, p *servertest.Process) *Server {
	t.Helper()
	for _, s := range sample(t, g).Servers {
		if s.Sockets[0].Path == socketOf(p) {
			return s
		}
	}
	return nil
}

// Threads behind a Unix socket: the kernel does not say which connections have
// a request, so what they do is unknown, not zero.
func TestThreadsBehindUnixSocketAreUnknown(t *testing.T) {
	t.Parallel()
	p := gunicornOnUnixSocket(t, "", "-w", "1", "--threads", "4")
	g := watching(t, Config{PIDs: []int{p.Process.Pid}})
	for range 3 {
		sendToUnixSocket(t, p)
	}
	var s *Server
	servertest.Eventually(t, "three are held", func() bool {
		s = at(t, g, p)
		return s != nil && len(s.Processes) == 2 && s.Processes[1].Held == num(3)
	})
	if s.Busy.Known || s.Idle.Known || s.Queued.Known {
		t.Errorf("busy %v, idle %v, queued %v, want unknown", s.Busy, s.Idle, s.Queued)
	}
}

// Programs that have a Unix socket and no workers are not taken for servers,
// unless they are asked for.
func TestOtherUnixSocketsAreNotShown(t *testing.T) {
	t.Parallel()
	const js = `require("http").createServer((q, r) => r.end("ok")).listen(__dirname + "/app.sock")`
	p := servertest.LaunchAt(t, "unix", "@DIR@/app.sock", map[string]string{"server.js": js}, nil, "node", "server.js")
	g := watching(t, Config{Listen: []Address{{Path: socketOf(p)}}})
	servertest.Eventually(t, "it is shown where it is asked for", func() bool { s := at(t, g, p); return s != nil && s.Kind == Node })
	g = watching(t, Config{})
	for i := range 10 {
		if s := at(t, g, p); s != nil {
			t.Errorf("reading %d shows %s", i, s.Sockets[0].Address())
		}
	}
	for _, s := range g.servers {
		if s.Sockets[0].Path == socketOf(p) {
			t.Errorf("it is still looked at")
		}
	}
}
