package verdict

import (
	"fmt"
	"math"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/phrase"
	"brink/internal/stats"
)

// permutationSeed makes drawn permutations repeatable; the report names it
// where they were drawn.
const permutationSeed = 1

// ordered collects the values of steps in the order of the claim.
func (j *judge) ordered(h experiment.Hypothesis) (samples []stats.Sample, cell measure.Cell, missing string) {
	for _, name := range h.Steps {
		cell = j.table.Cell(name, h.Metric)
		s, why := j.sample(name, h.Metric)
		if len(s) == 0 {
			return nil, cell, name + ": " + why
		}
		samples = append(samples, s)
	}
	return samples, cell, ""
}

func fewest(samples []stats.Sample) int {
	n := math.MaxInt
	for _, s := range samples {
		n = min(n, len(s))
	}
	return n
}

// judgeTrend decides "the metric rises (falls) over an ordered factor":
// Jonckheere-Terpstra over independent repetitions, and the Theil-Sen slope
// over the whole range clear of the smallest effect.
func judgeTrend(j *judge, h experiment.Hypothesis) finding {
	f := finding{evidence: evidence{kind: descriptive}}
	samples, cell, missing := j.ordered(h)
	if missing != "" {
		f.evidence.missing = missing
		return f
	}
	e := &f.evidence
	e.n = fewest(samples)
	var levels []float64
	for i, name := range h.Steps {
		level, ok := j.level(name, h.Factor)
		if !ok {
			e.missing = fmt.Sprintf("%s has no number for the factor %s", name, h.Factor)
			return f
		}
		if step, _ := j.table.Step(name); step.Ladder != "" {
			f.notes = append(f.notes, "the steps of one ladder depend on each other: only whole ladders are repetitions")
		}
		levels = append(levels, level)
		part := Part{Steps: []string{name}}
		part.describe(samples[i])
		f.parts = append(f.parts, part)
	}
	size := margin(h.Effect, scale(cell))
	test := stats.JonckheereTerpstra(samples, permutationSeed)
	slope := stats.TheilSen(levels, samples, scale(cell), confidence)
	total := stats.Shift{Scale: slope.Scale, Estimate: slope.Total, Interval: slope.TotalInterval}
	e.tested, e.p = test.Reason == "", test.P
	e.clear = clearIn(total.Interval, size, h.Direction)
	e.agreeing = j.agreeing(experiment.Hypothesis{
		Metric: h.Metric, Direction: h.Direction, Steps: []string{h.Steps[0], h.Steps[len(h.Steps)-1]},
	}, size)
	switch {
	case e.p < alpha && e.clear:
		e.outcome = Supported
	case below(total.Interval, size, h.Direction):
		e.outcome = NotSupported
	default:
		e.outcome = Inconclusive
	}
	f.short = fmt.Sprintf("%s from %s to %s %s", shiftText(total, cell.Metric), phrase.Whole(levels[0]), phrase.Whole(levels[len(levels)-1]), h.Factor)
	for i := range f.parts {
		f.parts[i].Holds = e.outcome == Supported
	}
	f.sentence = fmt.Sprintf("%s over %s from %s to %s: %s over the whole range, J = %s of %d; claimed: %s by at least %s",
		cell.Metric.Title, h.Factor, phrase.Whole(levels[0]), phrase.Whole(levels[len(levels)-1]),
		shiftText(total, cell.Metric), phrase.Whole(test.J), test.Pairs, h.Direction, marginText(size, cell.Metric))
	return f
}

// level is the number that a factor has in a step.
func (j *judge) level(step, factor string) (float64, bool) {
	s, ok := j.table.Step(step)
	if !ok {
		return 0, false
	}
	l, ok := s.Factors[factor]
	return l.Number, ok && l.Numeric
}

// judgeCliff decides "between two neighbouring steps something stops working":
// a change point over the ordered steps, found from the values alone. A lone
// spike is none.
func judgeCliff(j *judge, h experiment.Hypothesis) finding {
	f := finding{evidence: evidence{kind: descriptive}}
	samples, cell, missing := j.ordered(h)
	if missing != "" {
		f.evidence.missing = missing
		return f
	}
	e := &f.evidence
	e.n = fewest(samples)
	change := stats.FindChange(samples, scale(cell), permutationSeed)
	e.tested, e.p = change.Reason == "", change.P
	for i, name := range h.Steps {
		part := Part{Steps: []string{name}}
		part.describe(samples[i])
		f.parts = append(f.parts, part)
	}
	f.notes = append(f.notes, nonEmpty(change.Note, change.Reason)...)
	if change.Boundary < 0 {
		e.outcome = Inconclusive
		if e.n >= inferredN && change.Reason == "" {
			e.outcome = NotSupported
		}
		f.short = "shape: " + change.Shape.String()
		f.sentence = fmt.Sprintf("%s shows no cliff over %s: its shape is %s", cell.Metric.Title, phrase.Plural(len(h.Steps), "step"), change.Shape)
		return f
	}
	before, after := h.Steps[change.Boundary], h.Steps[change.Boundary+1]
	size := margin(h.Effect, scale(cell))
	edge := experiment.Hypothesis{Metric: h.Metric, Direction: "differ", Steps: []string{before, after}}
	e.agreeing = j.agreeing(edge, size)
	p, _ := j.pair(h.Metric, before, after)
	e.clear = clearIn(p.shift.Interval, size, "differ")
	f.parts[change.Boundary].Holds, f.parts[change.Boundary+1].Holds = true, true
	switch {
	case change.Found(alpha) && (e.clear || clearIn(p.wide.Interval, size, "differ") && e.agreeing == e.n):
		e.outcome = Supported
	case e.n >= suggestedN && !change.Found(alpha):
		e.outcome = NotSupported
	default:
		e.outcome = Inconclusive
	}
	f.short = fmt.Sprintf("%s → %s: %s", before, after, shiftText(p.shift, cell.Metric))
	f.sentence = fmt.Sprintf("%s changes between %s (%s) and %s (%s): %s",
		cell.Metric.Title, before, estimate(stats.Median(p.a), cell.Metric), after, estimate(stats.Median(p.b), cell.Metric), shiftText(p.shift, cell.Metric))
	return f
}

func nonEmpty(texts ...string) []string {
	var out []string
	for _, t := range texts {
		if t != "" {
			out = append(out, t)
		}
	}
	return out
}
