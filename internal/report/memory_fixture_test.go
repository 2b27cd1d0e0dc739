package report

import (
	"context"
	"encoding/json"
	"math"
	"testing"
	"time"

	"brink/catalog"
	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/record"
	"brink/internal/verdict"
	"brink/internal/wire"
)

// pressured is the shipped experiment about memory, for its longest profile.
func pressured(t testing.TB) (*experiment.Design, string) {
	t.Helper()
	data, file, err := catalog.Open("memory-pressure")
	if err != nil {
		t.Fatal(err)
	}
	d, err := experiment.LoadDesign(file, data, experiment.Options{Profile: "standard"})
	if err != nil {
		t.Fatal(err)
	}
	return d, string(data)
}

// pressureRun is a run of it that is made up: of the first steps, so many
// repetitions of each (fewer where the step has fewer), each with so many
// readings a second apart. Memory fills, swap follows, and apps start more slowly
// the more of them there are.
type pressureRun struct{ steps, repetitions, readings int }

// write writes the record and returns its directory and how many repetitions it
// has.
func (p pressureRun) write(t testing.TB, d *experiment.Design, text string) (dir string, repetitions int) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir = t.TempDir()
	at := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC).UnixNano()
	w, err := record.Create(dir, record.Run{ID: "p", Brink: "test", Experiment: d.Experiment.Name, YAML: text, Profile: d.Profile, Seed: 7, Host: "vm", Accelerator: "tcg", StartedNs: at})
	check(err)
	check(w.AddFacts(record.Fact{Name: "speed factor", Value: "5.6"}))
	for i, s := range d.Steps {
		text, err := json.Marshal(s)
		check(err)
		id, err := w.AddStep(record.Step{Ordinal: i + 1, Name: s.Name, Title: s.Title, JSON: string(text)})
		check(err)
		if i >= p.steps {
			continue
		}
		for number := 1; number <= min(p.repetitions, d.RepetitionsOf(s)); number++ {
			repetitions++
			at = p.repetition(t, w, s, record.Repetition{StepID: id, Number: number, Position: repetitions, StartedNs: at, Status: record.Running})
		}
	}
	status, reason := record.Done, ""
	if p.steps < len(d.Steps) {
		status, reason = record.Interrupted, "signal: terminated"
	}
	check(w.Finish(status, reason))
	check(w.Close())
	return dir, repetitions
}

// repetition writes one and returns when the next begins.
func (p pressureRun) repetition(t testing.TB, w *record.Writer, s experiment.Step, rep record.Repetition) int64 {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	rep.ID, err = w.BeginRepetition(rep)
	check(err)
	second := int64(time.Second)
	at := func(k int) int64 { return rep.StartedNs + int64(k)*second }
	start := 2 * len(s.Apps)
	for i, a := range s.Apps {
		check(w.Event(rep.ID, wire.Event{App: a.Name, AtNs: at(i), Kind: wire.Deployed}))
		check(w.Event(rep.ID, wire.Event{App: a.Name, AtNs: at(i + start), Kind: wire.Healthy}))
	}
	filled := int64(0)
	for k := range p.readings {
		var x wire.Sample
		x.Clear()
		filled = int64(min(k, 2*start)) * 40
		wave := int64(100 * math.Sin(float64(k*rep.Number)))
		x.AtNs, x.MemTotal, x.AnonPages, x.Cached, x.Slab = at(k), 1855<<20, (700+filled/4+wave)<<20, (500-filled/8)<<20, 60<<20
		x.MemFree = x.MemTotal - x.AnonPages - x.Cached - x.Slab - 80<<20
		x.MemAvailable = x.MemFree + x.Cached/2
		x.SwapTotal, x.SwapFree = 2048<<20, (2048-filled)<<20
		x.PSIMemSome, x.PSIMemFull = int64(k)*300_000+wave*900, int64(k)*200_000+wave*500
		x.CPUNs, x.PlatformCPUNs, x.KswapdCPUNs = int64(k)*second/5+wave*400_000, int64(k)*second/20, int64(k)*second/50+wave*100_000
		check(w.Sample(rep.ID, &x))
	}
	end := at(p.readings)
	rep.TrafficNs, rep.TrafficEndNs, rep.EndedNs, rep.Status = at(3*start), end-second, end, record.Done
	check(w.UpdateRepetition(rep))
	return end + second
}

// judged builds the model of a record in a directory.
func judged(t testing.TB, d *experiment.Design, dir string) *Model {
	t.Helper()
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return modelOf(t, d, r, "brink run memory-pressure --seed 7")
}

// modelOf builds the model of a record as brink report does.
func modelOf(t testing.TB, d *experiment.Design, r *record.Reader, command string) *Model {
	t.Helper()
	ctx := context.Background()
	table, err := measure.Load(ctx, r, measure.Options{})
	if err != nil {
		t.Fatal(err)
	}
	verdicts, err := verdict.Judge(d, table)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Build(ctx, Input{Design: d, Reader: r, Table: table, Verdicts: verdicts, Command: command})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
