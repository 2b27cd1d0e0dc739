package agent_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"brink/internal/agent/agenttest"
	"brink/internal/wire"
)

// slowly is a program that serves from its third start on; before, it does what
// is said.
func slowly(t *testing.T, name, meanwhile string) wire.App {
	count := filepath.Join(t.TempDir(), "starts")
	return python(name, fmt.Sprintf(`
open(%[1]q, 'a').write('x')
if len(open(%[1]q).read()) < 3:
    %[2]s
`, count, meanwhile)+serving)
}

// Under a platform's policy a start that exits or misses the limit is tried
// again, which without one it is not.
func TestThePlatformTriesAgain(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, meanwhile, reason string
		kind                    wire.EventKind
	}{
		{"exits", "sys.exit(5)", "it exited with code 5", wire.Exited},
		{"hangs", "time.sleep(60)", "it did not answer /health within 3s", wire.Stopped},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := agenttest.Start(t)
			app := slowly(t, tc.name, tc.meanwhile)
			app.StartLimitNs = int64(3 * time.Second)
			app.Policy = &wire.Policy{Restarts: 4, PingEveryNs: int64(20 * time.Millisecond)}
			ep, err := a.Deploy(t, app)
			if err != nil {
				t.Fatal(err)
			}
			restarts := a.Events(wire.Restarted)
			if len(restarts) != 2 || restarts[1].Pid != ep.Pid {
				t.Fatalf("restarts %+v, want two, the second with pid %d", restarts, ep.Pid)
			}
			if want := "restart 2 of 4: " + tc.reason; !strings.HasPrefix(restarts[1].Detail, want) {
				t.Errorf("detail %q, want %q", restarts[1].Detail, want)
			}
			if ends := a.Events(tc.kind); len(ends) != 2 {
				t.Errorf("%s: %+v, want two", tc.kind, ends)
			}
			if e := a.Events(wire.Deployed)[0]; e.Addr != ep.Addr {
				t.Errorf("the address of deployed is %q, the endpoint's %q", e.Addr, ep.Addr)
			}
		})
	}
}

func TestThePlatformGivesUp(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	app := python("broken", "sys.exit(5)")
	app.Policy = &wire.Policy{Restarts: 2}
	_, err := a.Deploy(t, app)
	var fault *wire.Fault
	if !errors.As(err, &fault) || fault.Kind != wire.StartFailed || !strings.HasPrefix(fault.Text, "after 2 restarts: it exited with code 5") {
		t.Errorf("error %v", err)
	}
	if e := a.Events(wire.GaveUp); len(e) != 1 || !strings.HasPrefix(e[0].Detail, "after 2 restarts: it exited with code 5") {
		t.Errorf("events %+v", e)
	}
	if n := len(a.Events(wire.Exited)); n != 3 {
		t.Errorf("%d exits, want 3", n)
	}
}

// gunicorn ends with code 3 when its workers cannot load the app
// (WORKER_BOOT_ERROR in gunicorn/arbiter.py).
func TestAFailedBootIsTold(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	app := gunicorn("web", 1)
	app.Env = map[string]string{"GUNICORN_CMD_ARGS": "--config " + writeFile(t, "broken.py", "def post_fork(server, worker):\n    raise RuntimeError('no')\n")}
	if _, err := a.Deploy(t, app); err == nil {
		t.Fatal("it started")
	}
	e := a.AwaitEvents(t, wire.Exited, 1)[0]
	if e.Code == nil || *e.Code != 3 || !strings.HasPrefix(e.Detail, "failed boot, after ") {
		t.Errorf("event %+v, want code 3 and the failed boot", e)
	}
}

// A worker whose boot outlasts --timeout is killed by its master and boots
// again, and the platform sees no restart (field note on the cascade).
func TestBootsThatOutlastTheTimeOutAreCounted(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	app := gunicorn("web", 1)
	app.TimeoutNs = int64(time.Second)
	app.StartLimitNs = int64(5 * time.Second)
	app.Env = map[string]string{"GUNICORN_CMD_ARGS": "--config " + writeFile(t, "slow.py", "import time\ndef post_fork(server, worker):\n    time.sleep(60)\n")}
	if _, err := a.Deploy(t, app); err == nil {
		t.Fatal("it started")
	}
	killed := a.Events(wire.WorkerKilled)
	if len(killed) == 0 || killed[0].Detail != "worker time-out while it booted" {
		t.Errorf("events %+v, want a time-out while it booted", killed)
	}
	if n := len(a.Events(wire.Restarted, wire.Exited, wire.OOMKilled)); n > 0 {
		t.Errorf("the platform saw %d restarts, exits or OOM kills, want none", n)
	}
	booted := pidsOf(a.Events(wire.WorkerBooted))
	if len(slices.Compact(booted)) < 2 {
		t.Errorf("boots %v, want several", booted)
	}
}

func TestAppsAreDeployedTogether(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	const n = 8
	var all sync.WaitGroup
	var mu sync.Mutex
	addrs := map[string]string{}
	for i := range n {
		all.Go(func() {
			name := fmt.Sprint("app", i)
			ep, err := a.Deploy(t, python(name, serving))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			addrs[ep.Addr] = name
		})
	}
	all.Wait()
	if len(addrs) != n {
		t.Errorf("%d apps have %d addresses: %v", n, len(addrs), addrs)
	}
	// Together means that the last was started before the first was healthy, or
	// at least that they overlap.
	started, healthy := a.Events(wire.Started), a.Events(wire.Healthy)
	if len(started) != n || len(healthy) != n || started[1].AtNs > healthy[0].AtNs {
		t.Errorf("started %+v, healthy %+v", started, healthy)
	}
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
