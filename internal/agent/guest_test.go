package agent_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"brink/internal/agent"
	"brink/internal/agent/agenttest"
	"brink/internal/wire"
)

// The tests of this file show what cgroup v2 does where the agent may divide
// one: in brink's own guest, in which host/vm runs them, or on a machine without
// a manager of cgroups. The same tests hold the agent to its word elsewhere,
// that it has none.

// withCgroups starts an agent, and returns false after having checked that one
// without cgroups says so.
func withCgroups(t *testing.T, env ...string) (*agenttest.Agent, bool) {
	t.Helper()
	a := agenttest.Start(t, env...)
	if a.Hello.Can(wire.Cgroup2) {
		return a, true
	}
	if l := prepare(t, a, wire.Plan{MemoryMB: 300})["memory"]; l.Applied || l.How == "" || agenttest.InGuest() {
		t.Errorf("limit %+v", l)
	}
	return a, false
}

// withContainers is withCgroups for what needs containers too.
func withContainers(t *testing.T) (*agenttest.Agent, bool) {
	t.Helper()
	a, ok := withCgroups(t)
	if ok && !a.Hello.Can(wire.Containers) && agenttest.InGuest() {
		t.Error("there are no containers")
	}
	return a, ok && a.Hello.Can(wire.Containers)
}

// group is the directory of the cgroup that a process is in.
func group(t *testing.T, pid int) string {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	_, path, ok := strings.Cut(strings.TrimSpace(string(b)), "0::")
	if !ok {
		t.Fatalf("pid %d is in %q", pid, b)
	}
	return filepath.Join("/sys/fs/cgroup", path)
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func TestGuestEachAppHasACgroup(t *testing.T) {
	a, ok := withCgroups(t)
	if !ok {
		return
	}
	limits := prepare(t, a, wire.Plan{MemoryMB: 600, SwapMB: 200, Share: wire.Share{BallastMB: 20, SidecarMB: 10}})
	for _, name := range []string{"web", "other"} {
		if _, err := a.Deploy(t, python(name, serving)); err != nil {
			t.Fatal(err)
		}
	}
	started := a.Events(wire.Started)
	web, other := group(t, started[0].Pid), group(t, started[1].Pid)
	ballast := group(t, one(t, holders(t, a)["20"]))
	sidecar := group(t, holders(t, a)["10"][0])
	dirs := map[string]bool{web: true, other: true, ballast: true, sidecar: true}
	top := filepath.Dir(web)
	if len(dirs) != 4 || filepath.Dir(other) != top || filepath.Dir(ballast) != top || filepath.Dir(sidecar) != top {
		t.Errorf("cgroups %v, want four children of one", dirs)
	}
	if own := group(t, a.Cmd.Process.Pid); strings.HasPrefix(own, top) {
		t.Errorf("the agent itself is in %s", own)
	}
	for file, want := range map[string]string{
		top + "/memory.max": "629145600", top + "/memory.swap.max": "209715200", // 600 and 200 MiB
		web + "/memory.max": "max", ballast + "/memory.max": "max",
	} {
		if got := content(t, file); got != want {
			t.Errorf("%s is %s, want %s", file, got, want)
		}
	}
	if l := limits["memory"]; !l.Applied || !strings.Contains(l.How, "memory.max of cgroup "+strings.TrimPrefix(top, "/sys/fs/cgroup")) {
		t.Errorf("limit %+v", l)
	}
	a.Shutdown(t)
	if _, err := os.Stat(top); !os.IsNotExist(err) {
		t.Errorf("the cgroup is still there: %v", err)
	}
}

// hog takes 400 MB in its first process when it is asked for /take.
var hog = "import threading\n" + strings.Replace(serving, "def do_GET(self):", `def do_GET(self):
        def take():
            x = bytearray(400 << 20)
            for i in range(0, len(x), 4096): x[i] = 1
            time.sleep(60)
        if self.path == '/take': threading.Thread(target=take, daemon=True).start()`, 1)

// The plan's limit is exceeded: the kernel kills, and that is told apart from a
// SIGKILL of anybody else's.
func TestGuestAnOOMKillIsToldFromAnyOther(t *testing.T) {
	a, ok := withCgroups(t)
	if !ok {
		return
	}
	prepare(t, a, wire.Plan{MemoryMB: 300, SwapMB: 1})
	app := python("hog", hog)
	app.Policy = &wire.Policy{}
	ep, err := a.Deploy(t, app)
	if err != nil {
		t.Fatal(err)
	}
	events := group(t, ep.Pid) + "/memory.events"
	_, _, _ = get(t, "http://"+ep.Addr+"/take") // the answer may not get out any more
	a.AwaitEvents(t, wire.Exited, 1)
	killed := a.Events(wire.OOMKilled)
	if len(killed) != 1 || killed[0].Pid != ep.Pid || killed[0].Signal != 9 || !strings.Contains(killed[0].Detail, "out of memory") && !strings.Contains(killed[0].Detail, "memory.events") {
		t.Errorf("events %+v, want one of pid %d with the kernel's word for it", killed, ep.Pid)
	}
	if got := content(t, events); !strings.Contains(got, "oom_kill 1") {
		t.Errorf("%s: %s", events, got)
	}
	victim := python("victim", serving)
	victim.Policy = &wire.Policy{}
	if ep, err = a.Deploy(t, victim); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(ep.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	a.AwaitEvents(t, wire.Exited, 2)
	if n := len(a.Events(wire.OOMKilled)); n != 1 {
		t.Errorf("%d OOM kills, want 1: the second was a plain SIGKILL", n)
	}
}

// In a container the process that matters is not the one that the agent
// started.
func TestGuestAContainersFirstProcessIsKilled(t *testing.T) {
	a, ok := withContainers(t)
	if !ok {
		return
	}
	prepare(t, a, wire.Plan{MemoryMB: 600, SwapMB: 1})
	app := python("hog", hog)
	app.Mode, app.MemoryLimitMB, app.Policy = wire.Container, 150, &wire.Policy{}
	ep, err := a.Deploy(t, app)
	if err != nil {
		t.Fatal(err)
	}
	if got := content(t, group(t, ep.Pid)+"/memory.max"); got != "157286400" { // 150 MiB
		t.Errorf("memory.max is %s", got)
	}
	inside := one(t, offspring(t, ep.Pid))
	if group(t, inside) != group(t, ep.Pid) {
		t.Errorf("the process inside is in %s, crun in %s", group(t, inside), group(t, ep.Pid))
	}
	_, _, _ = get(t, "http://"+ep.Addr+"/take")
	exit := a.AwaitEvents(t, wire.Exited, 1)[0]
	killed := a.Events(wire.OOMKilled)
	if exit.Signal != 9 || len(killed) != 1 || !strings.Contains(killed[0].Detail, "cgroup") {
		t.Errorf("exit %+v, OOM kills %+v", exit, killed)
	}
}

// A worker that fills more than its container may hold dies again and again,
// which the platform does not see; nor is it its master's time-out.
func TestGuestAContainersLimitKillsItsWorkers(t *testing.T) {
	a, ok := withContainers(t)
	if !ok {
		return
	}
	prepare(t, a, wire.Plan{MemoryMB: 600, SwapMB: 1})
	app := gunicorn("web", 1)
	app.Mode, app.MemoryLimitMB, app.AllocMB = wire.Container, 100, 300
	app.StartLimitNs = int64(time.Minute)
	deployed := make(chan error, 1)
	go func() { _, err := a.Deploy(t, app); deployed <- err }()
	killed := a.AwaitEvents(t, wire.OOMKilled, 1)[0]
	if !strings.Contains(killed.Detail, "cgroup") {
		t.Errorf("event %+v, want that its cgroup was out of memory", killed)
	}
	worker := a.AwaitEvents(t, wire.WorkerKilled, 1)[0]
	if worker.Pid != killed.Pid || worker.Detail != "" {
		t.Errorf("worker_killed %+v after oom_killed %+v", worker, killed)
	}
	if n := len(a.Events(wire.Exited, wire.Restarted)); n > 0 {
		t.Errorf("the platform saw %d exits or restarts, want none", n)
	}
	if err := a.Call(t.Context(), wire.StopApp, wire.AppName{Name: "web"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := <-deployed; err == nil {
		t.Error("it became healthy")
	}
}

func TestGuestACgroupOfAKilledAgentIsSwept(t *testing.T) {
	registry := t.TempDir()
	a, ok := withCgroups(t, "XDG_RUNTIME_DIR="+registry)
	if !ok {
		return
	}
	ep, err := a.Deploy(t, python("web", serving))
	if err != nil {
		t.Fatal(err)
	}
	top := filepath.Dir(group(t, ep.Pid))
	if err := a.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-a.Ended
	if err := agent.Sweep(filepath.Join(registry, "brink")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(top); !os.IsNotExist(err) {
		t.Errorf("the cgroup is still there: %v", err)
	}
}

// swapUsed is what /proc/meminfo says is swapped out and not in memory too.
func swapUsed(t *testing.T) int {
	t.Helper()
	b := content(t, "/proc/meminfo")
	kB := func(name string) int {
		return atoi(t, regexp.MustCompile(name + `:\s+(\d+)`).FindStringSubmatch(b)[1])
	}
	return kB("SwapTotal") - kB("SwapFree") - kB("SwapCached")
}

// Everything is brought back in the place that is the plan's alone, and the swap
// is there afterwards.
func TestGuestSwapIsEmptied(t *testing.T) {
	a, ok := withCgroups(t)
	swaps := content(t, "/proc/swaps")
	if !strings.Contains(swaps, "/") && agenttest.InGuest() {
		t.Error("there is no swap")
	}
	if !ok || !strings.Contains(swaps, "/") {
		return
	}
	prepare(t, a, wire.Plan{Whole: true, Share: wire.Share{BallastMB: 100}})
	dir := group(t, one(t, holders(t, a)["100"]))
	// The kernel may answer EAGAIN when it got less than it was asked for.
	_ = os.WriteFile(dir+"/memory.reclaim", []byte("80M"), 0)
	before := swapUsed(t)
	if before < 20<<10 {
		t.Fatalf("%d kB are swapped out after memory.reclaim", before)
	}
	if err := a.Call(t.Context(), wire.SwapIn, nil, nil); err != nil {
		var fault *wire.Fault
		t.Fatalf("%v (%t)", err, errors.As(err, &fault))
	}
	if after := swapUsed(t); after > before/10 {
		t.Errorf("%d kB are swapped out, before %d", after, before)
	}
	if got := strings.Fields(content(t, "/proc/swaps")); len(got) != len(strings.Fields(swaps)) {
		t.Errorf("swaps %v, before %q", got, swaps)
	}
}

// What is in swap and what the cgroup still has in memory is read from the
// kernel (VmSwap, proc_pid_status(5); memory.current).
func TestGuestAShareStartsInSwap(t *testing.T) {
	a, ok := withCgroups(t)
	swaps := content(t, "/proc/swaps")
	if !ok || !strings.Contains(swaps, "/") {
		return
	}
	before := swapUsed(t)
	limits := prepare(t, a, wire.Plan{Whole: true, Share: wire.Share{SwappedMB: 120}})
	if l := limits["share in swap"]; !l.Applied || !strings.HasPrefix(l.Wanted, "120 MB") {
		t.Errorf("limit %+v", l)
	}
	pid := one(t, holders(t, a)["120"])
	status := content(t, "/proc/"+strconv.Itoa(pid)+"/status")
	m := regexp.MustCompile(`VmSwap:\s+(\d+) kB`).FindStringSubmatch(status)
	if m == nil || atoi(t, m[1]) < 114<<10 {
		t.Errorf("of 120 MB in swap: %q", m)
	}
	if mb := atoi(t, content(t, group(t, pid)+"/memory.current")) >> 20; mb > 32 {
		t.Errorf("%d MB of it are still in memory", mb)
	}
	if kb := swapUsed(t) - before; kb < 114<<10 || kb > 140<<10 {
		t.Errorf("swap in use grew by %d kB, want about 120 MB", kb)
	}
}
