package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"brink/internal/clock"
	"brink/internal/experiment"
	"brink/internal/record"
)

// everything is a design with all kinds of units: a baseline with its twin, a
// ladder of two rungs, and an intervention.
func everything() *experiment.Design {
	base, r0, r1, on, off := plain("base"), plain("r0"), plain("r1"), plain("on"), plain("off")
	r0.Ladder, r1.Ladder, r1.Rung = "up", "up", 1
	d := design(2, base, r0, on, r1, off)
	d.Experiment.Baseline = "base"
	d.Experiment.Hypotheses = []experiment.Hypothesis{{Form: experiment.CausedBy, On: "on", Off: "off"}}
	for i := range d.Steps {
		d.Steps[i].Traffic = []experiment.Traffic{pings("site", 1)}
	}
	return d
}

// executions is how many parts a run of everything has: in each of two rounds two
// of the baseline, two rungs and four phases.
const executions = 16

// cutAt runs everything until the n-th execution (from 0) begins its traffic,
// and stops it there.
func cutAt(t testing.TB, dir string, n int, earlier *Earlier, w *record.Writer) Result {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	seen := -1
	o := Options{Design: everything(), Host: newSharedHost(t), Record: w, Seed: 7, Clock: hurried, Earlier: earlier}
	o.Progress = func(p Progress) {
		if p.Stage == Traffic && p.Index-1 > seen {
			if seen = p.Index - 1; seen >= n {
				cancel()
			}
		}
	}
	result, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return result
}

// resumed opens the record in dir to go on.
func resumed(t testing.TB, dir string) (*Earlier, *record.Writer) {
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	earlier, err := ReadEarlier(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	w, err := record.Resume(dir, "later")
	if err != nil {
		t.Fatal(err)
	}
	return earlier, w
}

func begin(t testing.TB, dir string) *record.Writer {
	w, err := record.Create(dir, record.Run{ID: "r", Experiment: "test", StartedNs: clock.Real.Now().UnixNano(), Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Wherever a run is cut, and however often, in the end every execution of its
// order is there once, in its place, with those of a unit on one plan; what was
// cut is there too, as interrupted.
func TestACutRunGoesOnAtTheUnitThatWasCut(t *testing.T) {
	all := [][]int{{3, 3}, {5, 6}, {2, 9, 9}}
	for n := range executions {
		all = append(all, []int{n})
	}
	for _, cuts := range all {
		t.Run(fmt.Sprint(cuts), func(t *testing.T) {
			dir := t.TempDir()
			result := cutAt(t, dir, cuts[0], nil, begin(t, dir))
			for _, next := range append(cuts[1:], executions) {
				if !result.Interrupted {
					t.Fatalf("a run that was stopped says %+v", result)
				}
				earlier, w := resumed(t, dir)
				result = cutAt(t, dir, next, earlier, w)
			}
			if result.Interrupted || len(result.NeverServed) != 0 {
				t.Fatalf("the last run says %+v", result)
			}
			checkWhole(t, dir)
		})
	}
}

// checkWhole compares a record with the order that its seed gives.
func checkWhole(t *testing.T, dir string) {
	t.Helper()
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx := context.Background()
	steps, err := r.Steps(ctx)
	if err != nil || len(steps) != 5 {
		t.Fatalf("%d steps, %v; want each of the 5 once", len(steps), err)
	}
	names := map[int64]string{}
	for _, s := range steps {
		names[s.ID] = s.Name
	}
	facts, err := r.Facts(ctx)
	if err != nil || len(facts) != 2 {
		t.Fatalf("facts %v, %v; want the host's two, once", facts, err)
	}
	reps, err := r.Repetitions(ctx)
	if err != nil {
		t.Fatal(err)
	}
	counted := slices.DeleteFunc(reps, func(x record.Repetition) bool { return x.Status == record.Interrupted })
	i := 0
	for _, u := range order(everything(), 7) {
		for k, p := range u.parts {
			if i >= len(counted) {
				t.Fatalf("%d executions count, want %d", len(counted), executions)
			}
			x := counted[i]
			i++
			if x.Status != record.Done || names[x.StepID] != p.step.Name || x.Number != p.number || x.Twin != p.twin || x.Phase != p.phase || x.Position != i {
				t.Fatalf("execution %d is %s of %s, %+v; want %+v", i, x.Status, names[x.StepID], x, p)
			}
			if k > 0 && x.ID != counted[i-2].ID+1 {
				t.Fatalf("execution %d is not on the plan of the one before it: ids %d and %d", i, counted[i-2].ID, x.ID)
			}
		}
	}
	if i != len(counted) {
		t.Fatalf("%d executions count, want %d", len(counted), i)
	}
}

// A rung that was executed before its ladder was cut does not count, and says so.
func TestTheRungsOfACutLadderDoNotCount(t *testing.T) {
	dir := t.TempDir()
	at := 0 // the execution that is the second rung
	for _, u := range order(everything(), 7) {
		if u.parts[0].step.Name == "r0" {
			at++
			break
		}
		at += len(u.parts)
	}
	cutAt(t, dir, at, nil, begin(t, dir))
	earlier, w := resumed(t, dir)
	cutAt(t, dir, executions, earlier, w)
	checkWhole(t, dir)
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	reps, err := r.Repetitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first, second := reps[at-1], reps[at]
	const anew = "the run was cut before the end of what this belongs to, which was executed anew"
	if first.Status != record.Interrupted || first.Reason != anew || first.TrafficNs == 0 || first.EndedNs == 0 {
		t.Errorf("the first rung is %+v", first)
	}
	if second.Status != record.Interrupted || second.Reason != "stopped before traffic" {
		t.Errorf("the second rung is %+v", second)
	}
}

// A run that was killed at its very beginning has steps, and a repetition
// without an end.
func TestARunThatWasKilledGoesOn(t *testing.T) {
	dir := t.TempDir()
	w := begin(t, dir)
	d := everything()
	for i, s := range d.Steps {
		if _, err := w.AddStep(record.Step{Ordinal: i + 1, Name: s.Name, JSON: stepText(t, s)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.BeginRepetition(record.Repetition{StepID: 1, Number: 1, Position: 1, StartedNs: 1, Status: record.Running}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	earlier, w := resumed(t, dir)
	cutAt(t, dir, executions, earlier, w)
	checkWhole(t, dir)
}

func TestARecordOfAnotherDesignIsRefused(t *testing.T) {
	dir := t.TempDir()
	cutAt(t, dir, 3, nil, begin(t, dir))
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	earlier, err := ReadEarlier(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if err := earlier.Fits(everything()); err != nil {
		t.Errorf("the same design: %v", err)
	}
	for want, change := range map[string]func(*experiment.Design){
		"its record has a step off, which is not to be executed now": func(d *experiment.Design) { d.Steps = d.Steps[:4] },
		"step base is not what the record says that it was":          func(d *experiment.Design) { d.Steps[0].Apps[0].Workers = 9 },
		"it had 5 steps and would have 6 now":                        func(d *experiment.Design) { d.Steps = append(d.Steps, plain("more")) },
	} {
		d := everything()
		change(d)
		if err := earlier.Fits(d); err == nil || err.Error() != "the run cannot be resumed: "+want {
			t.Errorf("%v, want %q", err, want)
		}
		extended := *earlier
		extended.Extended = true
		switch err := extended.Fits(d); {
		case len(d.Steps) > 5:
			if err != nil {
				t.Errorf("more steps when it is extended: %v", err)
			}
		case err == nil || err.Error() != "the run cannot be extended: "+want:
			t.Errorf("extended: %v, want %q", err, want)
		}
	}
}

// What an earlier run saw counts in what the run says of its steps.
func TestAStepThatServedEarlierHasServed(t *testing.T) {
	l := &lab{Options: Options{Earlier: &Earlier{}}, served: map[string]bool{}, stepIDs: map[string]int64{"a": 1, "b": 2}}
	a, b := plain("a"), plain("b")
	l.Earlier.repetitions = []record.Repetition{
		{ID: 1, StepID: 1, Number: 1, Status: record.Failed}, {ID: 2, StepID: 1, Number: 2, Status: record.Invalid},
		{ID: 3, StepID: 2, Number: 1, Status: record.Failed},
	}
	for _, p := range []part{{step: &a, number: 1}, {step: &a, number: 2}, {step: &b, number: 1}} {
		if skip, err := l.skip(unit{parts: []part{p}}); !skip || err != nil {
			t.Errorf("%+v: skipped %v, %v", p, skip, err)
		}
	}
	if got := fmt.Sprint(l.served, l.index); got != "map[a:true b:false] 3" {
		t.Errorf("served %s", strings.TrimSpace(got))
	}
}
