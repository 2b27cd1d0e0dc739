package compare

import (
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/record"
	"brink/internal/verdict"
)

// Three repetitions of a rise are Inferred, six are Measured with p = 2/924.
func TestAStudyCarriesMoreThanItsRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	seconds(map[string][]float64{"one": fast[:3], "two": slow[:3]}).write(t, "a")
	seconds(map[string][]float64{"one": fast[3:], "two": slow[3:]}).named("second").write(t, "b")
	s, err := Pool(context.Background(), []string{"a", "b"}, measure.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := s.Verdicts[0]
	if v.Outcome != verdict.Supported || v.Level != verdict.Measured || math.Abs(*v.Parts[0].P-2.0/924) > 1e-12 {
		t.Errorf("%s, %s, p %v", v.Outcome, v.Level, *v.Parts[0].P)
	}
	if n := v.Parts[0].N; !slices.Equal(n, []int{6, 6}) {
		t.Errorf("n = %v", n)
	}
	if len(s.Rows) != 2 || *s.Rows[0].Medians[0] != 1.01 || *s.Rows[0].Medians[1] != 1.04 || s.Rows[0].Summary.N != 6 {
		t.Errorf("%+v", s.Rows)
	}
	t.Chdir(home)
	golden(t, "study.txt", s.Head()+"\n"+s.Table())
}

// Rounds stay together: the second repetition of b is the fifth of the pool in
// every step, also where a has fewer.
func TestPoolKeepsRoundsTogether(t *testing.T) {
	t.Chdir(t.TempDir())
	seconds(map[string][]float64{"one": fast[:3], "two": slow[:2]}).write(t, "a")
	seconds(map[string][]float64{"one": fast[3:], "two": slow[3:]}).named("second").write(t, "b")
	var tables []*measure.Table
	for _, dir := range []string{"a", "b"} {
		l, err := load(context.Background(), dir, measure.Options{})
		if err != nil {
			t.Fatal(err)
		}
		tables = append(tables, l.table)
	}
	pooled, err := measure.Pool(tables...)
	if err != nil {
		t.Fatal(err)
	}
	for step, want := range map[string][]int{"one": {1, 2, 3, 4, 5, 6}, "two": {1, 2, 4, 5, 6}, "many": nil} {
		var got []int
		for _, v := range pooled.Cell(step, "last_answer_s").Values {
			got = append(got, v.Number)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", step, got, want)
		}
	}
	info, _ := pooled.Step("one")
	if info.Requests != 12 || len(info.Repetitions) != 6 || info.Repetitions[3].Number != 4 {
		t.Errorf("%d requests, repetitions %+v", info.Requests, info.Repetitions)
	}
}

func TestRunsThatDoNotBelongTogether(t *testing.T) {
	t.Chdir(t.TempDir())
	all := map[string][]float64{"one": slow[:1], "two": fast[:1]}
	seconds(all).write(t, "a")
	for name, x := range map[string]struct {
		other func(*made)
		want  string
	}{
		"the same run":      {func(m *made) { *m = seconds(all) }, "a and b cannot be pooled: they are the same run, first"},
		"experiment":        {func(m *made) { m.run.Experiment = "other" }, "a and b cannot be pooled: they are of different experiments, servers and other"},
		"host":              {func(m *made) { m.run.Host = "vm" }, "a and b cannot be pooled: their hosts differ, local and vm"},
		"accelerator":       {func(m *made) { m.run.Accelerator = "tcg" }, "a and b cannot be pooled: their accelerators differ, none and tcg"},
		"version of brink":  {func(m *made) { m.run.Brink = "2.0" }, "a and b cannot be pooled: different versions of brink measured, 1.0 and 2.0"},
		"machine":           {func(m *made) { m.facts = m.facts[:1] }, "a and b cannot be pooled: their machines differ, CPUs is 2 and none"},
		"plan":              {func(m *made) { m.change = func(s *experiment.Step) { s.Plan.CPUs = 2 } }, "a and b cannot be pooled: step one differs, plan cpus: 1 in the first, 2 in the second"},
		"a limit":           {func(m *made) { m.limits = "[]" }, "a and b cannot be pooled: in step one the plan's limit of cpus held in one of them only"},
		"claims":            {func(m *made) { m.yaml = strings.Replace(servers, "effect: 10%", "effect: 20%", 1) }, "a and b cannot be pooled: their claims differ, hypotheses 1 effect text: 10% in the first, 20% in the second; hypotheses 1 effect value: 0.1 in the first, 0.2 in the second"},
		"a step is missing": {func(m *made) { m.yaml = servers[:strings.Index(servers, "  - name: many")] }, "a and b cannot be pooled: their steps differ, one, two, many and one, two"},
	} {
		t.Run(name, func(t *testing.T) {
			other := seconds(all).named("second")
			x.other(&other)
			if err := os.RemoveAll("b"); err != nil {
				t.Fatal(err)
			}
			other.write(t, "b")
			if _, err := Pool(context.Background(), []string{"a", "b"}, measure.Options{}); err == nil || err.Error() != x.want {
				t.Errorf("got  %v\nwant %s", err, x.want)
			}
		})
	}
}

func TestAStudyTellsOfTrouble(t *testing.T) {
	t.Chdir(t.TempDir())
	all := map[string][]float64{"one": slow, "two": fast}
	seconds(all).write(t, "a")
	other := seconds(all).named("second")
	other.run.Seed, other.status = 1, record.Interrupted
	other.write(t, "b")
	s, err := Pool(context.Background(), []string{"a", "b"}, measure.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"The run in b is interrupted: stopped by the user.", "a and b drew the same order of steps (seed 1)."} {
		if !slices.Contains(s.Notes, want) {
			t.Errorf("no note says %q: %q", want, s.Notes)
		}
	}
	if _, err := Pool(context.Background(), []string{"a"}, measure.Options{}); err == nil {
		t.Error("one run is taken for a study")
	}
}
