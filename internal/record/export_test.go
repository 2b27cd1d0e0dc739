package record

import (
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// readCSV parses a file of an export.
func readCSV(t *testing.T, dir, name string) [][]string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return rows
}

func TestExportCSV(t *testing.T) {
	r := open(t, golden)
	dir := filepath.Join(t.TempDir(), "new", "csv")
	files, err := ExportCSV(t.Context(), r, dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, filepath.Base(file))
	}
	want := strings.Fields("apps.csv events.csv facts.csv logs.csv outcomes.csv probes.csv repetitions.csv " +
		"requirements.csv resumptions.csv run.csv samples.csv steps.csv streams.csv traffic.csv")
	equal(t, "files", names, want)
	if got := mustGlob(t, dir, "*"); len(got) != len(want) {
		t.Errorf("the directory holds %v", got)
	}
	equal(t, "facts.csv", readCSV(t, dir, "facts.csv"),
		[][]string{{"id", "name", "value"}, {"1", "kernel", "6.1.0"}, {"2", "cpus", "4"}})
	equal(t, "logs.csv", readCSV(t, dir, "logs.csv")[3],
		[]string{"3", "1", "site", "1767323103000000000", "stdout", "'" + formula, "1"})
	// The steps of time and the seed are numbers, so that theirs is no formula.
	if got := readCSV(t, dir, "run.csv")[1][6]; got != "-7" {
		t.Errorf("the seed is %s", got)
	}
	equal(t, "samples.csv", len(readCSV(t, dir, "samples.csv")), 7)
	equal(t, "traffic.csv", readCSV(t, dir, "traffic.csv"), [][]string{
		{"timestamp", "url", "status", "elapsed_ms", "due", "sent", "outcome", "app", "step", "repetition", "twin"},
		hold("5000.000"), hold("5000.000"), hold("5000.000"), hold("5000.000"), hold("10000.000"),
		health("2026-01-02T03:05:06.000", "2026-01-02T03:05:06.000000000Z", "503", "3000.000", "http_5xx"),
		health("2026-01-02T03:05:07.000", "2026-01-02T03:05:07.000000000Z", "503", "1000.000", "http_5xx"),
		health("2026-01-02T03:05:59.000", "2026-01-02T03:06:00.000000000Z", "", "3000.000", "timeout"),
		health("2026-01-02T03:06:01.000", "", "", "", "a new word"),
	})
}

// hold is a request of the first stream: due at 10 s, sent 1 µs later.
func hold(elapsed string) []string {
	return []string{
		"2026-01-02T03:05:10.000Z", "http://127.0.0.1:8000/thread-hold?secs=5", "200", elapsed,
		"2026-01-02T03:05:10.000000000Z", "2026-01-02T03:05:10.000001000Z", "ok", "site", "S4", "1", "0",
	}
}

func health(due, sent, status, elapsed, outcome string) []string {
	return []string{
		due + "Z", "http://127.0.0.1:8000/health", status, elapsed,
		due + "000000Z", sent, outcome, "site", "S4", "1", "0",
	}
}

func TestExportOverwrites(t *testing.T) {
	r := open(t, golden)
	dir := t.TempDir()
	stands := filepath.Join(dir, "traffic.csv")
	if err := os.WriteFile(stands, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := ExportCSV(t.Context(), r, dir)
	if !errors.Is(err, ErrExists) || !strings.HasPrefix(err.Error(), stands) || files != nil {
		t.Errorf("over a file that is there: %v, %v", files, err)
	}
	if names := mustGlob(t, dir, "*"); len(names) != 1 {
		t.Errorf("a refused export wrote %v", names)
	}
	if _, err := ExportCSV(t.Context(), r, dir, Overwrite()); err != nil {
		t.Fatal(err)
	}
	if rows := readCSV(t, dir, "traffic.csv"); len(rows) != 10 {
		t.Errorf("traffic.csv has %d rows", len(rows))
	}
	if _, err := ExportCSV(t.Context(), r, stands); err == nil {
		t.Error("a file was taken for a directory")
	}
}

// TestExportOnFullDisk leaves no half of a file.
func TestExportOnFullDisk(t *testing.T) {
	dir := mountSmall(t, "8k")
	if dir == "" {
		return
	}
	files, err := ExportCSV(t.Context(), open(t, golden), dir)
	if err == nil {
		t.Fatal("an export of thirteen files went into two pages")
	}
	if got := mustGlob(t, dir, "*"); !reflect.DeepEqual(got, files) {
		t.Errorf("there is %v, reported as complete was %v", got, files)
	}
	if got := mustGlob(t, dir, ".*"); got != nil {
		t.Errorf("left behind: %v", got)
	}
}

// FuzzEscapeCell: whatever an app writes, no cell of the parsed file begins
// like a formula, and the text can be had back.
func FuzzEscapeCell(f *testing.F) {
	for _, s := range []string{
		"", "plain", formula, "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "'", "'=1", "''@x", "＝1", "\"=1", " =1", "a\r\nb", "\x00=", "\xff=",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		escaped := escapeCell(s)
		var file strings.Builder
		w := csv.NewWriter(&file)
		if err := w.Write([]string{escaped, "next"}); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		row, err := csv.NewReader(strings.NewReader(file.String())).Read()
		if err != nil || len(row) != 2 || row[1] != "next" {
			t.Fatalf("%q breaks the row: %q, %v", s, row, err)
		}
		first, _ := utf8.DecodeRuneInString(row[0])
		if slices.Contains([]rune("=+-@\t\r\n＝＋－＠"), first) {
			t.Fatalf("%q is written as %q, which begins like a formula", s, row[0])
		}
		back := escaped
		if rest, ok := strings.CutPrefix(escaped, "'"); ok && escapeCell(rest) == escaped {
			back = rest
		}
		if back != s {
			t.Fatalf("%q comes back as %q", s, back)
		}
	})
}
