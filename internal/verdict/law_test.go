package verdict

import (
	"strings"
	"testing"

	"brink/internal/experiment"
	"brink/internal/measure"
)

func law(tolerance float64, steps ...string) experiment.Hypothesis {
	return experiment.Hypothesis{
		ID: "law", Form: experiment.Law, Metric: "last_answer_s", Steps: steps,
		Formula: "ceil(requests / workers) * hold", Tolerance: percent(tolerance),
	}
}

// The reference's S4: five holds of 5 s on four workers answer last at 10.624 s,
// where ceil(K / W) × D is 10 s and its own (K + 1) × D / W is 7.5 s.
func TestLawOnTheReferencesNumbers(t *testing.T) {
	for _, c := range []struct {
		formula  string
		outcome  Outcome
		level    Level
		expected float64
	}{
		{"ceil(requests / workers) * hold", Supported, Inferred, 10},
		{"(requests + 1) * hold / workers", NotSupported, NotProven, 7.5},
	} {
		var x bench
		x.step("s4", map[string]float64{"requests": 5, "workers": 4, "hold": 5})
		x.values("s4", "last_answer_s", 10.624, 10.6, 10.5)
		h := law(10, "s4")
		h.Formula = c.formula
		v := x.judge(t, h)[0]
		want(t, v, c.outcome, c.level)
		if got := *v.Parts[0].Expected; got != c.expected {
			t.Errorf("%s = %v, by hand it is %v", c.formula, got, c.expected)
		}
	}
}

// Sign test over 12 repetitions that all agree: 1/2^12 (by definition).
func TestLawPoolsTheRepetitionsOfItsSteps(t *testing.T) {
	var x bench
	x.step("s1", map[string]float64{"requests": 8, "workers": 4, "hold": 1})
	x.step("s3", map[string]float64{"requests": 4, "workers": 4, "hold": 1})
	x.values("s1", "last_answer_s", 2.01, 2.02, 2.03, 2.01, 2.02, 2.01)
	x.values("s3", "last_answer_s", 1.01, 1.02, 1.03, 1.01, 1.02, 1.01)
	v := x.judge(t, law(10, "s1", "s3"))[0]
	want(t, v, Supported, Measured)
	if !strings.Contains(v.Sentence, "12 of 12") || !strings.Contains(v.Sentence, "p = 0.00024") {
		t.Errorf("sentence: %s", v.Sentence)
	}
}

func TestLawThatHoldsForOneStepOfTwoIsPartlySupported(t *testing.T) {
	var x bench
	x.step("s1", map[string]float64{"requests": 8, "workers": 4, "hold": 1})
	x.step("s3", map[string]float64{"requests": 4, "workers": 4, "hold": 1})
	x.values("s1", "last_answer_s", 2.01, 2.02, 2.03)
	x.values("s3", "last_answer_s", 3.01, 3.02, 3.03)
	v := x.judge(t, law(10, "s1", "s3"))[0]
	if v.Outcome != PartiallySupported || proven(v.Level) {
		t.Errorf("got %s, %s", v.Outcome, v.Level)
	}
}

func proven(l Level) bool { return l == Measured || l == Observed || l == StronglySuggested }

// Were the truth at the edge of the tolerance, three repetitions would all fall
// inside once in eight times. So they must leave room: half their range. Five do
// so once in 32 times.
func TestLawInFewRepetitionsNeedsRoom(t *testing.T) {
	for _, c := range []struct {
		name    string
		values  []float64
		outcome Outcome
	}{
		{"room", []float64{1.02, 1.03, 1.04}, Supported},
		{"at the edge", []float64{1.06, 1.08, 1.099}, Inconclusive},
		{"at the lower edge", []float64{0.901, 0.92, 0.94}, Inconclusive},
		{"five", []float64{1.06, 1.07, 1.08, 1.09, 1.099}, Supported},
	} {
		var x bench
		x.step("s3", map[string]float64{"requests": 4, "workers": 4, "hold": 1})
		x.values("s3", "last_answer_s", c.values...)
		if v := x.judge(t, law(10, "s3"))[0]; v.Outcome != c.outcome {
			t.Errorf("%s: %s, want %s (%s)", c.name, v.Outcome, c.outcome, v.Sentence)
		}
	}
}

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
