//go:build linux

package evidence

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"brink/internal/servertest"
)

const holdApp = `import time
def app(environ, start_response):
    time.sleep(20)
    start_response("200 OK", [("Content-Length", "0")])
    return [b""]
`

// startGunicorn starts gunicorn with sync workers, all of which are there.
func startGunicorn(t *testing.T, workers int) (address string, pid int) {
	t.Helper()
	address = net.JoinHostPort("127.0.0.1", strconv.Itoa(servertest.FreePort(t)))
	p := servertest.GunicornApp(t, "tcp4", address, holdApp, "--workers", strconv.Itoa(workers), "--timeout", "60")
	children := fmt.Sprintf("/proc/%d/task/%d/children", p.Process.Pid, p.Process.Pid)
	servertest.Eventually(t, "gunicorn has its workers", func() bool {
		text, err := os.ReadFile(children)
		return err == nil && len(strings.Fields(string(text))) == workers
	})
	return address, p.Process.Pid
}

func TestLiveCountsTheWorkersOfAServer(t *testing.T) {
	const workers, clients = 2, 5
	address, pid := startGunicorn(t, workers)
	servertest.Ask(t, "tcp4", address, clients)
	// The workers take the connections that were only dialled first.
	time.Sleep(500 * time.Millisecond)
	c, err := Live(t.Context(), Options{For: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	wantWhole(t, c)
	var p *Pool
	for i := range c.Pools {
		if c.Pools[i].PID == pid {
			p = &c.Pools[i]
		}
	}
	if p == nil {
		t.Fatalf("pid %d is not among %+v", pid, c.Pools)
	}
	if p.Server != "gunicorn sync" || p.Seen != PoolLive || len(p.Members) != workers || p.Looks < 5 {
		t.Errorf("pool: %+v", p)
	}
	wantValue(t, "workers", p.Workers, workers, Events, "")
	wantValue(t, "busy", p.Busy, workers, Events, "")
	wantValue(t, "queued", p.Queued, clients-workers, Events, "")
	wantValue(t, "busy share", p.BusyShare, 100, Percent, "")
	wantValue(t, "queued share", p.QueuedShare, 100, Percent, "")
	sched := 0
	for _, s := range c.Last().Sched {
		for _, m := range p.Members {
			if s.PID == m.PID {
				sched++
			}
		}
	}
	// A machine may have so many other workers that these are not among those read.
	if sched != workers && len(c.Last().Sched) < mostSchedPIDs {
		t.Errorf("the scheduling of %d workers was read", sched)
	}
}
