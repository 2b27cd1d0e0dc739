package lab

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"brink/internal/clock"
	"brink/internal/experiment"
)

// three is a step with the apps a, b and c, and traffic at a.
func three(start string) experiment.Step {
	return experiment.Step{
		Name: "s", Start: start, Apps: []experiment.App{app("a"), app("b"), app("c")},
		Traffic: []experiment.Traffic{pings("a", 3)},
	}
}

// begun tells of each app when its deployment has begun.
type begun map[string]chan struct{}

func newBegun(names ...string) begun {
	b := begun{}
	for _, n := range names {
		b[n] = make(chan struct{})
	}
	return b
}

// await waits for a deployment; an error is one that never comes.
func (b begun) await(ctx context.Context, name string) error {
	select {
	case <-b[name]:
		return nil
	case <-ctx.Done():
		select {
		case <-b[name]: // it came before the end
			return nil
		default:
			return ctx.Err()
		}
	case <-time.After(20 * time.Second):
		return errors.New(name + " was not begun meanwhile")
	}
}

// Under start: together no app waits for another: here each comes up only once
// all of them have begun.
func TestTogetherStartsAllAppsAtOnce(t *testing.T) {
	h, b := newFakeHost(t, nil), newBegun("a", "b", "c")
	h.deploy = func(ctx context.Context, a experiment.App) error {
		close(b[a.Name])
		return errors.Join(b.await(ctx, "a"), b.await(ctx, "b"), b.await(ctx, "c"))
	}
	r := run(t, t.Context(), Options{Design: design(1, three("together")), Host: h})
	if r.err != nil || r.Done != 1 || len(r.probes(1)) != 3 {
		t.Fatalf("%+v, %v", r.Result, r.err)
	}
	var names []string
	for _, a := range r.apps(1) {
		names = append(names, a.Name)
		if a.Addr != h.addr {
			t.Errorf("app %s answers at %q, want %q", a.Name, a.Addr, h.addr)
		}
	}
	if got := strings.Join(names, " "); got != "a b c" {
		t.Errorf("apps %s in the record, want those of the file in its order", got)
	}
}

// Under start: staggered the next app is begun after the stagger, whether the one
// before it is up or not: here a comes up last.
func TestStaggeredStartsOneAppAfterEachStagger(t *testing.T) {
	h, b := newFakeHost(t, nil), newBegun("a", "b", "c")
	var order []string
	var mu sync.Mutex
	h.deploy = func(ctx context.Context, a experiment.App) error {
		mu.Lock()
		order = append(order, a.Name)
		mu.Unlock()
		close(b[a.Name])
		if a.Name == "a" {
			return b.await(ctx, "c")
		}
		return b.await(ctx, "a")
	}
	var slept []time.Duration
	c := hookedClock{clock.Real, func(d time.Duration) bool {
		if d == time.Minute {
			if err := b.await(t.Context(), []string{"a", "b"}[len(slept)]); err != nil {
				t.Error(err)
			}
			slept = append(slept, d)
		}
		return true
	}}
	s := three("staggered")
	s.Stagger = experiment.Duration(time.Minute)
	r := run(t, t.Context(), Options{Design: design(1, s), Host: h, Clock: c})
	if r.err != nil || r.Done != 1 {
		t.Fatalf("%+v, %v", r.Result, r.err)
	}
	if len(slept) != 2 || strings.Join(order, " ") != "a b c" {
		t.Errorf("begun %v with %v between, want a, b, c and a minute twice", order, slept)
	}
}

// Otherwise an app is begun when the one before it is up or has failed.
func TestAppsStartOneAfterAnother(t *testing.T) {
	h := newFakeHost(t, nil)
	var mu sync.Mutex
	under, most := 0, 0
	h.deploy = func(context.Context, experiment.App) error {
		mu.Lock()
		under++
		most = max(most, under)
		mu.Unlock()
		time.Sleep(5 * time.Millisecond)
		mu.Lock()
		under--
		mu.Unlock()
		return nil
	}
	r := run(t, t.Context(), Options{Design: design(1, three("")), Host: h})
	if r.err != nil || r.Done != 1 || most != 1 {
		t.Errorf("%+v, %v with %d at once", r.Result, r.err, most)
	}
}

// observed is three apps started together and observed for a moment.
func observed() experiment.Step {
	s := three("together")
	s.Observe = experiment.Duration(30 * time.Millisecond)
	return s
}

// An app that is not up when traffic begins goes on starting; that it comes up
// later is recorded.
func TestTrafficDoesNotWaitLongerThanTheStepObserves(t *testing.T) {
	b := newBegun("traffic")
	h := newFakeHost(t, nil)
	h.asked = func(*http.Request) { close(b["traffic"]) }
	h.deploy = func(ctx context.Context, a experiment.App) error {
		switch a.Name {
		case "b":
			return b.await(ctx, "traffic")
		case "c": // never comes up
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	s := observed()
	s.Traffic = []experiment.Traffic{pings("a", 1), pings("c", 2)}
	r := run(t, t.Context(), Options{Design: design(1, s), Host: h})
	if r.err != nil || r.Done != 1 || len(r.NeverServed) != 0 {
		t.Fatalf("%+v, %v", r.Result, r.err)
	}
	want := map[string]string{"a": h.addr, "b": h.addr, "c": ""}
	for _, a := range r.apps(1) {
		if a.Addr != want[a.Name] {
			t.Errorf("app %s has the address %q, want %q", a.Name, a.Addr, want[a.Name])
		}
	}
	if n := len(r.streams(1)); n != 1 || !slices.Equal(h.closes(), []int{1}) {
		t.Errorf("%d streams, sessions closed %v; want that at a, and one closed once", n, h.closes())
	}
}

func TestNoAppIsUpInTime(t *testing.T) {
	h := newFakeHost(t, nil)
	h.deploy = func(ctx context.Context, _ experiment.App) error {
		<-ctx.Done()
		return ctx.Err()
	}
	s := plain("s")
	s.Observe = experiment.Duration(20 * time.Millisecond)
	r := run(t, t.Context(), Options{Design: design(1, s), Host: h})
	const want = "app site was not up 20ms after the last deployment"
	if rep := r.repetitions()[0]; r.err != nil || r.Failed != 1 || rep.Reason != want || !slices.Equal(r.NeverServed, []string{"s"}) {
		t.Errorf("%+v, %v; the repetition is %s: %s", r.Result, r.err, rep.Status, rep.Reason)
	}
}

// What an earlier rung began and did not see come up is waited for by the next,
// and is not begun again.
func TestALaterRungFindsTheAppThatStarts(t *testing.T) {
	h, b := newFakeHost(t, nil), newBegun("c")
	h.deploy = func(ctx context.Context, a experiment.App) error {
		switch a.Name {
		case "b":
			return b.await(ctx, "c")
		case "c":
			close(b["c"])
		}
		return nil
	}
	first, second := observed(), three("together")
	first.Name, first.Ladder, first.Apps = "first", "up", first.Apps[:2]
	second.Name, second.Ladder, second.Rung = "second", "up", 1
	second.Traffic = []experiment.Traffic{pings("b", 2)}
	r := run(t, t.Context(), Options{Design: design(1, first, second), Host: h})
	if r.err != nil || r.Done != 2 || len(r.probes(2)) != 2 {
		t.Fatalf("%+v, %v with %d requests at b", r.Result, r.err, len(r.probes(2)))
	}
	names := slices.Sorted(slices.Values(h.sessions[0].deployed))
	if got := strings.Join(names, " "); got != "a b c" {
		t.Errorf("deployed %s, want each once", got)
	}
}

// A host that breaks while an app starts behind the traffic breaks the run.
func TestAHostThatBreaksBehindTheTraffic(t *testing.T) {
	b := newBegun("traffic", "broken")
	h := newFakeHost(t, nil)
	h.asked = func(*http.Request) {
		close(b["traffic"])
		if err := b.await(t.Context(), "broken"); err != nil {
			t.Error(err)
		}
		time.Sleep(100 * time.Millisecond) // until the lab has heard of it
	}
	broken := errors.New("the agent is gone")
	h.deploy = func(ctx context.Context, a experiment.App) error {
		if a.Name != "b" {
			return nil
		}
		if err := b.await(ctx, "traffic"); err != nil {
			return err
		}
		close(b["broken"])
		return broken
	}
	s := observed()
	s.Traffic = []experiment.Traffic{pings("a", 1)}
	r := run(t, t.Context(), Options{Design: design(2, s), Host: h})
	if !errors.Is(r.err, broken) || len(r.repetitions()) != 1 {
		t.Errorf("%+v, %v; want that the agent is gone, in the first repetition", r.Result, r.err)
	}
	r.ended("broken", "deploy b: the agent is gone")
}
