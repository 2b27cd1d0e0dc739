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
)

// TestRunInGuests has brink be the platform: what restarts apps and what
// requests come to, no kernel tells. doctor reads it in the record of the run,
// with the guest's own readings.
func TestRunInGuests(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	cmd := exec.CommandContext(t.Context(), brinkProgram(t), "run", filepath.Join("testdata", "platform.yaml"), "--host", "vm", "--seed", "1", "--out", dir)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, &said)
	}
	for step, id := range repetitions(t, dir) {
		c, err := evidence.FromRun(t.Context(), dir, evidence.Window{Repetition: id})
		if err != nil {
			t.Fatal(err)
		}
		r := doctor.Diagnose(c)
		t.Logf("%s: %q", step, modes(r))
		switch step {
		case "room-for-all":
			if len(r.Findings) > 0 {
				t.Errorf("%s: found %q:\n%s", step, modes(r), sayAll(r))
			}
		case "room-for-three":
			wantAmong(t, step, r, doctor.CapacityCliff)
		case "room-for-one":
			wantAmong(t, step, r, doctor.RestartCascade)
		}
	}
}

func wantAmong(t *testing.T, step string, r *doctor.Report, mode doctor.Mode) {
	t.Helper()
	if r.Finding(mode) == nil {
		t.Errorf("%s: found %q, want %s among it:\n%s", step, modes(r), mode, sayAll(r))
	}
}

// repetitions are those that were executed to their end, by the step's name.
func repetitions(t *testing.T, dir string) map[string]int64 {
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
	if len(ids) != 3 {
		t.Fatalf("repetitions %+v, want one of each of three steps", reps)
	}
	return ids
}
