package compare

import (
	"context"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/record"
	"brink/internal/wire"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// servers is an experiment of three steps: two servers under the same traffic, and
// a third step with twice the requests.
const servers = `name: servers
title: Two servers under the same traffic
type: performance
question: Which one answers sooner?
hypotheses:
  - id: H1
    claim: The second server takes longer.
    form: compare
    metric: last_answer_s
    steps: [one, two]
    direction: rise
    effect: 10%
plan:
  cpus: 1
apps:
  - name: old
    runtime: go
    workers: 2
  - name: new
    runtime: go
    workers: 4
baseline: one
repetitions: 6
steps:
  - name: one
    apps: [old]
    traffic: {kind: batch, count: 4, path: /work}
  - name: two
    apps: [new]
    traffic: {kind: batch, count: 4, path: /work}
  - name: many
    apps: [new]
    traffic: {kind: batch, count: 8, path: /work}
`

var began = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)

// made is a record that is written by hand: the time to the last answer, in s,
// of each repetition of each step.
type made struct {
	run    record.Run
	facts  []record.Fact
	limits string
	yaml   string
	// change alters a step before it is written.
	change func(*experiment.Step)
	// seconds are by step; a negative one was not answered within so long.
	seconds map[string][]float64
	status  string
}

func seconds(m map[string][]float64) made {
	return made{
		run: record.Run{
			ID: "first", Brink: "1.0", Experiment: "servers", Seed: 1, Host: "local", Accelerator: "none",
			StartedNs: began.UnixNano(),
		},
		facts:  []record.Fact{{Name: "CPU model", Value: "Test CPU"}, {Name: "CPUs", Value: "2"}, {Name: "kernel", Value: "6.1"}},
		limits: `[{"Name":"cpus","Wanted":"1","Applied":true}]`,
		yaml:   servers, seconds: m, status: record.Done,
	}
}

// named makes it another run.
func (m made) named(id string) made {
	m.run.ID = id
	m.run.Seed = int64(len(id))
	m.run.StartedNs += int64(time.Hour)
	return m
}

// write writes the record into a directory of that name and enters its parent,
// so that what is printed has no path of this machine.
func (m made) write(t testing.TB, dir string) string {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := experiment.LoadDesign("experiment.yaml", []byte(m.yaml), experiment.Options{})
	check(err)
	m.run.YAML = m.yaml
	check(os.MkdirAll(dir, 0o755))
	w, err := record.Create(dir, m.run)
	check(err)
	check(w.AddFacts(m.facts...))
	for i, s := range d.Steps {
		if m.change != nil {
			m.change(&s)
		}
		text, err := json.Marshal(s)
		check(err)
		step, err := w.AddStep(record.Step{Ordinal: i + 1, Name: s.Name, JSON: string(text)})
		check(err)
		for number, x := range m.seconds[s.Name] {
			check(m.repetition(w, step, number+1, x))
		}
	}
	check(w.Finish(m.status, map[bool]string{true: "stopped by the user"}[m.status != record.Done]))
	check(w.Close())
	return dir
}

// repetition writes two requests: one answered at once, one after x.
func (m made) repetition(w *record.Writer, step int64, number int, x float64) error {
	at := func(s float64) int64 { return m.run.StartedNs + int64(math.Round(s*1e9)) }
	rep := record.Repetition{StepID: step, Number: number, Position: number, StartedNs: at(0), Status: record.Running}
	var err error
	if rep.ID, err = w.BeginRepetition(rep); err != nil {
		return err
	}
	app, err := w.AddApp(record.App{RepetitionID: rep.ID, Name: "app"})
	if err != nil {
		return err
	}
	for _, e := range []wire.Event{{App: "app", AtNs: at(0), Kind: wire.Deployed}, {App: "app", AtNs: at(0.5), Kind: wire.Healthy}} {
		if err := w.Event(rep.ID, e); err != nil {
			return err
		}
	}
	stream, err := w.AddStream(record.Stream{RepetitionID: rep.ID, AppID: app, Kind: "batch", Held: true})
	if err != nil {
		return err
	}
	last := record.Probe{Seq: 2, Due: at(1), Sent: at(1), Done: at(1 + x), Status: 200, Outcome: "ok", ServedNs: -1}
	if x < 0 {
		last.Done, last.Status, last.Outcome = at(1-x), 0, "timeout"
	}
	for _, p := range []record.Probe{{Seq: 1, Due: at(1), Sent: at(1), Done: at(1.01), Status: 200, Outcome: "ok", ServedNs: -1}, last} {
		if err := w.Probe(stream, &p); err != nil {
			return err
		}
	}
	rep.TrafficNs, rep.TrafficEndNs, rep.EndedNs = at(1), last.Done, last.Done
	rep.Status, rep.Limits = record.Done, m.limits
	return w.UpdateRepetition(rep)
}

// compared opens both sides and compares them.
func compared(t testing.TB, a, b string, o Options) (*Comparison, error) {
	t.Helper()
	var sides [2]*Side
	for i, arg := range []string{a, b} {
		s, err := Open(context.Background(), arg, measure.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sides[i] = s
	}
	return Compare(sides[0], sides[1], o)
}

func must(t testing.TB, a, b string, o Options) *Comparison {
	t.Helper()
	c, err := compared(t, a, b, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
