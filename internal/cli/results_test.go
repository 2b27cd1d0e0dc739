package cli

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"brink/internal/record"
	"brink/internal/report"
)

var update = flag.Bool("update", false, "write the reports of docs/results anew from their records")

const (
	results = "../../docs/results"
	// updateResults is what to do after a change of the reports that is meant.
	updateResults = "if that is meant, run: go test ./internal/cli -run TestCommittedResultsGiveTheirReports -update"
	// mostData is what the compact data of one run may take.
	mostData = 5_000_000
)

// What is committed of a run is its record and the report that this brink
// makes of it, byte for byte, wherever it is made. The race detector would
// take minutes over a long run and has nothing to find, so brink is built as
// it is released.
func TestCommittedResultsGiveTheirReports(t *testing.T) {
	if !report.HasPictures() {
		t.Fatal("the chart libraries are not in internal/report/assets/vendor: run `make build`")
	}
	if _, err := os.Stat(filepath.Join(results, "memory-pressure", record.CompactFileName)); err != nil {
		t.Errorf("the run of memory-pressure is missing: %v", err)
	}
	brink := filepath.Join(t.TempDir(), "brink")
	build := exec.Command("go", "build", "-o", brink, "brink/cmd/brink")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	entries, err := os.ReadDir(results)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			t.Run(e.Name(), func(t *testing.T) { checkResult(t, brink, filepath.Join(results, e.Name())) })
		}
	}
}

func checkResult(t *testing.T, brink, dir string) {
	file := filepath.Join(dir, record.CompactFileName)
	r, err := record.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	run, err := r.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	experiment := committedFile(t, filepath.Join(dir, experimentFile))
	if string(experiment) != run.YAML {
		t.Errorf("%s is not the experiment in %s", filepath.Join(dir, experimentFile), file)
	}
	if n := len(committedFile(t, file)) + len(experiment); n > mostData {
		t.Errorf("the data of %s are %d bytes, want at most %d", dir, n, mostData)
	}
	out := dir
	if !*update {
		out = t.TempDir()
	}
	cmd := exec.CommandContext(t.Context(), brink, "report", file, "--out", out)
	cmd.Env = append(os.Environ(), "TZ=Pacific/Chatham", "LC_ALL=tr_TR.UTF-8")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("brink report: %v: %s", err, text)
	}
	for _, name := range []string{"report.md", "report.html"} {
		committed := filepath.Join(dir, name)
		if line, want, got := difference(committedFile(t, committed), committedFile(t, filepath.Join(out, name))); line > 0 {
			t.Errorf("%s is not the report of the record beside it: line %d is\n  %s\nand would now be\n  %s\n%s",
				committed, line, want, got, updateResults)
		}
	}
}

func committedFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v\n%s", err, updateResults)
	}
	return b
}

// difference is the first line in which two texts differ, 0 if there is none.
func difference(a, b []byte) (line int, inA, inB string) {
	if bytes.Equal(a, b) {
		return 0, "", ""
	}
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range max(len(x), len(y)) {
		inA, inB = "(its end)", "(its end)"
		if i < len(x) {
			inA = x[i]
		}
		if i < len(y) {
			inB = y[i]
		}
		if inA != inB {
			return i + 1, excerpt(inA, inB), excerpt(inB, inA)
		}
	}
	return 0, "", ""
}

// excerpt is where a line begins to differ from another: lines of a page are
// as long as the page.
func excerpt(line, other string) string {
	i := 0
	for i < min(len(line), len(other)) && line[i] == other[i] {
		i++
	}
	from, to := max(i-60, 0), min(i+100, len(line))
	return strings.ToValidUTF8(line[from:to], "")
}
