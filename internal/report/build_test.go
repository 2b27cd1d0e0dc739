package report

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"brink/internal/experiment"
	"brink/internal/record"
	"brink/internal/verdict"
	"brink/internal/wire"
)

// The reference's S4, and twice as much work beside it, as a file.
const builtFile = `
name: built
title: A report from a record
type: performance
question: Who waits?
why: Somebody does.
symptoms: [It is slow.]
hypotheses:
  - {id: law, claim: Rounds., form: law, metric: last_answer_s, steps: [s4, s8], formula: ceil(requests / workers) * hold, tolerance: 10%}
  - {id: cpu, claim: No CPU., form: equivalent, metric: cpu_pct, steps: [idle, s4], margin: 10 points}
  - {id: more, claim: More takes longer., form: compare, metric: queue_wait_max_s, steps: [s4, s8], direction: rise, effect: 5s}
  - {id: together, claim: They fall together., form: cascade, steps: [s8], restarts: 2, within: 5s, unrecovered: 1s}
plan: {cpus: 1}
apps: [{name: web, runtime: go, workers: 4}]
baseline: idle
repetitions: 3
steps:
  - {name: idle, factors: {hold: 5s}, traffic: {kind: batch, count: 1, path: "/thread-hold?secs=${hold}"}}
  - {name: s4, factors: {hold: 5s}, traffic: {kind: batch, count: 5, path: "/thread-hold?secs=${hold}"}}
  - {name: s8, factors: {hold: 5s}, traffic: {kind: batch, count: 9, path: "/thread-hold?secs=${hold}"}}
profiles:
  whole: {scale: 1}
  small: {scale: 1, steps: [idle, s4]}
expected: [The fifth waits.]
takeaways: [Count the workers.]
reference:
  title: The published one
  date: "2026-05-04"
  claims:
    - {id: r, says: The fifth ends at (K + 1) × D / W., hypothesis: law, observed: 10.624, unit: s, formula: (K + 1) * D / W, values: {K: 5, D: 5, W: 4}}
  figures:
    - {table: Five, source: "1", metric: last_answer_s, values: {s4: 10.624, s8: 15}, high: {s8: 16}}
`

// builtRecord writes what a run of the file would have recorded, with holds of
// exactly 5 s on workers that take requests in rounds.
func builtRecord(t *testing.T, d *experiment.Design, resumed bool) *record.Reader {
	t.Helper()
	dir := t.TempDir()
	start := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC).UnixNano()
	w, err := record.Create(dir, record.Run{ID: "built-1", Brink: "test", Experiment: "built", YAML: builtFile, Profile: d.Profile, Seed: 7, Host: "local", Accelerator: "none", StartedNs: start})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	id := func(id int64, err error) int64 { t.Helper(); check(err); return id }
	check(w.AddFacts(record.Fact{Name: "cpus", Value: "2"}, record.Fact{Name: "kernel", Value: "Linux 6.1"}))
	check(w.AddRequirement(record.Requirement{Need: "gunicorn", App: "web", Consequence: "gunicorn was not there; the built-in Go server took the place of app web", Substituted: true}))
	at, position := start, 0
	for i, s := range d.Steps {
		text, err := json.Marshal(s)
		check(err)
		stepID := id(w.AddStep(record.Step{Ordinal: i + 1, Name: s.Name, JSON: string(text)}))
		for number := 1; number <= 3; number++ {
			twins := []bool{false}
			if s.Name == d.Experiment.Baseline {
				twins = append(twins, true)
			}
			for _, twin := range twins {
				position++
				writeRepetition(t, w, s, record.Repetition{StepID: stepID, Number: number, Position: position, Twin: twin, StartedNs: at, Status: record.Running})
				at += int64(time.Minute)
			}
		}
	}
	if resumed {
		check(w.Finish(record.Interrupted, "signal: terminated"))
		check(w.Close())
		w, err = record.Resume(dir, "test-2")
		check(err)
	}
	check(w.Finish(record.Done, ""))
	check(w.Close())
	r, err := record.Open(dir)
	check(err)
	t.Cleanup(func() { r.Close() })
	return r
}

func writeRepetition(t *testing.T, w *record.Writer, s experiment.Step, rep record.Repetition) {
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
	app, err := w.AddApp(record.App{RepetitionID: rep.ID, Name: "web", Runtime: "go", Server: "brink", Workers: 4, JSON: "{}"})
	check(err)
	second := int64(time.Second)
	from := rep.StartedNs + 2*second
	events := []wire.Event{{App: "web", AtNs: rep.StartedNs, Kind: wire.Deployed}, {App: "web", AtNs: rep.StartedNs + second, Kind: wire.Healthy}}
	if s.Name == "s8" {
		for _, name := range []string{"web", "other"} {
			events = append(events, wire.Event{App: name, AtNs: from, Kind: wire.Exited}, wire.Event{App: name, AtNs: from + second, Kind: wire.Restarted})
		}
	}
	for _, e := range events {
		check(w.Event(rep.ID, e))
	}
	check(w.Log(rep.ID, wire.Log{App: "web", AtNs: from, Stream: "stderr", Line: "</script><script>alert(1)</script>"}))
	stream := record.Stream{RepetitionID: rep.ID, AppID: app, Ordinal: 1, Kind: "batch", Method: "GET", Path: s.Traffic[0].Path, JSON: "{}", Held: true}
	stream.ID, err = w.AddStream(stream)
	check(err)
	var last int64
	for i := range s.Traffic[0].Count {
		done := from + int64(i/4+1)*5*second + int64(rep.Number)*second/100
		last = max(last, done)
		check(w.Probe(stream.ID, &record.Probe{Seq: int64(i), Due: from, Sent: from, Connected: from + 1, FirstByte: done, Done: done, Status: 200, Outcome: "ok", Pid: int32(100 + i%4), ServedNs: 5 * second, Bytes: 50}))
	}
	for k := int64(0); k*second/2 <= last-from+second; k++ {
		now := from - second/4 + k*second/2
		plan := wire.Sample{}
		plan.Clear()
		plan.AtNs, plan.CPUNs, plan.MemTotal, plan.MemAvailable = now, k*second/200, 8<<30, 4<<30
		check(w.Sample(rep.ID, &plan))
		one := wire.Sample{}
		one.Clear()
		one.App, one.AtNs, one.CPUNs, one.RSS, one.QueueDepth = "web", now, k*second/200, 64<<20, max(0, int64(s.Traffic[0].Count)-4)
		if s.Name == "s4" { // the others' workers cannot be told
			one.Workers, one.Busy, one.Idle, one.Queued = 4, 4, 0, one.QueueDepth
		}
		check(w.Sample(rep.ID, &one))
	}
	rep.TrafficNs, rep.TrafficEndNs, rep.EndedNs, rep.Status = from, last, last+second, record.Done
	rep.Limits = `[{"Name":"cpus","Wanted":"1","Applied":true,"How":"CPU 0 by affinity"},{"Name":"memory","Wanted":"1,855 MB","Applied":false,"How":"the local host applies no memory limit"}]`
	check(w.UpdateRepetition(rep))
}

// built builds the model of the file's run, as brink report does.
func built(t *testing.T) *Model { return builtOf(t, "whole", false) }

// builtOf builds the model of a run of one profile, in one piece or two.
func builtOf(t *testing.T, profile string, resumed bool) *Model {
	t.Helper()
	d, err := experiment.LoadDesign("built.yaml", []byte(builtFile), experiment.Options{Profile: profile})
	if err != nil {
		t.Fatal(err)
	}
	return modelOf(t, d, builtRecord(t, d, resumed), "brink run built.yaml --seed 7")
}

// A profile of two steps cannot test what the third is for: the reader must
// learn that before the first number, in the procedure and in section 13.
func TestBuildSaysWhatAProfileDoesNotTest(t *testing.T) {
	m := builtOf(t, "small", false)
	var left []string
	for _, l := range m.LeftOut {
		left = append(left, l.ID)
	}
	if want := []string{"law", "more", "together"}; !slices.Equal(left, want) || !slices.Equal(m.LeftOutSteps, []string{"s8"}) {
		t.Fatalf("left out are %v and steps %v, want %v and s8", left, m.LeftOutSteps, want)
	}
	md := renderedMarkdown(t, &Model{Run: m.Run, Verdicts: m.Verdicts, LeftOut: m.LeftOut, LeftOutSteps: m.LeftOutSteps, Procedure: m.Procedure, DoesNotProve: m.DoesNotProve})
	for _, want := range []string{"leaves out 1 step of the experiment: `s8`", "**more**: More takes longer: not tested by this profile, since step s8 is not in profile small"} {
		if !strings.Contains(md, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	d, err := compose(m)
	if err != nil {
		t.Fatal(err)
	}
	if want := "1 hypothesis: 1 supported; 3 more not tested by profile small"; d.Tally != want {
		t.Errorf("the first screen counts %q, want %q", d.Tally, want)
	}
}

func TestBuildSaysThatARunWasResumed(t *testing.T) {
	m := builtOf(t, "whole", true)
	if len(m.Run.Resumed) != 1 || m.Run.Resumed[0].Brink != "test-2" || m.Run.Resumed[0].Status != "interrupted" || m.Run.Resumed[0].Reason != "signal: terminated" {
		t.Fatalf("resumed: %+v", m.Run.Resumed)
	}
	if !slices.ContainsFunc(m.Notices, func(n Notice) bool { return n.Kind == "resumed" && strings.Contains(n.Text, "2 pieces") }) {
		t.Errorf("notices: %+v", m.Notices)
	}
	if md := renderedMarkdown(t, m); !strings.Contains(md, "by brink test-2 after it was interrupted: `signal: terminated`") {
		t.Error("section 8 does not say when and why")
	}
}

func TestBuildSaysSubstitutionsFirst(t *testing.T) {
	m := built(t)
	if len(m.Notices) == 0 || m.Notices[0].Kind != "substitute" || !strings.Contains(m.Notices[0].Text, "built-in Go server") {
		t.Errorf("notices: %+v", m.Notices)
	}
}

func TestBuildLeadsWithTheSmallestBatchInWhichSomebodyWaits(t *testing.T) {
	m := built(t)
	if m.Lead != "requests-s4" {
		t.Errorf("the report leads with %q; idle has no wait and s8 is larger than s4", m.Lead)
	}
	var ids []string
	for _, c := range m.Charts {
		ids = append(ids, c.ID)
	}
	for _, want := range []string{"requests-s4", "requests-s8", "frame-s4", "frame-s8", "staircase", "predicted-law", "over-time", "effects-cpu-pct", "boxes-cpu-pct", "uptime-s8"} {
		if !slices.Contains(ids, want) {
			t.Errorf("chart %s is missing; there are %v", want, ids)
		}
	}
}

func (m *Model) chart(t *testing.T, id string) Chart {
	t.Helper()
	for _, c := range m.Charts {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("no chart %s", id)
	return Chart{}
}

// One look must show full workers and a queue beside a flat CPU: all of them in
// one frame, CPU on an axis of 100 %, a line at the number of workers.
func TestBuildFramesTheQueueWithTheCPU(t *testing.T) {
	m := built(t)
	s4 := m.chart(t, "frame-s4")
	var titles []string
	for _, row := range s4.Table.Rows {
		titles = append(titles, row[0])
	}
	if want := []string{"Busy workers, count", "Accept queue, connections", "CPU of the plan, %", "Memory of the apps, MB"}; !slices.Equal(titles, want) {
		t.Errorf("the frame holds %v, want %v", titles, want)
	}
	spec := string(s4.Spec)
	if !strings.Contains(spec, `"w":"4 workers"`) || !strings.Contains(spec, `"domain":[0,100]`) {
		t.Errorf("no line at 4 workers, or no axis to 100 %%: %s", spec)
	}
	if s8 := m.chart(t, "frame-s8"); strings.Contains(string(s8.Spec), "Busy workers") || !strings.Contains(s8.Note, "unknown in s8 (built-in server)") {
		t.Errorf("workers that cannot be counted: %s", s8.Note)
	}
	for _, c := range m.Charts {
		if c.ID == "frame-idle" {
			t.Error("nobody waited in idle, and it has a frame")
		}
	}
}

// By hand: (5 + 1) × 5 / 4 = 7.5; 10.624 is 41.7 % above it.
func TestBuildRecomputesTheReference(t *testing.T) {
	c := built(t).Reference.Claims[0]
	if c.Computed == nil || *c.Computed != 7.5 || math.Abs(*c.Deviation-0.4165) > 1e-3 || c.Formula != "(5 + 1) * 5 / 4" {
		t.Errorf("%+v", c)
	}
	if c.Level != verdict.Observed {
		t.Errorf("one published repetition is %s, want Observed", c.Level)
	}
}

// The published figures stand beside our medians: the fifth after two holds,
// the ninth after three, and 0.02 s in the median repetition.
func TestBuildSetsPublishedFiguresBesideOurs(t *testing.T) {
	figures := built(t).Reference.Figures
	if len(figures) != 2 {
		t.Fatalf("%+v", figures)
	}
	s4, s8 := figures[0], figures[1]
	if s4.Step != "s4" || s4.Published.X != 10.624 || math.Abs(s4.Ours.X-10.02) > 1e-6 || s4.N != 3 || s4.Source != "1" {
		t.Errorf("%+v", s4)
	}
	if s8.High == nil || *s8.High != 16 || math.Abs(s8.Ours.X-15.02) > 1e-6 {
		t.Errorf("%+v", s8)
	}
	if small := builtOf(t, "small", false).Reference.Figures; len(small) != 1 {
		t.Errorf("a profile without s8 has %+v", small)
	}
}

// Section 12 holds Observed, Measured and Strongly Suggested; the rest, what was
// not limited and what was missed stand in 13.
func TestBuildSortsStatementsByLevel(t *testing.T) {
	m := built(t)
	for _, s := range m.Proves {
		if s.Level != verdict.Observed && s.Level != verdict.Measured && s.Level != verdict.StronglySuggested {
			t.Errorf("section 12 holds %+v", s)
		}
	}
	text := ""
	for _, s := range m.DoesNotProve {
		text += s.Text + "\n"
	}
	for _, want := range []string{"memory (1,855 MB) was not applied", "built-in Go server", "Accept queue overflows could not be read", "What would raise it"} {
		if !strings.Contains(strings.ToLower(text), strings.ToLower(want)) {
			t.Errorf("section 13 does not say %q:\n%s", want, text)
		}
	}
}

// The baseline ran twice; the second executions are like the first, so the floor
// of the metrics that were read is 0 or close to it.
func TestBuildShowsTheNoiseFloor(t *testing.T) {
	m := built(t)
	if len(m.NoiseFloor) == 0 {
		t.Fatal("no noise floor")
	}
	for _, n := range m.NoiseFloor {
		if n.Step != "idle" || n.N != 3 || n.Difference > 0.02 {
			t.Errorf("%+v", n)
		}
	}
}

func TestBuiltReportDrawsEveryChart(t *testing.T) {
	m := built(t)
	tb := open(t, browser(t), m, desktop)
	counts := eval[[]int](tb, marks)
	if len(counts) != len(m.Charts) {
		t.Fatalf("%d pictures, want %d", len(counts), len(m.Charts))
	}
	for i, n := range counts {
		if n == 0 {
			t.Errorf("figure %d is not drawn", i+1)
		}
	}
	if n := eval[int](tb, `document.querySelectorAll('script[src], img').length`); n != 0 {
		t.Errorf("%d elements that an app wrote", n)
	}
	tb.quiet()
}
