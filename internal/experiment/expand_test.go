package experiment

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// expand parses good with its steps replaced, and expands it for a profile.
func expand(t *testing.T, apps, steps, profile string) []Step {
	t.Helper()
	d, err := mustParse(t, fileWith(apps, steps)).Expand(profile)
	if err != nil {
		t.Fatal(err)
	}
	return d.Steps
}

func mustParse(t *testing.T, file string) *Experiment {
	t.Helper()
	e, err := Parse("worker.yaml", []byte(file), Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	return e
}

// fileWith is a file with the given apps and steps, both indented by two.
func fileWith(apps, steps string) string {
	return `name: worker
title: A test
type: performance
question: Does it expand?
plan: {cpus: 1, memory_mb: 100}
apps:
` + apps + `
steps:
` + steps + `
repetitions: 6
settle: 500ms
profiles:
  tenth: {scale: 0.1, repetitions: 2}
  same: {scale: 1}
`
}

const api = "  - {name: api, runtime: go, workers: 4, timeout: 20s}"

func stepNames(steps []Step) string {
	all := make([]string, len(steps))
	for i, s := range steps {
		all[i] = s.Name
	}
	return strings.Join(all, " ")
}

func TestMatrixIsTheProductInOrder(t *testing.T) {
	steps := expand(t, api, `
  - name: held
    factors: {n: [1, 5], hold: [1s, 2s], label: x}
    traffic: {kind: batch, count: "${n}", path: "/${label}?secs=${hold}"}
  - name: named-${n}
    factors: {n: [3, 4]}
    traffic: {kind: sequential, count: "${n}", path: /}`, "")
	want := "held-n=1-hold=1s held-n=1-hold=2s held-n=5-hold=1s held-n=5-hold=2s named-3 named-4"
	if got := stepNames(steps); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := steps[3].Traffic[0]; got.Count != 5 || got.Path != "/x?secs=2" {
		t.Errorf("references are not filled in: %+v", got)
	}
	wantLevels := map[string]Level{
		"n":     {Number: 5, Text: "5", Numeric: true},
		"hold":  {Number: 2, Text: "2s", Numeric: true, Unit: "s"},
		"label": {Text: "x"},
	}
	if diff := cmp.Diff(wantLevels, steps[3].Factors); diff != "" {
		t.Error(diff)
	}
}

func TestReferencesKeepTheirType(t *testing.T) {
	s := expand(t, api, `
  - name: all
    title: $${literal} and ${n} of ${gap}
    factors: {n: 3, gap: 100ms, kind: steady, yes: true, rate: 1.5, cpus: 2, class: a-b}
    plan: {cpus: "${cpus}"}
    apps:
      - name: api
        workers: ${n}
        env: {CLASS: "${class}", BOTH: "${n}x${rate}"}
    traffic:
      - {kind: "${kind}", path: /a, every: "${gap}", duration: 1s, reuse: "${yes}"}
      - {kind: rate, path: "/b?gap=${gap}", rate: "${rate}", duration: "${n}s"}`, "")[0]
	want := Step{
		Name: "all", Title: "${literal} and 3 of 0.1", Factors: s.Factors,
		Plan: Plan{CPUs: 2, MemoryMB: 100}, Settle: Duration(500 * time.Millisecond),
		Apps: []App{{
			Name: "api", Runtime: "go", Workers: 3, Threads: 1, Timeout: Duration(20 * time.Second), Backlog: 2048,
			KeepAlive: Duration(2 * time.Second), StartLimit: Duration(time.Minute), Deploy: "zip",
			Env: map[string]string{"CLASS": "a-b", "BOTH": "3x1.5"},
		}},
		Traffic: []Traffic{
			{App: "api", Kind: "steady", Path: "/a", Every: Duration(100 * time.Millisecond), Duration: Duration(time.Second), Timeout: Duration(30 * time.Second), Reuse: true},
			{App: "api", Kind: "rate", Path: "/b?gap=0.1", Rate: 1.5, Arrivals: "constant", Duration: Duration(3 * time.Second), Timeout: Duration(30 * time.Second)},
		},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
}

func TestProfileScalesWhatTheDocumentationSays(t *testing.T) {
	steps := `
  - name: scaled-${hold}
    factors: {hold: 5s, limit: 40s, work: 120, gap: 200ms}
    warm_up: 2s
    apps:
      - {name: api, start_limit: "${limit}"}
    traffic:
      - {kind: batch, count: 3, path: "/hold?secs=${hold}&work=${work}", stagger: 50ms, start: 1s, timeout: 10s}
      - {kind: steady, path: /, every: "${gap}", duration: 4s, timeout: "${hold}"}
      - {kind: rate, rate: 7, path: /, duration: 30s}`
	full, tenth := expand(t, api, steps, "same")[0], expand(t, api, steps, "tenth")[0]
	ms := func(n int) Duration { return Duration(n) * Duration(time.Millisecond) }

	want := full
	want.WarmUp, want.Settle = ms(200), ms(50)
	want.Factors = map[string]Level{
		"hold":  {Number: 0.5, Text: "5s", Numeric: true, Unit: "s"},
		"limit": {Number: 4, Text: "40s", Numeric: true, Unit: "s"},
		"work":  {Number: 120, Text: "120", Numeric: true},
		"gap":   {Number: 0.02, Text: "200ms", Numeric: true, Unit: "s"},
	}
	want.Apps = append([]App(nil), full.Apps...)
	want.Apps[0].StartLimit = ms(4000)
	want.Traffic = append([]Traffic(nil), full.Traffic...)
	want.Traffic[0].Path = "/hold?secs=0.5&work=120"
	want.Traffic[0].Stagger, want.Traffic[0].Start = ms(5), ms(100)
	want.Traffic[1].Every, want.Traffic[1].Duration, want.Traffic[1].Timeout = ms(20), ms(400), ms(500)
	want.Traffic[2].Duration = ms(3000)
	if diff := cmp.Diff(want, tenth); diff != "" {
		t.Error(diff)
	}
	if tenth.Name != "scaled-5s" || tenth.Traffic[0].Timeout != ms(10_000) || tenth.Apps[0].Timeout != ms(20_000) || tenth.Traffic[2].Rate != 7 {
		t.Errorf("name, time-outs or rate were scaled: %+v", tenth)
	}
}

func TestProfileIsChosen(t *testing.T) {
	file := strings.Replace(good, "profiles:\n", "profiles:\n  standard: {scale: 0.5}\n", 1)
	for _, tc := range []struct {
		file, option, asked, want string
		scale                     float64
		repetitions               int
	}{
		{good, "", "", "", 1, 6},
		{good, "", "quick", "quick", 0.2, 3},
		{good, "quick", "", "quick", 0.2, 3},
		{good, "quick", "slow", "slow", 100, 6},
		{file, "", "", "standard", 0.5, 6},
	} {
		e, err := Parse("worker.yaml", []byte(tc.file), Options{Profile: tc.option})
		if err != nil {
			t.Fatal(err)
		}
		d, err := e.Expand(tc.asked)
		if err != nil {
			t.Fatal(err)
		}
		if d.Profile != tc.want || d.Scale != tc.scale || d.Repetitions != tc.repetitions {
			t.Errorf("option %q, asked %q: got %q, scale %v, %d repetitions", tc.option, tc.asked, d.Profile, d.Scale, d.Repetitions)
		}
	}
	const unknown = `--profile quik: "quik" is not a profile of worker; did you mean "quick"? Allowed: quick, slow.`
	if _, err := parseGood(t, Options{}).Expand("quik"); err == nil || err.Error() != unknown {
		t.Errorf("got %v", err)
	}
	if _, err := Parse("worker.yaml", []byte(good), Options{Profile: "quik"}); err == nil || err.Error() != unknown {
		t.Errorf("got %v", err)
	}
}

func TestStepChoosesAndChangesApps(t *testing.T) {
	steps := expand(t, `
  - {name: a, runtime: flask, workers: 2, backlog: 10}
  - {name: b, runtime: go}`, `
  - {name: all, traffic: {kind: batch, count: 1, path: /, app: b}}
  - {name: one, apps: [b], traffic: {kind: batch, count: 1, path: /}}
  - name: changed
    apps:
      - {name: c, runtime: node}
      - {name: a, workers: 8}
    traffic: {kind: batch, count: 1, path: /, app: c}`, "")
	got := ""
	for _, s := range steps {
		for _, a := range s.Apps {
			got += fmt.Sprintf("%s:%s/%d/%d ", a.Name, a.Runtime, a.Workers, a.Backlog)
		}
		got += "| "
	}
	if want := "a:flask/2/10 b:go/1/2048 | b:go/1/2048 | c:node/1/2048 a:flask/8/10 | "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCopiesAndLadder(t *testing.T) {
	steps := expand(t, "  - {name: web, runtime: go, alloc_mb: 50}", `
  - name: more
    ladder: density
    factors: {apps: [2, 3]}
    apps: [{name: web, copies: "${apps}"}]
    traffic: {kind: steady, app: web, path: /ping, every: 1s, duration: 3s}
  - name: alone
    apps: [{name: web}]
    traffic: {kind: batch, app: web, path: /, count: 1}`, "")
	if got, want := stepNames(steps), "more-apps=2 more-apps=3 alone"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	for i, s := range steps[:2] {
		if s.Ladder != "density" || s.Rung != i || len(s.Apps) != i+2 || len(s.Traffic) != i+2 {
			t.Errorf("rung %d: %+v", i, s)
		}
		if v := s.Vars(); v["apps"] != float64(i+2) || v["alloc_mb"] != 50 {
			t.Errorf("rung %d: vars %v", i, v)
		}
		last := fmt.Sprintf("web-%d", i+2)
		if s.Apps[i+1].Name != last || s.Apps[i+1].Copies != 0 || s.Traffic[i+1].App != last {
			t.Errorf("rung %d: copies are not resolved: %+v", i, s.Apps)
		}
	}
	if steps[2].Ladder != "" || steps[2].Apps[0].Name != "web" {
		t.Errorf("alone: %+v", steps[2])
	}
}

func TestBadLadders(t *testing.T) {
	for _, tc := range []struct{ name, steps, want string }{
		{"fewer apps", `
  - {name: a, ladder: l, apps: [{name: api, copies: 2}], traffic: {kind: batch, app: api, path: /, count: 1}}
  - {name: b, ladder: l, apps: [{name: api, copies: 1}], traffic: {kind: batch, path: /, count: 1}}`,
			`worker.yaml:11:32: steps[1].apps: step b does not have the apps of the rung before it, a, unchanged; a rung only adds apps.`},
		{"another plan", `
  - {name: a, ladder: l, traffic: {kind: batch, path: /, count: 1}}
  - {name: b, ladder: l, plan: {cpus: 2}, traffic: {kind: batch, path: /, count: 1}}`,
			`worker.yaml:11:33: steps[1].plan: step b changes the plan of ladder l; all rungs share one.`},
	} {
		_, err := Parse("worker.yaml", []byte(fileWith(api, tc.steps)), Options{})
		if err == nil || err.Error() != tc.want {
			t.Errorf("%s: got %v\nwant %s", tc.name, err, tc.want)
		}
	}
}

func TestVars(t *testing.T) {
	s := expand(t, "  - {name: api, runtime: flask, worker_class: gthread, workers: 4, threads: 2, alloc_mb: 7}", `
  - name: s
    factors: {hold: 1500ms, requests: 9, word: x}
    traffic: {kind: batch, count: "${requests}", path: "/${word}?secs=${hold}"}`, "")[0]
	want := map[string]float64{"hold": 1.5, "requests": 9, "workers": 4, "threads": 2, "cpus": 1, "apps": 1, "alloc_mb": 7}
	if diff := cmp.Diff(want, s.Vars()); diff != "" {
		t.Error(diff)
	}
	if unlimited := (Step{}).Vars(); len(unlimited) != 1 || unlimited["apps"] != 0 {
		t.Errorf("an empty step knows only that it has no apps, not %v", unlimited)
	}
}

// Whatever the factors: the expansion has as many steps as their product,
// distinct names, levels where the file refers to them, and survives JSON.
func TestExpansionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfNDistinct(rapid.IntRange(1, 1_000_000), 1, 6, rapid.ID).Draw(t, "counts")
		holds := rapid.SliceOfNDistinct(rapid.IntRange(1, 60_000), 1, 6, rapid.ID).Draw(t, "holds")
		scale := rapid.SampledFrom([]float64{0.01, 0.1, 0.5, 1, 2}).Draw(t, "scale")
		levels := make([]string, len(holds))
		for i, ms := range holds {
			levels[i] = fmt.Sprintf("%dms", ms)
		}
		file := fileWith(api, fmt.Sprintf(`
  - name: held
    factors: {n: %s, hold: [%s]}
    traffic: {kind: batch, count: "${n}", path: "/h?secs=${hold}", stagger: "${hold}"}
`, strings.ReplaceAll(fmt.Sprint(counts), " ", ", "), strings.Join(levels, ", "))) + fmt.Sprintf("  drawn: {scale: %v}\n", scale)
		e, err := Parse("worker.yaml", []byte(file), Options{})
		if err != nil {
			t.Fatal(err)
		}
		d, err := e.Expand("drawn")
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Steps) != len(counts)*len(holds) {
			t.Fatalf("%d steps of %d × %d levels", len(d.Steps), len(counts), len(holds))
		}
		seen := map[string]bool{}
		for i, s := range d.Steps {
			wantCount := counts[i/len(holds)]
			wantHold := time.Duration(float64(holds[i%len(holds)])*scale*1e3+0.5) * time.Microsecond
			if s.Traffic[0].Count != wantCount || time.Duration(s.Traffic[0].Stagger) != wantHold {
				t.Fatalf("%s: %+v, want count %d and stagger %v", s.Name, s.Traffic[0], wantCount, wantHold)
			}
			if seen[s.Name] {
				t.Fatalf("%s twice", s.Name)
			}
			seen[s.Name] = true
			sameAfterJSON(t, s)
		}
	})
}

func sameAfterJSON[T any](t interface {
	Helper()
	Fatalf(string, ...any)
}, v T) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var back T
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatalf("%v", err)
	}
	if diff := cmp.Diff(v, back, cmp.AllowUnexported()); diff != "" {
		t.Fatalf("JSON does not keep %s: %s", data, diff)
	}
}

// By hand, for good at profile quick: idle 1.2 + 0.2 s twice, for the baseline
// runs twice; held 1.2 + 0.4 s and 1.2 + ceil(5 / 4) × 0.4 s; three repetitions.
func TestEstimate(t *testing.T) {
	d, err := LoadDesign("worker.yaml", []byte(good), Options{Profile: "quick"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := d.Estimate().Round(time.Millisecond), 3*(2*1400+1600+2000)*time.Millisecond; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if string(d.Source) != good || d.Sampling.String() != "100ms" || strings.Join(d.Experiment.ProfileNames(), " ") != "quick slow" {
		t.Errorf("source, sampling %v or profiles %v are wrong", d.Sampling, d.Experiment.ProfileNames())
	}
}

// Three copies that are each asked every 9 s are asked one every 3 s, and so on:
// the interval divided by the number of copies.
func TestCopiesTakeTurns(t *testing.T) {
	for traffic, want := range map[string][]Duration{
		"kind: steady, every: 9s, count: 2":                {0, 3 * secs, 6 * secs},
		"kind: steady, every: 9s, count: 2, start: 1s":     {secs, 4 * secs, 7 * secs},
		"kind: rate, rate: 2, count: 2":                    {0, secs / 6, secs / 3},
		"kind: rate, rate: 2, count: 2, arrivals: poisson": {0, 0, 0},
		"kind: batch, count: 2":                            {0, 0, 0},
		"kind: sequential, count: 2":                       {0, 0, 0},
	} {
		file := strings.Replace(planFile("", ", copies: 3", ""), "kind: batch, count: 1", traffic, 1)
		var starts []Duration
		for _, s := range onlyStep(t, file).Traffic {
			starts = append(starts, s.Start)
		}
		if !slices.Equal(starts, want) {
			t.Errorf("%s: starts %v, want %v", traffic, starts, want)
		}
	}
}
