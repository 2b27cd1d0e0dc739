package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"brink/internal/doctor"
	"brink/internal/record"
	"brink/internal/wire"
)

// killedRun is the directory of a run of so many repetitions of a step, in the
// second of which the kernel kills the app. Nothing was sampled.
func killedRun(t *testing.T, step string, repetitions int) string {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	at := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC).UnixNano()
	w, err := record.Create(dir, record.Run{ID: "r", Brink: "test", Experiment: "made-up", YAML: "name: made-up\n", Host: "local", StartedNs: at})
	check(err)
	id, err := w.AddStep(record.Step{Ordinal: 1, Name: step, JSON: "{}"})
	check(err)
	for n := 1; n <= repetitions; n++ {
		rep := record.Repetition{StepID: id, Number: n, Position: n, StartedNs: at, Status: record.Running}
		rep.ID, err = w.BeginRepetition(rep)
		check(err)
		check(w.Event(rep.ID, wire.Event{App: "web", AtNs: at, Kind: wire.Deployed}))
		if n == 2 {
			check(w.Event(rep.ID, wire.Event{App: "web", AtNs: at + int64(time.Second), Kind: wire.OOMKilled}))
		}
		at += int64(time.Minute)
		rep.EndedNs, rep.Status = at, record.Done
		check(w.UpdateRepetition(rep))
	}
	check(w.Finish(record.Done, ""))
	check(w.Close())
	return dir
}

// Each repetition has its line, the worst of them is the verdict, and the first
// with findings is the one to look at next.
func TestDoctorJudgesEachRepetitionOfARun(t *testing.T) {
	dir := killedRun(t, "8x50", 3)
	code, out, said := examine(t, false, dir)
	if code != 1 || !strings.HasPrefix(out, "Of 3 repetitions there is 1 with findings.\n") || !strings.HasSuffix(out, " --repetition 2\n") {
		t.Fatalf("exit code %d: %s%s", code, out, said)
	}
	var lines []string
	for line := range strings.Lines(out) {
		if strings.Contains(line, "8x50 #") {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "2 8x50 #2 findings oom-kill") || strings.Contains(lines[0]+lines[2], "findings") {
		t.Errorf("%q", lines)
	}
	code, out, _ = examine(t, true, dir)
	var run wholeRun
	if err := json.Unmarshal([]byte(out), &run); err != nil || code != 1 {
		t.Fatalf("exit code %d, %v: %s", code, err, out)
	}
	if len(run.Repetitions) != 3 || run.Format != runFormat || run.Verdict != doctor.Findings || run.Repetitions[1].Report.Verdict != doctor.Findings {
		t.Errorf("the document is %+v", run)
	}
}

func TestDoctorOfARunWithoutRepetitions(t *testing.T) {
	code, _, said := examine(t, false, killedRun(t, "8x50", 0))
	if code != exitInput || !strings.HasSuffix(said, ": no repetition of the run was begun") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

// A record that somebody sent may call its steps anything.
func TestDoctorsTicketHoldsNamesAsCode(t *testing.T) {
	_, out, _ := examine(t, false, "--format", "markdown", killedRun(t, "a|b\n`<img src=x>\x1b[2J", 2))
	if !strings.Contains(out, "\n| 1 | `a\\|b '<img src=x> [2J #1` | ") || strings.ContainsRune(out, '\x1b') {
		t.Errorf("it prints %q", out)
	}
}
