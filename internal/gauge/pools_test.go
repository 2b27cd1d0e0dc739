package gauge

import (
	"fmt"
	"net"
	"strconv"
	"testing"

	"brink/internal/servertest"
)

// fpmPools is a php-fpm with a pool of three at a TCP port, one of two at a Unix
// socket, and one that has no worker before the first request.
func fpmPools(t *testing.T) (p *servertest.Process, www, sock, later string) {
	t.Helper()
	port, spare := servertest.FreePort(t), servertest.FreePort(t)
	later = fmt.Sprintf("127.0.0.1:%d", spare)
	p = servertest.PHP(t, port, servertest.PHPPool("www", fmt.Sprintf("127.0.0.1:%d", port), "pm = static", "pm.max_children = 3")+
		servertest.PHPPool("sock", "@DIR@/app.sock", "pm = static", "pm.max_children = 2")+
		servertest.PHPPool("later", later, "pm = ondemand", "pm.max_children = 2"), nil)
	return p, p.Address(), "unix:" + socketOf(p), later
}

// pools reads the pools of a server by their addresses.
func pools(t *testing.T, g *Gauge) map[string]*Server {
	t.Helper()
	at := map[string]*Server{}
	for _, s := range sample(t, g).Servers {
		for i := range s.Sockets {
			at[s.Sockets[i].Address()] = s
		}
	}
	return at
}

// Each pool of a php-fpm is a server: five requests at three workers keep all
// of these busy and two wait, however many idle workers another pool has.
func TestPoolsOfOneMaster(t *testing.T) {
	t.Parallel()
	p, www, sock, later := fpmPools(t)
	for range 5 {
		c, err := net.Dial("tcp4", www)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
	}
	for _, cfg := range []Config{{}, {PIDs: []int{p.Process.Pid}}, onPort(p.Port)} {
		g := watching(t, cfg)
		var at map[string]*Server
		servertest.Eventually(t, "the first pool is exhausted", func() bool {
			at = pools(t, g)
			s := at[www]
			return s != nil && s.Busy == num(3) && s.Queued == num(2)
		})
		s := at[www]
		if s.Name != "php-fpm www" || s.Workers != num(3) || s.Idle != num(0) || len(s.Sockets) != 1 || len(s.Processes) != 4 || !s.Processes[0].Master {
			t.Errorf("%s has %v workers, %v idle, %d sockets, %d processes, want php-fpm www with 3, 0, 1 and 4", s.Name, s.Workers, s.Idle, len(s.Sockets), len(s.Processes))
		}
		if len(cfg.Listen) > 0 {
			continue
		}
		if s := at[sock]; s == nil || s.Name != "php-fpm sock" || s.Workers != num(2) || s.Busy != num(0) || s.Queued != num(0) {
			t.Errorf("the second pool is %+v", s)
		}
		if s := at[later]; s == nil || s.Kind != PHPFPM || s.Workers != num(0) || s.Queued != num(0) {
			t.Errorf("the pool without workers is %+v", s)
		}
	}
	worker := 0
	g := watching(t, Config{PIDs: []int{p.Process.Pid}})
	servertest.Eventually(t, "all is seen", func() bool {
		if s := pools(t, g)[sock]; s != nil && len(s.Processes) == 3 {
			worker = s.Processes[1].PID
		}
		return worker != 0
	})
	own := watching(t, Config{PIDs: []int{worker}})
	if at := pools(t, own); len(at) != 1 || at[sock] == nil {
		t.Errorf("a worker of the second pool shows %d servers", len(at))
	}

	// A worker that comes belongs to its pool alone, and the pool keeps its
	// figures and its name.
	c, err := net.Dial("tcp4", later)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	servertest.Eventually(t, "it has a worker", func() bool { s := pools(t, g)[later]; return s.Workers == num(1) && s.Busy == num(1) })
	servertest.Eventually(t, "the others have none more", func() bool {
		at := pools(t, g)
		return at[www].Workers == num(3) && at[sock].Workers == num(2)
	})
	servertest.Eventually(t, "it has the pool's name", func() bool { return pools(t, g)[later].Name == "php-fpm later" })
	before := pools(t, g)[www].Total.WorkerSeconds
	g.rescan.wanted, g.rescan.spent = true, 0
	if s := pools(t, g)[www]; s.Total.WorkerSeconds <= before || s.Workers != num(3) {
		t.Errorf("after another look at all processes: %v workers, %v worker-seconds after %v", s.Workers, s.Total.WorkerSeconds, before)
	}
}

// Workers of one socket are one server also where their master is not seen: it
// may be another user's, or have been killed, as here.
func TestWorkersWithoutTheirMaster(t *testing.T) {
	t.Parallel()
	p := servertest.Gunicorn(t, "", "-w", "3")
	g := watching(t, onPort(p.Port))
	grown(t, g, 4)
	for range 7 { // a worker that serves does not notice that its master has ended
		sendOnly(t, p)
	}
	servertest.Eventually(t, "all are busy", func() bool { return only(t, g).Busy == num(3) })
	s := only(t, g)
	before, oldest := s.Total.WorkerSeconds, s.Processes[1].PID
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()
	check := func(g *Gauge) {
		t.Helper()
		for range 5 {
			s := only(t, g)
			if s.Kind != GunicornSync || s.Workers != num(3) || s.Busy != num(3) || len(s.Processes) != 3 || s.Queued != num(4) {
				t.Errorf("%s with %v workers, %v busy, %d processes and %v waiting, want one gunicorn sync with 3, 3, 3 and 4", s.Kind, s.Workers, s.Busy, len(s.Processes), s.Queued)
			}
			if s.PID != oldest || s.Name != "gunicorn app:app" {
				t.Errorf("it is %s of pid %d, want gunicorn app:app of the oldest, %d", s.Name, s.PID, oldest)
			}
			g.rescan.wanted, g.rescan.spent = true, 0
		}
	}
	check(g)
	if s := only(t, g); s.Total.WorkerSeconds <= before {
		t.Errorf("%v worker-seconds after %v", s.Total.WorkerSeconds, before)
	}
	check(watching(t, onPort(p.Port)))
}

// A process starts another for each of two of its sockets and serves a third
// itself: three servers, though one process is in all of them.
func TestChildrenWithDifferentSockets(t *testing.T) {
	t.Parallel()
	const program = `
import os, socket, sys, time
sockets = [socket.create_server(("127.0.0.1", int(port))) for port in sys.argv[2:]]
for mine in sockets:
    if os.fork() == 0:
        for s in sockets:
            if s is not mine: s.close()
        time.sleep(1000)
time.sleep(0.2)
own = socket.create_server(("127.0.0.1", int(sys.argv[1])))
time.sleep(1000)
`
	own, a, b := servertest.FreePort(t), servertest.FreePort(t), servertest.FreePort(t)
	p := servertest.Launch(t, own, nil, nil, servertest.PythonBin, "-c", program, strconv.Itoa(own), strconv.Itoa(a), strconv.Itoa(b))
	at := pools(t, watching(t, Config{PIDs: []int{p.Process.Pid}}))
	for port, processes := range map[int]int{own: 1, a: 2, b: 2} {
		s := at[fmt.Sprintf("127.0.0.1:%d", port)]
		if s == nil || len(s.Sockets) != 1 || len(s.Processes) != processes || s.PID != p.Process.Pid {
			t.Errorf("the server is %+v, want one socket and %d processes", s, processes)
		}
	}
}
