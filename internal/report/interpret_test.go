package report

import (
	"strings"
	"testing"

	"brink/internal/experiment"
	"brink/internal/verdict"
)

func compared(form experiment.Form, effect, lo, hi, size float64, outcome verdict.Outcome) verdict.Verdict {
	m := &experiment.Margin{Value: size}
	v := verdict.Verdict{Outcome: outcome, Level: verdict.Measured, Hypothesis: experiment.Hypothesis{ID: "h", Claim: "It rises.", Form: form, Metric: "cpu_pct", Effect: m, Margin: m, Tolerance: m},
		Parts: []verdict.Part{{Steps: []string{"idle", "s4"}, Effect: &effect, Lo: &lo, Hi: &hi}}}
	return v
}

// Section 11 says what follows: how much room there is, not the verdict again.
func TestInterpretationSaysHowMuchRoomThereIs(t *testing.T) {
	b := &builder{m: &Model{NoiseFloor: []NoiseFloor{{Metric: "cpu_pct", Difference: 0.5}}}}
	for want, v := range map[string]verdict.Verdict{
		// 91 of 50 is 1.82 times, and 182 times the floor of 0.5.
		"Even the end of the interval that is nearest to none, 91\u00a0points, is 1.8 times the smallest effect that counts (50\u00a0points), and 182 times the noise floor.": compared(experiment.Compare, 92, 91, 93, 50, verdict.Supported),
		"The interval begins at 49\u00a0points, less than the 50\u00a0points from which an effect counts":                                                                     compared(experiment.Compare, -60, -70, -49, 50, verdict.Inconclusive),
		"The interval includes no effect at all; one counts from 50\u00a0points.":                                                                                             compared(experiment.Compare, 20, -1, 40, 50, verdict.Inconclusive),
		"The intervals leave no room for more than 1.3\u00a0points, where 10\u00a0points would still count as none":                                                           compared(experiment.Equivalent, -1.2, -1.3, 0.4, 10, verdict.Supported),
		"A difference of up to 30\u00a0points is not excluded":                                                                                                                compared(experiment.Equivalent, 3, -4, 30, 10, verdict.Inconclusive),
		"Whoever plans by this formula is wrong by up to 33\u00a0points (idle), where 10\u00a0points were allowed":                                                            compared(experiment.Law, 33, 32, 34, 10, verdict.NotSupported),
		"The median that is farthest from the formula is 2\u00a0points off (idle), of 10\u00a0points":                                                                         compared(experiment.Law, -2, -3, 1, 10, verdict.Supported),
	} {
		if got := b.interpret(v).Text; !strings.Contains(strings.ToLower(got), strings.ToLower(want)) {
			t.Errorf("%s: %q does not say %q", v.Hypothesis.Form, got, want)
		}
	}
}

// Without an intervention, a cause that a claim names was not tested.
func TestInterpretationDoesNotLendACause(t *testing.T) {
	v := compared(experiment.Compare, 92, 91, 93, 50, verdict.Supported)
	v.Hypothesis.Because = "the kernel reclaims memory"
	b := &builder{m: &Model{}}
	if got := b.interpret(v).Text; !strings.Contains(got, "nothing was switched on and off") {
		t.Error(got)
	}
	v.Hypothesis.Form = experiment.CausedBy
	if got := b.interpret(v).Text; strings.Contains(got, "nothing was switched") {
		t.Errorf("an intervention: %s", got)
	}
}

// Tables of section 10 do not come again in section 11, and those of 11 only
// there.
func TestInterpretationRepeatsNoTable(t *testing.T) {
	d, err := compose(fixture(t))
	if err != nil {
		t.Fatal(err)
	}
	captions := func(n int) map[string]bool {
		found := map[string]bool{}
		var walk func([]block)
		walk = func(blocks []block) {
			for _, b := range blocks {
				if b.Table != nil {
					found[b.Table.Caption] = true
				}
				walk(b.Children)
			}
		}
		walk(d.Sections[n-1].Blocks)
		return found
	}
	results, interpretation := captions(10), captions(11)
	for c := range interpretation {
		if results[c] {
			t.Errorf("%q stands in sections 10 and 11", c)
		}
	}
	if !interpretation["Noise floor: the baseline against itself"] || len(interpretation) != 2 {
		t.Errorf("section 11 holds %v, want the noise floor and the distance to the reference", interpretation)
	}
}
