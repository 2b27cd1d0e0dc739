package experiment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brink/internal/metric"
)

// formsFile has steps for every form; %s is the list of hypotheses.
const formsFile = `name: forms
title: t
type: hybrid
question: q
repetitions: 6
apps: [{name: api, runtime: go, workers: 2}]
steps:
  - name: load-${n}
    factors: {n: [1, 2, 4, 8]}
    traffic: {kind: batch, count: "${n}", path: /}
  - name: wave-${pulse}
    factors: {pulse: ["on", "off"]}
    traffic: {kind: batch, count: 1, path: "/?${pulse}"}
  - {name: other, plan: {cpus: 1}, traffic: {kind: batch, count: 1, path: /}}
hypotheses:
  - %s
`

func TestEveryFormLoads(t *testing.T) {
	for _, tc := range []struct {
		yaml  string
		steps string
		want  Hypothesis
	}{
		{"form: law, metric: peak_in_service, steps: [load-4, load-1], formula: 'min(n, workers)', tolerance: 0", "load-4 load-1",
			Hypothesis{Form: Law, Metric: "peak_in_service", Formula: "min(n, workers)", Tolerance: &Margin{Text: "0"}}},
		{"form: compare, metric: last_answer_s, steps: [load-8, load-1], effect: 60%, direction: fall", "load-8 load-1",
			Hypothesis{Form: Compare, Metric: "last_answer_s", Effect: &Margin{Value: 0.6, Relative: true, Text: "60%"}, Direction: "fall"}},
		{"form: compare, metric: cpu_pct, steps: [load-1, load-8], effect: 5 points, direction: rise, signals: [memory_pct, latency_p50_ms], because: reclaim", "load-1 load-8",
			Hypothesis{Form: Compare, Metric: "cpu_pct", Effect: &Margin{Value: 5, Text: "5 points"}, Direction: "rise", Signals: []string{"memory_pct", "latency_p50_ms"}, Because: "reclaim"}},
		{"form: equivalent, metric: cpu_pct, steps: load-*, margin: 5 points, config: true", "load-1 load-2 load-4 load-8",
			Hypothesis{Form: Equivalent, Metric: "cpu_pct", Margin: &Margin{Value: 5, Text: "5 points"}, Config: true}},
		{"form: trend, metric: queue_wait_p50_ms, steps: load-*, factor: n, direction: rise, effect: 0.5s", "load-1 load-2 load-4 load-8",
			Hypothesis{Form: Trend, Metric: "queue_wait_p50_ms", Factor: "n", Direction: "rise", Effect: &Margin{Value: 500, Text: "0.5s"}}},
		{"form: cliff, metric: failure_pct, steps: load-*, factor: requests", "load-1 load-2 load-4 load-8",
			Hypothesis{Form: Cliff, Metric: "failure_pct", Factor: "requests"}},
		{"form: cascade, steps: load-8, restarts: 6, within: 10s, unrecovered: 1m", "load-8",
			Hypothesis{Form: Cascade, Restarts: 6, Within: 10e9, Unrecovered: 60e9}},
		{"form: caused_by, metric: restarts, factor: pulse, on: wave-on, off: wave-off, effect: 2, direction: rise", "wave-on wave-off",
			Hypothesis{Form: CausedBy, Metric: "restarts", Factor: "pulse", On: "wave-on", Off: "wave-off", Effect: &Margin{Value: 2, Text: "2"}, Direction: "rise"}},
	} {
		e := mustParse(t, fmt.Sprintf(formsFile, "{id: H1, claim: c, "+tc.yaml+"}"))
		tc.want.ID, tc.want.Claim, tc.want.Steps = "H1", "c", strings.Fields(tc.steps)
		if diff := cmp.Diff(tc.want, e.Hypotheses[0]); diff != "" {
			t.Errorf("%s: %s", tc.yaml, diff)
		}
		sameAfterJSON(t, e.Hypotheses[0])
	}
}

func TestBadHypotheses(t *testing.T) {
	for _, tc := range []struct{ yaml, want string }{
		{"form: compare, metric: last_answer_s, steps: load-*, effect: 60%, direction: fall",
			`steps: form compare needs exactly two steps, these are 4: load-1, load-2, load-4, load-8.`},
		{"form: compare, metric: last_answer_s, steps: [load-1, load-2], effect: 60%",
			`direction: is missing; form compare needs it.`},
		{"form: compare, metric: last_answer_s, steps: [load-1, load-2], effect: 60%, direction: up",
			`direction: "up" is not a direction. Allowed: differ, fall, rise.`},
		{"form: equivalent, metric: cpu_pct, steps: load-1, margin: 5 points",
			`steps: form equivalent needs at least two steps, these are 1: load-1.`},
		{"form: equivalent, metric: cpu_pct, steps: load-*, margin: 5%",
			`margin: "5%" does not fit cpu_pct, whose differences are in points; write a number of points such as "5 points".`},
		{"form: compare, metric: cpu_pct, steps: [load-1, load-8], effect: 5 points, direction: rise, signals: [cpu_pct, memory_pc]",
			`signals[0]: "cpu_pct" stands twice.` + "\n" + `signals[1]: "memory_pc" is not a metric; did you mean "memory_pct"?`},
		{"form: trend, metric: cpu_pct, steps: [load-1, load-4, load-2], factor: n, direction: rise",
			`steps: are not in the order of "n".`},
		{"form: trend, metric: cpu_pct, steps: [load-1, load-4], factor: n, direction: rise",
			`steps: form trend needs at least three steps, these are 2: load-1, load-4.`},
		{"form: trend, metric: cpu_pct, steps: load-*, factor: n, direction: differ",
			`direction: "differ" is no direction of a trend. Allowed: fall, rise.`},
		{"form: trend, metric: cpu_pct, steps: load-*, factor: m, direction: rise",
			`factor: "m" has no number in step load-1.`},
		{"form: cliff, metric: cpu_pct, steps: load-*, factor: apps",
			`factor: "apps" has 1 levels in these steps; form cliff needs at least three.`},
		{"form: cascade, steps: load-8, restarts: 1, within: 10s, unrecovered: 1m",
			`restarts: 1 is out of range. Allowed: 2 to 10000.`},
		{"form: cascade, metric: restarts, steps: load-8, restarts: 2, within: 10s, unrecovered: 1m",
			`metric: does not belong to form cascade.`},
		{"form: caused_by, metric: restarts, factor: pulse, on: wave-on, off: wave-on, effect: 2, direction: rise",
			`factor: "pulse" does not tell wave-on from wave-on.` + "\n" + `off: "wave-on" is the step with the intervention as well.`},
		{"form: caused_by, metric: restarts, factor: pulse, on: wave-on, off: other, effect: 2, direction: rise",
			`factor: "pulse" does not tell wave-on from other.` + "\n" + `off: other and wave-on differ in plan or apps; an intervention is switched within one deployment.`},
	} {
		_, err := Parse("forms.yaml", fmt.Appendf(nil, formsFile, "{id: H1, claim: c, "+tc.yaml+"}"), Options{})
		if err == nil {
			t.Errorf("%s: no error", tc.yaml)
			continue
		}
		wantPlaces(t, err)
		var got []string
		for line := range strings.SplitSeq(err.Error(), "\n") {
			_, sentence, _ := strings.Cut(line, "hypotheses[0].")
			got = append(got, sentence)
		}
		if strings.Join(got, "\n") != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.yaml, strings.Join(got, "\n"), tc.want)
		}
	}
}

func TestParseMargin(t *testing.T) {
	metrics := map[string]metric.Metric{}
	for _, name := range []string{"last_answer_s", "cpu_pct", "queue_wait_max_s", "send_lag_p99_ms", "restarts"} {
		metrics[name], _ = metric.Lookup(name)
	}
	for _, tc := range []struct {
		metric, text string
		value        float64
		relative, ok bool
	}{
		{"last_answer_s", "10%", 0.1, true, true},
		{"last_answer_s", "12.5 %", 0.125, true, true},
		{"last_answer_s", "0.1", 0, false, false},
		{"last_answer_s", "1s", 0, false, false},
		{"last_answer_s", "-10%", 0, false, false},
		{"last_answer_s", "NaN%", 0, false, false},
		{"cpu_pct", "5 points", 5, false, true},
		{"cpu_pct", "1 point", 1, false, true},
		{"cpu_pct", "5", 0, false, false},
		{"cpu_pct", "5s", 0, false, false},
		{"queue_wait_max_s", "0.5s", 0.5, false, true},
		{"queue_wait_max_s", "250ms", 0.25, false, true},
		{"queue_wait_max_s", "5 points", 0, false, false},
		{"send_lag_p99_ms", "0.5s", 500, false, true},
		{"restarts", "2", 2, false, true},
		{"restarts", "2 points", 0, false, false},
		{"restarts", "10%", 0, false, false},
	} {
		got, err := ParseMargin(tc.text, metrics[tc.metric])
		if (err == nil) != tc.ok {
			t.Errorf("%s %q: error %v", tc.metric, tc.text, err)
		} else if tc.ok && (got != Margin{Value: tc.value, Relative: tc.relative, Text: tc.text}) {
			t.Errorf("%s %q: got %+v", tc.metric, tc.text, got)
		}
	}
}

// The numbers are those of the methodology: n = 6 carries 23 hypotheses,
// n = 5 six, n = 4 one.
func TestCarries(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 0, 2: 0, 3: 0, 4: 1, 5: 6, 6: 23} {
		if got := Carries(n); got != want {
			t.Errorf("%d repetitions carry %d, want %d", n, got, want)
		}
	}
	if Carries(50) < 1000 {
		t.Error("50 repetitions carry too few")
	}
}

// Of the steps of a claim the one that is executed least counts.
func TestLeastRepetitions(t *testing.T) {
	d := Design{Repetitions: 6, Steps: []Step{{Name: "a"}, {Name: "b", Repetitions: 3}, {Name: "c", Repetitions: 10}}}
	for want, h := range map[int]Hypothesis{6: {Steps: []string{"a", "c"}}, 3: {On: "b", Off: "a"}} {
		if got := d.LeastRepetitions(h); got != want {
			t.Errorf("%+v: %d, want %d", h, got, want)
		}
	}
}

func TestWarningWhenRepetitionsCannotCarry(t *testing.T) {
	for _, tc := range []struct {
		repetitions, tested, outcomes int
		want                          string
	}{
		{6, 23, 0, ""},
		{6, 24, 0, "24 hypotheses are declared, but 6 repetitions carry 23 after Holm's correction; some may fall short of Measured"},
		{6, 23, 5, ""},
		{5, 6, 0, ""},
		{5, 7, 0, "7 hypotheses are declared, but 5 repetitions carry 6 after Holm's correction; some may fall short of Measured"},
		{3, 1, 0, "too few repetitions (3) for any tested hypothesis to be Measured, which takes 5; 6 carry 23 of them"},
		{3, 0, 1, ""},
	} {
		var b strings.Builder
		for i := range tc.tested + tc.outcomes {
			fmt.Fprintf(&b, "{id: H%d, claim: c, form: equivalent, metric: cpu_pct, steps: load-*, margin: 5 points, config: %v}\n  - ", i, i >= tc.tested)
		}
		file := fmt.Sprintf(formsFile, strings.TrimSuffix(b.String(), "\n  - "))
		e, err := Parse("forms.yaml", []byte(file), Options{Repetitions: tc.repetitions})
		if err != nil {
			t.Fatal(err)
		}
		d, err := e.Expand("")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, w := range d.Warnings {
			got += w.Message
		}
		if got != tc.want {
			t.Errorf("%+v: got %q", tc, got)
		}
	}
}
