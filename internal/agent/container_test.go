package agent_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"brink/internal/agent"
	"brink/internal/agent/agenttest"
	"brink/internal/wire"
)

// container deploys app as a container. Where none can be started, it checks
// that this is said, and returns false.
func container(t *testing.T, a *agenttest.Agent, app wire.App) (wire.Endpoint, bool) {
	t.Helper()
	app.Mode = wire.Container
	ep, err := a.Deploy(t, app)
	if a.Hello.Can(wire.Containers) {
		if err != nil {
			t.Fatal(err)
		}
		return ep, true
	}
	var fault *wire.Fault
	if !errors.As(err, &fault) || fault.Kind != wire.BadRequest || !strings.Contains(fault.Text, "no container can be deployed here: ") {
		t.Errorf("error %v, want the reason why there are no containers", err)
	}
	// Only the top of a hierarchy that is v2 alone has this file.
	_, v2 := os.Stat("/sys/fs/cgroup/cgroup.controllers")
	if _, err := exec.LookPath("crun"); agenttest.InGuest() || err == nil && v2 == nil && os.Geteuid() == 0 {
		t.Errorf("crun is there, cgroup v2 is there and this is root: %v", fault)
	}
	return ep, false
}

func namespace(t *testing.T, pid int, kind string) string {
	t.Helper()
	link, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/" + kind)
	if err != nil {
		t.Fatal(err)
	}
	return link
}

func TestAContainerHasARootOfItsOwn(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	ep, ok := container(t, a, gunicorn("web", 2))
	if !ok {
		return
	}
	if status, body, err := get(t, "http://"+ep.Addr+"/ping"); err != nil || status != 200 || !strings.Contains(body, "pong") {
		t.Errorf("/ping: %d %q %v", status, body, err)
	}
	booted := a.AwaitEvents(t, wire.WorkerBooted, 2)
	worker := booted[0].Pid
	self := os.Getpid()
	for kind, own := range map[string]bool{"mnt": true, "ipc": true, "uts": true, "net": false, "pid": false} {
		if got := namespace(t, worker, kind) != namespace(t, self, kind); got != own {
			t.Errorf("a %s namespace of its own: %t, want %t", kind, got, own)
		}
	}
	mounts, err := os.ReadFile("/proc/" + strconv.Itoa(worker) + "/mountinfo")
	if err != nil || !strings.Contains(string(mounts), " /usr ") || !strings.Contains(string(mounts), "- overlay overlay") {
		t.Errorf("the container's /usr is no overlay: %v\n%s", err, mounts)
	}
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(b), a.Dir) {
		t.Errorf("the container's mounts are the machine's too: %v", err)
	}
	// Written inside, unseen outside.
	outside := "/usr/lib/brink-was-here-" + strconv.Itoa(self)
	if err := os.WriteFile("/proc/"+strconv.Itoa(worker)+"/root"+outside, nil, 0o600); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(outside); !os.IsNotExist(err) {
		t.Errorf("a file written in the container is on the machine: %v", err)
	}
	if err := a.Call(t.Context(), wire.StopApp, wire.AppName{Name: "web"}, nil); err != nil {
		t.Fatal(err)
	}
	if alive(worker) || alive(ep.Pid) {
		t.Error("the container is alive after the stop was answered")
	}
}

// brink's own program lies where a container's root has nothing.
func TestTheBuiltInWorkloadRunsInAContainer(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	ep, ok := container(t, a, wire.App{Name: "go", Runtime: "go", Workers: 2, TimeoutNs: int64(30 * time.Second), Backlog: 16})
	if !ok {
		return
	}
	if status, _, err := get(t, "http://"+ep.Addr+"/ping"); err != nil || status != 200 {
		t.Errorf("/ping: %d %v", status, err)
	}
	if n := len(a.AwaitEvents(t, wire.WorkerReady, 2)); n != 2 {
		t.Errorf("%d workers are ready, want 2", n)
	}
}

func TestAContainersEndIsTold(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	app := python("killed", serving)
	app.Policy = &wire.Policy{}
	ep, ok := container(t, a, app)
	if !ok {
		return
	}
	inside := childrenOf(t, ep.Pid)
	if len(inside) != 1 {
		t.Fatalf("crun has the children %v, want the container's first process", inside)
	}
	if err := syscall.Kill(inside[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e := a.AwaitEvents(t, wire.Exited, 1)[0]; e.Signal != 9 || e.Code != nil {
		t.Errorf("event %+v, want signal 9", e)
	}
	exits := python("exits", "sys.exit(3)")
	exits.Mode = wire.Container
	_, err := a.Deploy(t, exits)
	if err == nil || !strings.Contains(err.Error(), "it exited with code 3") {
		t.Errorf("error %v, want the exit code of the process inside", err)
	}
	exits = python("stops", serving)
	exits.Mode = wire.Container
	if ep, err = a.Deploy(t, exits); err != nil {
		t.Fatal(err)
	}
	// What runs after SIGKILL of crun alone must not survive the app's end.
	inside = childrenOf(t, ep.Pid)
	if err := syscall.Kill(ep.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, "the process in a container without its crun", inside...)
}

func TestNothingOfAContainerOutlivesAKilledAgent(t *testing.T) {
	t.Parallel()
	registry := t.TempDir()
	a := agenttest.Start(t, "XDG_RUNTIME_DIR="+registry)
	ep, ok := container(t, a, gunicorn("web", 1))
	if !ok {
		return
	}
	pids := append(childrenOf(t, ep.Pid), ep.Pid, a.AwaitEvents(t, wire.WorkerBooted, 1)[0].Pid)
	time.Sleep(300 * time.Millisecond) // the registry is written by then
	if err := a.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-a.Ended
	if err := agent.Sweep(filepath.Join(registry, "brink")); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, "the container after the sweep", pids...)
	if _, err := os.Stat(a.Dir); !os.IsNotExist(err) {
		t.Errorf("the run directory is still there: %v", err)
	}
}

func TestDeployModesAreChecked(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	for want, app := range map[string]wire.App{
		`deploy mode "vm" is not one of zip, container`: {Name: "a", Mode: "vm", Runtime: "go", Workers: 1},
		"a memory limit needs deploy mode container":    {Name: "b", Runtime: "go", Workers: 1, MemoryLimitMB: 100},
		"runtime go has nothing to build":               {Name: "c", Runtime: "go", Workers: 1, Build: true},
		"the platform's number of restarts is -1":       {Name: "d", Runtime: "go", Workers: 1, Policy: &wire.Policy{Restarts: -1}},
	} {
		_, err := a.Deploy(t, app)
		var fault *wire.Fault
		if !errors.As(err, &fault) || fault.Kind != wire.BadRequest || !strings.Contains(fault.Text, want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if a.Hello.Can(wire.Containers) && !a.Hello.Can(wire.Cgroup2) {
		_, err := a.Deploy(t, wire.App{Name: "e", Mode: wire.Container, Runtime: "go", Workers: 1, MemoryLimitMB: 100})
		if err == nil || !strings.Contains(err.Error(), "no memory limit can be applied to the container: ") {
			t.Errorf("error %v, want that there is no limit", err)
		}
	}
}
