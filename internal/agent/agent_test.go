package agent_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"brink/internal/agent/agenttest"
	"brink/internal/wire"
)

func TestMain(m *testing.M) { agenttest.Main(m, nil) }

func gunicorn(name string, workers int) wire.App {
	return wire.App{Name: name, Runtime: "flask", WorkerClass: "sync", Workers: workers, TimeoutNs: int64(30 * time.Second), Interpreter: "/usr/bin/python3"}
}

// python is an app of runtime command: a Python program that finds sys, os,
// time, socket and PORT in place.
func python(name, program string) wire.App {
	prelude := "import sys, os, time, socket\nPORT = int(os.environ['PORT'])\n"
	return wire.App{Name: name, Runtime: "command", Command: []string{"/usr/bin/python3", "-c", prelude + program}}
}

// serving answers every request with 200, as a program that is otherwise fine.
const serving = `
from http.server import BaseHTTPRequestHandler, HTTPServer
class H(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.send_header('Content-Length', '0'); self.end_headers()
    def log_message(self, *a): pass
HTTPServer(('127.0.0.1', PORT), H).serve_forever()
`

func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func awaitGone(t *testing.T, what string, pids ...int) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		left := slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return !alive(pid) })
		if len(left) == 0 {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%s: %v are still alive", what, left)
		}
	}
}

// childrenOf reads what the kernel lists; the expected pids of the tests come
// from here and not from the agent.
func childrenOf(t *testing.T, pid int) []int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, f := range strings.Fields(string(b)) {
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, n)
	}
	slices.Sort(pids)
	return pids
}

func pidsOf(events []wire.Event) []int {
	var pids []int
	for _, e := range events {
		pids = append(pids, e.Pid)
	}
	slices.Sort(pids)
	return pids
}

func get(t *testing.T, url string) (int, string, error) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	resp, err := client.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func TestGunicornFromDeployToStop(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	ep, err := a.Deploy(t, gunicorn("web", 3))
	if err != nil {
		t.Fatal(err)
	}
	if status, body, err := get(t, "http://"+ep.Addr+"/ping"); err != nil || status != 200 || !strings.Contains(body, "pong") {
		t.Errorf("/ping: %d %q %v", status, body, err)
	}
	booted := a.AwaitEvents(t, wire.WorkerBooted, 3)
	workers := childrenOf(t, ep.Pid)
	if got := pidsOf(booted); !slices.Equal(got, workers) {
		t.Errorf("workers booted %v, the master's children are %v", got, workers)
	}
	var kinds []wire.EventKind
	for _, e := range a.Events(wire.Deployed, wire.Started, wire.Healthy) {
		kinds = append(kinds, e.Kind)
		if e.App != "web" || e.AtNs == 0 || e.Kind != wire.Deployed && e.Pid != ep.Pid {
			t.Errorf("event %+v of app web, pid %d", e, ep.Pid)
		}
	}
	if want := []wire.EventKind{wire.Deployed, wire.Started, wire.Healthy}; !slices.Equal(kinds, want) {
		t.Errorf("events %v, want %v", kinds, want)
	}
	if err := a.Call(t.Context(), wire.StopApp, wire.AppName{Name: "web"}, nil); err != nil {
		t.Fatal(err)
	}
	for _, pid := range append(workers, ep.Pid) {
		if alive(pid) {
			t.Errorf("pid %d is alive after the stop was answered", pid)
		}
	}
	a.AwaitEvents(t, wire.Stopped, 1)
	if got := pidsOf(a.AwaitEvents(t, wire.WorkerExited, 3)); !slices.Equal(got, workers) {
		t.Errorf("workers exited %v, want %v", got, workers)
	}
	if e := a.Events(wire.Exited, wire.Restarted, wire.WorkerKilled); len(e) > 0 {
		t.Errorf("a stop is no exit: %+v", e)
	}
}

func TestAWorkerThatIsKilledIsTold(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	ep, err := a.Deploy(t, gunicorn("web", 2))
	if err != nil {
		t.Fatal(err)
	}
	a.AwaitEvents(t, wire.WorkerBooted, 2)
	victim := childrenOf(t, ep.Pid)[0]
	if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	killed := a.AwaitEvents(t, wire.WorkerKilled, 1)[0]
	if killed.Pid != victim || killed.Signal != 9 {
		t.Errorf("event %+v, want pid %d and signal 9", killed, victim)
	}
	booted := a.AwaitEvents(t, wire.WorkerBooted, 3)
	if !slices.Contains(childrenOf(t, ep.Pid), booted[2].Pid) {
		t.Errorf("the replacement %d is no child of the master", booted[2].Pid)
	}
	if e := a.Events(wire.Exited, wire.Restarted); len(e) > 0 {
		t.Errorf("the platform sees nothing of it: %+v", e)
	}
}

// A worker that is silent for longer than --timeout is killed by its master
// (field note: the client gets an empty reply, the log says WORKER TIMEOUT).
func TestAWorkerTimeOutIsTold(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	app := gunicorn("web", 1)
	app.TimeoutNs = int64(time.Second)
	ep, err := a.Deploy(t, app)
	if err != nil {
		t.Fatal(err)
	}
	worker := a.AwaitEvents(t, wire.WorkerBooted, 1)[0].Pid
	if status, _, err := get(t, "http://"+ep.Addr+"/thread-hold?secs=10"); err == nil {
		t.Errorf("the hold was answered with %d", status)
	}
	killed := a.AwaitEvents(t, wire.WorkerKilled, 1)[0]
	if killed.Pid != worker || killed.Detail != "worker time-out" {
		t.Errorf("event %+v, want pid %d and the time-out", killed, worker)
	}
	a.AwaitEvents(t, wire.WorkerBooted, 2)
}

func TestBuiltInServerTellsItsWorkers(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	ep, err := a.Deploy(t, wire.App{Name: "go", Runtime: "go", Workers: 2, TimeoutNs: int64(30 * time.Second), Backlog: 16})
	if err != nil {
		t.Fatal(err)
	}
	booted := a.AwaitEvents(t, wire.WorkerBooted, 2)
	victim := booted[0].Pid
	if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e := a.AwaitEvents(t, wire.WorkerKilled, 1)[0]; e.Pid != victim || e.Signal != 9 {
		t.Errorf("event %+v, want pid %d and signal 9", e, victim)
	}
	a.AwaitEvents(t, wire.WorkerBooted, 3)
	if !alive(ep.Pid) {
		t.Error("the master is gone")
	}
}

func TestNodeIsDeployed(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	ep, err := a.Deploy(t, wire.App{Name: "node", Runtime: "node", Backlog: 9, KeepAliveNs: int64(2 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	_, body, err := get(t, "http://"+ep.Addr+"/stats")
	if err != nil || !strings.Contains(body, fmt.Sprintf(`"pid":%d`, ep.Pid)) {
		t.Errorf("/stats: %q %v, want pid %d", body, err, ep.Pid)
	}
}

func TestAnAppThatExitsIsRestartedUntilTheAgentGivesUp(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	// It exits with 7 soon after its first answer.
	app := python("flaky", strings.Replace(serving, "self.end_headers()",
		"self.end_headers(); threading.Timer(0.3, lambda: os._exit(7)).start()", 1))
	app.Command[2] = "import threading\n" + app.Command[2]
	ep, err := a.Deploy(t, app)
	if err != nil {
		t.Fatal(err)
	}
	a.AwaitEvents(t, wire.GaveUp, 1)
	exits := a.Events(wire.Exited)
	if len(exits) != 4 || len(a.Events(wire.Healthy)) != 4 {
		t.Fatalf("%d exits and %d times healthy, want 4 of each", len(exits), len(a.Events(wire.Healthy)))
	}
	restarts := a.Events(wire.Restarted)
	if len(restarts) != 3 {
		t.Fatalf("restarts %+v, want 3", restarts)
	}
	for i, e := range exits {
		if e.Code == nil || *e.Code != 7 {
			t.Errorf("exit %+v, want code 7", e)
		}
		if i == len(restarts) {
			break
		}
		// The back-off doubles from 1 s: a lower bound, whatever the machine does.
		if pause := time.Duration(restarts[i].AtNs - e.AtNs); pause < time.Second<<i {
			t.Errorf("restart %d after %s, want at least %s", i+1, pause, time.Second<<i)
		}
	}
	if exits[0].Pid != ep.Pid || exits[1].Pid != restarts[0].Pid {
		t.Errorf("pids of exits %v do not follow those of starts", pidsOf(exits))
	}
}

// The master's death leaves workers that still hold the listener: they must be
// gone before the app is started again.
func TestADeadMastersWorkersAreEndedBeforeTheRestart(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	ep, err := a.Deploy(t, gunicorn("web", 2))
	if err != nil {
		t.Fatal(err)
	}
	a.AwaitEvents(t, wire.WorkerBooted, 2)
	workers := childrenOf(t, ep.Pid)
	if err := syscall.Kill(ep.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	exit := a.AwaitEvents(t, wire.Exited, 1)[0]
	if exit.Pid != ep.Pid || exit.Signal != 9 || exit.Code != nil {
		t.Errorf("event %+v, want pid %d ended by signal 9", exit, ep.Pid)
	}
	a.AwaitEvents(t, wire.Healthy, 2)
	for _, pid := range workers {
		if alive(pid) {
			t.Errorf("worker %d of the dead master is alive", pid)
		}
	}
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
