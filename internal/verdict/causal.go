package verdict

import (
	"fmt"
	"maps"
	"slices"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/phrase"
	"brink/internal/stats"
)

// judgeCausedBy decides "the metric follows an intervention that is switched on
// and off": one contrast per repetition over the phases ABBA or BAAB, and a
// sign-flip test on the contrasts.
func judgeCausedBy(j *judge, h experiment.Hypothesis) finding {
	f := finding{evidence: evidence{kind: causal}}
	cell := j.table.Cell(h.On, h.Metric)
	sc := scale(cell)
	on, off := phases(cell), phases(j.table.Cell(h.Off, h.Metric))
	var contrasts []stats.Estimate
	for _, n := range slices.Sorted(maps.Keys(on)) {
		if len(off[n]) > 0 {
			contrasts = append(contrasts, stats.Contrast(off[n], on[n], sc))
		}
	}
	if len(contrasts) == 0 {
		_, why := j.sample(h.On, h.Metric)
		f.evidence.missing = "no repetition with both phases: " + why
		return f
	}
	size := margin(h.Effect, sc)
	test := stats.SignFlip(contrasts, sc, confidence)
	e := &f.evidence
	e.n, e.tested, e.p = len(contrasts), test.Reason == "", test.P
	e.clear = clearIn(test.Effect.Interval, size, h.Direction)
	e.agreeing = agreeingContrasts(contrasts, size, h.Direction)
	switch {
	case e.p < alpha && e.clear:
		e.outcome = Supported
	case below(test.Effect.Interval, size, h.Direction):
		e.outcome = NotSupported
	default:
		e.outcome = Inconclusive
	}
	a, _ := j.sample(h.Off, h.Metric)
	b, _ := j.sample(h.On, h.Metric)
	part := Part{Steps: []string{h.Off, h.On}, P: number(test.P), Holds: e.outcome == Supported}
	part.describe(a, b)
	part.fill(test.Effect)
	part.note(test.Reason)
	f.parts = []Part{part}
	f.notes = nonEmpty(test.Note)
	f.short = fmt.Sprintf("%s over %s", shiftText(test.Effect, cell.Metric), phrase.Plural(e.n, "contrast"))
	f.sentence = fmt.Sprintf("Switching from %s to %s moved %s by %s over %s; claimed: %s by at least %s",
		h.Off, h.On, cell.Metric.Title, shiftText(test.Effect, cell.Metric), phrase.Plural(e.n, "contrast"), h.Direction, marginText(size, cell.Metric))
	return f
}

// phases groups a cell's phase values by repetition.
func phases(c measure.Cell) map[int]stats.Sample {
	m := map[int]stats.Sample{}
	for _, v := range c.Phases {
		if v.Missing == "" {
			m[v.Number] = append(m[v.Number], stats.Obs{X: v.X, Censored: v.Censored})
		}
	}
	return m
}

func agreeingContrasts(contrasts []stats.Estimate, size stats.Margin, direction string) int {
	lo, hi := size.Irrelevant()
	up, down := 0, 0
	for _, c := range contrasts {
		switch {
		case !c.Known():
		case c.X >= hi:
			up++
		case c.X <= lo:
			down++
		}
	}
	switch direction {
	case "rise":
		return up
	case "fall":
		return down
	}
	return max(up, down)
}

// judgeCascade decides "apps start over together and do not recover" from the
// events of the record: in every repetition at least so many apps start over
// within the window, restarted by the platform or with a worker that their server
// killed while it booted, and from the first of them on not all are healthy again
// for the stated time.
func judgeCascade(j *judge, h experiment.Hypothesis) finding {
	f := finding{evidence: evidence{kind: descriptive, clear: true}}
	e := &f.evidence
	for _, name := range h.Steps {
		step, _ := j.table.Step(name)
		part := Part{Steps: []string{name}}
		seen, n := 0, 0
		for _, rep := range step.Repetitions {
			if !counts(rep) {
				continue
			}
			n++
			if rep.Cascade(h.Restarts, h.Within, h.Unrecovered) {
				seen++
			}
		}
		part.N, part.Holds = []int{n}, n > 0 && seen == n
		part.note(fmt.Sprintf("seen in %d of %d repetitions", seen, n))
		f.parts = append(f.parts, part)
		e.n, e.agreeing = e.n+n, e.agreeing+seen
	}
	if e.n == 0 {
		e.missing = "no repetition"
		return f
	}
	e.tested, e.p = true, stats.SignTest(e.agreeing, e.n)
	switch {
	case e.agreeing == e.n:
		e.outcome = Supported
	case e.agreeing == 0 && e.n >= correlatedN:
		e.outcome = NotSupported
	default:
		e.outcome = Inconclusive
	}
	f.short = fmt.Sprintf("seen in %d of %s", e.agreeing, phrase.Plural(e.n, "repetition"))
	f.sentence = fmt.Sprintf("At least %s started over within %s and did not recover for %s in %d of %s",
		phrase.Plural(h.Restarts, "app"), h.Within, h.Unrecovered, e.agreeing, phrase.Plural(e.n, "repetition"))
	return f
}
