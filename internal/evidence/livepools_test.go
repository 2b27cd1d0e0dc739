//go:build linux

package evidence

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const holdApp = `import time
def app(environ, start_response):
    time.sleep(20)
    start_response("200 OK", [("Content-Length", "0")])
    return [b""]
`

// gunicorn starts Debian's gunicorn with sync workers and returns its address.
func startGunicorn(t *testing.T, workers int) (address string, pid int) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "hold.py"), []byte(holdApp), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = l.Addr().String()
	l.Close()
	cmd := exec.Command("/usr/bin/gunicorn", "--workers", fmt.Sprint(workers), "--bind", address, "--timeout", "60", "hold:app")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended already
		_ = cmd.Wait()
	})
	children := fmt.Sprintf("/proc/%d/task/%d/children", cmd.Process.Pid, cmd.Process.Pid)
	for range 300 {
		text, _ := os.ReadFile(children)
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			if len(strings.Fields(string(text))) == workers {
				return address, cmd.Process.Pid
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("gunicorn does not serve")
	return "", 0
}

// sendRequests sends n requests and waits for no answer.
func sendRequests(t *testing.T, address string, n int) {
	t.Helper()
	for range n {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLiveCountsTheWorkersOfAServer(t *testing.T) {
	const workers, clients = 2, 5
	address, pid := startGunicorn(t, workers)
	sendRequests(t, address, clients)
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
