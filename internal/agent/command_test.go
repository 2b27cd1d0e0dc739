package agent_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"brink/internal/agent/agenttest"
	"brink/internal/wire"
)

// served is an app with one worker of the given server.
func served(name, runtime, class string, threads int) wire.App {
	return wire.App{
		Name: name, Runtime: runtime, WorkerClass: class, Workers: 1, Threads: threads, Backlog: 7,
		TimeoutNs: int64(9 * time.Second), KeepAliveNs: int64(3 * time.Second), Interpreter: interpreter(runtime),
	}
}

func interpreter(runtime string) string {
	if runtime == "node" {
		return ""
	}
	return "/usr/bin/python3"
}

// What the file asks for reaches the server: the command line is what gunicorn's
// and uvicorn's pages of settings call it, the kernel's listener has the backlog
// (Send-Q in ss), and as many holds are served at once as the server's kind
// allows. One sync worker has one at a time, whatever waits.
func TestServersGetWhatTheFileAsksFor(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		app   wire.App
		says  []string
		never []string
		// atOnce is how many of 3 holds are served at once.
		atOnce int
	}{
		{served("sync", "flask", "sync", 1), []string{"-m gunicorn ", "--worker-class sync", "--timeout 9", "--keep-alive 3", "--backlog 7", "--workers 1"}, nil, 1},
		{served("gthread", "flask", "gthread", 2), []string{"--worker-class gthread", "--threads 2", "--timeout 9", "--keep-alive 3"}, nil, 2},
		{served("gevent", "flask", "gevent", 0), []string{"--worker-class gevent", "--timeout 9", "--keep-alive 3"}, []string{"--threads"}, 3},
		{served("asgi", "asgi", "", 0), []string{"-m uvicorn ", "--workers 1", "--timeout-keep-alive 3", "--backlog 7", " asgi:app"}, []string{"--threads", "--timeout 9"}, 3},
		{served("node", "node", "", 0), []string{"server.js"}, nil, 3},
	} {
		t.Run(tc.app.Name, func(t *testing.T) {
			t.Parallel()
			a := agenttest.Start(t)
			at, err := a.Deploy(t, tc.app)
			if err != nil {
				t.Fatal(err)
			}
			line := a.Events(wire.Deployed)[0].Detail
			for _, want := range tc.says {
				if !strings.Contains(line, want) {
					t.Errorf("%q lacks %q", line, want)
				}
			}
			for _, not := range tc.never {
				if strings.Contains(line, not) {
					t.Errorf("%q has %q", line, not)
				}
			}
			if got := backlog(t, at.Addr); got != 7 {
				t.Errorf("the listener's backlog is %d, want 7", got)
			}
			// ceil(3 / atOnce) rounds of one hold each.
			const hold = 500 * time.Millisecond
			rounds := (3 + tc.atOnce - 1) / tc.atOnce
			if took := holds(t, at.Addr, 3, hold); took < time.Duration(rounds)*hold-10*time.Millisecond {
				t.Errorf("3 holds of %v took %v, want at least %d rounds", hold, took, rounds)
			}
			if tc.atOnce == 3 {
				awaitOneRound(t, at.Addr, hold)
			}
		})
	}
}

// awaitOneRound tries again where the machine was too busy to begin three holds
// within one.
func awaitOneRound(t *testing.T, addr string, hold time.Duration) {
	t.Helper()
	var took time.Duration
	for range 10 {
		if took = holds(t, addr, 3, hold); took < 2*hold {
			return
		}
	}
	t.Errorf("3 holds of %v never took less than 2 rounds, at last %v", hold, took)
}

func holds(t *testing.T, addr string, n int, hold time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			resp, err := http.Get(fmt.Sprintf("http://%s/thread-hold?secs=%g", addr, hold.Seconds()))
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
		})
	}
	wg.Wait()
	return time.Since(began)
}

func backlog(t *testing.T, addr string) int {
	t.Helper()
	out, err := exec.Command("ss", "-Hltn", "src", addr).Output()
	if err != nil {
		t.Fatalf("ss is needed (Debian package iproute2): %v", err)
	}
	var state string
	var waiting, limit int
	if _, err := fmt.Sscan(string(out), &state, &waiting, &limit); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	return limit
}

// Two workers of uvicorn are two processes below the one that was started, and
// each tells the app how many there are.
func TestUvicornWithSeveralWorkers(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	app := served("asgi", "asgi", "", 0)
	app.Workers = 2
	at, err := a.Deploy(t, app)
	if err != nil {
		t.Fatal(err)
	}
	ready := a.AwaitEvents(t, wire.WorkerReady, 2)
	if ready[0].Pid == ready[1].Pid || ready[0].Pid == at.Pid || ready[1].Pid == at.Pid {
		t.Errorf("workers %d and %d below %d", ready[0].Pid, ready[1].Pid, at.Pid)
	}
	_, body, err := get(t, "http://"+at.Addr+"/stats")
	if err != nil || !strings.Contains(body, `"workers": 2`) || !strings.Contains(body, `"server": "uvicorn/`) {
		t.Errorf("/stats says %s (%v)", body, err)
	}
}
