package lab

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"brink/internal/clock"
	"brink/internal/experiment"
	"brink/internal/host"
	"brink/internal/wire"
)

func TestARunIsWrittenDownInTheOrderOfItsSeed(t *testing.T) {
	d := design(3, plain("a"), plain("b"), plain("c"))
	d.Experiment.Baseline = "b"
	h := newFakeHost(t, nil)
	r := run(t, t.Context(), Options{Design: d, Host: h, Seed: 42})
	if r.err != nil || r.Done != 12 || r.Failed+r.Invalid != 0 || len(r.NeverServed) != 0 || r.Interrupted {
		t.Fatalf("%+v, %v; want 12 done", r.Result, r.err)
	}
	r.ended("done", "")
	names := r.stepNames()
	reps := r.repetitions()
	i := 0
	for _, u := range order(d, 42) {
		for _, p := range u.parts {
			rep := reps[i]
			i++
			if names[rep.StepID] != p.step.Name || rep.Number != p.number || rep.Twin != p.twin || rep.Position != i || rep.Phase != 0 {
				t.Errorf("execution %d is %s %+v, want %s %+v", i, names[rep.StepID], rep, p.step.Name, p)
			}
			if rep.Status != "done" || !slices.IsSorted([]int64{rep.StartedNs, rep.TrafficNs, rep.TrafficEndNs, rep.EndedNs}) {
				t.Errorf("execution %d: %+v", i, rep)
			}
			probes := r.probes(rep.ID)
			if len(probes) != 3 {
				t.Errorf("execution %d has %d requests, want 3", i, len(probes))
			}
			for _, p := range probes {
				if p.Due < rep.TrafficNs || p.Done > rep.TrafficEndNs || p.Outcome != "ok" || p.Pid != 77 || p.ServedNs != 1000 || p.Status != 200 {
					t.Errorf("execution %d from %d to %d: %+v", i, rep.TrafficNs, rep.TrafficEndNs, p)
				}
			}
			if e := r.events(rep.ID); len(e) != 4 || e[3].Kind != wire.Stopped {
				t.Errorf("execution %d has the events %+v, want deployed, started, healthy, stopped", i, e)
			}
		}
	}
	if i != len(reps) || slices.Max(h.closes()) != 1 || slices.Min(h.closes()) != 1 || len(h.sessions) != 12 {
		t.Errorf("%d executions, sessions closed %v; want 12 closed once", len(reps), h.closes())
	}
	if cpus := r.table().MachineCPUs; cpus != 3 {
		t.Errorf("the record's machine has %d CPUs, the host has 3", cpus)
	}
}

func TestTheRecordHoldsWhatWasResolved(t *testing.T) {
	s := plain("a")
	s.Title, s.Plan.CPUs, s.Settle = "An app", 1, experiment.Duration(time.Minute)
	s.Apps = append(s.Apps, app("other"))
	constant := experiment.Traffic{
		App: "other", Kind: "rate", Path: "/ping?x=1", Rate: 200, Duration: experiment.Duration(100 * time.Millisecond),
		Timeout: experiment.Duration(time.Second), Arrivals: "constant", Start: experiment.Duration(time.Minute),
	}
	s.Traffic = append(s.Traffic, constant)
	r := run(t, t.Context(), Options{Design: design(1, s), Host: newFakeHost(t, nil)})
	if r.err != nil {
		t.Fatal(r.err)
	}
	steps, err := r.Steps(t.Context())
	if err != nil || len(steps) != 1 {
		t.Fatal(steps, err)
	}
	var back experiment.Step
	if err := json.Unmarshal([]byte(steps[0].JSON), &back); err != nil || back.Title != "An app" || back.Settle != s.Settle || len(back.Traffic) != 2 {
		t.Errorf("the step came back as %+v, %v", back, err)
	}
	if limits := r.repetitions()[0].Limits; !strings.Contains(limits, `"Wanted":"1"`) {
		t.Errorf("limits %s", limits)
	}
	apps, streams := r.apps(1), r.streams(1)
	if len(apps) != 2 || apps[0].Name != "site" || apps[1].Name != "other" || apps[0].Addr == "" || apps[0].Workers != 2 || apps[0].Server == "" {
		t.Errorf("apps %+v", apps)
	}
	if len(streams) != 2 || streams[0].AppID != apps[0].ID || streams[1].AppID != apps[1].ID || streams[1].Path != "/ping?x=1" || streams[1].Method != "GET" {
		t.Fatalf("streams %+v", streams)
	}
	// 200 requests per second for 100 ms.
	if streams[0].Scheduled != 3 || streams[1].Scheduled != 20 || streams[1].Sent != 20 {
		t.Errorf("%d and %d of %d requests, want 3 and 20", streams[0].Scheduled, streams[1].Sent, streams[1].Scheduled)
	}
	var stream experiment.Traffic
	if err := json.Unmarshal([]byte(streams[1].JSON), &stream); err != nil || stream != constant {
		t.Errorf("the stream came back as %+v, %v", stream, err)
	}
}

// Rungs add apps to a plan that already serves: one plan, and no app twice.
func TestALadderIsOnePlan(t *testing.T) {
	var steps []experiment.Step
	for i, name := range []string{"one", "two", "three"} {
		s := experiment.Step{Name: name, Ladder: "up", Rung: i}
		for _, a := range []string{"a", "b", "c"}[:i+1] {
			s.Apps = append(s.Apps, app(a))
			s.Traffic = append(s.Traffic, pings(a, 1))
		}
		steps = append(steps, s)
	}
	h := newFakeHost(t, nil)
	r := run(t, t.Context(), Options{Design: design(1, steps...), Host: h})
	if r.err != nil || r.Done != 3 || len(h.sessions) != 1 || h.sessions[0].closed != 1 {
		t.Fatalf("%+v, %v, sessions closed %v; want 3 done in one", r.Result, r.err, h.closes())
	}
	if got := strings.Join(h.sessions[0].deployed, " "); got != "a b c" {
		t.Errorf("deployed %s, want a b c, each once", got)
	}
	for i, name := range []string{"a", "b", "c"} {
		rep := int64(i + 1)
		if apps := r.apps(rep); len(apps) != 1 || apps[0].Name != name {
			t.Errorf("rung %d has the new apps %+v, want %s", i, apps, name)
		}
		if n := len(r.probes(rep)); n != i+1 {
			t.Errorf("rung %d has %d requests, want one at each of %d apps", i, n, i+1)
		}
		if e := r.events(rep, wire.Deployed); len(e) != 1 || e[0].App != name {
			t.Errorf("rung %d has the deployments %+v", i, e)
		}
	}
}

// Settle before all traffic, wash-out before each later phase, and a warm-up
// that is no pause at all: exactly these, and all through the clock.
func TestPausesGoThroughTheClock(t *testing.T) {
	on, off := plain("on"), plain("off")
	for _, s := range []*experiment.Step{&on, &off} {
		s.Settle, s.WashOut, s.WarmUp = experiment.Duration(time.Hour), experiment.Duration(3*time.Hour), experiment.Duration(5*time.Hour)
	}
	d := design(1, on, off)
	d.Experiment.Hypotheses = []experiment.Hypothesis{{Form: experiment.CausedBy, On: "on", Off: "off"}}
	var mu sync.Mutex
	var slept []time.Duration
	c := hookedClock{clock.Real, func(d time.Duration) bool {
		mu.Lock()
		defer mu.Unlock()
		if d > 0 {
			slept = append(slept, d)
		}
		return true
	}}
	h := newFakeHost(t, nil)
	r := run(t, t.Context(), Options{Design: d, Host: h, Clock: c})
	if r.err != nil || r.Done != 4 || len(h.sessions) != 1 {
		t.Fatalf("%+v, %v in %d sessions", r.Result, r.err, len(h.sessions))
	}
	var want []time.Duration
	for phase := range 4 {
		pause := 3 * time.Hour
		if phase == 0 {
			pause = time.Hour
		}
		want = append(want, pause, tail, tail)
	}
	if !slices.Equal(slept, want) {
		t.Errorf("slept %v, want %v", slept, want)
	}
	for i, rep := range r.repetitions() {
		if rep.Phase != i+1 || rep.Number != 1 {
			t.Errorf("execution %d is phase %d of repetition %d", i+1, rep.Phase, rep.Number)
		}
	}
}

// A step whose app started once has served; one whose app never did has not.
func TestNeverServedNamesOnlyStepsThatNeverServed(t *testing.T) {
	flaky, dead, good := plain("flaky"), plain("dead"), plain("good")
	flaky.Apps[0].Name, dead.Apps[0].Name = "flaky", "dead"
	flaky.Traffic[0].App, dead.Traffic[0].App = "flaky", "dead"
	h := newFakeHost(t, nil)
	tries := 0
	h.deploy = func(_ context.Context, a experiment.App) error {
		if a.Name == "flaky" {
			tries++
		}
		if a.Name == "dead" || a.Name == "flaky" && tries != 2 {
			return &host.StartError{App: a.Name, Reason: "it exited with code 3"}
		}
		return nil
	}
	r := run(t, t.Context(), Options{Design: design(3, flaky, dead, good), Host: h})
	if r.err != nil || r.Done != 4 || r.Failed != 5 || !slices.Equal(r.NeverServed, []string{"dead"}) {
		t.Errorf("%+v, %v; want 4 done, 5 failed, dead never served", r.Result, r.err)
	}
	r.ended("done", "")
	names := r.stepNames()
	for _, rep := range r.repetitions() {
		if rep.Status == "failed" && rep.Reason != "app "+names[rep.StepID]+" did not start: it exited with code 3" {
			t.Errorf("%s failed because %q", names[rep.StepID], rep.Reason)
		}
		if want := names[rep.StepID] == "good"; want && rep.Status != "done" {
			t.Errorf("a repetition of good is %s", rep.Status)
		}
	}
}

// One of two apps does not start: the other is measured all the same.
func TestTheOtherAppsOfAStepGoOn(t *testing.T) {
	s := plain("s")
	s.Apps = append(s.Apps, app("dead"))
	s.Traffic = append(s.Traffic, pings("dead", 5))
	h := newFakeHost(t, nil)
	h.deploy = func(_ context.Context, a experiment.App) error {
		if a.Name == "dead" {
			return &host.StartError{App: a.Name, Reason: "it exited with code 3"}
		}
		return nil
	}
	r := run(t, t.Context(), Options{Design: design(1, s), Host: h})
	if r.err != nil || r.Done != 1 || len(r.NeverServed) != 0 || len(r.probes(1)) != 3 {
		t.Errorf("%+v, %v with %d requests; want one done with the 3 of the app that started", r.Result, r.err, len(r.probes(1)))
	}
}

// connections leaves traffic n connections, by lowering the number of files
// that this process may open; 64 of them are those that traffic leaves to others.
func connections(t *testing.T, n int) {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	low := limit
	low.Cur = uint64(len(open) + 64 + n)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Error(err)
		}
	})
}

// The server stalls and connections run out: what was sent is not what was
// asked for. That repetition is invalid and yields no values; the others do.
func TestARateThatWasNotHeldIsInvalid(t *testing.T) {
	connections(t, 12) // some of which the record and the server take
	stalled := plain("stalled")
	stalled.Traffic = []experiment.Traffic{{
		Kind: "rate", Path: "/hang", Rate: 400, Duration: experiment.Duration(500 * time.Millisecond), Timeout: experiment.Duration(400 * time.Millisecond),
	}}
	r := run(t, t.Context(), Options{Design: design(1, stalled, plain("good")), Host: newFakeHost(t, nil)})
	if r.err != nil || r.Invalid != 1 || r.Done != 1 {
		t.Fatalf("%+v, %v; want one invalid and one done", r.Result, r.err)
	}
	names, table := r.stepNames(), r.table()
	for _, rep := range r.repetitions() {
		if names[rep.StepID] == "good" {
			if v := table.Cell("good", "last_answer_s").Values; len(v) != 1 || v[0].Missing != "" {
				t.Errorf("last_answer_s of the good step: %+v", v)
			}
			continue
		}
		if rep.Status != "invalid" || !strings.HasPrefix(rep.Reason, "asked for 400 requests per second, sent ") {
			t.Errorf("the stalled step is %s: %s", rep.Status, rep.Reason)
		}
		s := r.streams(rep.ID)[0]
		// At most 12 connections, each taken for 400 of 500 ms: of 200 requests no
		// more than 24 can be sent in time.
		if s.Held || s.Shortfall < 0.88 || s.Shortfall > 1 || s.Note != rep.Reason || s.Scheduled != 200 {
			t.Errorf("its stream is %+v", s)
		}
		for _, name := range []string{"latency_p50_ms", "failure_pct", "shortfall_pct", "requests", "cold_start_s", "cpu_pct"} {
			if v := table.Cell("stalled", name).Values; len(v) != 1 || v[0].Missing != "invalid: "+rep.Reason || v[0].X != 0 {
				t.Errorf("%s of the stalled step: %+v", name, v)
			}
		}
	}
}

// A batch that no limit of open files allows is refused before it is sent, and only
// its step has no values. Behind a front end a request takes three files: of its
// connection, where that is accepted, and of the connection to the app.
func TestABatchThatNeedsTooManyFilesIsInvalid(t *testing.T) {
	connections(t, 100)
	big, fronted := plain("big"), plain("fronted")
	big.Traffic = []experiment.Traffic{
		{Kind: "batch", Path: "/ping", Count: 60, Timeout: experiment.Duration(time.Second)},
		{Kind: "batch", Path: "/ping", Count: 60, Timeout: experiment.Duration(time.Second)},
	}
	fronted.Traffic = big.Traffic[:1]
	fronted.Plan.Platform = experiment.Platform{FrontEnd: true, Hold: experiment.Duration(time.Second)}
	r := run(t, t.Context(), Options{Design: design(1, big, fronted, plain("good")), Host: newFakeHost(t, nil)})
	if r.err != nil || r.Invalid != 2 || r.Done != 1 {
		t.Fatalf("%+v, %v; want two invalid and one done", r.Result, r.err)
	}
	for _, rep := range r.repetitions() {
		name := r.stepNames()[rep.StepID]
		if name == "good" {
			continue
		}
		want := "nothing was sent: " + map[string]string{"big": "120 requests at once need 120 open files", "fronted": "60 requests at once need 180 open files"}[name]
		if rep.Status != "invalid" || !strings.HasPrefix(rep.Reason, want) {
			t.Errorf("%s is %s: %s; want invalid: %s", name, rep.Status, rep.Reason, want)
		}
		if n := len(r.probes(rep.ID)); n != 0 {
			t.Errorf("%s: %d requests were sent", name, n)
		}
	}
}

func TestAFailedCleanUpThrowsNothingAway(t *testing.T) {
	h := newFakeHost(t, nil)
	h.closing = errors.New("pid 99 does not end")
	r := run(t, t.Context(), Options{Design: design(2, plain("a")), Host: h})
	want := []string{"clean-up: pid 99 does not end", "clean-up: pid 99 does not end"}
	if r.err != nil || r.Done != 2 || !slices.Equal(r.CleanUp, want) {
		t.Errorf("%+v, %v; want 2 done and %v", r.Result, r.err, want)
	}
	r.ended("done", strings.Join(want, "; "))
	for _, v := range r.table().Cell("a", "requests").Values {
		if v.X != 3 || v.Missing != "" {
			t.Errorf("requests: %+v, want 3", v)
		}
	}
}

// What breaks the run is told with what was recorded until then.
func TestAHostThatBreaksEndsTheRun(t *testing.T) {
	broken := errors.New("the agent is gone")
	for _, tc := range []struct {
		name   string
		set    func(*fakeHost)
		want   string
		closed []int
	}{
		{"open", func(h *fakeHost) { h.open = func(context.Context) error { return broken } }, "set up the plan: the agent is gone", nil},
		{"deploy", func(h *fakeHost) { h.deploy = func(context.Context, experiment.App) error { return broken } }, "deploy site: the agent is gone", []int{1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newFakeHost(t, nil)
			tc.set(h)
			r := run(t, t.Context(), Options{Design: design(2, plain("a")), Host: h})
			if !errors.Is(r.err, broken) || r.err.Error() != tc.want || r.Interrupted || len(r.NeverServed) != 0 {
				t.Errorf("%+v, %v; want %q", r.Result, r.err, tc.want)
			}
			r.ended("broken", tc.want)
			if reps := r.repetitions(); len(reps) != 1 || reps[0].Status != "interrupted" || reps[0].Reason != tc.want || reps[0].EndedNs == 0 {
				t.Errorf("repetitions %+v, want one that was interrupted because %q", reps, tc.want)
			}
			if !slices.Equal(h.closes(), tc.closed) {
				t.Errorf("sessions closed %v, want %v", h.closes(), tc.closed)
			}
		})
	}
}

// Traffic that cannot be sent at all breaks the run too; the repetition says so.
func TestTrafficThatCannotBeSentEndsTheRun(t *testing.T) {
	s := plain("a")
	s.Traffic[0].Path = "no slash"
	h := newFakeHost(t, nil)
	r := run(t, t.Context(), Options{Design: design(2, s), Host: h})
	if r.err == nil || !strings.Contains(r.err.Error(), `path is "no slash"`) || !slices.Equal(h.closes(), []int{1}) {
		t.Errorf("error %v, sessions closed %v", r.err, h.closes())
	}
	r.ended("broken", r.err.Error())
	if rep := r.repetitions()[0]; rep.Status != "interrupted" || rep.Reason != r.err.Error() {
		t.Errorf("the repetition is %s: %s", rep.Status, rep.Reason)
	}
}
