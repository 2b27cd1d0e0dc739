package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"brink/internal/clock"
	"brink/internal/experiment"
	"brink/internal/host/local"
)

// asking is a step whose traffic makes its app wait for the dependency.
func asking(name string) experiment.Step {
	s := plain(name)
	s.Traffic[0].Path = "/upstream?ms=10"
	return s
}

// Apps whose traffic asks for /upstream find a dependency that answers, from
// before they start until the plan is taken down; others find none.
func TestTheDependencyIsThereForThoseWhoAsk(t *testing.T) {
	h := newFakeHost(t, nil)
	var seen []string
	h.deploy = func(_ context.Context, a experiment.App) error {
		url, ok := a.Env["BRINK_UPSTREAM"]
		if !ok {
			seen = append(seen, "none")
			return nil
		}
		seen = append(seen, strings.TrimPrefix(url, "http://"))
		resp, err := http.Get(url + "/delay?ms=1")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		return nil
	}
	other := plain("other")
	other.Traffic[0].Path = "/upstreams"
	r := run(t, t.Context(), Options{Design: design(1, asking("asking"), other), Host: h})
	if r.err != nil || r.Done != 2 || len(seen) != 2 || !slices.Contains(seen, "none") {
		t.Fatalf("%+v, %v; the apps saw %v", r.Result, r.err, seen)
	}
	for _, addr := range seen {
		if addr == "none" {
			continue
		}
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			t.Errorf("the dependency at %s outlives the plan", addr)
		}
	}
	var counts []string
	for rep := range int64(2) {
		for line, err := range r.Logs(t.Context(), rep+1) {
			if err != nil {
				t.Fatal(err)
			}
			if line.Stream == "upstream" && line.App == "" {
				counts = append(counts, line.Line)
			}
		}
	}
	if want := []string{"[INFO] served=1 abandoned=0 in_flight=0 peak=1"}; !slices.Equal(counts, want) {
		t.Errorf("the record says of the dependency %q, want %q", counts, want)
	}
	for rep := range int64(2) {
		if text := r.apps(rep + 1)[0].JSON; strings.Contains(text, "BRINK_UPSTREAM") {
			t.Errorf("the record's app has an address of this run in it: %s", text)
		}
	}
}

// The apps of a ladder start with its first rung; one that asks only later must
// have been told by then.
func TestALadderHasTheDependencyFromItsFirstRung(t *testing.T) {
	first, second := plain("first"), asking("second")
	first.Ladder, second.Ladder, second.Rung = "up", "up", 1
	h := newFakeHost(t, nil)
	told := 0
	h.deploy = func(_ context.Context, a experiment.App) error {
		if a.Env["BRINK_UPSTREAM"] != "" {
			told++
		}
		return nil
	}
	r := run(t, t.Context(), Options{Design: design(1, first, second), Host: h})
	if r.err != nil || r.Done != 2 || told != 1 {
		t.Errorf("%+v, %v; %d apps were told, want the only one", r.Result, r.err, told)
	}
}

// An app with a dependency of its own keeps it, and who watches is told.
func TestAnAppsOwnDependencyIsLeftAlone(t *testing.T) {
	s := asking("s")
	s.Apps[0].Env = map[string]string{"BRINK_UPSTREAM": "http://db:1", "OTHER": "x"}
	h := newFakeHost(t, nil)
	var got string
	h.deploy = func(_ context.Context, a experiment.App) error { got = a.Env["BRINK_UPSTREAM"]; return nil }
	var mu sync.Mutex
	var said []string
	r := run(t, t.Context(), Options{Design: design(1, s), Host: h, Progress: func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		said = p.Errors
	}})
	const want = "app site sets BRINK_UPSTREAM=http://db:1 itself, so that its /upstream asks there and not the dependency that brink serves"
	if r.err != nil || got != "http://db:1" || !slices.Contains(said, want) {
		t.Errorf("%+v, %v; the app was told %q, and we %q", r.Result, r.err, got, said)
	}
}

func TestADependencyThatCannotBeServed(t *testing.T) {
	h := newFakeHost(t, nil)
	h.listen = errors.New("no port is left")
	r := run(t, t.Context(), Options{Design: design(2, asking("s")), Host: h})
	r.ended("broken", "set up the plan: the slow dependency of /upstream: no port is left")
	if !slices.Equal(h.closes(), []int{1}) {
		t.Errorf("sessions closed %v, want the one that was set up, once", h.closes())
	}
}

// Traffic reaches apps by the session's own network where it has one.
func TestTrafficGoesOverTheSessionsNetwork(t *testing.T) {
	h := newFakeHost(t, nil)
	real := h.addr
	h.addr = "plan.invalid:80"
	var mu sync.Mutex
	dialled := map[string]int{}
	h.dial = func(ctx context.Context, addr string) (net.Conn, error) {
		mu.Lock()
		dialled[addr]++
		mu.Unlock()
		return new(net.Dialer).DialContext(ctx, "tcp", real)
	}
	r := run(t, t.Context(), Options{Design: design(1, plain("s")), Host: h})
	if r.err != nil || r.Done != 1 || len(r.probes(1)) != 3 || dialled["plan.invalid:80"] != 3 {
		t.Errorf("%+v, %v; dialled %v", r.Result, r.err, dialled)
	}
}

// A wait for a real dependency occupies a gunicorn worker as a hold does: three
// on two workers take ceil(3 / 2) rounds at least.
func TestWaitingForTheDependencyOccupiesWorkers(t *testing.T) {
	const wait = 400 * time.Millisecond
	a := app("site")
	a.Runtime, a.WorkerClass = "flask", "sync"
	s := experiment.Step{Name: "s", Apps: []experiment.App{a}, Traffic: []experiment.Traffic{{
		Kind: "batch", Path: fmt.Sprintf("/upstream?ms=%d", wait.Milliseconds()), Count: 3, Timeout: experiment.Duration(30 * time.Second),
	}}}
	r := run(t, t.Context(), Options{
		Design: design(1, s), Host: local.New(local.Options{Program: "brink test"}), Clock: clock.Real, Sampling: 50 * time.Millisecond,
	})
	if r.err != nil || r.Done != 1 {
		t.Fatalf("%+v, %v", r.Result, r.err)
	}
	pids := map[int32]int{}
	longest := time.Duration(0)
	for _, p := range r.probes(1) {
		if p.Outcome != "ok" || time.Duration(p.ServedNs) < wait {
			t.Errorf("%+v, want an answer after %v at least", p, wait)
		}
		pids[p.Pid]++
		longest = max(longest, took(p))
	}
	if len(pids) > 2 || longest < 2*wait {
		t.Errorf("answered by %v, the last after %v; want two workers at most and two rounds of %v", pids, longest, wait)
	}
}
