package report

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	row := func(i int) string {
		var texts []string
		for _, c := range g.Rows[i] {
			texts = append(texts, c[0].Text)
		}
		return strings.Join(texts, " | ")
	}
	for i, want := range map[int]string{
		0: "2x100 | 76.00 | 75.80 | −0.2\u00a0points | – | 60.00 | 17.00 | −71.7\u00a0% | –",
		1: "3x50 | 86.00 | 83.00 | −3\u00a0points | ↑ ↑ | 60.00 | 17.00 | −71.7\u00a0% | → →",
		2: "4x50 | 83.60 | 86.00 | +2.4\u00a0points | ↓ ↑ differs | 60.00 | not run | – | –",
		4: "6x50 | 85.70 | 85.00 | −0.7\u00a0points | → → | 135 | 24.00 | −82.2\u00a0% | → ↑ differs",
		5: "8x50 | 85.70 | 86.00 | +0.3\u00a0points | → → | did not start | ≥\u00a0230 | – | –",
	} {
		if diff := cmp.Diff(want, row(i)); diff != "" {
			t.Errorf("row %d (-want +got):\n%s", i, diff)
		}
	}
	if want, got := "Cold start: at most −84.4\u00a0% away (5x50), the same direction in 1 of 2 moves", tables[0].sum(lookup(t, "cold_start_s")); got != want {
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
	if charts, err = ReferenceCharts(phaseA(t)); err != nil || len(charts) != 2 {
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

func TestModelSaysWhatIsTheEmulations(t *testing.T) {
	md := renderedMarkdown(t, fixture(t))
	_, results, _ := strings.Cut(md, "## 10. Results")
	results, _, _ = strings.Cut(results, "## 11.")
	if !strings.Contains(results, "The reference's figures beside ours") || !strings.Contains(results, "translates every instruction") {
		t.Error("section 10 sets figures side by side without saying what the emulation does to them")
	}
}
