package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// large is a probe that takes much room.
func large(seq int64) *Probe {
	p := answer(seq)
	p.Err = strings.Repeat("e", 300)
	return p
}

// fillDisk writes probes and samples until the writer fails.
func fillDisk(t *testing.T, w *Writer) {
	t.Helper()
	stream := begin(t, w)
	for n := int64(1); n < 1e7; n++ {
		if err := w.Probe(stream, large(n)); err != nil {
			break
		}
		if n%50 == 0 {
			if err := w.Sample(1, &Sample{AtNs: answer(n).Due}); err != nil {
				break
			}
		}
	}
	select {
	case <-w.Failed():
	default:
		t.Fatal("ten million probes fit on a disk that should be full")
	}
}

// checkFull compares what the failure says with what the record holds.
func checkFull(t *testing.T, w *Writer, dir string) {
	t.Helper()
	var full *FullError
	if err := w.Err(); !errors.As(err, &full) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("a full disk gives %v", err)
	}
	if err := w.Close(); err != full {
		t.Errorf("Close: %v, want the failure", err)
	}
	r := open(t, dir)
	counts := must(r.Counts(t.Context()))(t)
	if counts.Probes != full.Probes || counts.Samples != full.Samples || full.Probes == 0 {
		t.Errorf("the failure says %d and %d, the record holds %+v", full.Probes, full.Samples, counts)
	}
	var last int64
	for p, err := range r.Probes(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if last++; *p != *large(last) {
			t.Fatalf("probe %d is %+v", last, *p)
		}
	}
	if want := answer(last).Done; full.Until.UnixNano() != want {
		t.Errorf("up to %v, want %d", full.Until, want)
	}
	want := fmt.Sprintf("the disk that holds %s is full: %d probes and %d samples up to %s were kept",
		dir, counts.Probes, counts.Samples, stamp(full.Until))
	if full.Error() != want {
		t.Errorf("the sentence is %q, want %q", full, want)
	}
	if run := must(r.Run(t.Context()))(t); run.Status != Broken || run.Reason != want {
		t.Errorf("the run is %s: %s", run.Status, run.Reason)
	}
	if reps := must(r.Repetitions(t.Context()))(t); len(reps) != 1 || reps[0].Status != Interrupted {
		t.Errorf("repetitions: %+v", reps)
	}
}

// TestFullFile has SQLite itself refuse to grow the file.
func TestFullFile(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.conn.ExecContext(t.Context(), "PRAGMA max_page_count = 300"); err != nil {
		t.Fatal(err)
	}
	fillDisk(t, w)
	checkFull(t, w, dir)
}

// mountSmall mounts a file system of the size at a new directory.
func mountSmall(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Logf("no file system can be mounted here (%v); SQLite's own limit stands for it", err)
		return ""
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFullDisk fills a real file system.
func TestFullDisk(t *testing.T) {
	for _, size := range []string{"3m", "8m"} {
		t.Run(size, func(t *testing.T) {
			dir := mountSmall(t, size)
			if dir == "" {
				return
			}
			w := create(t, dir)
			fillDisk(t, w)
			checkFull(t, w, dir)
			if names := mustGlob(t, dir, "[^r]*"); names != nil {
				t.Errorf("left behind: %v", names)
			}
		})
	}
}

// TestFullFromTheStart has no room even for the schema.
func TestFullFromTheStart(t *testing.T) {
	dir := mountSmall(t, "64k")
	if dir == "" {
		return
	}
	_, err := Create(dir, fixtureRun)
	if want := "the disk that holds " + dir + " is full: no probe and no sample was kept"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if names := mustGlob(t, dir, "*"); names != nil {
		t.Errorf("left behind: %v", names)
	}
	big := strings.Repeat("x", 100<<10)
	if err := os.WriteFile(filepath.Join(dir, "x"), []byte(big), 0o600); err == nil {
		t.Error("the file system is larger than it was to be")
	}
}
