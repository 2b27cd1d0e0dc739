package record

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// progress is what a writing process tells of itself.
type progress struct{ Flushed, EndNs int64 }

// writeUntilKilled writes a record without end and tells what is committed.
func writeUntilKilled(dir string) {
	w, err := Create(dir, fixtureRun)
	if err != nil {
		panic(err)
	}
	for _, err := range []error{
		second(w.AddStep(Step{Ordinal: 1, Name: "S1", JSON: "{}"})),
		second(w.BeginRepetition(Repetition{StepID: 1, Number: 1, Position: 1, StartedNs: start, EndedNs: start + 1, Status: Done})),
		second(w.BeginRepetition(Repetition{StepID: 1, Number: 2, Position: 2, StartedNs: start + 2, Status: Running})),
		second(w.AddApp(App{RepetitionID: 2, Name: "site"})),
		second(w.AddStream(Stream{RepetitionID: 2, AppID: 1, Ordinal: 1})),
	} {
		if err != nil {
			panic(err)
		}
	}
	for n := int64(1); ; n++ {
		p := answer(n)
		if err := w.Probe(1, p); err != nil {
			panic(err)
		}
		if n%1000 == 0 {
			if err := w.Flush(); err != nil {
				panic(err)
			}
			tell(progress{n, p.Done})
		}
	}
}

// role starts the test binary in another part.
func role(t *testing.T, name, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), "RECORD_TEST_ROLE="+name, "RECORD_TEST_DIR="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

// killedRecord lets another process write a record and kills it by SIGKILL.
func killedRecord(t *testing.T, dir string) progress {
	t.Helper()
	cmd := role(t, "writer", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var p progress
	lines := bufio.NewScanner(out)
	for p.Flushed < 20_000 && lines.Scan() {
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		if p.Flushed == 5000 {
			r := open(t, dir)
			if cut, _ := r.Cut(); cut {
				t.Error("a record that another process writes counts as cut off")
			}
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the writer ended with %v", err)
	}
	return p
}

func TestKilledWriter(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	flushed := killedRecord(t, dir)
	r := open(t, dir)
	cut, end := r.Cut()
	if !cut || end.UnixNano() < flushed.EndNs {
		t.Errorf("cut off %v at %v, want at or after %v", cut, end, time.Unix(0, flushed.EndNs))
	}
	var n, last int64
	for p, err := range r.Probes(ctx, 1) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if *p != *answer(n) {
			t.Fatalf("probe %d is %+v", n, *p)
		}
		last = p.Done
	}
	if n < flushed.Flushed || last != end.UnixNano() {
		t.Errorf("%d probes up to %d, want %d or more up to %d", n, last, flushed.Flushed, end.UnixNano())
	}
	run := must(r.Run(ctx))(t)
	if want := "cut off: the record ends at " + stamp(end); run.Status != Interrupted || run.Reason != want || run.EndedNs != 0 {
		t.Errorf("the run is %s (%s), want interrupted (%s)", run.Status, run.Reason, want)
	}
	reps := must(r.Repetitions(ctx))(t)
	if len(reps) != 2 || reps[0].Status != Done || reps[1].Status != Interrupted || !strings.Contains(reps[1].Reason, "cut off") {
		t.Errorf("repetitions: %+v", reps)
	}
}

// unprivileged is the user that a reader becomes when the tests run as root,
// for whom no directory is read-only.
const unprivileged = 65534

// seen is what a reader in a process of its own tells.
type seen struct {
	Error  string
	Probes int64
	Cut    bool
	Left   []string
}

func readAsNobody(dir string) {
	if os.Getuid() == 0 {
		if err := syscall.Setgid(unprivileged); err != nil {
			panic(err)
		}
		if err := syscall.Setuid(unprivileged); err != nil {
			panic(err)
		}
	}
	var s seen
	if f, err := os.Create(filepath.Join(dir, "probe")); err == nil {
		f.Close()
		panic("the directory can be written")
	}
	r, err := Open(dir)
	if err != nil {
		s.Error = err.Error()
		tell(s)
		os.Exit(0)
	}
	for _, err := range r.Probes(context.Background(), 1) {
		if err != nil {
			panic(err)
		}
		s.Probes++
	}
	s.Cut, _ = r.Cut()
	temp := ""
	if r.temp != nil {
		temp = r.temp.dir
	}
	if err := r.Close(); err != nil {
		panic(err)
	}
	if _, err := os.Stat(temp); temp != "" && err == nil {
		s.Left = append(s.Left, temp)
	}
	tell(s)
	os.Exit(0)
}

// TestReadOnlyDirectory reads a finished record and one that was cut off
// where nothing can be written.
func TestReadOnlyDirectory(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, dir string) int64
		cut  bool
	}{
		"finished": {func(t *testing.T, dir string) int64 {
			w := create(t, dir)
			fillFixture(t, w)
			if err := w.Finish(Done, ""); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			return 5
		}, false},
		"killed": {func(t *testing.T, dir string) int64 { return killedRecord(t, dir).Flushed }, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "brink-record-test-*")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = os.Chmod(dir, 0o700)
				os.RemoveAll(dir)
			})
			want := c.make(t, dir)
			for _, file := range mustGlob(t, dir, "*") {
				if err := os.Chmod(file, 0o444); err != nil {
					t.Fatal(err)
				}
				if strings.HasSuffix(file, "-shm") {
					if err := os.Remove(file); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := os.Chmod(dir, 0o555); err != nil {
				t.Fatal(err)
			}
			out, err := role(t, "reader", dir).Output()
			if err != nil {
				t.Fatal(err)
			}
			var s seen
			if err := json.Unmarshal(out, &s); err != nil {
				t.Fatal(err)
			}
			if s.Error != "" || s.Probes < want || s.Cut != c.cut || s.Left != nil {
				t.Errorf("the reader saw %+v, want %d probes", s, want)
			}
		})
	}
}
