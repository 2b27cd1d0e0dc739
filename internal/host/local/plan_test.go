package local

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"brink/internal/agent/agenttest"
	"brink/internal/experiment"
	"brink/internal/host"
	"brink/internal/wire"
)

// Apps reach what the session listens for, until the session ends; their own
// addresses are this machine's.
func TestAppsReachWhatTheSessionListensFor(t *testing.T) {
	t.Parallel()
	s, err := New(Options{}).Open(t.Context(), experiment.Plan{}, 0, agenttest.NewSeen())
	if err != nil {
		t.Fatal(err)
	}
	l, addr, err := s.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/delay?ms=3" {
			w.WriteHeader(http.StatusTeapot)
		}
	})}
	go func() { _ = server.Serve(l) }()
	app := flask("web")
	app.Env = map[string]string{"BRINK_UPSTREAM": "http://" + addr}
	at, err := s.Deploy(t.Context(), app)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get("http://" + at.Addr + "/upstream?ms=3")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(text), `"upstream_ms":3`) {
		t.Errorf("the app answered %d %s", resp.StatusCode, text)
	}
	if s.Dial() != nil {
		t.Error("the local host has a network of its own")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if conn, err := net.Dial("tcp", addr); err == nil {
		conn.Close()
		t.Error("the listener outlives its session")
	}
	if _, _, err := s.Listen(t.Context()); err == nil || !strings.Contains(err.Error(), "the plan was taken down") {
		t.Errorf("listening after Close: %v", err)
	}
}

// Two apps deployed at the same time start side by side: neither waits for the
// other to come up, which neither does.
func TestAppsStartSideBySide(t *testing.T) {
	t.Parallel()
	s, o := open(t, experiment.Plan{}, 0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var starting sync.WaitGroup
	for _, name := range []string{"one", "two"} {
		app := shell(name, "sleep 300")
		app.StartLimit = experiment.Duration(5 * time.Minute)
		starting.Go(func() {
			if _, err := s.Deploy(ctx, app); !errors.Is(err, context.Canceled) {
				t.Errorf("app %s: %v", name, err)
			}
		})
	}
	o.AwaitEvents(t, wire.Started, 2)
	cancel()
	starting.Wait()
}

// A platform's policy reaches the agent: an app that cannot start is restarted
// as often as it says, and given up.
func TestThePlatformsPolicyHolds(t *testing.T) {
	t.Parallel()
	platform := experiment.Platform{
		PingEvery: experiment.Duration(20 * time.Millisecond), PingTimeout: experiment.Duration(time.Second),
		Backoff: experiment.Duration(10 * time.Millisecond), Restarts: 2,
	}
	s, o := open(t, experiment.Plan{Platform: platform}, 0)
	_, err := s.Deploy(t.Context(), shell("dies", "exit 3"))
	var start *host.StartError
	if !errors.As(err, &start) {
		t.Errorf("error %v, want a StartError", err)
	}
	if got := len(o.Events(wire.Restarted)); got != 2 {
		t.Errorf("it was restarted %d times, want 2", got)
	}
	o.AwaitEvents(t, wire.GaveUp, 1)
}

// The platform's share is there before the first app and goes with the session;
// a share that cannot fit is refused.
func TestThePlatformsShare(t *testing.T) {
	t.Parallel()
	s, o := open(t, experiment.Plan{Share: experiment.Share{BallastMB: 16}}, 50*time.Millisecond)
	var ballast host.Limit
	for _, l := range s.Limits() {
		if l.Name == "ballast" {
			ballast = l
		}
	}
	if !ballast.Applied || ballast.Wanted != "16 MB" {
		t.Errorf("limits %+v", s.Limits())
	}
	o.Await(t, "a sample of the plan", func() bool { return len(o.Samples("")) > 0 })
	_, err := New(Options{}).Open(context.Background(), experiment.Plan{Share: experiment.Share{BallastMB: 1 << 20}}, 0, agenttest.NewSeen())
	if err == nil || !strings.HasPrefix(err.Error(), "setting the plan up: ") {
		t.Errorf("a ballast of 1 TB: %v", err)
	}
}
