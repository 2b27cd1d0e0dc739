package experiment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// restrictFile has steps of two servers and hypotheses of several forms; %s is
// the list of steps of profile quick.
const restrictFile = `name: restrict
title: t
type: performance
question: q
repetitions: 6
apps: [{name: a, runtime: go, workers: 4}, {name: b, runtime: go, workers: 4}]
baseline: idle
calibration: {step: idle, metric: memory_pct, low: 1, high: 2}
steps:
  - {name: idle, apps: a, traffic: {kind: batch, count: 1, path: /}}
  - name: n${n}-${server}
    factors: {n: [4, 5, 6], server: [a, b]}
    apps: ["${server}"]
    traffic: {kind: batch, count: "${n}", path: /}
hypotheses:
  - {id: law, claim: c, form: law, metric: peak_in_service, steps: n*, formula: "min(n, 4)", tolerance: 0}
  - {id: both, claim: c, form: compare, metric: last_answer_s, steps: [n4-a, n5-a], effect: 60%, direction: rise}
  - {id: named, claim: two words, form: equivalent, metric: cpu_pct, steps: [idle, n6-a], margin: 5 points}
  - {id: trend, claim: c, form: trend, metric: last_answer_s, steps: [n*-a], factor: n, direction: rise}
  - {id: servers, claim: c, form: equivalent, metric: last_answer_s, steps: [n*], factor: server, margin: 10%}
profiles:
  quick: {steps: %s}
  standard: {}
`

func restrict(t *testing.T, steps string) *Design {
	t.Helper()
	d, err := mustParse(t, strings.Replace(restrictFile, "%s", steps, 1)).Expand("quick")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func hypotheses(d *Design) map[string]string {
	all := map[string]string{}
	for _, h := range d.Experiment.Hypotheses {
		all[h.ID] = strings.Join(h.Steps, " ")
	}
	return all
}

func TestProfileExecutesOnlyItsSteps(t *testing.T) {
	d := restrict(t, "[idle, n4-*, n5-a]")
	if got, want := stepNames(d.Steps), "idle n4-a n4-b n5-a"; got != want {
		t.Errorf("steps are %s, want %s", got, want)
	}
	if diff := cmp.Diff([]string{"n5-b", "n6-a", "n6-b"}, d.LeftOutSteps); diff != "" {
		t.Error(diff)
	}
	want := map[string]string{
		"law":  "n4-a n4-b n5-a",
		"both": "n4-a n5-a",
		// n5-a has no counterpart on the other server.
		"servers": "n4-a n4-b",
	}
	if diff := cmp.Diff(want, hypotheses(d)); diff != "" {
		t.Error(diff)
	}
	left := []LeftOut{
		{ID: "named", Claim: "two words", Why: "step n6-a is not in profile quick"},
		{ID: "trend", Claim: "c", Why: "form trend needs 3 steps, and profile quick has 2 of these 3"},
	}
	if diff := cmp.Diff(left, d.LeftOut); diff != "" {
		t.Error(diff)
	}
}

func TestHypothesesWithoutAnyStepAreLeftOut(t *testing.T) {
	d := restrict(t, "idle")
	if len(d.Experiment.Hypotheses) != 0 || len(d.LeftOut) != 5 {
		t.Errorf("%v, left out %v", hypotheses(d), d.LeftOut)
	}
	if why := d.LeftOut[0].Why; why != "form law needs 1 step, and profile quick has 0 of these 6" {
		t.Error(why)
	}
}

// A design of one profile can be expanded for another one.
func TestRestrictionBelongsToOneProfile(t *testing.T) {
	quick := restrict(t, "idle")
	standard, err := quick.Experiment.Expand("standard")
	if err != nil {
		t.Fatal(err)
	}
	if len(standard.Steps) != 7 || len(standard.Experiment.Hypotheses) != 5 || standard.LeftOut != nil || standard.LeftOutSteps != nil {
		t.Errorf("%d steps, %d hypotheses, left out %v", len(standard.Steps), len(standard.Experiment.Hypotheses), standard.LeftOut)
	}
}

// Holm's correction shares the chance of error among what is tested.
func TestOnlyTestedHypothesesAreAWarning(t *testing.T) {
	file := strings.Replace(strings.Replace(restrictFile, "%s", "[idle, n4-a, n5-a], repetitions: 4", 1), "repetitions: 6", "repetitions: 50", 1)
	for profile, warnings := range map[string]int{"quick": 1, "standard": 0} {
		d, err := mustParse(t, file).Expand(profile)
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Warnings) != warnings {
			t.Errorf("%s: %v", profile, d.Warnings)
		}
		if warnings > 0 && !strings.Contains(d.Warnings[0].Message, "2 hypotheses are declared, but 4 repetitions carry 1") {
			t.Error(d.Warnings[0].Message)
		}
	}
}

func TestProfilesKeepWhatARunNeeds(t *testing.T) {
	const ladder = `
  - {name: one, ladder: l, apps: [a], traffic: {kind: batch, count: 1, path: /}}
  - {name: two, ladder: l, apps: [a, b], traffic: {app: a, kind: batch, count: 1, path: /}}
hypotheses:`
	for steps, want := range map[string]string{
		"n4-*":        "profiles.quick.steps: leave out step idle, which is the experiment's baseline; every profile executes it.",
		"[idle, n7*]": `profiles.quick.steps[1]: "n7*" matches no step.`,
		"[idle, n4]":  `profiles.quick.steps[1]: "n4" is not a step. Allowed: idle, n4-a`,
		"[idle, two]": "profiles.quick.steps: leave out step one, on whose apps step two of ladder l stands.",
	} {
		file := strings.Replace(restrictFile, "%s", steps, 1)
		_, err := Parse("r.yaml", []byte(strings.Replace(file, "\nhypotheses:", ladder, 1)), Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", steps, err, want)
		}
	}
	file := strings.NewReplacer("%s", "n4-*", "baseline: idle\n", "").Replace(restrictFile)
	_, err := Parse("r.yaml", []byte(file), Options{})
	if err == nil || !strings.Contains(err.Error(), "leave out step idle, which is the experiment's calibration; every") {
		t.Error(err)
	}
}

// An intervention is switched by traffic, by pressure, or by both.
func TestInterventionMaySwitchPressure(t *testing.T) {
	file := strings.NewReplacer(
		"plan: {cpus: 1}, ", "", "apps: [", "plan: {size: B1}\napps: [",
		`factors: {pulse: ["on", "off"]}`, "factors: {pulse: [0, 400]}\n    pressure: {mb: \"${pulse}\"}\n    swap_in: true", "/?${pulse}", "/",
		"%s", "{id: H1, claim: c, form: caused_by, metric: cpu_pct, factor: pulse, on: wave-400, off: wave-0, effect: 2 points, direction: rise}",
	).Replace(formsFile)
	e := mustParse(t, file)
	if diff := cmp.Diff([]string{"wave-400", "wave-0"}, e.Hypotheses[0].Steps); diff != "" {
		t.Error(diff)
	}
	for _, s := range e.Steps {
		if want := (Pressure{MB: 400, Every: secs}); s.Name == "wave-400" && s.Pressure != want || s.Name == "wave-0" && s.Pressure != (Pressure{}) {
			t.Errorf("%s: %+v", s.Name, s.Pressure)
		}
	}
}
