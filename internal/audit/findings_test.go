package audit

import (
	"math"
	"strings"
	"testing"

	"brink/internal/verdict"
)

// The findings are those that were known before this program computed them:
// the list of "Figures in the published references that do not follow from
// their own data" in the methodology. Each row has the alteration that makes
// its finding go.
func TestKnownFindingsAppearAndGo(t *testing.T) {
	for _, x := range []struct {
		reference, claim string
		outcome          Outcome
		computed         float64  // NaN where it is not about a number
		gives            []string // what the sentence must hold
		mend             []string
	}{
		{"memory-pressure", "pgscan-kswapd", DoesNotFollow, 145, []string{"+144.8 %", "14,480,000", "pgscan_kswapd_delta (25,900,000)"},
			[]string{"[16500000, 40400000]", "[14500000, 40400000]"}},
		{"memory-pressure", "pgscan-direct", DoesNotFollow, 2767, []string{"+2,767 %", "233.4"},
			[]string{"[1164, 33372]", "[233, 33372]"}},
		{"worker-exhaustion", "fifth-formula", DoesNotFollow, 7.5, []string{"7.5 s", "10.62 s"},
			[]string{"5.401, 10.624]", "5.401, 7.6]"}},
		{"worker-exhaustion", "fifth-two-laws", Contradicts, 10, []string{"7.5 s", "10 s"},
			[]string{"with: {D: scenarios.S4.hold}}", "with: {D: \"3.75\"}}"}},
		{"worker-exhaustion", "s3-faster", Contradicts, 2, []string{"steps of 1 s"},
			[]string{"[11, 13, 2, 10, 4]", "[11, 13, 3, 10, 4]"}},
		{"worker-exhaustion", "burn", DoesNotFollow, 4, []string{"3 s of wall time", "the 4 s is that, read in steps of 1 s"},
			[]string{"bounded_by: wall_time", "bounded_by: work"}},
		{"memory-pressure", "alloc-100", Contradicts, 100, []string{"4x100 (100), 4x125 (125), 4x150 (150), 4x175 (175)", "failed: 3x100"},
			[]string{"[1, 0, 0, 0, 0]", "[1, 1, 1, 1, 1]"}},
		{"memory-pressure", "exit-code", DoesNotFollow, 3, []string{"a worker failed to boot", "nothing about memory"},
			[]string{"exit_code: {value: 3", "exit_code: {value: 137"}},
		{"memory-pressure", "percent-cache", Contradicts, 445, []string{"445.2 MB", "MemAvailable"},
			[]string{"headroom: {from: 400, to: 450}", "headroom: {from: 900, to: 1000}"}},
		{"memory-pressure", "kql-503", Contradicts, math.NaN(), []string{"no column SiteName (there is CsHost)"},
			[]string{"count() by SiteName", "count() by CsHost"}},
		{"memory-pressure", "kql-restarts", Contradicts, math.NaN(), []string{"no column Message (there is ResultDescription)"},
			[]string{"where Message has", "where ResultDescription has", "SiteName, Message", "_ResourceId, ResultDescription"}},
	} {
		t.Run(x.claim, func(t *testing.T) {
			r, err := Load(x.reference)
			if err != nil {
				t.Fatal(err)
			}
			got := result(t, r, x.claim)
			if got.Outcome != x.outcome || !got.Finding() {
				t.Errorf("%s: %s, want %s", x.claim, got.Outcome, x.outcome)
			}
			switch {
			case math.IsNaN(x.computed) != (got.Computed == nil):
				t.Errorf("computed is %v, want %v", got.Computed, x.computed)
			case got.Computed != nil && math.Abs(*got.Computed-x.computed) > 0.5:
				t.Errorf("computed %v, want about %v", *got.Computed, x.computed)
			}
			for _, part := range x.gives {
				if !strings.Contains(got.Gives+" "+got.Note, part) {
					t.Errorf("%q does not say %q", got.Gives, part)
				}
			}
			mended := result(t, parse(t, edit(t, text(t, x.reference), x.mend...)), x.claim)
			if mended.Outcome != Holds {
				t.Errorf("with %q: %s (%s), want holds", x.mend, mended.Outcome, mended.Gives)
			}
		})
	}
}

// Claims that hold, and an alteration of a figure behind each that makes a
// finding of it.
func TestAlteredFiguresMakeFindings(t *testing.T) {
	for _, x := range []struct{ reference, claim, from, to string }{
		{"memory-pressure", "pswpin", "[121000, 1940000]", "[121000, 1400000]"},
		{"memory-pressure", "pswpout", "[321000, 2410000]", "[231000, 2410000]"},
		{"memory-pressure", "cpu-rise", "[35.2, 18.8]", "[32, 18.8]"},
		{"memory-pressure", "cold-175", "[90, 120, 150, 300, 360, null]", "[90, 120, 150, 300, 306, null]"},
		{"memory-pressure", "cold-by-alloc", "[90, 120, 150, 300, 360, null]", "[90, 120, 120, 300, 360, null]"},
		{"memory-pressure", "burst-mean", "[16.8, 173.9]", "[26.8, 173.9]"},
		{"memory-pressure", "plateau", "[76, 86, 83.6, 85.6, 85.7, 85.7]", "[76, 86, 83.6, 85.6, 85.7, 86.7]"},
		{"memory-pressure", "steady-density", "[986, 896, 915, 881, 891, null]", "[986, 896, 915, 818, 891, null]"},
		{"memory-pressure", "cliff-latency", "970, 984, 948, 1070]", "970, 984, 984, 1070]"},
		{"memory-pressure", "node-errors", "[0, 0, 0, 0, 0, 0]}\n\n  node_density", "[0, 0, 0, 0, 0, 1]}\n\n  node_density"},
		{"memory-pressure", "swap-used", "[null, 17]", "[null, 71]"},
		{"memory-pressure", "allocstall", "[null, 50]", "[null, 49]"},
		{"memory-pressure", "cascade", "[85.3, 87, 90.5, 88.5, 91.5, 93]", "[85.3, 87, 90.5, 88.5, 94.5, 93]"},
		{"memory-pressure", "kql-metrics", "avg(Total)", "avg(Sum)"},
		{"worker-exhaustion", "one-waits", "5.401, 10.624]", "5.401, 6.6]"},
		{"worker-exhaustion", "s1", "[11, 13, 2, 10, 4]", "[16, 13, 2, 10, 4]"},
		{"worker-exhaustion", "s4-wall", "[11, 13, 2, 10, 4]", "[11, 13, 2, 9, 4]"},
		{"worker-exhaustion", "s4-together", "[5.401, 5.427,", "[5.401, 5.927,"},
		{"worker-exhaustion", "throughput", "slow_call: {value: 10", "slow_call: {value: 5"},
		{"worker-exhaustion", "ten-requests", "example_requests: {value: 10", "example_requests: {value: 13"},
		{"worker-exhaustion", "four-pids", "last_pid: {value: 1895", "last_pid: {value: 1896"},
	} {
		t.Run(x.claim, func(t *testing.T) {
			r, err := Load(x.reference)
			if err != nil {
				t.Fatal(err)
			}
			if got := result(t, r, x.claim); got.Outcome != Holds {
				t.Errorf("as published: %s (%s), want holds", got.Outcome, got.Gives)
			}
			if got := result(t, parse(t, edit(t, text(t, x.reference), x.from, x.to)), x.claim); !got.Finding() {
				t.Errorf("with %s: %s (%s), want a finding", x.to, got.Outcome, got.Gives)
			}
		})
	}
}

// All claims of both publications rest on one repetition, so nothing in them
// is more than Observed (docs/METHODOLOGY.md, ceilings).
func TestSingleRepetitionsAreAtMostObserved(t *testing.T) {
	for _, name := range References() {
		r, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, x := range r.Audit() {
			if x.Repetitions != 1 || x.Level != verdict.Observed {
				t.Errorf("%s: %d repetitions, level %s", x.Claim, x.Repetitions, x.Level)
			}
			if x.Overstated != (x.PageLevel == verdict.Measured) {
				t.Errorf("%s: published as %q, overstated %v", x.Claim, x.PageLevel, x.Overstated)
			}
			if x.Overstated {
				seen++
			}
		}
		if seen == 0 || seen != CountOf(r.Audit()).Overstated {
			t.Errorf("%s: %d overstated claims, counted %d", name, seen, CountOf(r.Audit()).Overstated)
		}

		enough := parse(t, edit(t, text(t, name), "repetitions: 1", "repetitions: 6"))
		for _, x := range enough.Audit() {
			want := verdict.Measured
			if x.Kind == Association || x.Kind == Causal && x.Claim != "oryx-cpu" {
				want = verdict.StronglySuggested // no intervention
			}
			if x.Level != want || x.Overstated != (x.PageLevel == verdict.Measured && want != verdict.Measured) {
				t.Errorf("%s with 6 repetitions: %s (overstated %v), want %s", x.Claim, x.Level, x.Overstated, want)
			}
		}
	}
}

func TestLevelAllowed(t *testing.T) {
	// The rows of the table of levels in docs/METHODOLOGY.md, and its ceilings.
	for _, x := range []struct {
		n            int
		kind         Kind
		intervention bool
		want         verdict.Level
	}{
		{0, Descriptive, false, verdict.Unknown},
		{1, Descriptive, false, verdict.Observed},
		{4, Descriptive, false, verdict.Observed},
		{5, Descriptive, false, verdict.Measured},
		{1, Association, false, verdict.Observed},
		{2, Association, false, verdict.Correlated},
		{3, Causal, false, verdict.Inferred},
		{4, Causal, true, verdict.StronglySuggested},
		{9, Association, false, verdict.StronglySuggested},
		{9, Causal, false, verdict.StronglySuggested},
		{9, Causal, true, verdict.Measured},
	} {
		if got := levelAllowed(x.n, x.kind, x.intervention); got != x.want {
			t.Errorf("%d repetitions, %s, intervention %v: %s, want %s", x.n, x.kind, x.intervention, got, x.want)
		}
	}
	if !overstated(verdict.StronglySuggested, verdict.Inferred, 3) || overstated(verdict.Correlated, verdict.Observed, 1) || overstated("", verdict.Unknown, 0) {
		t.Error("Strongly Suggested takes 4 repetitions; Correlated is below Observed; no level is none too high")
	}
}
