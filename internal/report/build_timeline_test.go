package report

import (
	"context"
	"strings"
	"testing"
	"time"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/record"
	"brink/internal/wire"
)

const memoryFile = `
name: memory
title: Two apps on a small plan
type: performance
question: What happens?
plan: {cpus: 1, memory_mb: 1855, swap_mb: 1000}
apps: [{name: a, runtime: go, workers: 1}, {name: b, runtime: go, workers: 1}]
repetitions: 1
steps:
  - {name: 2x50, traffic: {app: a, kind: steady, every: 1s, duration: 5s, path: /ping}}
`

// Two apps start 3 s apart; the kernel kills the second at 8 s, and it starts
// again a second later.
func TestBuildDrawsATimelineOfEachMemoryStep(t *testing.T) {
	ctx := context.Background()
	d, err := experiment.LoadDesign("memory.yaml", []byte(memoryFile), experiment.Options{})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	dir, start := t.TempDir(), time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC).UnixNano()
	at := func(s float64) int64 { return start + int64(s*1e9) }
	w, err := record.Create(dir, record.Run{ID: "m", Experiment: "memory", YAML: memoryFile, Host: "vm", Accelerator: "tcg", StartedNs: start})
	check(err)
	step, err := w.AddStep(record.Step{Ordinal: 1, Name: "2x50", JSON: `{"name":"2x50","plan":{"cpus":1,"memory_mb":1855,"swap_mb":1000}}`})
	check(err)
	rep := record.Repetition{StepID: step, Number: 1, Position: 1, StartedNs: start, Status: record.Running}
	rep.ID, err = w.BeginRepetition(rep)
	check(err)
	for _, e := range []wire.Event{
		{App: "a", AtNs: at(1), Kind: wire.Deployed}, {App: "a", AtNs: at(2), Kind: wire.Healthy},
		{App: "b", AtNs: at(4), Kind: wire.Deployed}, {App: "b", AtNs: at(9), Kind: wire.OOMKilled}, {App: "b", AtNs: at(10), Kind: wire.Restarted},
	} {
		check(w.Event(rep.ID, e))
	}
	for i := range 12 {
		var s wire.Sample
		s.Clear()
		s.AtNs, s.MemTotal, s.MemFree, s.AnonPages, s.Cached, s.Slab = at(float64(i)), 1855<<20, 500<<20, 900<<20, 300<<20, 50<<20
		s.SwapTotal, s.SwapFree = 1000<<20, int64(1000-10*i)<<20
		check(w.Sample(rep.ID, &s))
	}
	rep.TrafficNs, rep.TrafficEndNs, rep.EndedNs, rep.Status = at(5), at(11), at(12), record.Done
	check(w.UpdateRepetition(rep))
	check(w.Finish(record.Done, ""))
	check(w.Close())
	r, err := record.Open(dir)
	check(err)
	defer r.Close()
	table, err := measure.Load(ctx, r, measure.Options{})
	check(err)
	m, err := Build(ctx, Input{Design: d, Reader: r, Table: table})
	check(err)
	c := m.chart(t, "timeline-2x50")
	if want := "Over 10.00\u00a0s: 2 × start, 1 × serving, 1 × restart, 1 × OOM kill. Swap in use reached 110\u00a0MB of 1,000\u00a0MB."; !strings.HasPrefix(c.Alt, want) {
		t.Errorf("%q, want it to begin with %q", c.Alt, want)
	}
	if !strings.Contains(c.Note, "Memory pressure (PSI) (some) could not be read") {
		t.Errorf("note: %s", c.Note)
	}
}
