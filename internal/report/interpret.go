package report

import (
	"fmt"
	"math"
	"slices"

	"brink/internal/experiment"
	"brink/internal/metric"
	"brink/internal/verdict"
)

// uses says what may be done with the claims of each level, the strongest first.
var uses = []struct {
	level verdict.Level
	use   string
}{
	{verdict.Measured, "Numbers to plan with, on a plan like this one"},
	{verdict.StronglySuggested, "Likely enough to act on, though nothing was switched on and off to show the cause"},
	{verdict.Observed, "It happened; how large it is next time is not said"},
	{verdict.Inferred, "Working assumptions"},
	{verdict.Correlated, "Leads to follow, not ones to act on"},
	{verdict.NotProven, "To be dropped as they are worded"},
	{verdict.Unknown, "Nothing follows from these, in either direction"},
}

// interpret says what follows from a verdict: how much room its numbers leave
// to what was claimed and to the noise floor.
func (b *builder) interpret(v verdict.Verdict) Statement {
	h := v.Hypothesis
	text := claimed(v) + "."
	if room := b.room(v); room != "" {
		text += " " + capital(room) + "."
	}
	if h.Because != "" && h.Form != experiment.CausedBy && v.Outcome == verdict.Supported {
		text += " That the cause is " + trimDot(h.Because) + " was not tested: nothing was switched on and off."
	}
	return Statement{Level: v.Level, Outcome: v.Outcome, Hypothesis: h.ID, Text: text}
}

// room compares the numbers with what was claimed. It is empty for forms
// whose outcome is no size.
func (b *builder) room(v verdict.Verdict) string {
	switch v.Hypothesis.Form {
	case experiment.Law:
		return lawRoom(v)
	case experiment.Equivalent:
		return equivalentRoom(v)
	case experiment.Compare, experiment.CausedBy:
		return b.effectRoom(v)
	}
	return ""
}

// lawRoom names the step whose median is farthest from the formula.
func lawRoom(v verdict.Verdict) string {
	tolerance := v.Hypothesis.Tolerance
	worst := farthest(v.Parts, func(p verdict.Part) float64 { return math.Abs(*p.Effect) })
	if worst == nil || tolerance == nil {
		return ""
	}
	unit := unitOf(v.Hypothesis.Metric)
	off := formatSize(*worst.Effect, worst.Relative, unit)
	switch {
	case *worst.Effect == 0:
		return "every median is what the formula gives"
	case v.Outcome == verdict.NotSupported:
		return fmt.Sprintf("whoever plans by this formula is wrong by up to %s (%s), where %s were allowed", off, worst.Steps[0], formatSize(tolerance.Value, tolerance.Relative, unit))
	}
	return fmt.Sprintf("the median that is farthest from the formula is %s off (%s), of %s that are allowed", off, worst.Steps[0], formatSize(tolerance.Value, tolerance.Relative, unit))
}

// equivalentRoom is the largest difference that the intervals leave open.
func equivalentRoom(v verdict.Verdict) string {
	worst := farthest(v.Parts, func(p verdict.Part) float64 { return reach(p) })
	switch {
	case worst == nil || v.Hypothesis.Margin == nil:
		return ""
	case !hasInterval(*worst):
		return noInterval(*worst)
	case math.IsInf(reach(*worst), 0):
		return ""
	}
	unit := unitOf(v.Hypothesis.Metric)
	far := formatSize(reach(*worst), worst.Relative, unit)
	margin := formatSize(v.Hypothesis.Margin.Value, v.Hypothesis.Margin.Relative, unit)
	if v.Outcome == verdict.Supported {
		return fmt.Sprintf("whatever the difference is, the intervals leave no room for more than %s, where %s would still count as none", far, margin)
	}
	return fmt.Sprintf("a difference of up to %s is not excluded, and %s would still count as none", far, margin)
}

// effectRoom holds the end of the interval that is nearest to no effect against
// the smallest effect that counts and the noise floor.
func (b *builder) effectRoom(v verdict.Verdict) string {
	h := v.Hypothesis
	weakest := farthest(v.Parts, func(p verdict.Part) float64 { return -nearest(p) })
	if weakest == nil || h.Effect == nil || !(h.Effect.Value > 0) {
		return ""
	}
	if !hasInterval(*weakest) {
		return noInterval(*weakest)
	}
	near, unit := nearest(*weakest), unitOf(h.Metric)
	counts := formatSize(h.Effect.Value, h.Effect.Relative, unit)
	var text string
	switch {
	case near == 0:
		text = fmt.Sprintf("the interval includes no effect at all; one counts from %s", counts)
	case near < h.Effect.Value:
		text = fmt.Sprintf("the interval begins at %s, less than the %s from which an effect counts", formatSize(near, weakest.Relative, unit), counts)
	default:
		text = fmt.Sprintf("even the end of the interval that is nearest to none, %s, is %s times the smallest effect that counts (%s)",
			formatSize(near, weakest.Relative, unit), trimmed(near/h.Effect.Value), counts)
	}
	if floor, ok := noiseOf(b.m, h.Metric); ok && floor.Relative == weakest.Relative && floor.Difference > 0 && near > 0 {
		if times := near / floor.Difference; times >= 2 {
			text += fmt.Sprintf(", and %.0f times the noise floor", times)
		} else {
			text += fmt.Sprintf("; the baseline differs from itself by %s, which is no less than half of it", formatSize(floor.Difference, floor.Relative, unit))
		}
	}
	return text
}

// farthest is the part with the largest measure, of those that have an effect.
func farthest(parts []verdict.Part, measure func(verdict.Part) float64) *verdict.Part {
	var found *verdict.Part
	for i, p := range parts {
		if p.Effect != nil && len(p.Steps) > 0 && (found == nil || measure(p) > measure(*found)) {
			found = &parts[i]
		}
	}
	return found
}

// hasInterval tells whether an interval could be computed, open on one side or
// not.
func hasInterval(p verdict.Part) bool { return p.Lo != nil || p.Hi != nil }

// noInterval says that repetitions were too few for an interval.
func noInterval(p verdict.Part) string {
	n := ""
	if len(p.N) > 0 {
		n = fmt.Sprintf(" at n = %d", slices.Min(p.N))
	}
	return "there is no interval" + n + ", so nothing says how far from this the effect may be"
}

// reach is how far an interval goes from no effect, +Inf on an open side.
func reach(p verdict.Part) float64 {
	if p.Lo == nil || p.Hi == nil {
		return math.Inf(1)
	}
	return max(math.Abs(*p.Lo), math.Abs(*p.Hi))
}

// nearest is how near an interval comes to no effect: 0 when it includes none,
// -1 when there is no interval.
func nearest(p verdict.Part) float64 {
	switch {
	case !hasInterval(p):
		return -1
	case p.Lo != nil && *p.Lo > 0:
		return *p.Lo
	case p.Hi != nil && *p.Hi < 0:
		return -*p.Hi
	}
	return 0
}

// formatSize is a difference without its sign.
func formatSize(x float64, relative bool, unit string) string {
	text := formatEffect(math.Abs(x), relative, unit)
	if x != 0 {
		text = text[1:] // the plus sign
	}
	return text
}

func unitOf(name string) string {
	m, _ := metric.Lookup(name)
	return m.Unit
}

// interpretationBlocks is section 11: what follows, how large the noise is,
// and how far the reference is away.
func interpretationBlocks(m *Model) []block {
	var blocks []block
	if len(m.Interpretation) > 0 {
		blocks = append(append(blocks, heading("What follows")), usesOf(m.Interpretation)...)
	}
	if noise := noiseBlocks(m.NoiseFloor); len(noise) > 0 {
		blocks = append(blocks, heading("The noise floor"),
			para(text("The baseline was executed twice in each round. What it differs from itself is no effect of anything; a difference of this size means nothing.")))
		blocks = append(blocks, noise...)
	}
	return append(blocks, referenceBlocks(m)...)
}

// usesOf lists statements by what may be done with them: nothing, where a
// verdict is open, whatever was seen.
func usesOf(lines []Statement) []block {
	var blocks []block
	rest := lines
	for _, u := range uses {
		var these, others []Statement
		for _, l := range rest {
			level := l.Level
			if l.Outcome == verdict.Inconclusive {
				level = verdict.Unknown
			}
			if level == u.level {
				these = append(these, l)
			} else {
				others = append(others, l)
			}
		}
		if len(these) > 0 {
			blocks = append(append(blocks, para(strong(u.use+":"))), statements(these)...)
		}
		rest = others
	}
	return append(blocks, statements(rest)...)
}
