package gauge

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"

	"brink/internal/kernel"
	"brink/internal/servertest"
)

const slowNode = `require("http").createServer((q, r) => setTimeout(() => r.end("ok"), 1000000)).listen(+process.argv[2], "127.0.0.1")`

func nodeApp(t *testing.T) *servertest.Process { return servertest.Node(t, slowNode) }

// started is what a supervisor knows of a server that it has started.
func started(t *testing.T, p *servertest.Process) App {
	t.Helper()
	return App{
		PIDs:   family(t, p.Process.Pid),
		Listen: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(p.Port)),
		Args:   p.Args,
	}
}

// family is a process and its children.
func family(t *testing.T, pid int) []int {
	t.Helper()
	fs, err := kernel.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer fs.Close()
	p, err := fs.OpenProcess(pid)
	if err != nil {
		return nil
	}
	defer p.Close()
	kids, err := p.Children([]int{pid})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(kids)
	return kids
}

// following takes a reading of the apps as an agent does, ten times a second.
func following(t *testing.T, g *Gauge, servers ...*servertest.Process) {
	t.Helper()
	apps := make([]App, len(servers))
	for i, p := range servers {
		apps[i] = started(t, p)
	}
	g.Follow(apps)
	now := time.Now()
	if !g.snap.At.IsZero() {
		now = g.snap.At.Add(100 * time.Millisecond)
	}
	if _, err := g.Sample(now); err != nil {
		t.Fatal(err)
	}
}

// One gauge tells the apps of an agent apart, what is inside a process is
// unknown, and one that takes another's place starts from nothing.
func TestFollowsApps(t *testing.T) {
	t.Parallel()
	sync := servertest.Gunicorn(t, "", "-w", "3", "--backlog", "7")
	threads := servertest.Gunicorn(t, "", "-w", "1", "--threads", "2")
	node := nodeApp(t)
	g := watching(t, Config{})
	servertest.Hold(t, 5, sync.URL("?1000"))
	servertest.Hold(t, 3, threads.URL("?1000"))
	servertest.Hold(t, 1, node.URL("?1000"))

	servertest.Eventually(t, "the loads are told", func() bool {
		following(t, g, sync, threads, node)
		return g.Load(0).Queued == num(2) && g.Load(1).Queued == num(1) && g.Load(1).Waiting == num(0) &&
			g.Load(0).OldestMillis.Known && g.Load(2).Waiting == num(0)
	})
	want := []Load{
		{num(3), num(3), num(0), num(2), num(2), num(7), num(0), g.Load(0).OldestMillis},
		{num(2), num(2), num(0), num(1), num(0), g.Load(1).Limit, num(0), num(0)},
		{kernel.Num{}, kernel.Num{}, kernel.Num{}, kernel.Num{}, num(0), g.Load(2).Limit, num(0), num(0)},
	}
	for i, w := range want {
		if l := g.Load(i); l != w {
			t.Errorf("app %d: %+v, want %+v", i, l, w)
		}
	}
	if oldest := g.Load(0).OldestMillis; !oldest.Known || oldest.Value > uint64(servertest.Patience.Milliseconds()) {
		t.Errorf("the oldest has waited for %v ms", oldest)
	}
	if n := len(g.servers); n != 3 {
		t.Errorf("%d servers are looked at, want 3 of all that listen on this machine", n)
	}

	servertest.Eventually(t, "the second is in the first place", func() bool {
		following(t, g, threads)
		if l := g.Load(0); l.Workers.Known && l.Workers != num(2) {
			t.Fatalf("the second app has the load of the first: %+v", l)
		}
		return g.Load(0).Queued == num(1)
	})
}

// An app that ends and is started again has no load in between.
func TestFollowsRestart(t *testing.T) {
	t.Parallel()
	p := servertest.Gunicorn(t, "", "-w", "2")
	g := watching(t, Config{})
	up := func(p *servertest.Process) func() bool {
		return func() bool {
			following(t, g, p)
			return g.Load(0).Workers == num(2) && g.Load(0).Busy == num(0)
		}
	}
	servertest.Eventually(t, "it is seen", up(p))
	servertest.End(p.Cmd)
	servertest.Eventually(t, "it is gone", func() bool {
		following(t, g, p)
		return g.Load(0) == Load{}
	})
	again := servertest.Launch(t, p.Port, map[string]string{"app.py": servertest.WSGI}, nil, servertest.GunicornBin, "-w", "2", "-b", p.Address(), "app:app")
	servertest.Eventually(t, "the new one is seen", up(again))
}

// What the caller says of the command line is believed, and the kernel is not
// asked for it.
func TestFollowsByTheGivenCommandLine(t *testing.T) {
	t.Parallel()
	p := servertest.Gunicorn(t, "", "-w", "2")
	g := watching(t, Config{})
	app := started(t, p)
	app.Args = []string{"python3", "-m", "gunicorn", "--worker-class", "gevent", "app:app"}
	servertest.Eventually(t, "it is seen", func() bool {
		app.PIDs = family(t, p.Process.Pid)
		g.Follow([]App{app})
		if _, err := g.Sample(time.Now()); err != nil {
			t.Fatal(err)
		}
		return g.Load(0).Waiting.Known
	})
	if s := g.servers[0]; s.Kind != GunicornGevent || s.Workers.Known {
		t.Errorf("kind %q with %v workers, want gevent, unknown", s.Kind, s.Workers)
	}
}

// Following apps that stay the same costs no memory.
func TestFollowingAllocatesNothing(t *testing.T) {
	a, b := servertest.Gunicorn(t, "", "-w", "3"), servertest.Gunicorn(t, "", "-w", "1", "--threads", "2")
	g := watching(t, Config{})
	servertest.Hold(t, 4, a.URL("?1000"))
	servertest.Hold(t, 3, b.URL("?1000"))
	servertest.Eventually(t, "both are busy", func() bool {
		following(t, g, a, b)
		return g.Load(0).Queued == num(1) && g.Load(1).Queued == num(1)
	})
	apps := []App{started(t, a), started(t, b)}
	now := g.snap.At
	var load Load
	take := func() {
		now = now.Add(100 * time.Millisecond)
		g.spaces[0].at = time.Time{} // look at the connections each time
		g.Follow(apps)
		if _, err := g.Sample(now); err != nil {
			t.Fatal(err)
		}
		load = g.Load(1)
	}
	for range 20 {
		take()
	}
	if allocs := testing.AllocsPerRun(50, take); allocs != 0 {
		t.Errorf("%v allocations per reading, want 0", allocs)
	}
	if load.Busy != num(2) {
		t.Errorf("busy %v, want 2: %s", load.Busy, fmt.Sprint(load))
	}
}

// Following what the gauge has found goes on with it, without looking for it
// again, at a Unix socket too; others are let go of.
func TestFollowsWhatItHasFound(t *testing.T) {
	t.Parallel()
	a, b, other := servertest.Gunicorn(t, "", "-w", "2"), gunicornOnUnixSocket(t, "", "-w", "1"), servertest.Gunicorn(t, "", "-w", "1")
	g := watching(t, Config{Brief: true})
	found := func() (apps []App) {
		for _, s := range sample(t, g).Servers {
			if s.PID == a.Process.Pid && len(s.Processes) == 3 || s.PID == b.Process.Pid && len(s.Processes) == 2 {
				app := App{}
				for _, q := range s.Processes {
					app.PIDs = append(app.PIDs, q.PID)
				}
				apps = append(apps, app)
			}
		}
		return apps
	}
	var apps []App
	servertest.Eventually(t, "both are found", func() bool { apps = found(); return len(apps) == 2 })
	g.Follow(apps)
	if len(g.servers) != 2 || g.rescan.wanted || slices.ContainsFunc(g.servers, func(s *server) bool { return s.has(other.Process.Pid) }) {
		t.Errorf("%d servers are kept, want 2; another search: %v", len(g.servers), g.rescan.wanted)
	}
	servertest.Hold(t, 2, a.URL("?1000"))
	for range 3 {
		sendToUnixSocket(t, b)
	}
	servertest.Eventually(t, "both are busy", func() bool {
		sample(t, g)
		return g.Load(0).Busy.Plus(g.Load(1).Busy) == num(3) && g.Load(0).Queued.Plus(g.Load(1).Queued) == num(2)
	})
	if n := len(g.snap.Servers); n != 2 {
		t.Errorf("%d servers are told, want 2", n)
	}
}

// A listener that is beyond the descriptors which are looked at in every
// process is found all the same.
func TestListenerBehindManyFiles(t *testing.T) {
	t.Parallel()
	const py = `
import os, socket, sys
s = socket.socket()
for i in range(400): os.dup(0)
l = socket.socket()
l.bind(("127.0.0.1", int(sys.argv[1])))
l.listen(5)
l.accept()
import time
time.sleep(1000)
`
	port := servertest.FreePort(t)
	p := servertest.Launch(t, port, map[string]string{"server.py": py}, nil, servertest.PythonBin, "server.py", strconv.Itoa(port))
	if s := only(t, watching(t, onPort(port))); s.PID != p.Process.Pid {
		t.Errorf("the server is process %d, want %d", s.PID, p.Process.Pid)
	}
}
