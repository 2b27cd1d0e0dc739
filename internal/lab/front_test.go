package lab

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"brink/internal/experiment"
	"brink/internal/host"
	"brink/internal/wire"
)

// behind puts a step's plan behind a front end that holds requests for a while.
func behind(s experiment.Step, hold time.Duration) experiment.Step {
	s.Plan.Platform = experiment.Platform{FrontEnd: true, Hold: experiment.Duration(hold)}
	return s
}

// statuses counts the answers of a repetition by their status.
func (r ran) statuses(rep int64) map[int]int {
	all := map[int]int{}
	for _, p := range r.probes(rep) {
		all[p.Status]++
	}
	return all
}

// The front end is asked for an app by its name, and passes the request on.
func TestTheFrontEndRoutesByTheAppsName(t *testing.T) {
	h := newFakeHost(t, nil)
	var mu sync.Mutex
	hosts := map[string]int{}
	h.asked = func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		hosts[r.Host]++
	}
	s := behind(three(""), time.Minute)
	s.Traffic = []experiment.Traffic{pings("a", 3), pings("c", 2)}
	r := run(t, t.Context(), Options{Design: design(1, s), Host: h})
	if r.err != nil || r.Done != 1 || r.statuses(1)[200] != 5 {
		t.Fatalf("%+v, %v; answers %v", r.Result, r.err, r.statuses(1))
	}
	if hosts["a"] != 3 || hosts["c"] != 2 || len(hosts) != 2 {
		t.Errorf("the apps were asked as %v, want 3 times as a and 2 as c", hosts)
	}
	if addr := r.apps(1)[0].Addr; addr != h.addr {
		t.Errorf("the record says that app a is at %s, it is at %s", addr, h.addr)
	}
	if limits := r.repetitions()[0].Limits; !strings.Contains(limits, `"front end"`) || !strings.Contains(limits, "held for 1m0s") {
		t.Errorf("limits %s", limits)
	}
}

// Behind a front end, traffic goes on although no app is up: requests are held
// for an app that starts and answered once it is up; for one that gave up they
// are answered with 503, as App Service does.
func TestTrafficBehindAFrontEndNeedsNoApp(t *testing.T) {
	begun := make(chan struct{})
	var once sync.Once
	h := newFakeHost(t, nil)
	h.deploy = func(ctx context.Context, a experiment.App) error {
		switch a.Name {
		case "a": // is up once its traffic has begun
			select {
			case <-begun:
			case <-ctx.Done():
			}
			return ctx.Err()
		case "b":
			return &host.StartError{App: "b", Reason: "it exited with code 3"}
		}
		<-ctx.Done() // c never comes up
		return ctx.Err()
	}
	s := behind(observed(), 2*time.Second)
	s.Traffic = []experiment.Traffic{pings("a", 1), pings("b", 2), pings("c", 1)}
	r := run(t, t.Context(), Options{Design: design(1, s), Host: h, Progress: func(p Progress) {
		if p.Stage == Traffic {
			once.Do(func() { close(begun) })
		}
	}})
	if r.err != nil || r.Done != 1 || len(r.NeverServed) != 0 {
		t.Fatalf("%+v, %v", r.Result, r.err)
	}
	want := map[string]string{"/ping of a": "[200]", "/ping of b": "[503 503]", "/ping of c": "[503]"}
	apps := map[int64]string{}
	for _, a := range r.apps(1) {
		apps[a.ID] = a.Name
	}
	for _, stream := range r.streams(1) {
		var got []int
		for p, err := range r.Probes(t.Context(), stream.ID) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, p.Status)
		}
		name := stream.Path + " of " + apps[stream.AppID]
		if fmt.Sprint(got) != want[name] {
			t.Errorf("%s was answered with %v, want %s", name, got, want[name])
		}
	}
}

// Under a platform apps that never come up are an outcome, not a run that could
// not serve: behind a front end they are asked for all the same.
func TestAStepThatNeverServedBehindAFrontEnd(t *testing.T) {
	h := newFakeHost(t, nil)
	h.deploy = func(context.Context, experiment.App) error {
		return &host.StartError{App: "site", Reason: "it exited with code 3"}
	}
	r := run(t, t.Context(), Options{Design: design(1, behind(plain("s"), time.Minute)), Host: h})
	if r.err != nil || r.Done != 1 || len(r.NeverServed) > 0 || r.statuses(1)[503] != 3 {
		t.Errorf("%+v, %v; answers %v", r.Result, r.err, r.statuses(1))
	}
}

// An app that exits is held for until it is healthy again; then it is asked where
// it was. One that is given up is not.
func TestTheFrontEndFollowsAnApp(t *testing.T) {
	h := newFakeHost(t, nil)
	var session *fakeSession
	say := func(kind wire.EventKind) { session.tell("site", kind, 0) }
	calls := 0
	h.asked = func(*http.Request) {
		if calls++; calls == 1 {
			say(wire.Exited)
			time.AfterFunc(20*time.Millisecond, func() { say(wire.Restarted); say(wire.Healthy) })
		} else {
			say(wire.GaveUp)
		}
	}
	h.deploy = func(context.Context, experiment.App) error { session = h.sessions[0]; return nil }
	s := behind(plain("s"), time.Minute)
	r := run(t, t.Context(), Options{Design: design(1, s), Host: h})
	if got := fmt.Sprint(r.statuses(1)); r.err != nil || got != "map[200:2 503:1]" || calls != 2 {
		t.Errorf("%v; answers %s in %d calls, want two by the app and then none", r.err, got, calls)
	}
}
