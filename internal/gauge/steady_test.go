package gauge

import (
	"math"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"brink/internal/servertest"
)

// A steady state costs no memory: workers of both kinds, some busy, with
// connections that wait.
func TestSamplingAllocatesNothing(t *testing.T) {
	for _, c := range []struct {
		name      string
		processes int
		args      []string
	}{{"sync", 5, []string{"-w", "4"}}, {"gthread", 3, []string{"-w", "2", "--threads", "2"}}} {
		t.Run(c.name, func(t *testing.T) {
			p := servertest.Gunicorn(t, "", c.args...)
			g := watching(t, onPort(p.Port))
			grown(t, g, c.processes)
			servertest.Hold(t, 5, p.URL("?1000"))
			servertest.Eventually(t, "five are there", func() bool {
				s := sample(t, g)
				if len(s.Servers) != 1 {
					return false
				}
				busy, waiting := s.Servers[0].Busy, s.Servers[0].Queued
				return busy.Value >= 2 && waiting.Known && busy.Value+waiting.Value == 5
			})
			now := g.snap.At
			take := func() {
				now = now.Add(50 * time.Millisecond)
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
		})
	}
}

// Among 5,000 processes, a third of which come and go, the reading is right.
func TestFiveThousandProcesses(t *testing.T) {
	p := servertest.Gunicorn(t, "", "-w", "3")
	const crowd = `
import os, sys, time
def brood(n, life):
    for _ in range(n):
        if os.fork() == 0:
            time.sleep(life)
            os._exit(0)
brood(3500, 1000)
print("there", flush=True)
while True:
    brood(1500, 0.5)
    for _ in range(1500):
        os.wait()
`
	cmd := exec.Command(servertest.PythonBin, "-c", crowd)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer servertest.End(cmd)
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	g := watching(t, onPort(p.Port))
	grown(t, g, 4)
	servertest.Hold(t, 2, p.URL("?1000"))
	servertest.Eventually(t, "two are busy", func() bool { return only(t, g).Busy == num(2) })
	for range 8 {
		g.rescan.wanted = true
		g.rescan.spent = 0
		s := only(t, g)
		if s.Workers != num(3) || s.Busy != num(2) || s.Queued != num(0) || len(s.Processes) != 4 {
			t.Errorf("workers %v, busy %v, queued %v, %d processes", s.Workers, s.Busy, s.Queued, len(s.Processes))
		}
	}
	t.Logf("looking through all processes took %v", g.rescan.spent)
}

// Two workers are kept busy with requests of a known length. Seen connections
// give it when requests last for several readings.
func TestServiceTimeOfLongRequests(t *testing.T) {
	t.Parallel()
	const service = 0.6
	p := servertest.Gunicorn(t, "", "-w", "2")
	done := make(chan struct{})
	defer close(done)
	for range 2 {
		go func() {
			for {
				select {
				case <-done:
					return
				default:
					ask(p, 1, "?"+strconv.FormatFloat(service, 'f', 2, 64))
				}
			}
		}()
	}
	grown(t, watching(t, onPort(p.Port)), 3)
	s := measured(t, watching(t, onPort(p.Port)), 100*time.Millisecond)
	wantNear(t, "service", s.Service, service, 0.15)
	wantNear(t, "rate", s.Rate, 2/service, 0.2)
}

// Requests that are shorter than the time between readings cannot be counted
// by looking, and the figures stay unknown.
func TestServiceTimeOfShortRequestsIsUnknown(t *testing.T) {
	t.Parallel()
	p := servertest.Gunicorn(t, "", "-w", "2")
	g := watching(t, onPort(p.Port))
	grown(t, g, 3)
	for range 40 {
		ask(p, 4, "?0.02")
		s := only(t, g)
		if s.Service.Known || s.Rate.Known {
			t.Fatalf("service %v, rate %v, want unknown", s.Service, s.Rate)
		}
	}
}

// Alone in its network namespace, a server's connections are counted by the
// kernel, however short its requests are.
func TestServiceTimeByTheKernelsCount(t *testing.T) {
	t.Parallel()
	const service = 0.05
	dir := t.TempDir()
	writeFile(t, dir, "app.py", servertest.WSGI)
	writeFile(t, dir, "ask.py", "import urllib.request\nwhile True: urllib.request.urlopen('http://127.0.0.1:8123/?0.05').read()\n")
	script := "ip link set lo up && " + servertest.GunicornBin + " -w 2 -b 127.0.0.1:8123 app:app & sleep 0.1; " +
		"until ss -Hltn | grep -q 8123; do sleep 0.1; done; exec /usr/bin/python3 ask.py"
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--net", "sh", "-c", script)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer servertest.End(cmd)
	cfg := Config{PIDs: []int{cmd.Process.Pid}}
	g := watching(t, cfg)
	servertest.Eventually(t, "it is seen", func() bool {
		g.rescan.wanted = true
		snap := sample(t, g)
		return len(snap.Servers) == 1 && snap.Servers[0].Workers == num(2)
	})
	s := measured(t, watching(t, cfg), 120*time.Millisecond)
	wantNear(t, "service", s.Service, service, 0.3)
	// One client that asks again at once keeps one worker busy.
	wantNear(t, "rate", s.Rate, 1/service, 0.3)
}

// measured reads for some seconds, until a service time is known.
func measured(t *testing.T, g *Gauge, every time.Duration) *Server {
	t.Helper()
	var s *Server
	for began := time.Now(); time.Since(began) < servertest.Patience; time.Sleep(every) {
		snap, err := g.Sample(time.Now())
		if err != nil || len(snap.Servers) != 1 {
			t.Fatalf("%d servers, want 1: %v", len(snap.Servers), err)
		}
		s = snap.Servers[0]
		if s.Service.Known && time.Since(began) > 8*time.Second {
			return s
		}
	}
	t.Fatalf("no service time after %v: %+v", servertest.Patience, s)
	return nil
}

func wantNear(t *testing.T, what string, got Measure, want, off float64) {
	t.Helper()
	if !got.Known || math.Abs(got.Value-want) > off*want {
		t.Errorf("%s = %v, want %.3g within %.0f %%", what, got, want, 100*off)
	}
}
