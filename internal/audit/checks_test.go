package audit

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A reading of a whole-unit clock for a duration that was really T is always
// possible for what takes T: cutting start and end never makes it a finding.
func TestClockResolutionAcceptsEveryTrueReading(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		resolution := rapid.Float64Range(0.01, 10).Draw(t, "resolution")
		start := rapid.Float64Range(0, 1000).Draw(t, "start")
		took := rapid.Float64Range(0.001, 1000).Draw(t, "took")
		cut := func(x float64) float64 { return math.Floor(x / resolution) }
		// Room for the last bit of the floating-point sum.
		reading := (cut(start+took)-cut(start))*resolution + 1e-9
		f := &figures{}
		c := clockResolution{Observed: fmt.Sprint(reading), Least: fmt.Sprint(took), Resolution: fmt.Sprint(resolution)}
		a, err := c.run(f)
		if err != nil {
			t.Fatal(err)
		}
		if a.outcome != Holds {
			t.Fatalf("%v read for %v in steps of %v: %s", reading, took, resolution, a.gives)
		}
	})
}

// Whatever the figures, a claim that was computed from them holds, and one
// that is off by more than the tolerance does not.
func TestPercentChangeFollowsItsFigures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.Float64Range(1, 1e6).Draw(t, "from")
		change := rapid.Float64Range(10, 1e4).Draw(t, "change")
		off := rapid.SampledFrom([]float64{0.8, 0.9, 1, 1.1, 1.2}).Draw(t, "off")
		claimed := change * off
		f := &figures{tolerance: 0.05}
		c := percentChange{From: fmt.Sprint(from), To: fmt.Sprint(from * (1 + change/100)), Claimed: &Span{&claimed, &claimed}}
		a, err := c.run(f)
		if err != nil {
			t.Fatal(err)
		}
		if (a.outcome == Holds) != (off == 1) {
			t.Fatalf("claimed %v for %v: %s", claimed, change, a.outcome)
		}
	})
}

func TestOtherStartIsFoundAmongFigures(t *testing.T) {
	figures := `figures:
  start: {value: 200, unit: pages, section: "1"}
  other: {value: 100, unit: pages, section: "1"}
  end: {value: 400, unit: pages, section: "1"}
  bystander: {value: 100, unit: MB, section: "1"}`
	got := result(t, parse(t, one(figures, "percent_change: {from: start, to: end, claimed: 300}")), "it")
	if want := "200 → 400 pages is +100 %, not +300 %; +300 % takes a start of 100 pages: other"; got.Gives != want {
		t.Errorf("got  %s\nwant %s", got.Gives, want)
	}
	if want := []string{"start", "end"}; !slices.Equal(got.Figures, want) {
		t.Errorf("figures %v, want %v", got.Figures, want)
	}
}

func TestChecks(t *testing.T) {
	const tables = `figures:
  total: {value: 2000, unit: MB, section: "1"}
  free: {value: 100, unit: MB, section: "1"}
  available: {value: 500, unit: MB, section: "1"}
  percent: {value: 75, unit: "%", section: "1"}
tables:
  t:
    section: "1"
    rows: [a, b, c, d]
    columns:
      load: {unit: count, values: [1, 2, 3, 4]}
      alike: {unit: count, values: [1, 1, 2, 2]}
      double: {unit: ms, values: [20, 40, 60, 80]}
      square: {unit: ms, values: [10, 40, 90, 160]}
      level: {unit: ms, values: [50, 50.4, 50.2, 50.1]}
      holes: {unit: ms, values: [7, null, null, 9]}
      failed: {unit: count, values: [0, 0, 1, 2]}`
	for _, x := range []struct {
		check   string
		outcome Outcome
		gives   string
	}{
		{`proportional: {y: [t.double], x: [t.load]}`, Holds, "20 → 20 → 20 → 20"},
		{`proportional: {y: [t.square], x: [t.load]}`, DoesNotFollow, "10 → 20 → 30 → 40, not one factor"},
		{`monotone: {of: [t.square], by: [t.load], direction: rising, strict: true}`, Holds, "10 → 40 → 90 → 160"},
		{`monotone: {of: [t.square], direction: falling}`, Contradicts, "from a to b it goes from 10 to 40 ms"},
		{`monotone: {of: [t.alike], direction: rising}`, Holds, "1 → 1 → 2 → 2"},
		{`monotone: {of: [t.alike], direction: rising, strict: true}`, Contradicts, "from 1 to 1"},
		{`plateau: {of: [t.level], within: 0.4, over: [t.load]}`, Holds, "0.4 ms apart"},
		{`plateau: {of: [t.level], within: 0.3}`, Contradicts, "more than 0.3 ms"},
		{`plateau: {of: [t.level], within: 0.5, over: [t.alike]}`, DoesNotFollow, "takes 3 different ones"},
		{`threshold: {of: [t.load], fail: [t.failed], at: {from: 3}}`, Holds, "all failed: c (3), d (4)"},
		{`threshold: {of: [t.load], fail: [t.failed], at: {from: 2}}`, Contradicts, "did not fail: b (2)"},
		{`threshold: {of: [t.load], fail: [t.failed], at: {from: 5}}`, DoesNotFollow, "nothing failed at 5 or more"},
		{`threshold: {of: [t.load], fail: [t.failed], rows: [a, b, d], at: {from: 3}}`, Holds, "all failed: d (4)"},
		{`range: {of: [t.holes], claimed: {from: 7, to: 9}, tolerance: 0}`, Holds, "7 to 9 ms"},
		{`range: {of: [t.holes], claimed: {to: 8}, tolerance: 0}`, Contradicts, "not 8 ms or less: d (9)"},
		{`ratio: {of: t.d.square, to: t.a.square, claimed: 16}`, Holds, "160 / 10 ms is 16×"},
		{`formula: {formula: 10 * x * x, with: {x: t.load}, unit: ms, claimed: {from: 10, to: 160}}`, Holds, "in 4 rows"},
		{`formula: {formula: a + b, with: {a: t.holes, b: t.load}, unit: ms, claimed: 8, tolerance: 0}`, DoesNotFollow, "in 2 rows; not 8 ms: d (13)"},
		{`formula: {formula: 2 * x, with: {x: t.c.load}, unit: ms, observed: t.a.holes, tolerance: 0}`, DoesNotFollow, "is 6 ms, and not the observed 7 ms"},
		// 1 − 100/2000 = 95 %, 1 − 500/2000 = 75 %.
		{`definition: {cache: included, percent: percent, total: total, free: free, available: available}`, Contradicts, "MemFree / MemTotal is 95 % and 1 − MemAvailable / MemTotal is 75 %"},
		{`definition: {cache: excluded, percent: percent, total: total, free: free, available: available}`, Holds, "the percentage is 75 %"},
		{`definition: {cache: included, percent: "95", total: total, free: free, available: available}`, Holds, "the percentage is 95 %"},
		{`definition: {cache: included, percent: percent, total: total}`, CannotBeChecked, "no free and available memory"},
		{`exit_code: {program: gunicorn, code: "4", shows: load}`, Holds, "failed to load"},
		{`exit_code: {program: gunicorn, code: "9", shows: memory}`, CannotBeChecked, "not known"},
		{`query_columns: {query: AppServiceAuditLogs | project User}`, CannotBeChecked, "the columns of AppServiceAuditLogs are not known"},
	} {
		got := result(t, parse(t, one(tables, x.check)), "it")
		if got.Outcome != x.outcome || !strings.Contains(got.Gives, x.gives) {
			t.Errorf("%s\n got %s: %s\nwant %s: %s", x.check, got.Outcome, got.Gives, x.outcome, x.gives)
		}
	}
}

func TestParseKQL(t *testing.T) {
	for _, x := range []struct {
		query, table string
		columns      []string
	}{
		{"T | where A == 1 and B in (\"x\", \"C\") | project D, E", "T", []string{"A", "B", "D", "E"}},
		{"T\n| summarize n = count(), m=avg(Total) by Name, bin(TimeGenerated, 5m)\n| order by n desc, m asc", "T", []string{"Total", "Name", "TimeGenerated"}},
		{"T | extend x=A | where x > 3 and B =~ 'y|z' // and C", "T", []string{"A", "B"}},
		{"T", "T", nil},
		{"", "", nil},
		{"let x = 1; T", "", nil},
		{"5 | project A", "", nil},
	} {
		table, columns := parseKQL(x.query)
		if table != x.table || !slices.Equal(columns, x.columns) {
			t.Errorf("%q: table %q, columns %q; want %q, %q", x.query, table, columns, x.table, x.columns)
		}
	}
}

func TestFormatNumber(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 7: "7", -33.33333: "−33.33", 1070: "1,070", 40400000: "40,400,000", 144.848: "144.8",
		2.448484: "2.448", 0.083333: "0.08333", 1234567.8: "1,234,568", -1500: "−1,500", 10.5: "10.5",
	} {
		if got := formatNumber(x); got != want {
			t.Errorf("%v: %q, want %q", x, got, want)
		}
	}
}
