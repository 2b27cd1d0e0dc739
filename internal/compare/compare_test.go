package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/metric"
	"brink/internal/record"
	"brink/internal/verdict"
)

var (
	slow = []float64{2.00, 2.02, 2.04, 2.06, 2.08, 2.10}
	fast = []float64{1.00, 1.01, 1.02, 1.03, 1.04, 1.05}
)

var onlyLast = Options{Metrics: []string{"last_answer_s"}}

// The exact two-sided p of Mann and Whitney at complete separation is
// 2 / C(2n, n), and U is 0 or n²: published tables.
func TestSeparationGivesThePublishedNumbers(t *testing.T) {
	for _, x := range []struct {
		n     int
		p     float64
		level verdict.Level
	}{{4, 0.02857, verdict.Inferred}, {5, 0.00794, verdict.Measured}, {6, 0.00216, verdict.Measured}} {
		t.Chdir(t.TempDir())
		seconds(map[string][]float64{"one": slow[:x.n], "two": fast[:x.n]}).write(t, "run")
		c := must(t, "run:one", "run:two", onlyLast)
		r := c.Pairs[0].Rows[0]
		if *r.U != 0 || *r.Delta != -1 || math.Abs(*r.P-x.p) > 5e-6 || *r.PHolm != *r.P {
			t.Errorf("n = %d: U %v, delta %v, p %v, after Holm %v; want 0, -1, %v, the same", x.n, *r.U, *r.Delta, *r.P, *r.PHolm, x.p)
		}
		if r.Level != x.level {
			t.Errorf("n = %d: %s (%s), want %s", x.n, r.Level, r.Rule, x.level)
		}
		if r.Word != "medium" && r.Word != "large" {
			t.Errorf("n = %d: the word for a change of about 50 %% is %q", x.n, r.Word)
		}
	}
}

// With n = 6 the order-statistic interval of the median runs from the smallest
// to the largest value, at 1 - 2/2^6 = 96.875 %; with 5 there is none.
func TestMedianIntervals(t *testing.T) {
	t.Chdir(t.TempDir())
	seconds(map[string][]float64{"one": slow, "two": fast[:5]}).write(t, "run")
	r := must(t, "run:one", "run:two", onlyLast).Pairs[0].Rows[0]
	if r.A.Lo == nil || *r.A.Lo != 2 || *r.A.Hi != 2.1 || r.A.Confidence != 0.96875 {
		t.Errorf("n = 6: %+v", r.A)
	}
	if r.B.Lo != nil || r.B.NoInterval != "n too small: a 95 % interval of the median needs 6 observations, not 5" {
		t.Errorf("n = 5: %+v", r.B)
	}
}

func TestHolmGoesOverMetricsAndSteps(t *testing.T) {
	t.Chdir(t.TempDir())
	seconds(map[string][]float64{"one": slow, "two": slow}).write(t, "before")
	seconds(map[string][]float64{"one": fast, "two": slow}).named("second").write(t, "after")
	c := must(t, "before", "after", Options{Metrics: []string{"last_answer_s", "failure_pct"}})
	if c.Tests != 4 {
		t.Fatalf("%d tests, want 2 metrics × 2 steps", c.Tests)
	}
	r := c.Pairs[0].Rows[0]
	if want := 4 * 2.0 / 924; math.Abs(*r.PHolm-want) > 1e-12 {
		t.Errorf("after Holm %v, want the smallest p times four, %v", *r.PHolm, want)
	}
}

// What two runs show is an association: nothing was interleaved.
func TestTwoRunsAreNeverMeasured(t *testing.T) {
	t.Chdir(t.TempDir())
	seconds(map[string][]float64{"one": slow}).write(t, "before")
	after := seconds(map[string][]float64{"one": fast}).named("second")
	after.facts = append(slices.Clone(after.facts[:2]), record.Fact{Name: "kernel", Value: "6.6"})
	after.write(t, "after")
	c := must(t, "before:one", "after:one", onlyLast)
	r := c.Pairs[0].Rows[0]
	if r.Level != verdict.StronglySuggested || c.Interleaved {
		t.Errorf("%s (%s), interleaved %v", r.Level, r.Rule, c.Interleaved)
	}
	if want := "A difference of at least 10 % is Strongly Suggested, and cannot be more: the repetitions of the two were not interleaved."; !strings.HasSuffix(r.Sentence, want) {
		t.Errorf("the sentence does not end in %q: %s", want, r.Sentence)
	}
	for _, want := range []string{"Two runs: their repetitions were not interleaved", "The environments differ in kernel: 6.1 in A, 6.6 in B."} {
		if !strings.Contains(strings.Join(c.Caveats, "\n"), want) {
			t.Errorf("no caveat says %q: %q", want, c.Caveats)
		}
	}
}

// Without rounds in common, agreement is counted over the least favourable
// pairs, whatever the order in which the values came.
func TestTwoRunsDoNotPairByNumber(t *testing.T) {
	a := []measure.Value{{X: 1, Number: 1}, {X: 2, Number: 2}}
	b := []measure.Value{{X: 1.5, Number: 1}, {X: 3, Number: 2}}
	x, y := opposed(a, b)
	if x[0].X != 2 || x[0].Number != 1 || y[0].X != 1.5 || y[0].Number != 1 || a[0].X != 1 {
		t.Errorf("opposed: %v %v (%v)", x, y, a)
	}
}

func TestCensoredValuesAreBounds(t *testing.T) {
	t.Chdir(t.TempDir())
	seconds(map[string][]float64{"one": fast, "two": {-30, -30, -30, -30, -30, -30}}).write(t, "run")
	r := must(t, "run:one", "run:two", onlyLast).Pairs[0].Rows[0]
	if r.Bound != "at least" || !r.B.AtLeast || r.B.Median != 30 || r.Hi != nil || *r.U != 36 {
		t.Errorf("%+v", r)
	}
	if r.intervalText() == "" || !strings.Contains(r.Sentence, "[at least +") {
		t.Errorf("the open interval is not told: %s", r.Sentence)
	}
	// 30 s over the medians of 1 to 1.05 s.
	if !strings.Contains(r.Sentence, "at least 30 s in run:two (n = 6); a change of at least +28") {
		t.Error(r.Sentence)
	}
}

func TestSpreadOfLatency(t *testing.T) {
	t.Chdir(t.TempDir())
	seconds(map[string][]float64{"one": fast, "two": slow}).write(t, "run")
	p := must(t, "run:one", "run:two", Options{Metrics: []string{"latency_p50_ms"}}).Pairs[0]
	if p.Spread == nil || p.Spread.U != 36 || math.Abs(p.Spread.P-2.0/924) > 1e-12 {
		t.Errorf("%+v", p.Spread)
	}
	if p := must(t, "run:one", "run:two", onlyLast).Pairs[0]; p.Spread != nil {
		t.Error("a spread of latency is told although no latency is compared")
	}
}

func TestMetricsWithoutAnEffectGetNoLevel(t *testing.T) {
	t.Chdir(t.TempDir())
	v := func(xs ...float64) (out []measure.Value) {
		for i, x := range xs {
			out = append(out, measure.Value{X: x, Number: i + 1})
		}
		return out
	}
	m, _ := metric.Lookup("queue_wait_max_s")
	one := step{name: "s", cells: map[string]measure.Cell{m.Name: {Metric: m, Values: v(1, 2, 3, 4, 5, 6)}}}
	two := step{name: "s", cells: map[string]measure.Cell{m.Name: {Metric: m, Values: v(11, 12, 13, 14, 15, 16)}}}
	side := func(name string, s step) *Side {
		plan := experiment.Plan{}
		return &Side{Name: name, steps: []step{s}, data: &dataHead{Plan: &plan, Host: "local", Accelerator: "none", Workload: "w"}}
	}
	o := Options{Metrics: []string{m.Name}}
	c, err := Compare(side("a", one), side("b", two), o)
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Pairs[0].Rows[0]; r.Level != "" || r.P == nil || r.Raise != "a smallest effect that matters (--effect queue_wait_max_s=SIZE)" {
		t.Errorf("without an effect: %+v", r)
	}
	o.Effects = map[string]string{m.Name: "2s"}
	if c, err = Compare(side("a", one), side("b", two), o); err != nil {
		t.Fatal(err)
	}
	// Moses' interval reaches down to 10 - 4 = 6 s or further up: clear of 2 s.
	if r := c.Pairs[0].Rows[0]; r.Outcome != verdict.Supported || r.Smallest != "2s" {
		t.Errorf("with an effect of 2 s: %+v", r)
	}
}

func TestSwappingTheSidesInvertsTheRatioAndKeepsP(t *testing.T) {
	m, _ := metric.Lookup("last_answer_s")
	values := rapid.Custom(func(t *rapid.T) []measure.Value {
		xs := rapid.SliceOfN(rapid.Float64Range(0.01, 100), 2, 8).Draw(t, "xs")
		out := make([]measure.Value, len(xs))
		for i, x := range xs {
			out[i] = measure.Value{X: x, Number: i + 1}
		}
		return out
	})
	rapid.Check(t, func(rt *rapid.T) {
		x, y := values.Draw(rt, "a"), values.Draw(rt, "b")
		row := func(x, y []measure.Value) Row {
			side := func(vs []measure.Value) *Side {
				return &Side{Name: "side", steps: []step{{name: "s", cells: map[string]measure.Cell{m.Name: {Metric: m, Values: vs}}}},
					data: &dataHead{Plan: &experiment.Plan{}, Host: "local", Accelerator: "none", Workload: "w"}}
			}
			c, err := Compare(side(x), side(y), onlyLast)
			if err != nil {
				rt.Fatal(err)
			}
			return c.Pairs[0].Rows[0]
		}
		ab, ba := row(x, y), row(y, x)
		near := func(what string, got, want float64) {
			if math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
				rt.Errorf("%s: %v, want %v", what, got, want)
			}
		}
		near("p", *ba.P, *ab.P)
		near("the ratio", 1+*ba.Effect, 1/(1+*ab.Effect))
		near("U", *ba.U, float64(len(x)*len(y))-*ab.U)
		near("delta", *ba.Delta, -*ab.Delta)
		if (ab.Lo == nil) != (ba.Lo == nil) {
			rt.Fatal("an interval for one order only")
		}
		if ab.Lo != nil {
			near("the lower end", 1+*ba.Lo, 1/(1+*ab.Hi))
			near("the upper end", 1+*ba.Hi, 1/(1+*ab.Lo))
		}
	})
}

func TestTextAndJSONGolden(t *testing.T) {
	t.Chdir(t.TempDir())
	run := seconds(map[string][]float64{"one": slow, "two": fast, "many": slow})
	run.write(t, "run")
	c := must(t, "run:one", "run:two", Options{})
	var b bytes.Buffer
	if err := Render(&b, c); err != nil {
		t.Fatal(err)
	}
	for _, l := range strings.Split(b.String(), "\n") {
		if n := utf8.RuneCountInString(l); n > width {
			t.Errorf("a line of %d characters: %s", n, l)
		}
	}
	raw, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(home)
	golden(t, "compare.txt", b.String())
	golden(t, "compare.json", string(raw)+"\n")
}

func TestTextOfAppsDoesNotMoveTheCursor(t *testing.T) {
	c := &Comparison{A: &Side{Name: "a\x1b[2Jb"}, B: &Side{Name: "b\u009b2J"}}
	var b bytes.Buffer
	if err := Render(&b, c); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\u009b") {
		t.Errorf("%q", b.String())
	}
}

func TestStepsArePairedByName(t *testing.T) {
	t.Chdir(t.TempDir())
	all := map[string][]float64{"one": slow, "two": fast, "many": slow}
	seconds(all).write(t, "before")
	seconds(all).named("second").write(t, "after")
	if c := must(t, "before", "after", onlyLast); len(c.Pairs) != 3 {
		t.Errorf("%d pairs, want all three steps", len(c.Pairs))
	}
	c := must(t, "before:two", "after", onlyLast)
	if len(c.Pairs) != 1 || c.Pairs[0].Name() != "two" || !slices.Contains(c.Caveats, "Only B has one, many.") {
		t.Errorf("%+v, %q", c.Pairs, c.Caveats)
	}
}

func TestRefusals(t *testing.T) {
	t.Chdir(t.TempDir())
	base := seconds(map[string][]float64{"one": slow[:1], "two": fast[:1], "many": slow[:1]})
	base.write(t, "a")
	for name, x := range map[string]struct {
		other  func(*made)
		a, b   string
		aspect Aspect
		want   string
	}{
		"CPUs of the plan": {
			func(m *made) { m.change = func(s *experiment.Step) { s.Plan.CPUs = 2 } }, "a", "b", Plan,
			"a and b are not comparable\n  the plans differ: cpus: 1 in A, 2 in B (steps one, two, many); --allow plan compares them all the same",
		},
		"memory of the plan": {
			func(m *made) { m.change = func(s *experiment.Step) { s.Plan.MemoryMB = 1855 } }, "a:one", "b:one", Plan,
			"a:one and b:one are not comparable\n  the plans differ: memory_mb: none in A, 1855 in B (step one); --allow plan compares them all the same",
		},
		"a limit that did not hold": {
			func(m *made) { m.limits = `[{"Name":"cpus","Applied":false}]` }, "a:one", "b:one", Plan,
			"a:one and b:one are not comparable\n  the plan's limit of cpus held in A only (step one); --allow plan compares them all the same",
		},
		"accelerator": {
			func(m *made) { m.run.Accelerator = "tcg" }, "a:one", "b:one", Accelerator,
			"a:one and b:one are not comparable\n  the accelerators differ: none in A and tcg in B; --allow accelerator compares them all the same",
		},
		"host": {
			func(m *made) { m.run.Host = "vm" }, "a:one", "b:one", Host,
			"a:one and b:one are not comparable\n  the hosts differ: local in A and vm in B; --allow host compares them all the same",
		},
		"machine": {
			func(m *made) {
				m.facts = []record.Fact{{Name: "CPU model", Value: "Test CPU"}, {Name: "CPUs", Value: "8"}}
			}, "a:one", "b:one", Host,
			"a:one and b:one are not comparable\n  the machines differ: CPUs is 2 in A and 8 in B; --allow host compares them all the same",
		},
		"traffic": {
			func(m *made) { m.change = func(s *experiment.Step) { s.Traffic[0].Path = "/ping" } }, "a:one", "b:one", Workload,
			"a:one and b:one are not comparable\n  the workloads differ: traffic 1 path: /work in A, /ping in B (step one); --allow workload compares them all the same",
		},
		"traffic of two steps of one run": {
			func(*made) {}, "a:two", "a:many", Workload,
			"a:two and a:many are not comparable\n  the workloads differ: traffic 1 count: 4 in A, 8 in B (steps two and many); --allow workload compares them all the same",
		},
		"apps": {
			func(m *made) { m.change = func(s *experiment.Step) { s.Apps[0].Workers = 3 } }, "a:one", "b:one", Apps,
			"a:one and b:one are not comparable\n  the apps differ: app 1 workers: 2 in A, 3 in B (step one); --allow apps compares them all the same",
		},
		"brink": {
			func(m *made) { m.run.Brink = "1.1" }, "a:one", "b:one", Brink,
			"a:one and b:one are not comparable\n  different versions of brink measured: 1.0 in A and 1.1 in B; --allow brink compares them all the same",
		},
	} {
		t.Run(name, func(t *testing.T) {
			other := base.named("other")
			x.other(&other)
			if err := os.RemoveAll("b"); err != nil {
				t.Fatal(err)
			}
			other.write(t, "b")
			_, err := compared(t, x.a, x.b, onlyLast)
			var refused *RefusedError
			if !errors.As(err, &refused) || err.Error() != x.want {
				t.Fatalf("got  %v\nwant %s", err, x.want)
			}
			o := onlyLast
			o.Allow = []Aspect{x.aspect}
			c, err := compared(t, x.a, x.b, o)
			if err != nil {
				t.Fatalf("allowed, and yet: %v", err)
			}
			if want := "Allowed: " + refused.Differences[0].String() + "."; c.Caveats[0] != want {
				t.Errorf("the first caveat is %q, want %q", c.Caveats[0], want)
			}
		})
	}
}

// A step that a run never came to says nothing of its plan.
func TestAStepWithoutRepetitionsIsNotRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	seconds(map[string][]float64{"one": slow, "two": fast}).write(t, "a")
	seconds(map[string][]float64{"one": slow}).named("other").write(t, "b")
	c := must(t, "a", "b", onlyLast)
	if want := "last_answer_s (B: no repetition)"; !slices.Equal(c.Pairs[1].Missing, []string{want}) {
		t.Errorf("%q, want %q", c.Pairs[1].Missing, want)
	}
}

func TestSeveralDifferencesAreToldTogether(t *testing.T) {
	t.Chdir(t.TempDir())
	seconds(map[string][]float64{"one": slow}).write(t, "a")
	other := seconds(map[string][]float64{"one": slow}).named("other")
	other.run.Host, other.run.Accelerator = "vm", "kvm"
	other.write(t, "b")
	o := onlyLast
	o.Allow = []Aspect{Host}
	_, err := compared(t, "a:one", "b:one", o)
	var refused *RefusedError
	if !errors.As(err, &refused) || len(refused.Differences) != 1 || refused.Differences[0].Aspect != Accelerator {
		t.Errorf("with the host allowed: %v", err)
	}
}

// Two steps of different names may differ in their apps: that is compared.
func TestAppsOfTwoStepsAreWhatIsCompared(t *testing.T) {
	t.Chdir(t.TempDir())
	seconds(map[string][]float64{"one": slow, "two": fast}).write(t, "run")
	c := must(t, "run:one", "run:two", onlyLast)
	if want := []string{"app 1 workers: 2 in A, 4 in B"}; !slices.Equal(c.Pairs[0].Differs, want) {
		t.Errorf("compared is %q, want %q", c.Pairs[0].Differs, want)
	}
}

func TestBadArguments(t *testing.T) {
	t.Chdir(t.TempDir())
	seconds(map[string][]float64{"one": slow, "two": fast}).write(t, "run")
	seconds(map[string][]float64{"one": slow, "two": fast}).write(t, "copy")
	seconds(nil).named("other").write(t, "other:run")
	for _, x := range []struct {
		a, b string
		o    Options
		want string
	}{
		{"run", "run", Options{}, "run and run are the same: step one of run first; name two steps of it (DIR:STEP), or another run"},
		{"run:two", "copy:two", Options{}, "run:two and copy:two are the same: step two of run first; name two steps of it (DIR:STEP), or another run"},
		{"run:one", "run", Options{Metrics: []string{"latency"}}, `"latency" is not a metric; docs/experiment-file.md lists them`},
		{"run:one", "run", Options{Effects: map[string]string{"cpu_pct": "10%"}}, `the smallest effect of cpu_pct: "10%" does not fit cpu_pct, whose differences are in points; write a number of points such as "5 points"`},
	} {
		if _, err := compared(t, x.a, x.b, x.o); err == nil || err.Error() != x.want {
			t.Errorf("%s %s:\ngot  %v\nwant %s", x.a, x.b, err, x.want)
		}
	}
	if _, err := Open(t.Context(), "run:three", measure.Options{}); err == nil || err.Error() != "run has no step three; it has one, two, many" {
		t.Error(err)
	}
	if s, err := Open(t.Context(), "other:run", measure.Options{}); err != nil || s.Run.ID != "other" {
		t.Errorf("a directory with a colon: %v", err)
	}
}

func TestTroubledRunsAreCaveats(t *testing.T) {
	t.Chdir(t.TempDir())
	run := seconds(map[string][]float64{"one": slow, "two": fast[:1]})
	run.status = record.Interrupted
	run.write(t, "run")
	c := must(t, "run:one", "run:two", onlyLast)
	if !slices.Contains(c.Caveats, "The run of run:one is interrupted: stopped by the user.") {
		t.Errorf("%q", c.Caveats)
	}
	r := c.Pairs[0].Rows[0]
	if r.P != nil || r.U != nil || r.Level != "" || c.Tests != 0 || r.Effect == nil {
		t.Errorf("one repetition was tested: %+v", r)
	}
	if want := ". One repetition on a side allows description and no test."; !strings.HasSuffix(r.Sentence, want) {
		t.Error(r.Sentence)
	}
}
