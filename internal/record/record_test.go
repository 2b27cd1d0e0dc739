package record

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"brink/internal/wire"
)

// TestSampleColumns holds the table's columns against the numbers of the
// wire's sample: a new signal must not be lost.
func TestSampleColumns(t *testing.T) {
	got := ask(t, open(t, newFixture(t)), "SELECT name FROM pragma_table_info('samples') ORDER BY cid")
	want := append([]string{"id", "repetition_id", "app", "at_ns"}, sampleNames()...)
	equal(t, "columns", got, want)
}

func TestRoundTrip(t *testing.T) {
	dir := newFixture(t)
	if names := mustGlob(t, dir, "*"); len(names) != 1 {
		t.Errorf("a finished record is %v, want one file", names)
	}
	checkFixture(t, open(t, dir))
}

// checkFixture compares a record with what fillFixture was told to write.
func checkFixture(t *testing.T, r *Reader) {
	t.Helper()
	ctx := t.Context()
	run, err := r.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := fixtureRun
	want.Status, want.EndedNs = Done, run.EndedNs
	equal(t, "run", run, want)
	if run.EndedNs == 0 {
		t.Error("a finished run has no end")
	}
	if cut, _ := r.Cut(); cut {
		t.Error("a finished record counts as cut off")
	}
	equal(t, "facts", must(r.Facts(ctx))(t), []Fact{{"kernel", "6.1.0"}, {"cpus", "4"}})
	equal(t, "requirements", must(r.Requirements(ctx))(t),
		[]Requirement{{"gunicorn", "site", "the built-in server takes its place", true}})
	equal(t, "steps", must(r.Steps(ctx))(t), []Step{
		{ID: 1, Ordinal: 1, Name: "S4", Title: "five on four", JSON: `{"Plan":{"CPUs":2}}`},
		{ID: 2, Ordinal: 2, Name: "S5", Title: "burn", JSON: `{"Plan":{"CPUs":0}}`},
	})
	equal(t, "repetitions", must(r.Repetitions(ctx))(t), []Repetition{
		{
			ID: 1, StepID: 1, Number: 1, Position: 1, StartedNs: at(0), TrafficNs: at(10 * time.Second),
			TrafficEndNs: at(20 * time.Second), EndedNs: at(2 * time.Minute), Status: Done, Limits: `[{"Name":"CPUs"}]`,
		},
		{
			ID: 2, StepID: 2, Number: 1, Position: 2, Twin: true, Phase: 2, StartedNs: at(3 * time.Minute),
			EndedNs: at(4 * time.Minute), Status: Failed, Reason: "app site did not start",
		},
	})
	app := fixtureApp
	app.ID = 1
	equal(t, "apps", must(r.Apps(ctx, 1))(t), []App{app})
	equal(t, "apps of a repetition without", must(r.Apps(ctx, 2))(t), nil)
	equal(t, "streams", must(r.Streams(ctx, 1))(t), []Stream{
		{
			ID: 1, RepetitionID: 1, AppID: 1, Ordinal: 1, Kind: "batch", Method: "GET", Path: "/thread-hold?secs=5",
			JSON: "{}", Scheduled: 5, Sent: 5, Held: true, Note: "all at once",
		},
		{
			ID: 2, RepetitionID: 1, AppID: 1, Ordinal: 2, Kind: "steady", Method: "GET", Path: "/health",
			JSON: "{}", Scheduled: 4, Sent: 3, Shortfall: 0.25,
		},
	})
	checkFixtureSeen(t, r)
	equal(t, "counts", must(r.Counts(ctx))(t),
		Counts{Steps: 2, Repetitions: 2, Streams: 2, Probes: 9, Samples: 6, Events: 5, Logs: 4})
}

func checkFixtureSeen(t *testing.T, r *Reader) {
	t.Helper()
	ctx := t.Context()
	three := 3
	equal(t, "events", must(r.Events(ctx, 1))(t), []Event{
		{App: "site", AtNs: at(time.Second), Kind: wire.Deployed},
		{App: "site", AtNs: at(4 * time.Second), Kind: wire.Healthy, Pid: 99},
		{App: "site", AtNs: at(70 * time.Second), Kind: wire.Exited, Pid: 99, Code: &three},
		{App: "site", AtNs: at(71 * time.Second), Kind: wire.Restarted, Detail: "attempt 1"},
		{App: "site", AtNs: at(72 * time.Second), Kind: wire.WorkerExited, Pid: 100, Signal: 9},
	})
	var lines []string
	for l, err := range r.Logs(ctx, 1) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l.Stream+" "+l.Line)
		if l.Cut != (l.Line == formula) {
			t.Errorf("line %q: cut is %v", l.Line, l.Cut)
		}
	}
	equal(t, "logs", lines, []string{
		"stderr Worker FAILED to boot.", "stdout restarting", "stdout " + formula, "stdout binary \x00\xff",
	})
	var seqs []int64
	var last Probe
	for p, err := range r.Probes(ctx, 2) {
		if err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, p.Seq)
		if p.Seq == 3 {
			equal(t, "timeout", *p, Probe{
				Seq: 3, Due: at(59 * time.Second), Sent: at(60 * time.Second), Done: at(62 * time.Second),
				Outcome: "timeout", Err: "no answer within 2s", ServedNs: -1,
			})
		}
		last = *p
	}
	equal(t, "order of probes", seqs, []int64{1, 2, 3, 4})
	equal(t, "probe never sent", last, Probe{Seq: 4, Due: at(61 * time.Second), Outcome: "a new word", ServedNs: -1})
	var readings []Sample
	for s, err := range r.Samples(ctx, 1) {
		if err != nil {
			t.Fatal(err)
		}
		readings = append(readings, *s)
	}
	if len(readings) != 5 {
		t.Fatalf("%d samples, want 5", len(readings))
	}
	equal(t, "sample", readings[3],
		*reading("site", 30*time.Second, func(s *Sample) { s.RSS, s.QueueDepth = 300, 8 }))
	for s, err := range r.Samples(ctx, 0) {
		if err != nil || s.MemTotal != 1000 || s.MemAvailable != -1 {
			t.Errorf("sample before the first repetition: %+v, %v", s, err)
		}
	}
}

func must[T any](x T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
}

func equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

func TestWriterRefuses(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir)
	stream := begin(t, w)
	for what, c := range map[string]struct {
		err  error
		want string
	}{
		"step":       {second(w.BeginRepetition(Repetition{StepID: 2})), "the record has no step 2"},
		"repetition": {w.UpdateRepetition(Repetition{ID: 5}), "the record has no repetition 5"},
		"app":        {w.SetAppAddr(9, "x"), "the record has no app 9"},
		"owner":      {second(w.AddStream(Stream{RepetitionID: 1, AppID: 3})), "the record has no app 3"},
		"stream":     {w.Probe(stream+1, answer(1)), "the record has no stream 2"},
		"event":      {w.Event(-1, Event{}), "the record has no repetition -1"},
		"status":     {w.Finish("fine", ""), `a run ends done, interrupted or broken, not "fine"`},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", what, c.err, c.want)
		}
	}
	if err := w.Flush(); err != nil {
		t.Errorf("what was refused spoilt the record: %v", err)
	}
	if _, err := Create(dir, fixtureRun); !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), "never overwritten") {
		t.Errorf("a second Create: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Probe(stream, answer(2)); !errors.Is(err, ErrClosed) {
		t.Errorf("Probe after Close: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func second(_ int64, err error) error { return err }

// TestFailureSticks lets one row break a rule of the schema.
func TestFailureSticks(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir)
	stream := begin(t, w)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Probe(stream, answer(1)); err != nil {
			t.Fatal(err)
		}
	}
	<-w.Failed()
	first := w.Err()
	if first == nil || !strings.Contains(first.Error(), "UNIQUE") {
		t.Fatalf("two probes with one Seq: %v", first)
	}
	for what, err := range map[string]error{
		"Probe": w.Probe(stream, answer(3)), "Flush": w.Flush(), "Finish": w.Finish(Done, ""), "Close": w.Close(),
	} {
		if err != first {
			t.Errorf("%s: %v, want the first failure", what, err)
		}
	}
	run := must(open(t, dir).Run(t.Context()))(t)
	if run.Status != Broken || run.Reason != first.Error() {
		t.Errorf("the run is %s: %s", run.Status, run.Reason)
	}
}

func TestCreateUnwritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Create(filepath.Join(file, "x", FileName), fixtureRun)
	if err == nil || strings.Count(err.Error(), file) != 1 || !strings.HasSuffix(err.Error(), "not a directory") {
		t.Errorf("below a file: %v", err)
	}
	gone := filepath.Join(t.TempDir(), "gone", FileName)
	if _, err := Create(gone, fixtureRun); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a directory that is not there: %v", err)
	}
}

// TestReadWhileWriting reads a record that a writer holds.
func TestReadWhileWriting(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir)
	stream := begin(t, w)
	if err := w.Probe(stream, answer(1)); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	if cut, _ := r.Cut(); cut {
		t.Error("a record that is being written counts as cut off")
	}
	if got := must(r.Repetitions(t.Context()))(t)[0].Status; got != Running {
		t.Errorf("the repetition that goes on is %s", got)
	}
	if err := w.Probe(stream, &Probe{Seq: 2, Outcome: "a word from later"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	var words []string
	for p, err := range r.Probes(t.Context(), stream) {
		if err != nil {
			t.Fatal(err)
		}
		words = append(words, p.Outcome)
	}
	equal(t, "outcomes", words, []string{"ok", "a word from later"})
}

func TestIterationStops(t *testing.T) {
	r := open(t, newFixture(t))
	for range 3 * connections {
		for range r.Probes(t.Context(), 1) {
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for p, err := range r.Probes(ctx, 1) {
		if !errors.Is(err, context.Canceled) || p != nil {
			t.Errorf("after cancelling: %+v, %v", p, err)
		}
	}
}
