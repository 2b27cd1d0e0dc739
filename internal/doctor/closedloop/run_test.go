//go:build linux

package closedloop

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"brink/internal/doctor"
	"brink/internal/evidence"
	"brink/internal/record"
	"brink/internal/wire"
)

// TestRunInGuests has brink be the platform: what restarts apps and what
// requests come to, no kernel tells. doctor reads it in the record of the run,
// with the guest's own readings. That a plan has no room does not depend on how
// fast the machine is, but on how fast its swap disk is made.
func TestRunInGuests(t *testing.T) {
	dir := runs(t, "platform.yaml", "--host", "vm")
	for step, id := range repetitions(t, dir, 5) {
		window := evidence.Window{Repetition: id}
		switch step {
		case "room-for-all", "room-for-more":
			if r := judged(t, dir, window); len(r.Findings) > 0 {
				t.Errorf("%s: found %q:\n%s", step, modes(r), sayAll(r))
			}
		case "room-for-three":
			wantAmong(t, step, judged(t, dir, window), doctor.CapacityCliff)
		case "room-for-one":
			wantAmong(t, step, judged(t, dir, window), doctor.RestartCascade)
		case "paid-by-swap":
			wantAmong(t, step, judged(t, dir, fullUntilLast(t, dir, id, "more-6")), doctor.MemoryPlateau)
		}
	}
}

// TestSlowStart has an app that loads for longer than the two minutes that are
// called slow, within its limit, on this machine; the twin does not. It only
// waits, so that the healthy windows may be taken meanwhile.
func TestSlowStart(t *testing.T) {
	brinkProgram(t) // building it takes all CPUs
	t.Parallel()
	dir := runs(t, "slowstart.yaml", "--host", "local")
	for step, id := range repetitions(t, dir, 2) {
		r := judged(t, dir, evidence.Window{Repetition: id})
		for _, f := range r.Findings {
			if f.Subject == "app" && (step == "loads-0" || f.Mode != doctor.SlowStart) {
				t.Errorf("%s: the app was found to have %s: %s", step, f.Mode, f.What)
			}
		}
		if step == "loads-122" {
			wantAmong(t, step, r, doctor.SlowStart)
		}
	}
}

// runs executes an experiment of testdata and returns what it left.
func runs(t *testing.T, file string, args ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	args = append([]string{"run", filepath.Join("testdata", file), "--seed", "1", "--out", dir}, args...)
	cmd := exec.CommandContext(t.Context(), brinkProgram(t), args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, &said)
	}
	return dir
}

// judged is what doctor says of a window of a run.
func judged(t *testing.T, dir string, window evidence.Window) *doctor.Report {
	t.Helper()
	c, err := evidence.FromRun(t.Context(), dir, window)
	if err != nil {
		t.Fatal(err)
	}
	return doctor.Diagnose(c)
}

func wantAmong(t *testing.T, step string, r *doctor.Report, mode doctor.Mode) {
	t.Helper()
	if f := r.Finding(mode); f != nil {
		t.Logf("%s: %q; %s", step, modes(r), f.What)
		return
	}
	t.Errorf("%s: found %q, want %s among it:\n%s", step, modes(r), mode, sayAll(r))
}

// fullUntilLast is the stretch of a repetition from when memory was full, so
// that swap came into use, until the last app was up.
func fullUntilLast(t *testing.T, dir string, id int64, last string) evidence.Window {
	t.Helper()
	w := evidence.Window{Repetition: id}
	c, err := evidence.FromRun(t.Context(), dir, w)
	if err != nil {
		t.Fatal(err)
	}
	full := slices.IndexFunc(c.Readings, func(r evidence.Reading) bool {
		return r.Meminfo.SwapTotal.Minus(r.Meminfo.SwapFree).AtLeast(4 << 20)
	})
	up := slices.IndexFunc(c.Events, func(e evidence.Event) bool {
		return e.App == last && e.Reason == string(wire.Healthy)
	})
	if full < 0 || up < 0 {
		t.Fatalf("swap is in use from reading %d, and %s is up by event %d, want both", full, last, up)
	}
	w.From, w.To = c.Readings[full].At, c.Events[up].At
	return w
}

// repetitions are those that were executed to their end, by the step's name.
func repetitions(t *testing.T, dir string, want int) map[string]int64 {
	t.Helper()
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	steps, err := r.Steps(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	reps, err := r.Repetitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]int64{}
	for _, rep := range slices.Backward(reps) {
		if rep.Status == record.Done || rep.Status == record.Invalid { // its traffic was late, which is no matter here
			ids[steps[rep.StepID-1].Name] = rep.ID
		}
	}
	if len(ids) != want {
		t.Fatalf("repetitions %+v, want one of each of %d steps", reps, want)
	}
	return ids
}
