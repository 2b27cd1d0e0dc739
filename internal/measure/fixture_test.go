package measure

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"brink/internal/experiment"
	"brink/internal/record"
	"brink/internal/wire"
)

// start is an instant with round nanoseconds; all others are given relative to
// the start of traffic.
var start = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC).UnixNano()

func at(d time.Duration) int64 { return start + int64(d) }

func ms(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }

// story writes a record by hand: each repetition is what do makes of it.
type story struct {
	t     testing.TB
	w     *record.Writer
	steps map[string]int64
	reps  int
}

func newStory(t testing.TB) *story {
	t.Helper()
	w, err := record.Create(t.TempDir(), record.Run{ID: "r", Experiment: "e", StartedNs: start})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return &story{t: t, w: w, steps: map[string]int64{}}
}

func (s *story) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// step adds a step. Its traffic is a steady stream, which has a warm-up, and
// its plan has two CPUs, unless change says otherwise.
func (s *story) step(name string, change ...func(*experiment.Step)) {
	s.t.Helper()
	step := experiment.Step{Name: name, Plan: experiment.Plan{CPUs: 2}, Traffic: []experiment.Traffic{{Kind: "steady", Path: "/"}}}
	for _, c := range change {
		c(&step)
	}
	text, err := json.Marshal(step)
	s.check(err)
	id, err := s.w.AddStep(record.Step{Ordinal: len(s.steps) + 1, Name: name, JSON: string(text)})
	s.check(err)
	s.steps[name] = id
}

// told is one repetition that is being written.
type told struct {
	*story
	record.Repetition
	stream record.Stream
}

// repetition writes one repetition of a step whose traffic lasts from 0 to
// lasts; do adds what was seen and may change the row.
func (s *story) repetition(step string, number int, lasts time.Duration, do func(*told)) {
	s.t.Helper()
	s.reps++
	r := &told{story: s, Repetition: record.Repetition{
		StepID: s.steps[step], Number: number, Position: s.reps, StartedNs: at(-time.Second), Status: record.Running,
	}}
	var err error
	r.ID, err = s.w.BeginRepetition(r.Repetition)
	s.check(err)
	app, err := s.w.AddApp(record.App{RepetitionID: r.ID, Name: "site"})
	s.check(err)
	r.stream = record.Stream{RepetitionID: r.ID, AppID: app, Ordinal: 1, Kind: "steady", Held: true}
	r.stream.ID, err = s.w.AddStream(r.stream)
	s.check(err)
	r.TrafficNs, r.TrafficEndNs, r.EndedNs, r.Status = at(0), at(lasts), at(lasts+time.Second), record.Done
	if do != nil {
		do(r)
	}
	r.stream.Scheduled = int64(r.seq())
	s.check(s.w.UpdateStream(r.stream))
	s.check(s.w.UpdateRepetition(r.Repetition))
}

func (r *told) seq() int64 { return r.stream.Sent }

// probe adds a request that was due at due and took so long; change makes it
// another than an answer of a worker that says nothing of itself.
func (r *told) probe(due, took time.Duration, change ...func(*record.Probe)) {
	r.t.Helper()
	r.stream.Sent++
	p := record.Probe{
		Seq: r.stream.Sent, Due: at(due), Sent: at(due), Connected: at(due), FirstByte: at(due + took), Done: at(due + took),
		Status: 200, Outcome: "ok", ServedNs: -1,
	}
	for _, c := range change {
		c(&p)
	}
	r.check(r.w.Probe(r.stream.ID, &p))
}

// served says which worker answered and how long it worked.
func served(by int32, took time.Duration) func(*record.Probe) {
	return func(p *record.Probe) { p.Pid, p.ServedNs = by, int64(took) }
}

// without makes a probe one that got no answer.
func without(outcome string) func(*record.Probe) {
	return func(p *record.Probe) {
		p.Status, p.Outcome, p.FirstByte, p.Err = 0, outcome, 0, outcome
	}
}

// sample adds a reading of an app, or of the plan; what set leaves alone could
// not be read.
func (r *told) sample(app string, t time.Duration, set func(*wire.Sample)) {
	r.t.Helper()
	var x wire.Sample
	x.Clear()
	x.App, x.AtNs = app, at(t)
	set(&x)
	r.check(r.w.Sample(r.ID, &x))
}

func (r *told) event(app string, t time.Duration, kind wire.EventKind) {
	r.t.Helper()
	r.check(r.w.Event(r.ID, wire.Event{App: app, AtNs: at(t), Kind: kind}))
}

// open ends the writing and opens the record.
func (s *story) open() *record.Reader {
	s.t.Helper()
	s.check(s.w.Finish(record.Done, ""))
	path := s.w.Path()
	s.check(s.w.Close())
	r, err := record.Open(path)
	s.check(err)
	s.t.Cleanup(func() { r.Close() })
	return r
}

// load ends the writing and measures the record.
func (s *story) load(o Options) *Table {
	s.t.Helper()
	table, err := Load(s.t.Context(), s.open(), o)
	s.check(err)
	return table
}

// only returns the one value of a metric.
func only(t testing.TB, table *Table, step, name string) Value {
	t.Helper()
	c := table.Cell(step, name)
	if len(c.Values) != 1 {
		t.Fatalf("%s of %s has %d values, want 1: %+v", name, step, len(c.Values), c.Values)
	}
	return c.Values[0]
}

// wants compares values of the only repetition of a step: exactly, but for
// histograms, which keep three significant digits.
func wants(t testing.TB, table *Table, step string, want map[string]float64) {
	t.Helper()
	for name, x := range want {
		v := only(t, table, step, name)
		if v.Missing != "" || v.Censored || math.Abs(v.X-x) > 0.002*math.Abs(x) {
			t.Errorf("%s is %+v, want %v", name, v, x)
		}
	}
}

// lacks checks that metrics have no value, for this reason.
func lacks(t testing.TB, table *Table, step, reason string, names ...string) {
	t.Helper()
	for _, name := range names {
		if v := only(t, table, step, name); v.Missing != reason || v.X != 0 {
			t.Errorf("%s is %+v, want none because %q", name, v, reason)
		}
	}
}
