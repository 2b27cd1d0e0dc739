package report

import (
	"fmt"
	"strings"
	"testing"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/stats"
	"brink/internal/verdict"
)

// once is a comparison of one repetition each: 0 against 83, where an effect
// counts from 7.
func once(form experiment.Form) verdict.Verdict {
	v := compared(form, 83, 0, 0, 7, verdict.Inconclusive)
	v.Level, v.Sentence = verdict.Observed, "It went from 0 to 83"
	v.Parts[0].N, v.Parts[0].Lo, v.Parts[0].Hi = []int{1, 1}, nil, nil
	return v
}

// One repetition has no interval, so nothing may be said of one.
func TestInterpretationClaimsNoIntervalThatIsNotThere(t *testing.T) {
	b := &builder{m: &Model{}}
	for _, form := range []experiment.Form{experiment.Compare, experiment.CausedBy, experiment.Equivalent} {
		got := b.interpret(once(form)).Text
		if !strings.Contains(got, "There is no interval at n = 1") || strings.Contains(got, "includes") || strings.Contains(got, "excluded") {
			t.Errorf("%s: %s", form, got)
		}
		if !strings.HasPrefix(got, "It rises (inconclusive).") {
			t.Errorf("%s: an open claim stands as if it were true: %s", form, got)
		}
	}
	// An interval that is open above begins somewhere all the same.
	v := once(experiment.Compare)
	v.Parts[0].Lo = ptr(49)
	if got := b.interpret(v).Text; !strings.Contains(got, "49\u00a0points, is 7 times the smallest effect") {
		t.Errorf("from 49 on, of 7: %s", got)
	}
}

// What is seen once and decides nothing is nothing to plan with.
func TestOpenClaimsAreProvenNowhere(t *testing.T) {
	b := &builder{m: &Model{}, Input: Input{Design: &experiment.Design{}, Table: measure.Assemble(nil, nil), Verdicts: []verdict.Verdict{once(experiment.Compare)}}}
	b.Verdicts = append(b.Verdicts, compared(experiment.Compare, 1, 0.5, 1.5, 7, verdict.NotSupported))
	b.Verdicts[1].Hypothesis.Claim = "It falls."
	b.Design.Experiment = &experiment.Experiment{}
	if err := b.interpretation(); err != nil {
		t.Fatal(err)
	}
	if len(b.m.Proves) != 1 || !strings.HasPrefix(b.m.Proves[0].Text, "It falls (not supported): ") {
		t.Errorf("section 12: %+v", b.m.Proves)
	}
	if len(b.m.DoesNotProve) == 0 || !strings.HasPrefix(b.m.DoesNotProve[0].Text, "It rises (inconclusive): It went from 0 to 83.") {
		t.Errorf("section 13: %+v", b.m.DoesNotProve)
	}
	var said []string
	for _, block := range usesOf(b.m.Interpretation) {
		if len(block.Para) > 0 {
			said = append(said, block.Para[0].Text)
		}
	}
	if got := strings.Join(said, " "); !strings.Contains(got, "Nothing follows") || strings.Contains(got, "It happened") {
		t.Errorf("section 11 sorts them under %q", got)
	}
}

// +83 where 7 are claimed is no disagreement; without an interval it is no
// agreement either.
func TestEffectsWithoutAnIntervalAreNeutral(t *testing.T) {
	c := must(t)(Effects(EffectsInput{ID: "e", Rows: []EffectRow{{Label: "overflow: A → B", Estimate: 83, Margin: ptr(7), Side: 1, Open: true}}}))
	if want := "1 effect, none with an interval: 0 agree with the claim, 0 do not, 1 undecided. The largest is +83 (overflow: A → B)."; c.Alt != want {
		t.Errorf("%q, want %q", c.Alt, want)
	}
	s := specOf(t, c)
	point := s.Layer[len(s.Layer)-1]
	scale := point.Encoding["color"].(map[string]any)["scale"].(map[string]any)["domain"].([]any)
	if point.Data.Values[0]["h"] != undecided || scale[5] != undecided || lightPalette.series[5] != "#5d6875" {
		t.Errorf("the point is %v among %v; the sixth colour is the grey one", point.Data.Values[0], scale)
	}
	if !strings.Contains(c.Note, "A point without a line has no interval") || c.Table.Rows[0][5] != undecided {
		t.Errorf("%s %v", c.Note, c.Table.Rows)
	}
	for outcome, want := range map[verdict.Outcome]string{verdict.Inconclusive: undecided, verdict.NotSupported: "no"} {
		v := compared(experiment.Compare, 3, 1, 5, 7, outcome)
		if got := agreeWord(v, v.Parts[0]); got != want {
			t.Errorf("%s: %q, want %q", outcome, got, want)
		}
	}
}

// One repetition has neither a band nor a range.
func TestOneRepetitionHasNoRange(t *testing.T) {
	in := seriesInput()
	for i := range in.Panels {
		in.Panels[i].Series[0].Repetitions = 1
	}
	if c := must(t)(TimeSeries(in)); !strings.Contains(c.Note, "there is no band") || strings.Contains(fmt.Sprint(c.Note, c.Table.Columns), "p5") {
		t.Errorf("%s %v", c.Note, c.Table.Columns)
	}
	row := fixture(t).Results[0].Rows[0]
	if got := metricRow(row)[6][0].Text; got != "5.003 – 5.005" {
		t.Errorf("IQR of six: %s", got)
	}
	row.N = 1
	if got := metricRow(row)[6][0].Text; got != "–" {
		t.Errorf("IQR of one: %s", got)
	}
}

// Where the baseline gives the same number each time, by construction or
// because what is counted never happens there, it says nothing about noise.
func TestNoNoiseFloorWithoutNoise(t *testing.T) {
	for _, x := range []struct {
		values stats.Sample
		want   bool
	}{
		{stats.Of(1, 1.0000000002), true}, {stats.Of(0, 0), true}, {stats.Of(1, 1.0001), false}, {stats.Of(0, 1), false},
	} {
		if got := still(x.values); got != x.want {
			t.Errorf("%v: %v", x.values, got)
		}
	}
	table := noiseBlocks([]NoiseFloor{{Metric: "wait_over_simulated", Step: "idle", N: 1, Relative: true, Still: true}})[0].Table
	if got := table.Rows[0][3][0].Text; got != "unknown: it did not vary there" {
		t.Errorf("the floor is %q", got)
	}
}
