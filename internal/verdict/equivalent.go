package verdict

import (
	"fmt"
	"math"
	"strings"

	"brink/internal/experiment"
	"brink/internal/metric"
	"brink/internal/stats"
)

// judgeEquivalent decides "the metric does not differ across steps by more than
// the margin": two one-sided tests on every pair. What sits pinned at a bound
// of its scale is no plateau.
func judgeEquivalent(j *judge, h experiment.Hypothesis) finding {
	f := finding{evidence: evidence{kind: descriptive, n: math.MaxInt}}
	cell := j.table.Cell(h.Steps[0], h.Metric)
	sc := scale(cell)
	size := margin(h.Margin, sc)
	var samples []stats.Sample
	var medians []string
	for _, name := range h.Steps {
		s, why := j.sample(name, h.Metric)
		if len(s) == 0 {
			f.evidence.missing, f.evidence.n = name+": "+why, 0
			return f
		}
		samples = append(samples, s)
		f.evidence.n = min(f.evidence.n, len(s))
		medians = append(medians, fmt.Sprintf("%s %s", name, estimate(stats.Median(s), cell.Metric)))
	}
	eq := stats.EquivalentWithin(samples, size, alpha, bounds(cell.Metric)...)
	e := &f.evidence
	e.tested, e.p, e.clear = len(eq.Pairs) > 0, eq.P, eq.Equivalent
	e.agreeing = j.agreeingWithin(h, size)
	inside, outside := 0, 0
	for _, p := range eq.Pairs {
		part, within, beyond := equivalentPart(h, samples, p, size)
		if within {
			inside++
		}
		if beyond {
			outside++
		}
		f.parts = append(f.parts, part)
	}
	switch {
	case len(eq.Pinned) >= 2:
		e.missing = eq.Reason
	case len(eq.Pairs) == 0:
		e.missing = eq.Reason
	case eq.Equivalent, inside == len(eq.Pairs) && e.n >= inferredN && e.agreeing == e.n:
		e.outcome = Supported
	case outside > 0 && e.n >= inferredN:
		e.outcome = NotSupported
	default:
		e.outcome = Inconclusive
	}
	f.sentence = fmt.Sprintf("%s was %s; claimed: no pair differs by more than %s, and the largest difference was %s",
		cell.Metric.Title, strings.Join(medians, ", "), marginText(size, cell.Metric), largestShift(eq.Pairs, cell.Metric))
	return f
}

// equivalentPart is one pair. Within tells whether its interval, at the level
// that the repetitions allow, lies inside the margin; beyond, whether all of it
// lies outside.
func equivalentPart(h experiment.Hypothesis, samples []stats.Sample, p stats.PairEquivalence, size stats.Margin) (part Part, within, beyond bool) {
	a, b := samples[p.I], samples[p.J]
	part = Part{Steps: []string{h.Steps[p.I], h.Steps[p.J]}, Holds: p.Equivalent}
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
func (j *judge) agreeingWithin(h experiment.Hypothesis, size stats.Margin) int {
	lo, hi := size.Equivalent()
	rounds := map[int][]float64{}
	for _, name := range h.Steps {
		for number, v := range j.byNumber(name, h.Metric) {
			if !v.Censored {
				rounds[number] = append(rounds[number], v.X)
			}
		}
	}
	agreeing := 0
	for _, xs := range rounds {
		if len(xs) < len(h.Steps) {
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

func largestShift(pairs []stats.PairEquivalence, m metric.Metric) string {
	text, most := "unknown", -1.0
	for _, p := range pairs {
		if !p.Shift.Estimate.Known() {
			continue
		}
		size := math.Abs(p.Shift.Estimate.X)
		if p.Shift.Scale == stats.Ratio {
			size = math.Abs(math.Log(p.Shift.Estimate.X))
		}
		if size > most {
			most, text = size, shiftText(p.Shift, m)
		}
	}
	return text
}
