package verdict

import (
	"strings"
	"testing"

	"brink/internal/experiment"
	"brink/internal/measure"
)

// A law is about every single value: one that meets it and one that misses it
// were both directly seen. A value that is only known to be at least so much
// misses what it is already beyond, and nothing else.
func TestLawIsDecidedByOneRepetitionEitherWay(t *testing.T) {
	for _, c := range []struct {
		name    string
		value   measure.Value
		outcome Outcome
		level   Level
	}{
		{"met", measure.Value{X: 1.01}, Supported, Observed},
		{"missed", measure.Value{X: 3}, NotSupported, Observed},
		{"missed by a bound", measure.Value{X: 3, Censored: true}, NotSupported, Observed},
		{"a bound below it", measure.Value{X: 0.5, Censored: true}, Inconclusive, Unknown},
	} {
		var x bench
		x.step("s3", map[string]float64{"requests": 4, "workers": 4, "hold": 1})
		x.values("s3", "last_answer_s", 0)
		c.value.Number, c.value.Repetition = 1, 1
		x.cells[0].Values[0] = c.value
		v := x.judge(t, law(10, "s3"))[0]
		if v.Outcome != c.outcome || v.Level != c.level {
			t.Errorf("%s: %s, %s, want %s, %s (%s)", c.name, v.Outcome, v.Level, c.outcome, c.level, v.Rule)
		}
	}
}

func TestLawMetInOneStepAndMissedInAnotherWasSeen(t *testing.T) {
	var x bench
	x.step("s1", map[string]float64{"requests": 8, "workers": 4, "hold": 1})
	x.step("s3", map[string]float64{"requests": 4, "workers": 4, "hold": 1})
	x.values("s1", "last_answer_s", 2.01)
	x.values("s3", "last_answer_s", 3.01)
	want(t, x.judge(t, law(10, "s1", "s3"))[0], PartiallySupported, Observed)
}

// "4 of 4 repetitions, n = 1" is one of each of four steps: it must be said so.
func TestNumbersSayHowManyRepetitionsEachStepHas(t *testing.T) {
	var x bench
	for name, xs := range map[string][]float64{"s1": {1, 1, 1}, "s2": {1, 1, 1}, "s3": {1, 1, 1, 1, 1, 1}} {
		x.step(name, map[string]float64{"requests": 4, "workers": 4, "hold": 1})
		x.values(name, "last_answer_s", xs...)
	}
	compare := func(a, b string) experiment.Hypothesis {
		return experiment.Hypothesis{ID: a + b, Form: experiment.Compare, Metric: "last_answer_s", Steps: []string{a, b}, Direction: "rise", Effect: percent(10)}
	}
	got := x.judge(t, law(10, "s1"), law(10, "s1", "s2", "s3"), compare("s1", "s2"), compare("s1", "s3"))
	for i, want := range []string{", n = 3", ", n = 3 to 6 in each of 3 steps", ", n = 3 each", ", n = 3 and 6"} {
		if !strings.HasSuffix(got[i].Numbers, want) {
			t.Errorf("%s: %q, want it to end with %q", got[i].Hypothesis.ID, got[i].Numbers, want)
		}
	}
}
