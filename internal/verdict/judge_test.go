package verdict

import (
	"math"
	"strings"
	"testing"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/metric"
)

// bench builds a table from plain values.
type bench struct {
	steps []measure.StepInfo
	cells []measure.Cell
	exp   experiment.Experiment
}

func (b *bench) step(name string, factors map[string]float64) {
	s := experiment.Step{Name: name, Factors: map[string]experiment.Level{}}
	for k, v := range factors {
		s.Factors[k] = experiment.Level{Number: v, Numeric: true}
	}
	b.steps = append(b.steps, measure.StepInfo{Step: s})
}

func (b *bench) values(step, name string, xs ...float64) {
	m, ok := metric.Lookup(name)
	if !ok {
		panic("no metric " + name)
	}
	c := measure.Cell{Metric: m, Step: step}
	for i, x := range xs {
		v := measure.Value{Repetition: int64(i + 1), Number: i + 1, X: x, N: 1}
		if math.IsInf(x, -1) {
			v.X, v.Missing = 0, "the signal could not be read"
		}
		c.Values = append(c.Values, v)
	}
	b.cells = append(b.cells, c)
}

func (b *bench) judge(t *testing.T, hs ...experiment.Hypothesis) []Verdict {
	t.Helper()
	b.exp.Hypotheses = hs
	got, err := Judge(&experiment.Design{Experiment: &b.exp}, measure.Assemble(b.steps, b.cells))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func percent(x float64) *experiment.Margin { return &experiment.Margin{Value: x / 100, Relative: true} }
func points(x float64) *experiment.Margin  { return &experiment.Margin{Value: x} }

func want(t *testing.T, v Verdict, o Outcome, l Level) {
	t.Helper()
	if v.Outcome != o || v.Level != l {
		t.Errorf("%s: got %s, %s (%s; raise: %s; %s); want %s, %s", v.Hypothesis.ID, v.Outcome, v.Level, v.Rule, v.Raise, v.Sentence, o, l)
	}
}

var rise = experiment.Hypothesis{ID: "rise", Form: experiment.Compare, Metric: "latency_p50_ms", Steps: []string{"a", "b"}, Direction: "rise", Effect: percent(10)}

// With complete separation the exact two-sided p of Mann and Whitney is
// 2 / C(2n, n): 0.1, 0.0286, 0.0079, 0.0022 for n = 3 to 6 (published tables).
func TestLevelsGrowWithRepetitions(t *testing.T) {
	a := []float64{100, 101, 102, 103, 104, 105}
	b := []float64{200, 202, 204, 206, 208, 210}
	for _, c := range []struct {
		n       int
		outcome Outcome
		level   Level
		p       float64
	}{
		{1, Inconclusive, Observed, 1},
		{2, Inconclusive, Correlated, 1. / 3},
		{3, Supported, Inferred, 0.1},
		{4, Supported, Inferred, 0.0286},
		{5, Supported, Measured, 0.0079},
		{6, Supported, Measured, 0.0022},
	} {
		var x bench
		x.step("a", nil)
		x.step("b", nil)
		x.values("a", "latency_p50_ms", a[:c.n]...)
		x.values("b", "latency_p50_ms", b[:c.n]...)
		v := x.judge(t, rise)[0]
		want(t, v, c.outcome, c.level)
		if p := *v.Parts[0].P; math.Abs(p-c.p) > 5e-4 {
			t.Errorf("n = %d: p = %v, the tables say %v", c.n, p, c.p)
		}
		if c.level != Measured && v.Raise == "" {
			t.Errorf("n = %d: nothing is said to raise %s", c.n, v.Level)
		}
	}
}

// Without an effect one order in twenty of three and three separates completely
// in a given direction, and two do in any.
func TestThreeRepetitionsNeedADirectionAndTheWholeEffect(t *testing.T) {
	for _, c := range []struct {
		direction string
		lift      float64
		outcome   Outcome
	}{
		{"rise", 1.5, Supported},
		{"differ", 1.5, Inconclusive},
		// Every round rises by a tenth, but the lowest after is not a tenth above the
		// highest before.
		{"rise", 1.1, Inconclusive},
	} {
		var x bench
		x.step("a", nil)
		x.step("b", nil)
		x.values("a", "latency_p50_ms", 100, 101, 102)
		x.values("b", "latency_p50_ms", 100*c.lift, 101*c.lift, 102*c.lift)
		h := rise
		h.Direction = c.direction
		if v := x.judge(t, h)[0]; v.Outcome != c.outcome {
			t.Errorf("%s by %v: %s, want %s (%s)", c.direction, c.lift, v.Outcome, c.outcome, v.Sentence)
		}
	}
}

// Holm with n = 5 carries six hypotheses and no seventh (6 × 0.0079 < 0.05).
func TestHolmCarriesSixHypothesesAtFive(t *testing.T) {
	for _, c := range []struct {
		hypotheses int
		level      Level
	}{{6, Measured}, {7, Inferred}} {
		var x bench
		x.step("a", nil)
		x.step("b", nil)
		x.values("a", "latency_p50_ms", 100, 101, 102, 103, 104)
		x.values("b", "latency_p50_ms", 200, 202, 204, 206, 208)
		hs := make([]experiment.Hypothesis, c.hypotheses)
		for i := range hs {
			hs[i] = rise
		}
		for _, v := range x.judge(t, hs...) {
			want(t, v, Supported, c.level)
		}
	}
}

// Claims about steps of three repetitions cannot be Measured, so that they take
// nothing from the six that five repetitions carry; without a declared number they
// all count.
func TestClaimsThatCannotBeMeasuredDoNotCount(t *testing.T) {
	for declared, level := range map[int]Level{5: Measured, 0: Inferred} {
		var x bench
		for _, name := range []string{"a", "b", "c", "d"} {
			x.step(name, nil)
		}
		x.values("a", "latency_p50_ms", 100, 101, 102, 103, 104)
		x.values("b", "latency_p50_ms", 200, 202, 204, 206, 208)
		x.values("c", "latency_p50_ms", 100, 101, 102)
		x.values("d", "latency_p50_ms", 200, 202, 204)
		rare := rise
		rare.Steps = []string{"c", "d"}
		x.exp.Hypotheses = []experiment.Hypothesis{rise, rise, rise, rise, rise, rise, rare, rare}
		d := &experiment.Design{Experiment: &x.exp, Repetitions: declared, Steps: []experiment.Step{{Name: "a"}, {Name: "b"}, {Name: "c", Repetitions: 3}, {Name: "d", Repetitions: 3}}}
		got, err := Judge(d, measure.Assemble(x.steps, x.cells))
		if err != nil {
			t.Fatal(err)
		}
		want(t, got[0], Supported, level)
		want(t, got[7], Supported, Inferred)
	}
}

func TestCompareWithoutEffectIsNotProven(t *testing.T) {
	var x bench
	x.step("a", nil)
	x.step("b", nil)
	x.values("a", "latency_p50_ms", 100, 101, 102, 103, 104, 105)
	x.values("b", "latency_p50_ms", 101, 100, 103, 102, 105, 104)
	want(t, x.judge(t, rise)[0], NotSupported, NotProven)
}

func TestCompareInTheOtherDirectionIsNotProven(t *testing.T) {
	var x bench
	x.step("a", nil)
	x.step("b", nil)
	x.values("a", "latency_p50_ms", 200, 202, 204, 206, 208, 210)
	x.values("b", "latency_p50_ms", 100, 101, 102, 103, 104, 105)
	want(t, x.judge(t, rise)[0], NotSupported, NotProven)
}

func TestCompareThatIsTooWideIsUnknown(t *testing.T) {
	var x bench
	x.step("a", nil)
	x.step("b", nil)
	x.values("a", "latency_p50_ms", 50, 100, 200, 80, 150, 300)
	x.values("b", "latency_p50_ms", 60, 300, 90, 400, 70, 150)
	v := x.judge(t, rise)[0]
	if v.Outcome != Inconclusive {
		t.Errorf("got %s (%s)", v.Outcome, v.Sentence)
	}
}

func TestCompareInPointsUsesPoints(t *testing.T) {
	var x bench
	x.step("hold", nil)
	x.step("burn", nil)
	x.values("hold", "cpu_pct", 1, 2, 0, 1, 2, 1)
	x.values("burn", "cpu_pct", 97, 99, 98, 99, 97, 98)
	h := experiment.Hypothesis{ID: "cpu", Form: experiment.Compare, Metric: "cpu_pct", Steps: []string{"hold", "burn"}, Direction: "rise", Effect: points(50)}
	v := x.judge(t, h)[0]
	want(t, v, Supported, Measured)
	if !strings.Contains(v.Sentence, "+97 points") {
		t.Errorf("the sentence does not give the shift in points: %s", v.Sentence)
	}
}

func TestMissingSignalIsUnknownAndNeverOk(t *testing.T) {
	var x bench
	x.step("a", nil)
	x.step("b", nil)
	none := math.Inf(-1)
	x.values("a", "cpu_pct", none, none, none)
	x.values("b", "cpu_pct", 1, 2, 3)
	h := experiment.Hypothesis{ID: "cpu", Form: experiment.Equivalent, Metric: "cpu_pct", Steps: []string{"a", "b"}, Margin: points(10)}
	v := x.judge(t, h)[0]
	want(t, v, Inconclusive, Unknown)
	if !strings.Contains(v.Rule, "the signal could not be read") {
		t.Errorf("the rule does not say what was missing: %s", v.Rule)
	}
}

func TestEquivalent(t *testing.T) {
	h := experiment.Hypothesis{ID: "eq", Form: experiment.Equivalent, Metric: "last_answer_s", Steps: []string{"a", "b"}, Margin: percent(10)}
	for _, c := range []struct {
		name    string
		a, b    []float64
		outcome Outcome
		level   Level
	}{
		{"same at six", []float64{10, 10.1, 10.2, 10.1, 10, 10.2}, []float64{10.1, 10.2, 10, 10.1, 10.2, 10}, Supported, Measured},
		{"same at three", []float64{10, 10.1, 10.2}, []float64{10.1, 10.2, 10}, Supported, Inferred},
		{"twice at six", []float64{10, 10.1, 10.2, 10.1, 10, 10.2}, []float64{20, 20.1, 20.2, 20, 20.1, 20.2}, NotSupported, NotProven},
		{"too noisy", []float64{5, 10, 20, 8, 15, 30}, []float64{6, 12, 18, 9, 14, 28}, Inconclusive, Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			var x bench
			x.step("a", nil)
			x.step("b", nil)
			x.values("a", "last_answer_s", c.a...)
			x.values("b", "last_answer_s", c.b...)
			want(t, x.judge(t, h)[0], c.outcome, c.level)
		})
	}
}

func TestPinnedAtHundredIsNoPlateau(t *testing.T) {
	h := experiment.Hypothesis{ID: "eq", Form: experiment.Equivalent, Metric: "memory_pct", Steps: []string{"a", "b"}, Margin: points(2)}
	var x bench
	x.step("a", nil)
	x.step("b", nil)
	x.values("a", "memory_pct", 100, 100, 100, 100, 100, 100)
	x.values("b", "memory_pct", 100, 100, 100, 100, 100, 100)
	want(t, x.judge(t, h)[0], Inconclusive, Unknown)
}

func TestBecauseWithoutInterventionIsAtMostStronglySuggested(t *testing.T) {
	var x bench
	x.step("a", nil)
	x.step("b", nil)
	x.values("a", "latency_p50_ms", 100, 101, 102, 103, 104, 105)
	x.values("b", "latency_p50_ms", 200, 202, 204, 206, 208, 210)
	h := rise
	h.Because = "page reclaim"
	v := x.judge(t, h)[0]
	want(t, v, Supported, StronglySuggested)
	if !strings.Contains(v.Raise, "caused_by") {
		t.Errorf("raise: %s", v.Raise)
	}
}

func TestConfigClaimIsMeasuredByTwoRepetitions(t *testing.T) {
	var x bench
	x.step("s3", map[string]float64{"requests": 4, "workers": 4, "hold": 1})
	x.values("s3", "last_answer_s", 1.01, 1.02)
	h := law(10, "s3")
	h.Config = true
	want(t, x.judge(t, h)[0], Supported, Measured)
}

func TestFailedCalibrationMakesThresholdsUnknown(t *testing.T) {
	for _, c := range []struct {
		baseline float64
		outcome  Outcome
		level    Level
	}{{76, Supported, Measured}, {70, Inconclusive, Unknown}} {
		var x bench
		x.step("base", nil)
		x.step("a", nil)
		x.step("b", nil)
		x.values("base", "memory_pct", c.baseline, c.baseline, c.baseline)
		x.values("a", "latency_p50_ms", 100, 101, 102, 103, 104, 105)
		x.values("b", "latency_p50_ms", 200, 202, 204, 206, 208, 210)
		x.exp.Calibration = &experiment.Calibration{Step: "base", Metric: "memory_pct", Low: 74, High: 78}
		h := rise
		h.Threshold = true
		want(t, x.judge(t, h)[0], c.outcome, c.level)
	}
}

// Six contrasts that agree: 2 / 2^6 = 0.031 (the sign-flip test's definition).
func TestCausedByIsMeasuredOnContrasts(t *testing.T) {
	var x bench
	x.step("off", nil)
	x.step("on", nil)
	for i, step := range []string{"off", "on"} {
		m, _ := metric.Lookup("cpu_pct")
		c := measure.Cell{Metric: m, Step: step}
		for n := 1; n <= 6; n++ {
			base := float64(10*n + 30*i)
			for k := range 2 {
				c.Phases = append(c.Phases, measure.Value{Number: n, X: base + float64(k)})
			}
			c.Values = append(c.Values, measure.Value{Number: n, X: base + 0.5})
		}
		x.cells = append(x.cells, c)
	}
	h := experiment.Hypothesis{ID: "tax", Form: experiment.CausedBy, Metric: "cpu_pct", On: "on", Off: "off", Direction: "rise", Effect: points(5)}
	v := x.judge(t, h)[0]
	want(t, v, Supported, Measured)
	if p := *v.Parts[0].P; math.Abs(p-2./64) > 1e-9 {
		t.Errorf("p = %v, want 2/64", p)
	}
	if e := *v.Parts[0].Effect; e != 30 {
		t.Errorf("effect %v, the intervention added 30", e)
	}
}

func ladder(x *bench, name string, medians ...float64) []string {
	var steps []string
	for i, m := range medians {
		s := string(rune('a' + i))
		x.step(s, map[string]float64{"apps": float64(i + 1)})
		x.values(s, name, m, m*1.01, m*0.99, m*1.02, m*0.98, m*1.005)
		steps = append(steps, s)
	}
	return steps
}

func TestTrendRises(t *testing.T) {
	var x bench
	steps := ladder(&x, "cold_start_s", 20, 40, 60, 80)
	h := experiment.Hypothesis{ID: "trend", Form: experiment.Trend, Metric: "cold_start_s", Steps: steps, Factor: "apps", Direction: "rise", Effect: percent(50)}
	want(t, x.judge(t, h)[0], Supported, Measured)
	h.Direction = "fall"
	want(t, x.judge(t, h)[0], NotSupported, NotProven)
}

func TestCliffIsFoundBetweenItsSteps(t *testing.T) {
	var x bench
	steps := ladder(&x, "failure_pct", 1, 1, 1, 60, 61)
	h := experiment.Hypothesis{ID: "cliff", Form: experiment.Cliff, Metric: "failure_pct", Steps: steps, Effect: points(20)}
	v := x.judge(t, h)[0]
	want(t, v, Supported, Measured)
	if !strings.Contains(v.Sentence, "between c") || !strings.Contains(v.Sentence, "and d") {
		t.Errorf("the cliff lies between c and d: %s", v.Sentence)
	}
}

func TestLoneSpikeIsNoCliff(t *testing.T) {
	var x bench
	steps := ladder(&x, "failure_pct", 1, 1, 60, 1, 1)
	h := experiment.Hypothesis{ID: "cliff", Form: experiment.Cliff, Metric: "failure_pct", Steps: steps, Effect: points(20)}
	want(t, x.judge(t, h)[0], NotSupported, NotProven)
}

// Tukey's fences (1977): one far value is reported with and without, two are a
// tail and are left alone.
func TestLoneOutlierIsKeptAndReportedBothWays(t *testing.T) {
	for _, c := range []struct {
		name string
		xs   []float64
		note bool
	}{
		{"one far value", []float64{1.01, 1.02, 1.03, 1.01, 1.02, 9}, true},
		{"two far values", []float64{1.01, 1.02, 1.03, 1.01, 1.02, 1.02, 1.01, 9, 9.1}, false},
		{"none", []float64{1.01, 1.02, 1.03, 1.01, 1.02, 1.04}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var x bench
			x.step("s3", map[string]float64{"requests": 4, "workers": 4, "hold": 1})
			x.values("s3", "last_answer_s", c.xs...)
			v := x.judge(t, law(10, "s3"))[0]
			if c.note != (len(v.Notes) == 1) {
				t.Fatalf("notes: %v", v.Notes)
			}
			if c.note && (!strings.Contains(v.Notes[0], "repetition 6 of s3") || !strings.Contains(v.Notes[0], "without it: supported, 5 of 5")) {
				t.Errorf("note: %s", v.Notes[0])
			}
			if c.note && v.Outcome == Supported {
				t.Errorf("the verdict left the outlier out: %s", v.Sentence)
			}
		})
	}
}

// Five workers and four are not compared as if only the server differed.
func TestEquivalentAlongAFactorRefusesWhatDiffersBesides(t *testing.T) {
	for _, c := range []struct {
		workers int
		outcome Outcome
		level   Level
	}{{4, Supported, Measured}, {5, Inconclusive, Unknown}} {
		var x bench
		for i, server := range []string{"gunicorn", "go"} {
			x.step("s4-"+server, nil)
			s := &x.steps[i].Step
			s.Factors = map[string]experiment.Level{"server": {Text: server}}
			s.Apps = []experiment.App{{Name: server, Workers: 4, Threads: 1}}
			if i == 1 {
				s.Apps[0].Workers = c.workers
			}
			x.values("s4-"+server, "last_answer_s", 10, 10.1, 10.2, 10.1, 10, 10.2)
		}
		v := x.judge(t, experiment.Hypothesis{
			ID: "servers", Form: experiment.Equivalent, Metric: "last_answer_s", Factor: "server",
			Steps: []string{"s4-gunicorn", "s4-go"}, Margin: percent(10),
		})[0]
		want(t, v, c.outcome, c.level)
		if c.outcome == Inconclusive && !strings.Contains(v.Sentence, "workers are 4 and 5") {
			t.Errorf("the sentence does not say what differs: %s", v.Sentence)
		}
	}
}
