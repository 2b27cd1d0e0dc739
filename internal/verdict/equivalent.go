package verdict

import (
	"fmt"
	"math"

	"brink/internal/experiment"
	"brink/internal/metric"
	"brink/internal/phrase"
	"brink/internal/stats"
)

// judgeEquivalent decides "the metric does not differ across steps by more than
// the margin": two one-sided tests on every pair, or with a factor on every pair
// that differs in it alone. All pairs must hold, so their largest p needs no
// correction for the number of pairs. What sits pinned at a bound of its scale is
// no plateau.
func judgeEquivalent(j *judge, h experiment.Hypothesis) finding {
	f := finding{evidence: evidence{kind: descriptive, n: math.MaxInt, agreeing: math.MaxInt, tested: true, clear: true}}
	cell := j.table.Cell(h.Steps[0], h.Metric)
	size := margin(h.Margin, scale(cell))
	e := &f.evidence
	within, beyond := true, false
	var widest stats.Shift
	for _, group := range j.groups(h) {
		g, missing := j.equivalentGroup(h, group, size)
		if missing != "" {
			e.missing, e.n = missing, 0
			return f
		}
		e.n, e.agreeing = min(e.n, g.n), min(e.agreeing, g.agreeing)
		e.p, e.clear = max(e.p, g.p), e.clear && g.clear
		within, beyond = within && g.within, beyond || g.beyond
		f.parts = append(f.parts, g.parts...)
		if size := shiftSize(g.widest); size >= shiftSize(widest) {
			widest = g.widest
		}
	}
	switch {
	case e.clear && e.agreeing >= inferredN, within && e.n >= inferredN && e.agreeing == e.n:
		e.outcome = Supported
	case beyond && e.n >= inferredN:
		e.outcome = NotSupported
	default:
		e.outcome = Inconclusive
	}
	f.short = fmt.Sprintf("largest shift of %s: %s, margin %s", phrase.Plural(len(f.parts), "pair"), shiftText(widest, cell.Metric), marginText(size, cell.Metric))
	if len(f.parts) == 1 {
		f.short = fmt.Sprintf("shift %s, margin %s", shiftText(widest, cell.Metric), marginText(size, cell.Metric))
	}
	f.sentence = fmt.Sprintf("The largest shift of %s over %s was %s; claimed: no more than %s",
		cell.Metric.Title, phrase.Plural(len(f.parts), "pair"), shiftText(widest, cell.Metric), marginText(size, cell.Metric))
	if len(f.parts) == 1 && len(f.parts[0].Median) == 2 {
		p := f.parts[0]
		f.sentence = fmt.Sprintf("%s had the medians %s (%s) and %s (%s), and the shift between them (Hodges-Lehmann) was %s; claimed: no more than %s", cell.Metric.Title,
			withUnit(p.Median[0], cell.Metric), p.Steps[0], withUnit(p.Median[1], cell.Metric), p.Steps[1],
			shiftText(widest, cell.Metric), marginText(size, cell.Metric))
	}
	return f
}

// groups are the steps to be compared with each other.
func (j *judge) groups(h experiment.Hypothesis) [][]string {
	var steps []experiment.Step
	for _, name := range h.Steps {
		if s, ok := j.table.Step(name); ok {
			steps = append(steps, s.Step)
		}
	}
	if len(steps) < len(h.Steps) {
		return [][]string{h.Steps} // a step that did not run: the group says so
	}
	return h.Groups(steps)
}

// equivalentGroup is what the pairs of one group give.
type equivalentGroup struct {
	parts       []Part
	n, agreeing int
	p           float64
	// clear: every pair passes its test; within: every interval lies inside the
	// margin at the level that the repetitions allow; beyond: one lies outside.
	clear, within, beyond bool
	widest                stats.Shift
}

func (j *judge) equivalentGroup(h experiment.Hypothesis, steps []string, size stats.Margin) (g equivalentGroup, missing string) {
	if why := j.unlike(h, steps); why != "" {
		return g, why
	}
	var samples []stats.Sample
	for _, name := range steps {
		s, why := j.sample(name, h.Metric)
		if len(s) == 0 {
			return g, name + ": " + why
		}
		samples = append(samples, s)
	}
	cell := j.table.Cell(steps[0], h.Metric)
	eq := stats.EquivalentWithin(samples, size, alpha, bounds(cell.Metric)...)
	if len(eq.Pairs) == 0 || len(eq.Pinned) >= 2 {
		return g, eq.Reason
	}
	g = equivalentGroup{n: fewest(samples), p: eq.P, clear: eq.Equivalent, within: true}
	g.agreeing = j.agreeingWithin(h.Metric, steps, size)
	for _, p := range eq.Pairs {
		part, within, beyond := equivalentPart(steps, samples, p, size)
		g.parts = append(g.parts, part)
		g.within, g.beyond = g.within && within, g.beyond || beyond
		if shiftSize(p.Shift) >= shiftSize(g.widest) {
			g.widest = p.Shift
		}
	}
	return g, ""
}

// unlike says what else differs between steps that are compared along one
// factor: an override may have changed the workers of one server only.
func (j *judge) unlike(h experiment.Hypothesis, steps []string) string {
	if h.Factor == "" || len(steps) < 2 {
		return ""
	}
	first, _ := j.table.Step(steps[0])
	for _, name := range steps[1:] {
		s, _ := j.table.Step(name)
		for _, what := range []string{"workers", "threads"} {
			if a, b := first.Vars()[what], s.Vars()[what]; a != b {
				return fmt.Sprintf("%s and %s differ not in %s alone: %s are %s and %s", steps[0], name, h.Factor, what, phrase.Whole(a), phrase.Whole(b))
			}
		}
	}
	return ""
}

// equivalentPart is one pair. Within tells whether its interval, at the level
// that the repetitions allow, lies inside the margin; beyond, whether all of it
// lies outside.
func equivalentPart(steps []string, samples []stats.Sample, p stats.PairEquivalence, size stats.Margin) (part Part, within, beyond bool) {
	a, b := samples[p.I], samples[p.J]
	part = Part{Steps: []string{steps[p.I], steps[p.J]}}
	part.describe(a, b)
	part.fill(p.Shift)
	part.P = number(p.P)
	part.note(p.Reason)
	iv := p.Shift.Interval
	if !iv.Known() {
		iv = stats.HodgesLehmann(a, b, size.Scale, 1-stats.MannWhitneyMinP(len(a), len(b))).Interval
	}
	lo, hi := size.Equivalent()
	within = iv.Inside(lo, hi)
	part.Holds = within
	beyond = !iv.LoOpen && iv.Lo > hi || !iv.HiOpen && iv.Hi < lo
	return part, within, beyond
}

// bounds are the values at which a metric saturates.
func bounds(m metric.Metric) []float64 {
	if m.Unit == "%" {
		return []float64{100}
	}
	return nil
}

// agreeingWithin counts the rounds in which no two steps differ by more than
// the margin.
func (j *judge) agreeingWithin(metricName string, steps []string, size stats.Margin) int {
	lo, hi := size.Equivalent()
	rounds := map[int][]float64{}
	for _, name := range steps {
		for number, v := range j.byNumber(name, metricName) {
			if !v.Censored {
				rounds[number] = append(rounds[number], v.X)
			}
		}
	}
	agreeing := 0
	for _, xs := range rounds {
		if len(xs) < len(steps) {
			continue
		}
		least, most := xs[0], xs[0]
		for _, x := range xs {
			least, most = math.Min(least, x), math.Max(most, x)
		}
		if size.Scale == stats.Ratio && least > 0 && most/least <= hi || size.Scale == stats.Points && most-least <= hi-max(lo, 0) {
			agreeing++
		}
	}
	return agreeing
}

// shiftSize is how far a shift is from none, -1 when it is not known.
func shiftSize(sh stats.Shift) float64 {
	if !sh.Estimate.Known() {
		return -1
	}
	if sh.Scale == stats.Ratio {
		return math.Abs(math.Log(sh.Estimate.X))
	}
	return math.Abs(sh.Estimate.X)
}
