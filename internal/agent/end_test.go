package agent_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"brink/internal/agent"
	"brink/internal/agent/agenttest"
	"brink/internal/wire"
)

// A daemon leaves its parent and its session; it must not outlive the agent.
func TestDaemonsOfAnAppAreEndedToo(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	daemon := `
import threading
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print('daemon', os.getpid(), flush=True)
        time.sleep(300)
    os._exit(0)
os.wait()
` + serving
	if _, err := a.Deploy(t, python("forker", daemon)); err != nil {
		t.Fatal(err)
	}
	var pid int
	a.Await(t, "the daemon's pid", func() bool {
		for _, l := range a.Logs() {
			if text, ok := strings.CutPrefix(l.Line, "daemon "); ok {
				pid = atoi(t, text)
			}
		}
		return pid != 0
	})
	if !alive(pid) {
		t.Fatal("the daemon is dead already")
	}
	a.Shutdown(t)
	if alive(pid) {
		t.Errorf("the daemon %d outlives the agent", pid)
	}
}

// An app that ignores SIGTERM is killed after 3 s.
func TestAnAppThatIgnoresSIGTERMIsKilled(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	ep, err := a.Deploy(t, python("stubborn", "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"+serving))
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := a.Call(t.Context(), wire.StopApp, wire.AppName{Name: "stubborn"}, nil); err != nil {
		t.Fatal(err)
	}
	if alive(ep.Pid) {
		t.Error("it is alive after the stop was answered")
	}
	if took := time.Since(begin); took < 3*time.Second {
		t.Errorf("it had %s to stop, want 3 s", took)
	}
}

func tree(t *testing.T, a *agenttest.Agent) (ep wire.Endpoint, pids []int) {
	t.Helper()
	ep, err := a.Deploy(t, gunicorn("web", 2))
	if err != nil {
		t.Fatal(err)
	}
	a.AwaitEvents(t, wire.WorkerBooted, 2)
	pids = append(childrenOf(t, ep.Pid), ep.Pid)
	if len(pids) != 3 {
		t.Fatalf("processes %v, want a master and 2 workers", pids)
	}
	return ep, pids
}

// brink was killed: the agent sees the end of the connection and does the same
// as for a shutdown.
func TestNothingOutlivesTheLab(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	_, pids := tree(t, a)
	a.Conn.Close()
	<-a.Ended
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("pid %d is alive after the agent has ended", pid)
		}
	}
}

// The agent was asked to end, as on a machine that shuts down.
func TestSIGTERMEndsTheAgentCleanly(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	_, pids := tree(t, a)
	if err := a.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-a.Ended
	if code := a.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("pid %d is alive after the agent has ended", pid)
		}
	}
}

// The agent itself was killed: the apps die with it, and Sweep does the rest.
func TestNothingOutlivesAKilledAgent(t *testing.T) {
	t.Parallel()
	registry := t.TempDir()
	a := agenttest.Start(t, "XDG_RUNTIME_DIR="+registry)
	ep, pids := tree(t, a)
	entries := func() []string {
		list, err := filepath.Glob(filepath.Join(registry, "brink", "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for limit := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile(entries()[0])
		if err == nil && strings.Count(string(b), `"pid"`) == 4 { // and the agent's
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("the workers are not in the registry: %s %v", b, err)
		}
	}
	if err := a.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-a.Ended
	awaitGone(t, "the first process, at its parent's death", ep.Pid)
	if err := agent.Sweep(filepath.Join(registry, "brink")); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("pid %d is alive after the sweep", pid)
		}
	}
	if left := entries(); len(left) > 0 {
		t.Errorf("entries %v are left", left)
	}
}

// gunicorn's idle workers notice by themselves that their master is gone, at
// the latest after half of their time-out (workers/sync.py).
func TestGunicornsWorkersNoticeTheirMastersDeath(t *testing.T) {
	t.Parallel()
	registry := t.TempDir()
	a := agenttest.Start(t, "XDG_RUNTIME_DIR="+registry)
	app := gunicorn("web", 2)
	app.TimeoutNs = int64(4 * time.Second)
	ep, err := a.Deploy(t, app)
	if err != nil {
		t.Fatal(err)
	}
	a.AwaitEvents(t, wire.WorkerBooted, 2)
	workers := childrenOf(t, ep.Pid)
	if err := a.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-a.Ended
	awaitGone(t, "workers without a master", workers...)
	if err := agent.Sweep(filepath.Join(registry, "brink")); err != nil {
		t.Fatal(err)
	}
}

func TestSamplesArriveAndStop(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	if _, err := a.Deploy(t, gunicorn("web", 2)); err != nil {
		t.Fatal(err)
	}
	if err := a.Call(t.Context(), wire.StartSampling, wire.Sampling{EveryNs: int64(20 * time.Millisecond)}, nil); err != nil {
		t.Fatal(err)
	}
	a.Await(t, "samples", func() bool { return len(a.Samples("web")) >= 10 && len(a.Samples("")) >= 10 })
	if err := a.Call(t.Context(), wire.StopSampling, nil, nil); err != nil {
		t.Fatal(err)
	}
	before := len(a.Samples(""))
	time.Sleep(100 * time.Millisecond)
	if after := len(a.Samples("")); after != before {
		t.Errorf("%d samples came after StopSampling was answered", after-before)
	}
	list := a.Samples("web")
	if !slices.IsSortedFunc(list, func(x, y wire.Sample) int { return int(x.AtNs - y.AtNs) }) {
		t.Error("samples are not in the order of time")
	}
	for i, x := range list[1:] {
		if x.CPUNs < list[i].CPUNs {
			t.Errorf("CPU time falls from %d to %d", list[i].CPUNs, x.CPUNs)
		}
	}
}

func TestTheClockProbeAnswersBetweenItsEnds(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	before := time.Now().UnixNano()
	var r wire.ClockReading
	if err := a.Call(t.Context(), wire.ClockProbe, nil, &r); err != nil {
		t.Fatal(err)
	}
	after := time.Now().UnixNano()
	// The two processes read the wall clock at different times, and it may be
	// slewed in between.
	const slack = int64(100 * time.Millisecond)
	if r.ReceivedNs < before-slack || r.AnsweredNs < r.ReceivedNs || after < r.AnsweredNs-slack {
		t.Errorf("asked at %d, received at %d, answered at %d, heard at %d", before, r.ReceivedNs, r.AnsweredNs, after)
	}
}

func TestTheAgentStatesWhatItCanDo(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	_, err := os.Stat("/proc/pressure/memory")
	if got := a.Hello.Can(wire.PSISignals); got != (err == nil) {
		t.Errorf("PSI %t, /proc/pressure says %v", got, err)
	}
	if !a.Hello.Can(wire.Affinity) || a.Hello.Program != "brink test" {
		t.Errorf("hello %+v", a.Hello)
	}
	var facts []wire.Fact
	if err := a.Call(t.Context(), wire.Environment, nil, &facts); err != nil || len(facts) == 0 {
		t.Errorf("environment %v, %v", facts, err)
	}
}
