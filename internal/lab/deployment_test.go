package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"brink/internal/clock"
	"brink/internal/experiment"
	"brink/internal/host/local"
	"brink/internal/record"
	"brink/internal/wire"
)

// shares names the plan that a repetition may share with others, as the record
// tells it: the rungs of a ladder and the phases of a block in one round have
// one, everything else has its own.
func shares(step experiment.Step, rep record.Repetition) string {
	switch {
	case rep.Phase > 0:
		return fmt.Sprintf("block of round %d", rep.Number)
	case step.Ladder != "" && !rep.Twin:
		return fmt.Sprintf("ladder %s of round %d", step.Ladder, rep.Number)
	}
	return fmt.Sprintf("repetition %d", rep.ID)
}

// process is one process that ever was: pids are given out again, a pid with
// its start is not.
type process struct {
	pid   int
	began int64
}

// plan is what the record says of one plan.
type plan struct {
	reps      []int64
	apps      map[string]int
	deployed  map[string]int
	stopped   map[string]int
	masters   map[process]bool
	workers   map[process]bool
	answered  map[int32]bool
	from, end int64
}

// plans groups a record by plans.
func (r ran) plans() map[string]*plan {
	r.t.Helper()
	steps := map[int64]experiment.Step{}
	table := r.table()
	for id, name := range r.stepNames() {
		info, _ := table.Step(name)
		steps[id] = info.Step
	}
	all := map[string]*plan{}
	for _, rep := range r.repetitions() {
		key := shares(steps[rep.StepID], rep)
		p := all[key]
		if p == nil {
			p = &plan{
				apps: map[string]int{}, deployed: map[string]int{}, stopped: map[string]int{},
				masters: map[process]bool{}, workers: map[process]bool{}, answered: map[int32]bool{}, from: rep.StartedNs,
			}
			all[key] = p
		}
		p.reps = append(p.reps, rep.ID)
		for _, a := range r.apps(rep.ID) {
			p.apps[a.Name]++
		}
		for _, e := range r.events(rep.ID) {
			p.end = max(p.end, e.AtNs)
			switch e.Kind {
			case wire.Deployed:
				p.deployed[e.App]++
			case wire.Started:
				p.masters[process{e.Pid, e.AtNs}] = true
			case wire.WorkerBooted:
				p.workers[process{e.Pid, e.AtNs}] = true
			case wire.Stopped:
				p.stopped[e.App]++
			}
		}
		for _, q := range r.probes(rep.ID) {
			p.answered[q.Pid] = true
		}
	}
	return all
}

// Two repetitions never share a deployment. That is told from the record alone:
// its app rows, its events and who answered.
func TestRepetitionsNeverShareADeployment(t *testing.T) {
	t.Parallel()
	rung := func(i int, apps ...string) experiment.Step {
		s := experiment.Step{Name: fmt.Sprintf("rung-%d", i), Ladder: "up", Rung: i}
		for _, a := range apps {
			s.Apps = append(s.Apps, app(a))
			s.Traffic = append(s.Traffic, pings(a, 8))
		}
		return s
	}
	d := design(3, plain("base"), plain("other"), rung(0, "a"), rung(1, "a", "b"), plain("on"), plain("off"))
	d.Experiment.Baseline = "base"
	d.Experiment.Hypotheses = []experiment.Hypothesis{{Form: experiment.CausedBy, On: "on", Off: "off"}}
	// Only the pauses are left out; the apps are real.
	r := run(t, t.Context(), Options{Design: d, Host: local.New(local.Options{Program: "brink test"}), Seed: 7, Sampling: 50 * time.Millisecond})
	if r.err != nil || r.Done != 3*(2+1+2+4) || len(r.CleanUp) != 0 {
		t.Fatalf("%+v, %v; want 27 done", r.Result, r.err)
	}
	plans := r.plans()
	if len(plans) != 3*(2+1+1+1) {
		t.Errorf("%d plans, want 15: %v", len(plans), slices.Sorted(maps.Keys(plans)))
	}
	owner := map[process]string{}
	for _, key := range slices.Sorted(maps.Keys(plans)) {
		p := plans[key]
		apps := 1
		if len(p.reps) == 2 {
			apps = 2 // the ladder's second rung added one
		}
		for _, counts := range []map[string]int{p.apps, p.deployed, p.stopped} {
			if len(counts) != apps {
				t.Errorf("%s (repetitions %v): apps %v, deployed %v, stopped %v; want %d", key, p.reps, p.apps, p.deployed, p.stopped, apps)
			}
			for name, n := range counts {
				if n != 1 {
					t.Errorf("%s: app %s stands %d times; want once deployed and once stopped", key, name, n)
				}
			}
		}
		// A master may have replaced a worker that was asked to go before it was.
		if len(p.masters) != apps || len(p.workers) < 2*apps {
			t.Errorf("%s has %d masters and %d workers, want %d and at least %d", key, len(p.masters), len(p.workers), apps, 2*apps)
		}
		booted := map[int32]bool{}
		for _, processes := range []map[process]bool{p.masters, p.workers} {
			for id := range processes {
				if other := owner[id]; other != "" {
					t.Errorf("pid %d, started at %d, belongs to %s and to %s", id.pid, id.began, other, key)
				}
				owner[id] = key
				booted[int32(id.pid)] = true
				if id.began < p.from {
					t.Errorf("pid %d of %s started before it", id.pid, key)
				}
			}
		}
		for pid := range p.answered {
			if !booted[pid] {
				t.Errorf("%s was answered by pid %d, which is not one of its workers", key, pid)
			}
		}
	}
	// One plan is gone before the next one is set up.
	order := slices.SortedFunc(maps.Values(plans), func(a, b *plan) int { return int(a.reps[0] - b.reps[0]) })
	for i := 1; i < len(order); i++ {
		if order[i].from < order[i-1].end {
			t.Errorf("the plan of repetitions %v was set up before that of %v was gone", order[i].reps, order[i-1].reps)
		}
	}
}

// The opposite, which shows that the proof above can fail: rungs and phases do
// share their processes.
func TestRungsAndPhasesShareADeployment(t *testing.T) {
	t.Parallel()
	first, second := plain("first"), plain("second")
	first.Ladder, second.Ladder, second.Rung = "up", "up", 1
	d := design(1, first, second, plain("on"), plain("off"))
	d.Experiment.Hypotheses = []experiment.Hypothesis{{Form: experiment.CausedBy, On: "on", Off: "off"}}
	for i := range d.Steps {
		d.Steps[i].Apps[0].Workers = 1 // so that one pid answers all
	}
	r := run(t, t.Context(), Options{Design: d, Host: local.New(local.Options{Program: "brink test"})})
	if r.err != nil || r.Done != 6 {
		t.Fatalf("%+v, %v; want 6 done", r.Result, r.err)
	}
	plans := r.plans()
	if len(plans) != 2 {
		t.Fatalf("%d plans, want a ladder and a block", len(plans))
	}
	for key, p := range plans {
		if len(p.answered) != 1 || len(p.masters) != 1 || len(p.reps) < 2 {
			t.Errorf("%s: repetitions %v were answered by %v under %v, want one pid", key, p.reps, p.answered, p.masters)
		}
	}
}

// An app that dies at start or never answers is data: the others go on.
func TestAppsThatDoNotStart(t *testing.T) {
	t.Parallel()
	command := func(name, script string) experiment.Step {
		s := plain(name)
		s.Apps[0].Runtime, s.Apps[0].Command, s.Apps[0].Workers = "command", []string{"sh", "-c", script}, 0
		s.Apps[0].StartLimit = experiment.Duration(700 * time.Millisecond)
		return s
	}
	d := design(2, command("dies", "echo no licence >&2; exit 3"), command("silent", "exec sleep 60"), plain("serves"))
	r := run(t, t.Context(), Options{Design: d, Host: local.New(local.Options{Program: "brink test"}), Seed: 3})
	if r.err != nil || r.Done != 2 || r.Failed != 4 || r.Invalid != 0 || len(r.CleanUp) != 0 {
		t.Errorf("%+v, %v; want 2 done and 4 failed", r.Result, r.err)
	}
	if !slices.Equal(r.NeverServed, []string{"dies", "silent"}) {
		t.Errorf("never served: %v", r.NeverServed)
	}
	r.ended("done", "")
	want := map[string]string{"dies": "exited with code 3", "silent": "did not answer /health within 700ms"}
	names, table := r.stepNames(), r.table()
	for _, rep := range r.repetitions() {
		name := names[rep.StepID]
		if name == "serves" {
			if rep.Status != "done" || len(r.probes(rep.ID)) != 3 {
				t.Errorf("serves: %+v with %d requests", rep, len(r.probes(rep.ID)))
			}
			continue
		}
		if rep.Status != "failed" || !strings.Contains(rep.Reason, want[name]) || len(r.streams(rep.ID)) != 0 {
			t.Errorf("%s: %s: %s; want failed: %s", name, rep.Status, rep.Reason, want[name])
		}
	}
	for name, exits := range map[string]float64{"dies": 1, "silent": 0, "serves": 0} {
		for _, v := range table.Cell(name, "exits").Values {
			if v.Missing != "" || v.X != exits {
				t.Errorf("exits of %s: %+v, want %v", name, v, exits)
			}
		}
	}
	// The silent app was waited for 0.7 s, which is all that is known.
	for _, v := range table.Cell("silent", "cold_start_s").Values {
		if !v.Censored || v.X < 0.7 {
			t.Errorf("cold start of silent: %+v, want at least 0.7", v)
		}
	}
	for _, v := range table.Cell("dies", "last_answer_s").Values {
		if !strings.Contains(v.Missing, "no licence") {
			t.Errorf("last answer of dies: %+v, want none with what the app said", v)
		}
	}
}

// A run on a real host that is stopped takes everything down and keeps what it
// has.
func TestStoppingARealRunLeavesNothing(t *testing.T) {
	t.Parallel()
	s := plain("s")
	s.Traffic = []experiment.Traffic{{App: "site", Kind: "batch", Path: "/thread-hold?secs=30", Count: 5, Timeout: experiment.Duration(time.Minute)}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := hookedClock{clock.Real, func(d time.Duration) bool { return d <= tail }}
	r := run(t, ctx, Options{
		Design: design(2, s), Host: local.New(local.Options{Program: "brink test"}), Clock: c, Sampling: 20 * time.Millisecond,
		Progress: func(p Progress) {
			if p.InFlight == 5 {
				cancel()
			}
		},
	})
	if r.err != nil || !r.Interrupted || len(r.CleanUp) != 0 {
		t.Fatalf("%+v, %v", r.Result, r.err)
	}
	reps := r.repetitions()
	if len(reps) != 1 || reps[0].Status != "interrupted" {
		t.Errorf("repetitions %+v", reps)
	}
	for _, p := range r.probes(1) {
		if p.Outcome != "canceled" {
			t.Errorf("a hold of 30 s ended with %s", p.Outcome)
		}
	}
	if n := len(r.probes(1)); n != 5 {
		t.Errorf("%d requests, want 5", n)
	}
	for _, e := range r.events(1, wire.Started, wire.WorkerBooted) {
		if alive(e.Pid) {
			t.Errorf("pid %d is still there", e.Pid)
		}
	}
	if n := len(r.events(1, wire.Stopped)); n != 1 {
		t.Errorf("the app was stopped %d times in the record, want once", n)
	}
}
