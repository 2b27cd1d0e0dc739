package record

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"brink/internal/wire"
)

// start is the beginning of a minute and of five minutes.
var start = time.Date(2026, 1, 2, 3, 5, 0, 0, time.UTC).UnixNano()

func at(d time.Duration) int64 { return start + int64(d) }

var fixtureRun = Run{
	ID: "r-1", Brink: "0.1.0", Experiment: "worker-exhaustion", YAML: "name: worker-exhaustion\n",
	Profile: "quick", Seed: -7, Host: "local", Overrides: []string{"apps.0.workers=4"},
	Accelerator: "none", StartedNs: start,
}

var fixtureApp = App{
	RepetitionID: 1, Name: "site", Runtime: "flask", Server: "gunicorn sync",
	Addr: "127.0.0.1:8000", Workers: 4, JSON: `{"Name":"site"}`,
}

// plan and app samples; what is not set was not readable.
func reading(app string, at time.Duration, set func(*Sample)) *Sample {
	s := &Sample{}
	s.Clear()
	s.App, s.AtNs = app, start+int64(at)
	set(s)
	return s
}

// fillFixture writes a run of two steps. The first is the reference's S4 as
// gunicorn answered it: of five holds of 5 s on four workers, four take 5 s
// and one takes 10 s.
func fillFixture(t testing.TB, w *Writer) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	id := func(id int64, err error) int64 { check(err); return id }
	check(w.AddFacts(Fact{"kernel", "6.1.0"}, Fact{"cpus", "4"}))
	check(w.AddRequirement(Requirement{"gunicorn", "site", "the built-in server takes its place", true}))
	id(w.AddStep(Step{Ordinal: 1, Name: "S4", Title: "five on four", JSON: `{"Plan":{"CPUs":2}}`}))
	id(w.AddStep(Step{Ordinal: 2, Name: "S5", Title: "burn", JSON: `{"Plan":{"CPUs":0}}`}))

	check(w.Sample(0, reading("", -time.Second, func(s *Sample) { s.MemTotal = 1000 })))
	rep := Repetition{StepID: 1, Number: 1, Position: 1, StartedNs: at(0), Status: Running}
	rep.ID = id(w.BeginRepetition(rep))
	app := fixtureApp
	app.Addr = ""
	id(w.AddApp(app))
	check(w.SetAppAddr(1, fixtureApp.Addr))
	holds := Stream{RepetitionID: 1, AppID: 1, Ordinal: 1, Kind: "batch", Method: "GET", Path: "/thread-hold?secs=5", JSON: "{}"}
	holds.ID = id(w.AddStream(holds))
	health := Stream{RepetitionID: 1, AppID: 1, Ordinal: 2, Kind: "steady", Method: "GET", Path: "/health", JSON: "{}"}
	health.ID = id(w.AddStream(health))
	fillProbes(t, w, holds.ID, health.ID)
	holds.Scheduled, holds.Sent, holds.Held, holds.Note = 5, 5, true, "all at once"
	check(w.UpdateStream(holds))
	health.Scheduled, health.Sent, health.Shortfall = 4, 3, 0.25
	check(w.UpdateStream(health))
	fillSeen(t, w)
	rep.TrafficNs, rep.TrafficEndNs, rep.EndedNs = at(10*time.Second), at(20*time.Second), at(2*time.Minute)
	rep.Status, rep.Limits = Done, `[{"Name":"CPUs"}]`
	check(w.UpdateRepetition(rep))
	id(w.BeginRepetition(Repetition{
		StepID: 2, Number: 1, Position: 2, Twin: true, Phase: 2, StartedNs: at(3 * time.Minute),
		EndedNs: at(4 * time.Minute), Status: Failed, Reason: "app site did not start",
	}))
}

func fillProbes(t testing.TB, w *Writer, holds, health int64) {
	t.Helper()
	due := at(10 * time.Second)
	for i := range int64(5) {
		took, pid := int64(5*time.Second), int32(100+i)
		if i == 4 {
			took, pid = int64(10*time.Second), 100
		}
		p := Probe{
			Seq: i + 1, Due: due, Sent: due + 1000, Connected: due + 2000, FirstByte: due + took - 1000, Done: due + took,
			Status: 200, Outcome: "ok", Pid: pid, ServedNs: int64(5 * time.Second), Bytes: 42,
		}
		if err := w.Probe(holds, &p); err != nil {
			t.Fatal(err)
		}
	}
	// Two 503 in the first minute, one time-out in the second, one never sent.
	for _, p := range []Probe{
		{Seq: 2, Due: at(7 * time.Second), Sent: at(7 * time.Second), Done: at(8 * time.Second), Status: 503, Outcome: "http_5xx", ServedNs: -1, Bytes: 9},
		{Seq: 1, Due: at(6 * time.Second), Sent: at(6 * time.Second), Done: at(9 * time.Second), Status: 503, Outcome: "http_5xx", ServedNs: -1, Bytes: 9},
		{Seq: 3, Due: at(59 * time.Second), Sent: at(60 * time.Second), Done: at(62 * time.Second), Outcome: "timeout", Err: "no answer within 2s", ServedNs: -1},
		{Seq: 4, Due: at(61 * time.Second), Outcome: "a new word", ServedNs: -1},
	} {
		if err := w.Probe(health, &p); err != nil {
			t.Fatal(err)
		}
	}
}

// formula is what an app might write to attack who opens an export.
const formula = `=HYPERLINK("http://evil/","x")`

func fillSeen(t testing.TB, w *Writer) {
	t.Helper()
	three := 3
	var errs []error
	for _, e := range []Event{
		{App: "site", AtNs: at(time.Second), Kind: wire.Deployed},
		{App: "site", AtNs: at(4 * time.Second), Kind: wire.Healthy, Pid: 99},
		{App: "site", AtNs: at(70 * time.Second), Kind: wire.Exited, Pid: 99, Code: &three},
		{App: "site", AtNs: at(71 * time.Second), Kind: wire.Restarted, Detail: "attempt 1"},
		{App: "site", AtNs: at(72 * time.Second), Kind: wire.WorkerExited, Pid: 100, Signal: 9},
	} {
		errs = append(errs, w.Event(1, e))
	}
	for _, l := range []Log{
		{App: "site", AtNs: at(2 * time.Second), Stream: "stderr", Line: "Worker FAILED to boot."},
		{App: "site", AtNs: at(3 * time.Second), Stream: "stdout", Line: "restarting"},
		{App: "site", AtNs: at(3 * time.Second), Stream: "stdout", Line: formula, Cut: true},
		{App: "site", AtNs: at(5 * time.Second), Stream: "stdout", Line: "binary \x00\xff"},
	} {
		errs = append(errs, w.Log(1, l))
	}
	for _, s := range []*Sample{
		// 30 s of CPU in 30 s on two CPUs are 50 %, 9 s in the next 30 s 15 %.
		reading("", 0, func(s *Sample) { s.CPUNs, s.MemTotal, s.MemAvailable = 0, 1000, 300 }),
		reading("", 30*time.Second, func(s *Sample) { s.CPUNs, s.MemTotal, s.MemAvailable = int64(30*time.Second), 1000, 200 }),
		reading("", 60*time.Second, func(s *Sample) { s.CPUNs, s.MemTotal, s.MemAvailable = int64(39*time.Second), 1000, 100 }),
		reading("site", 0, func(s *Sample) { s.RSS, s.QueueDepth = 100, 0 }),
		reading("site", 30*time.Second, func(s *Sample) { s.RSS, s.QueueDepth = 300, 8 }),
	} {
		errs = append(errs, w.Sample(1, s))
	}
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// newFixture writes the fixture to a new directory and returns it.
func newFixture(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	w := create(t, dir)
	fillFixture(t, w)
	if err := w.Finish(Done, ""); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func create(t testing.TB, dir string) *Writer {
	t.Helper()
	w, err := Create(dir, fixtureRun)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func open(t testing.TB, path string) *Reader {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// begin adds a step, a repetition, an app and a stream, and returns the
// stream.
func begin(t testing.TB, w *Writer) int64 {
	t.Helper()
	step, err := w.AddStep(Step{Ordinal: 1, Name: "S1", JSON: "{}"})
	if err != nil {
		t.Fatal(err)
	}
	rep, err := w.BeginRepetition(Repetition{StepID: step, Number: 1, Position: 1, StartedNs: start, Status: Running})
	if err != nil {
		t.Fatal(err)
	}
	app, err := w.AddApp(App{RepetitionID: rep, Name: "site"})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := w.AddStream(Stream{RepetitionID: rep, AppID: app, Ordinal: 1, Method: "GET", Path: "/"})
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func answer(seq int64) *Probe {
	due := at(time.Duration(seq) * time.Millisecond)
	return &Probe{
		Seq: seq, Due: due, Sent: due + 50_000, Connected: due + 90_000, FirstByte: due + 800_000, Done: due + 900_000,
		Status: 200, Outcome: "ok", Pid: 4321, ServedNs: 600_000, Bytes: 200,
	}
}

// TestMain lets the test binary take the part of other processes.
func TestMain(m *testing.M) {
	switch os.Getenv("RECORD_TEST_ROLE") {
	case "":
		os.Exit(m.Run())
	case "writer":
		writeUntilKilled(os.Getenv("RECORD_TEST_DIR"))
	case "reader":
		readAsNobody(os.Getenv("RECORD_TEST_DIR"))
	case "unpacker":
		unpackUntilKilled(os.Getenv("RECORD_TEST_DIR"))
	}
	os.Exit(2)
}

// tell prints one line of JSON to the test that started this process.
func tell(x any) {
	text, err := json.Marshal(x)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}

func mustGlob(t testing.TB, pattern ...string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(pattern...))
	if err != nil {
		t.Fatal(err)
	}
	return names
}
