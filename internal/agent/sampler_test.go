package agent

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brink/internal/clock"
	"brink/internal/wire"
)

func itoa(n int) string { return strconv.Itoa(n) }

func newPipe(t *testing.T) (a, b net.Conn) {
	t.Helper()
	a, b = net.Pipe()
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// inProcess is an agent in the test's own process whose messages go nowhere.
// Tests that use it must not run beside tests that start agents, whose
// processes it would take for its own orphans.
func inProcess(t testing.TB) *agent {
	t.Helper()
	a, err := newAgent(struct {
		io.Reader
		io.Writer
	}{strings.NewReader(""), io.Discard}, Options{Dir: filepath.Join(t.TempDir(), "run"), Registry: t.TempDir(), Clock: clock.Real})
	if err != nil {
		t.Fatal(err)
	}
	a.out = newOutbox(a.conn)
	t.Cleanup(func() {
		if err := a.stopApps(beginEnd(a.clock, nil)); err != nil {
			t.Error(err)
		}
		if err := a.close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// deployHere deploys an app on an inProcess agent.
func deployHere(t testing.TB, a *agent, spec wire.App) *app {
	t.Helper()
	spec.Addr = "127.0.0.1:0"
	p, dir, err := a.enlist(spec)
	if err != nil {
		t.Fatal(err)
	}
	go p.run(dir)
	if err := <-p.up; err != nil {
		t.Fatal(err)
	}
	return p
}

func flask(name string) wire.App {
	return wire.App{Name: name, Runtime: "flask", WorkerClass: "sync", Workers: 2, Backlog: 20, Interpreter: "/usr/bin/python3"}
}

func TestSamplingAllocatesNothing(t *testing.T) {
	a := inProcess(t)
	deployHere(t, a, flask("one"))
	heap := filepath.Join(t.TempDir(), "heap")
	if err := os.WriteFile(heap, fmt.Appendf(nil, "%d 1 2 3 4\n", time.Now().Add(time.Hour).UnixMilli()), 0o600); err != nil {
		t.Fatal(err)
	}
	two := flask("two")
	two.Env = map[string]string{heapVariable: heap}
	deployHere(t, a, two).cgroup.CompareAndSwap(nil, standIn(t))
	s, err := newSampler(a)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	quiet := func() {
		a.observer.last, a.observer.heir = time.Time{}, time.Time{} // a second has gone by
		if err := s.tick(clock.Real.Now()); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		quiet()
	}
	least := testing.AllocsPerRun(50, quiet)
	for range 5 { // other processes fork at times
		least = min(least, testing.AllocsPerRun(50, quiet))
	}
	if least != 0 {
		t.Errorf("%v allocations per tick, want 0", least)
	}
	if x := s.samples[1]; x.CgCPUNs < 0 || x.HeapTotal != 2 || x.Workers != 2 {
		t.Errorf("the sample is not full: %+v", x)
	}
}

// The figures must be those that the kernel gives elsewhere.
func TestSamplesAgreeWithTheKernel(t *testing.T) {
	a := inProcess(t)
	p := deployHere(t, a, flask("web"))
	s, err := newSampler(a)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	s.take(clock.Real.Now())
	app, plan := s.samples[0], s.samples[1]
	if app.App != "web" || plan.App != "" || app.AtNs != plan.AtNs {
		t.Fatalf("samples of %q and %q, want of web and of the plan, at one instant", app.App, plan.App)
	}
	pids := append(p.tree.workers(nil), p.endpoint.Pid)
	var ticks, pages int64
	for _, pid := range pids {
		ticks += statField(t, pid, 14) + statField(t, pid, 15) // utime, stime
		pages += statField(t, pid, 24)                         // rss
	}
	if app.Procs != int64(len(pids)) || len(pids) != 3 {
		t.Errorf("%d processes, want 3: master and 2 workers, pids %v", app.Procs, pids)
	}
	if want := ticks * 1e7; app.CPUNs < want-3e7 || app.CPUNs > want+5e7 {
		t.Errorf("CPU time %d ns, /proc/PID/stat gives %d in ticks of 10 ms", app.CPUNs, want)
	}
	if want := pages * int64(os.Getpagesize()); app.RSS < want/10*9 || app.RSS > want/10*11 {
		t.Errorf("resident %d bytes, /proc/PID/stat gives %d", app.RSS, want)
	}
	if app.QueueLimit != 20 || app.QueueDepth != 0 || app.OldestMs != 0 || app.Abandoned != 0 {
		t.Errorf("queue %d of %d, oldest %d ms, abandoned %d; want an empty queue of 20", app.QueueDepth, app.QueueLimit, app.OldestMs, app.Abandoned)
	}
	if plan.CPUNs != app.CPUNs || plan.RSS != app.RSS || plan.Procs != app.Procs {
		t.Errorf("the plan has %d, %d, %d; its only app %d, %d, %d", plan.CPUNs, plan.RSS, plan.Procs, app.CPUNs, app.RSS, app.Procs)
	}
	if want := meminfo(t, "MemTotal"); plan.MemTotal != want {
		t.Errorf("MemTotal %d, want %d", plan.MemTotal, want)
	}
	if want := meminfo(t, "SwapTotal"); plan.SwapTotal != want {
		t.Errorf("SwapTotal %d, want %d", plan.SwapTotal, want)
	}
	var own unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &own); err != nil {
		t.Fatal(err)
	}
	if plan.AgentCPUNs <= 0 || plan.AgentCPUNs > own.Nano() {
		t.Errorf("the agent's CPU time is %d ns, this process has used %d", plan.AgentCPUNs, own.Nano())
	}
	// What belongs to the other scope is not a number.
	if app.MemTotal != -1 || app.Overflows != -1 || plan.QueueDepth != -1 {
		t.Errorf("MemTotal and Overflows of an app are %d and %d, QueueDepth of the plan %d; want -1", app.MemTotal, app.Overflows, plan.QueueDepth)
	}
}

// statField returns field n of /proc/PID/stat, as proc_pid_stat(5) counts.
func statField(t *testing.T, pid, n int) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/" + itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ") // field 3 comes next
	v, err := strconv.ParseInt(strings.Fields(rest)[n-3], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func meminfo(t *testing.T, key string) int64 {
	t.Helper()
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if k, v, _ := strings.Cut(s.Text(), ":"); k == key {
			n, err := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatalf("no %s", key)
	return 0
}

// deaf answers once, says so, and accepts nothing any more; then it no longer
// listens.
const deaf = `
import os, socket, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(os.environ["PORT"])))
s.listen(33)
while True:
    c, _ = s.accept()
    asked = c.recv(4096)
    c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    c.close()
    if asked: break
while not os.path.exists("enough"):
    time.sleep(0.01)
s.close()
time.sleep(600)
`

// Connections that nobody accepts: 5 with a request, 2 of which have been
// given up (field note: CLOSE-WAIT with unread bytes).
func TestTheAcceptQueueIsSeen(t *testing.T) {
	a := inProcess(t)
	s := sampling1(t, a)
	p := deployHere(t, a, wire.App{Name: "deaf", Runtime: "command", Command: []string{"/usr/bin/python3", "-c", deaf}})
	addr := p.listens()
	begin := time.Now()
	for i := range 5 {
		c, err := net.Dial("tcp", addr.String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if i < 2 {
			c.Close()
		} else {
			defer c.Close()
		}
	}
	var x wire.Sample
	until(t, "2 have been given up", func() bool {
		x = s.takeApp()
		return x.QueueDepth == 5 && x.Abandoned == 2 && x.OldestMs >= 20
	})
	if most := time.Since(begin).Milliseconds() + 10; x.QueueLimit != 33 || x.OldestMs > most {
		t.Errorf("limit %d, want 33; the oldest has waited %d ms, want %d at most", x.QueueLimit, x.OldestMs, most)
	}
	if err := os.WriteFile(filepath.Join(p.launch.dir, "enough"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, "nobody listens", func() bool {
		x = s.takeApp()
		return x.QueueDepth == -1 && x.QueueLimit == -1 && x.OldestMs == -1 && x.Abandoned == -1
	})
}

// sampling1 is a sampler of an agent with one app.
func sampling1(t *testing.T, a *agent) *sampler {
	t.Helper()
	s, err := newSampler(a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.close() })
	return s
}

// takeApp returns the sample of the only app.
func (s *sampler) takeApp() wire.Sample {
	s.take(s.agent.clock.Now())
	return s.samples[0]
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}

// The pool as its own configuration gives it; and unknown where it is inside
// the process.
func TestTheGaugeIsInTheSamples(t *testing.T) {
	a := inProcess(t)
	s := sampling1(t, a)
	p := deployHere(t, a, flask("web"))
	var x wire.Sample
	until(t, "both workers are idle", func() bool {
		x = s.takeApp()
		return x.Workers == 2 && x.Busy == 0 && x.Idle == 2 && x.Queued == 0
	})
	for range 3 {
		go func() {
			if resp, err := http.Get("http://" + p.endpoint.Addr + "/thread-hold?secs=3"); err == nil {
				resp.Body.Close()
			}
		}()
	}
	until(t, "both are busy and one waits", func() bool {
		x = s.takeApp()
		return x.Workers == 2 && x.Busy == 2 && x.Idle == 0 && x.Queued == 1 && x.QueueDepth == 1
	})
	node := deployHere(t, a, wire.App{Name: "js", Runtime: "node"})
	until(t, "the second app listens", func() bool {
		s.take(a.clock.Now())
		return len(s.samples) == 3 && s.samples[1].QueueDepth == 0
	})
	if x := s.samples[1]; x.App != "js" || x.Workers != -1 || x.Busy != -1 || x.Idle != -1 || x.Queued != -1 {
		t.Errorf("of %s: %d workers, %d busy, %d idle, %d queued; want -1", node.spec.Name, x.Workers, x.Busy, x.Idle, x.Queued)
	}
}

// An empty program of Node.js takes a heap of a few MB.
func TestTheHeapOfNodeIsInTheSamples(t *testing.T) {
	a := inProcess(t)
	s := sampling1(t, a)
	deployHere(t, a, wire.App{Name: "js", Runtime: "node", AllocMB: 20})
	var x wire.Sample
	until(t, "the app has told its heap", func() bool {
		x = s.takeApp()
		return x.HeapUsed >= 0
	})
	const mb = 1 << 20
	if x.HeapUsed < mb || x.HeapTotal < x.HeapUsed || x.HeapTotal > 100*mb || x.ArrayBuffers < 20*mb || x.External < x.ArrayBuffers {
		t.Errorf("used %d of %d, external %d, of which buffers %d", x.HeapUsed, x.HeapTotal, x.External, x.ArrayBuffers)
	}
}

// CPU time of processes that have ended still counts.
func TestTheCPUTimeOfTheDeadIsKept(t *testing.T) {
	a := inProcess(t)
	p := deployHere(t, a, flask("web"))
	p.scan()
	before, _, _ := p.tree.usage(1)
	workers := p.tree.workers(nil)
	for _, pid := range workers {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	for p.tree.has(workers[0]) || p.tree.has(workers[1]) {
		p.scan()
		time.Sleep(10 * time.Millisecond)
	}
	if after, _, _ := p.tree.usage(1); after < before {
		t.Errorf("CPU time fell from %d to %d when the workers died", before, after)
	}
}
