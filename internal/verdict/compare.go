package verdict

import (
	"fmt"
	"strings"

	"brink/internal/experiment"
	"brink/internal/metric"
	"brink/internal/phrase"
	"brink/internal/stats"
)

// pair is everything that is known of two steps' values of one metric.
type pair struct {
	metric metric.Metric
	scale  stats.Scale
	a, b   stats.Sample
	test   stats.RankTest
	shift  stats.Shift
	// wide is the shift with the widest level that the repetitions allow, where
	// they are too few for 95 %.
	wide stats.Shift
}

func (j *judge) pair(metricName, a, b string) (pair, string) {
	cell := j.table.Cell(a, metricName)
	p := pair{metric: cell.Metric, scale: scale(cell)}
	var whyA, whyB string
	p.a, whyA = j.sample(a, metricName)
	p.b, whyB = j.sample(b, metricName)
	switch {
	case len(p.a) == 0:
		return p, a + ": " + whyA
	case len(p.b) == 0:
		return p, b + ": " + whyB
	}
	p.test = stats.MannWhitney(p.a, p.b)
	p.shift = stats.HodgesLehmann(p.a, p.b, p.scale, confidence)
	p.wide = p.shift
	if !p.shift.Interval.Known() {
		if reach := 1 - stats.MannWhitneyMinP(len(p.a), len(p.b)); reach > 0 {
			p.wide = stats.HodgesLehmann(p.a, p.b, p.scale, reach)
		}
	}
	return p, ""
}

// part is the pair as the reader sees it.
func (p pair) part(a, b string) Part {
	part := Part{Steps: []string{a, b}}
	part.describe(p.a, p.b)
	part.fill(p.shift)
	if p.test.Reason == "" {
		part.U, part.P = number(p.test.U), number(p.test.P)
	}
	part.note(p.test.Note)
	if d := stats.CliffsDelta(p.a, p.b); d.Known() {
		part.Delta = number(d.X)
	}
	return part
}

// judgeCompare decides "the metric differs from the first step to the second by
// at least an effect": exact Mann-Whitney, and the Moses interval of the
// Hodges-Lehmann shift clear of everything smaller than the effect.
func judgeCompare(j *judge, h experiment.Hypothesis) finding {
	f := finding{evidence: evidence{kind: descriptive}}
	a, b := h.Steps[0], h.Steps[1]
	p, missing := j.pair(h.Metric, a, b)
	if missing != "" {
		f.evidence.missing = missing
		return f
	}
	size := margin(h.Effect, p.scale)
	e := &f.evidence
	e.n = min(len(p.a), len(p.b))
	e.tested, e.p = p.test.Reason == "", p.test.P
	e.clear = clearIn(p.shift.Interval, size, h.Direction)
	e.agreeing = j.agreeing(h, size)
	e.outcome = compareOutcome(p, size, h.Direction, e.agreeing)
	e.signals, e.passing = j.signals(h)
	part := p.part(a, b)
	part.Holds = e.outcome == Supported
	f.parts = []Part{part}
	f.notes = append(f.notes, j.spreadNote(h)...)
	f.short = fmt.Sprintf("%s → %s, shift %s", estimate(stats.Median(p.a), p.metric), estimate(stats.Median(p.b), p.metric), shiftText(p.shift, p.metric))
	f.sentence = fmt.Sprintf("%s went from a median of %s (%s) to %s (%s), a shift (Hodges-Lehmann) of %s; claimed: %s by at least %s",
		p.metric.Title, estimate(stats.Median(p.a), p.metric), a, estimate(stats.Median(p.b), p.metric), b,
		shiftText(p.shift, p.metric), h.Direction, marginText(size, p.metric))
	return f
}

// clearIn tells whether an interval excludes everything smaller than the size
// in the claimed direction.
func clearIn(iv stats.Interval, size stats.Margin, direction string) bool {
	lo, hi := size.Irrelevant()
	rises := !iv.LoOpen && iv.Lo >= hi
	falls := !iv.HiOpen && iv.Hi <= lo
	switch direction {
	case "rise":
		return rises
	case "fall":
		return falls
	}
	return rises || falls
}

// below tells whether an interval excludes the claimed effect.
func below(iv stats.Interval, size stats.Margin, direction string) bool {
	lo, hi := size.Irrelevant()
	noRise := !iv.HiOpen && iv.Hi < hi
	noFall := !iv.LoOpen && iv.Lo > lo
	switch direction {
	case "rise":
		return noRise
	case "fall":
		return noFall
	}
	return noRise && noFall
}

// compareOutcome is the word for a comparison. With enough repetitions the 95 %
// interval decides; with three, complete separation by the effect does, in the
// claimed direction (one chance in twenty when the effect is just missed, and one
// in ten for "differ", which claims no direction and stays open); fewer decide
// nothing.
func compareOutcome(p pair, size stats.Margin, direction string, agreeing int) Outcome {
	if !p.shift.Interval.Known() {
		n := min(len(p.a), len(p.b))
		switch {
		case n >= inferredN && direction != "differ" && agreeing == n && clearIn(p.wide.Interval, size, direction):
			return Supported
		case n >= inferredN && below(p.wide.Interval, size, direction):
			return NotSupported
		}
		return Inconclusive
	}
	switch {
	case p.test.P < alpha && clearIn(p.shift.Interval, size, direction):
		return Supported
	case below(p.shift.Interval, size, direction):
		return NotSupported
	}
	return Inconclusive
}

// agreeing counts the rounds in which the second step differs from the first
// by the effect in the claimed direction. Rounds are interleaved in time, so
// the two values of one round met the same machine.
func (j *judge) agreeing(h experiment.Hypothesis, size stats.Margin) int {
	a, b := j.byNumber(h.Steps[0], h.Metric), j.byNumber(h.Steps[1], h.Metric)
	lo, hi := size.Irrelevant()
	up, down := 0, 0
	for number, x := range a {
		y, ok := b[number]
		if !ok {
			continue
		}
		d := y.X - x.X
		if size.Scale == stats.Ratio {
			if x.X <= 0 {
				continue
			}
			d = y.X / x.X
		}
		switch {
		case d >= hi && !x.Censored:
			up++
		case d <= lo && !y.Censored:
			down++
		}
	}
	switch h.Direction {
	case "rise":
		return up
	case "fall":
		return down
	}
	return max(up, down)
}

// signals tests the declared further signals in the same direction, each by its
// own exact test.
func (j *judge) signals(h experiment.Hypothesis) (all, passing int) {
	if len(h.Signals) == 0 {
		return 0, 0
	}
	all = len(h.Signals) + 1
	for _, name := range append([]string{h.Metric}, h.Signals...) {
		p, missing := j.pair(name, h.Steps[0], h.Steps[1])
		if missing != "" || p.test.P > suggestedMaxP {
			continue
		}
		rises := p.test.U > float64(len(p.a)*len(p.b))/2
		if h.Direction == "differ" || rises == (h.Direction == "rise") {
			passing++
		}
	}
	return all, passing
}

// spreadNote says when the spread within repetitions changed beside, or instead
// of, the median.
func (j *judge) spreadNote(h experiment.Hypothesis) []string {
	if !strings.HasPrefix(h.Metric, "latency_") {
		return nil
	}
	a, _ := j.sample(h.Steps[0], "latency_iqr_ms")
	b, _ := j.sample(h.Steps[1], "latency_iqr_ms")
	sp := stats.Spread(a, b, confidence)
	if sp.Test.Reason != "" || sp.Test.P >= alpha {
		return nil
	}
	m, _ := metric.Lookup("latency_iqr_ms")
	return []string{fmt.Sprintf("the spread within repetitions changed too: latency IQR %s (p = %s)", shiftText(sp.Ratio, m), phrase.P(sp.Test.P))}
}
