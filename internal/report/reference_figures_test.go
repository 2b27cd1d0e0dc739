package report

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brink/internal/experiment"
	"brink/internal/metric"
)

// The published cold starts of 2×100 to 6×50 are 60, 60, 60, 135 and 135 s;
// memory is in percent. Distances by hand: 17 s is 71.7 % less than 60, 75.8 %
// is 0.2 points less than 76.
func TestReferenceFiguresHaveDistanceAndDirection(t *testing.T) {
	tables := referenceTables(phaseA(t))
	if len(tables) != 2 || len(tables[0].steps) != 6 || len(tables[0].metrics) != 2 {
		t.Fatalf("%d tables: %+v", len(tables), tables)
	}
	g := tables[0].grid()
	// Six figures of the first metric, then six of the second.
	if len(g.Rows) != 12 || g.Rows[1][0][0].Text != "" || g.Rows[6][0][0].Text != "Cold start, s" {
		t.Fatalf("%d rows, the second begins with %q and the seventh with %q", len(g.Rows), g.Rows[1][0][0].Text, g.Rows[6][0][0].Text)
	}
	row := func(i int) string {
		var texts []string
		for _, c := range g.Rows[i][1:] {
			texts = append(texts, c[0].Text)
		}
		return strings.Join(texts, " | ")
	}
	for i, want := range map[int]string{
		0:  "2x100 | 76.00 | 75.80 | 6 | −0.2\u00a0points | –",
		1:  "3x50 | 86.00 | 83.00 | 6 | −3\u00a0points | both ↑",
		2:  "4x50 | 83.60 | 86.00 | 6 | +2.4\u00a0points | ↓ there, ↑ here",
		4:  "6x50 | 85.70 | 85.00 | 6 | −0.7\u00a0points | both →",
		6:  "2x100 | 60.00 | 17.00 | 6 | −71.7\u00a0% | –",
		8:  "4x50 | 60.00 | not run | 6 | – | –",
		10: "6x50 | 135 | 24.00 | 6 | −82.2\u00a0% | → there, ↑ here",
		11: "8x50 | did not start | ≥\u00a0230 | 6 | – | –",
	} {
		if diff := cmp.Diff(want, row(i)); diff != "" {
			t.Errorf("row %d (-want +got):\n%s", i, diff)
		}
	}
	if want, got := "Cold start: farthest is −84.4\u00a0% (5x50); the same direction in 1 of 2 moves", tables[0].sum(lookup(t, "cold_start_s")); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Inside a published range there is no distance; outside it counts from the
// nearer end.
func TestReferenceRanges(t *testing.T) {
	high := 28.0
	for ours, want := range map[float64]float64{20: 0, 14: 0, 28: 0, 31: 3, 10: -4} {
		f := ReferenceFigure{Metric: metric.Metric{Kind: metric.Points, Unit: "%"}, Published: Number{X: 14}, High: &high, Ours: number(ours)}
		if d, ok := f.distance(); !ok || math.Abs(d-want) > 1e-9 {
			t.Errorf("%v is %v (%v) from 14 – 28, want %v", ours, d, ok, want)
		}
	}
	for name, f := range map[string]ReferenceFigure{
		"nothing published": {Published: Number{None: "crashed"}, Ours: number(1)},
		"nothing measured":  {Published: number(1), Ours: Number{None: "not run"}},
		"a quotient by 0":   {Metric: metric.Metric{Kind: metric.Ratio}, Published: number(0), Ours: number(1)},
	} {
		if d, ok := f.distance(); ok {
			t.Errorf("%s has the distance %v", name, d)
		}
	}
}

func TestReferenceChartsLeaveOutWhatIsNotKnown(t *testing.T) {
	charts, err := ReferenceCharts([]ReferenceFigure{{Table: "Nothing", Step: "a", Published: Number{None: "crashed"}, Ours: Number{None: "not run"}}})
	if err != nil || len(charts) != 0 {
		t.Errorf("%d charts, %v", len(charts), err)
	}
	// The second table has a single step: nothing to see that it does not say.
	if charts, err = ReferenceCharts(phaseA(t)); err != nil || len(charts) != 1 || charts[0].Beside != "Flask, number of apps" {
		t.Fatalf("%d charts, %v", len(charts), err)
	}
	// 5 published and 4 of ours plus the bound: cold starts that did not happen
	// are not drawn at 0.
	cold := specOf(t, charts[0]).VConcat[1].Data.Values
	counts := map[any]int{}
	for _, p := range cold {
		counts[p["k"]]++
		if p["v"] == 0.0 {
			t.Errorf("%v is drawn at 0", p)
		}
	}
	if counts[publishedThere] != 5 || counts[measuredHere] != 5 {
		t.Errorf("drawn are %v", counts)
	}
}

// What is 0 throughout has no panel.
func TestReferenceChartsLeaveOutWhatIsAlwaysZero(t *testing.T) {
	cpu, errors := lookup(t, "machine_cpu_pct"), lookup(t, "http_5xx")
	var figures []ReferenceFigure
	for _, step := range []string{"a", "b"} {
		figures = append(figures, ReferenceFigure{Table: "T", Step: step, Metric: cpu, Published: number(14), Ours: number(9)},
			ReferenceFigure{Table: "T", Step: step, Metric: errors, Published: number(0), Ours: number(0)})
	}
	charts, err := ReferenceCharts(figures)
	if err != nil || len(charts) != 1 || len(specOf(t, charts[0]).VConcat) != 1 {
		t.Errorf("%d charts, %v", len(charts), err)
	}
}

// A file may list its steps in any order; a direction goes from the smaller load
// to the larger.
func TestReferenceStepsStandByTheirLoad(t *testing.T) {
	step := func(name, deploy string, n, mb int) experiment.Step {
		s := experiment.Step{Name: name}
		for range n {
			s.Apps = append(s.Apps, experiment.App{Deploy: deploy, Workers: 1, AllocMB: mb})
		}
		return s
	}
	rank := loadRank([]experiment.Step{step("6x75", "zip", 6, 75), step("4x75", "zip", 4, 75), step("4x175", "zip", 4, 175), step("c4x75", "container", 4, 75), step("4x100", "zip", 4, 100)})
	var figures []ReferenceFigure
	for _, name := range []string{"4x175", "c4x75", "6x75", "4x75", "4x100"} {
		figures = append(figures, ReferenceFigure{Table: "T", Step: name, Rank: rank[name], Metric: lookup(t, "memory_pct")})
	}
	if got, want := referenceTables(figures)[0].steps, []string{"4x75", "4x100", "4x175", "6x75", "c4x75"}; !cmp.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Next to each table stands what of it is the emulation's, and section 13 says
// what the emulation is.
func TestModelSaysWhatIsTheEmulations(t *testing.T) {
	m := fixture(t)
	for i := range m.Reference.Figures {
		m.Reference.Figures[i].Emulation = "what the platform takes is a stand-in"
	}
	md := renderedMarkdown(t, m)
	section := func(from, to string) string {
		_, rest, _ := strings.Cut(md, from)
		text, _, _ := strings.Cut(rest, to)
		return text
	}
	if results := section("## 10. Results", "## 11."); !strings.Contains(results, "The reference's figures beside ours") || !strings.Contains(results, "**Emulation:** what the platform takes is a stand-in.") {
		t.Error("section 10 sets figures side by side without saying what the emulation does to them")
	}
	if open := section("## 13. What this does not prove", "## 14."); !strings.Contains(open, "translates every instruction") {
		t.Error("section 13 does not say what the emulation is")
	}
}
