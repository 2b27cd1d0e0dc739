package record

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func resume(t *testing.T, path string) *Writer {
	t.Helper()
	w, err := Resume(path, "0.2.0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// TestResumeAfterSIGKILL takes up a record whose writer was killed, twice.
func TestResumeAfterSIGKILL(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	killedRecord(t, dir)
	r := open(t, dir)
	before := must(r.Counts(ctx))(t)
	cutReason := must(r.Run(ctx))(t).Reason
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r.db, r.queryDB = nil, nil

	w := resume(t, dir)
	during := open(t, dir)
	if run := must(during.Run(ctx))(t); run.Status != Running || run.Reason != "" || run.EndedNs != 0 {
		t.Errorf("the run that was taken up is %s (%s), ended %d", run.Status, run.Reason, run.EndedNs)
	}
	reps := must(during.Repetitions(ctx))(t)
	if reps[0].Status != Done || reps[1].Status != Interrupted || reps[1].Reason != cutReason {
		t.Errorf("repetitions: %+v, want the second interrupted: %s", reps, cutReason)
	}
	for _, id := range []struct {
		what      string
		got, want int64
	}{
		{"step", must(w.AddStep(Step{Ordinal: 2, Name: "S2", JSON: "{}"}))(t), 2},
		{"repetition", must(w.BeginRepetition(Repetition{StepID: 1, Number: 2, Position: 3, StartedNs: at(time.Hour), Status: Running}))(t), 3},
		{"app", must(w.AddApp(App{RepetitionID: 3, Name: "site"}))(t), 2},
		{"stream", must(w.AddStream(Stream{RepetitionID: 3, AppID: 2, Ordinal: 1}))(t), 2},
	} {
		if id.got != id.want {
			t.Errorf("%s %d, want %d", id.what, id.got, id.want)
		}
	}
	for _, err := range []error{
		w.Probe(2, &Probe{Seq: 1, Outcome: "a new word", Done: at(time.Hour)}), w.Finish(Broken, "no room"), w.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := resume(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	after := open(t, dir)
	if got := must(after.Counts(ctx))(t); got.Probes != before.Probes+1 || got.Repetitions != 3 || got.Steps != 2 {
		t.Errorf("%+v after %+v", got, before)
	}
	taken := must(after.Resumptions(ctx))(t)
	if len(taken) != 2 || taken[1].AtNs < taken[0].AtNs {
		t.Fatalf("resumptions: %+v", taken)
	}
	taken[0].AtNs, taken[1].AtNs = 0, 0
	equal(t, "resumptions", taken, []Resumption{
		{Brink: "0.2.0", FromRepetition: 3, Status: Interrupted, Reason: cutReason},
		{Brink: "0.2.0", FromRepetition: 4, Status: Broken, Reason: "no room"},
	})
}

func TestResumeRefuses(t *testing.T) {
	refused := func(path, want string) {
		t.Helper()
		_, err := Resume(path, "0.2.0")
		if !errors.Is(err, ErrNotResumable) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want a refusal: %s", err, want)
		}
	}
	refused(newFixture(t), "cannot be resumed: its run is done")

	old := copyOf(t, golden)
	refused(old, "cannot be resumed: an older brink began it (schema 1; this one writes 2)")
	if before, after := must(os.ReadFile(golden))(t), must(os.ReadFile(old))(t); string(before) != string(after) {
		t.Error("the refused record was changed")
	}

	dir := t.TempDir()
	first := create(t, dir)
	if err := first.Flush(); err != nil {
		t.Fatal(err)
	}
	refused(dir, "cannot be resumed: a process is writing it")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	resume(t, dir)
	refused(dir, "cannot be resumed: a process is writing it")

	if _, err := Resume(t.TempDir(), "0.2.0"); !errors.Is(err, ErrNotRun) {
		t.Errorf("a directory without a record: %v", err)
	}
}

// TestResumersRace lets only one of several have the record.
func TestResumersRace(t *testing.T) {
	dir := t.TempDir()
	if err := create(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	const racers = 4
	writers, refusals := make(chan *Writer, racers), make(chan error, racers)
	for range racers {
		go func() {
			w, err := Resume(dir, "0.2.0")
			if err != nil {
				refusals <- err
				return
			}
			writers <- w
		}()
	}
	for range racers - 1 {
		if err := <-refusals; !errors.Is(err, ErrNotResumable) {
			t.Errorf("one that came second got %v", err)
		}
	}
	if err := (<-writers).Close(); err != nil {
		t.Error(err)
	}
}

// A run that is done becomes one of a larger design; what it was stands in the record.
func TestExtendADoneRun(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	first, err := Create(dir, Run{ID: "r", YAML: "old", Profile: "core", Seed: 3, Overrides: []string{"a=1"}})
	if err != nil {
		t.Fatal(err)
	}
	second(first.AddStep(Step{Ordinal: 1, Name: "late", JSON: "{}"}))
	for _, err := range []error{first.Finish(Done, ""), first.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w, err := Extend(dir, "0.3.0", Extension{YAML: "new", Profile: "standard"})
	if err != nil {
		t.Fatal(err)
	}
	second(w.AddStep(Step{Ordinal: 1, Name: "early", JSON: "{}"}))
	for _, err := range []error{w.SetStepOrdinal(1, 2), w.Finish(Done, ""), w.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r := open(t, dir)
	if run := must(r.Run(ctx))(t); run.YAML != "new" || run.Profile != "standard" || len(run.Overrides) != 0 || run.Seed != 3 || run.Status != Done {
		t.Errorf("the run is %+v", run)
	}
	if steps := must(r.Steps(ctx))(t); len(steps) != 2 || steps[0].Name != "early" || steps[1].Name != "late" {
		t.Errorf("steps %+v, want early before late", steps)
	}
	taken := must(r.Resumptions(ctx))(t)
	taken[0].AtNs = 0
	equal(t, "resumptions", taken, []Resumption{{Brink: "0.3.0", FromRepetition: 1, Status: Done, Reason: "all of profile core"}})
}
