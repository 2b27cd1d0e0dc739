package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/metric"
	"brink/internal/stats"
	"brink/internal/verdict"
)

// confidence is the level of all intervals.
const confidence = 0.95

// Row is one metric of one pair of steps.
type Row struct {
	Metric metric.Metric `json:"metric"`
	A      Summary       `json:"a"`
	B      Summary       `json:"b"`
	// Effect is the Hodges-Lehmann change from A to B, with its Moses interval
	// [Lo, Hi] at level Confidence: a relative change (0.3 is +30 %) when
	// Relative, otherwise in the metric's unit. Absent ends are open.
	Effect *float64 `json:"effect,omitempty"`
	// Bound is "at least" or "at most" where censored values leave the effect
	// known from one side only.
	Bound      string   `json:"effect_bound,omitempty"`
	Lo         *float64 `json:"lo,omitempty"`
	Hi         *float64 `json:"hi,omitempty"`
	Confidence float64  `json:"confidence,omitempty"`
	Relative   bool     `json:"relative"`
	Word       string   `json:"word,omitempty"`
	// U counts the pairs of repetitions in which B is larger; P is the exact
	// two-sided p of Mann and Whitney, PHolm corrected over all tests of the
	// comparison; Delta is Cliff's. They are absent without a test.
	U     *float64 `json:"u,omitempty"`
	Delta *float64 `json:"delta,omitempty"`
	P     *float64 `json:"p,omitempty"`
	PHolm *float64 `json:"p_holm,omitempty"`
	// Smallest is the smallest effect that matters; empty when none is declared.
	Smallest string `json:"smallest,omitempty"`
	// Outcome answers "does it differ by at least that?"; Level, Rule and Raise
	// are those of docs/METHODOLOGY.md. Empty for what is only described.
	Outcome verdict.Outcome `json:"outcome,omitempty"`
	Level   verdict.Level   `json:"level,omitempty"`
	Rule    string          `json:"rule,omitempty"`
	Raise   string          `json:"raise,omitempty"`
	// Sentence says it all in one sentence or two, fit to forward.
	Sentence string `json:"sentence"`
	Note     string `json:"note,omitempty"`

	// least is the smallest effect that matters, 0 when none is declared.
	least float64
}

// counts tells whether the change is as large as what matters, whatever its
// test says. Where no smallest effect is declared, any change counts.
func (r Row) counts() bool {
	return r.Effect != nil && *r.Effect != 0 && math.Abs(*r.Effect) >= r.least
}

// Summary describes one side's repetitions. Numbers are in the metric's unit.
type Summary struct {
	N int `json:"n"`
	// Values are those of the repetitions, in their order.
	Values []Value `json:"values"`
	Median float64 `json:"median"`
	// AtLeast marks a median that is a bound because of censored values.
	AtLeast bool `json:"at_least,omitempty"`
	// Lo and Hi are the order-statistic interval of the median at level
	// Confidence; NoInterval says why there is none.
	Lo         *float64 `json:"lo,omitempty"`
	Hi         *float64 `json:"hi,omitempty"`
	Confidence float64  `json:"confidence,omitempty"`
	NoInterval string   `json:"no_interval,omitempty"`
	Q1         float64  `json:"q1"`
	Q3         float64  `json:"q3"`
	Min        float64  `json:"min"`
	Max        float64  `json:"max"`
}

// Value is the metric in one repetition.
type Value struct {
	X float64 `json:"x"`
	// AtLeast marks a value known only to be X or more.
	AtLeast bool `json:"at_least,omitempty"`
}

// rows fills the rows of a comparison and judges them together.
type rows struct {
	comparison *Comparison
	effects    map[string]experiment.Margin
	found      []found
}

// found is a row that waits for its test.
type found struct {
	pair, row int
	a, b      []measure.Value
}

// add describes one metric. A metric without values is only told when it was
// asked for, or when one side has some.
func (r *rows) add(p *Pair, a, b step, name string, asked bool) {
	x, whyA := values(a.cell(name))
	y, whyB := values(b.cell(name))
	if len(x) == 0 || len(y) == 0 {
		var why []string
		if len(x) == 0 {
			why = append(why, "A: "+whyA)
		}
		if len(y) == 0 {
			why = append(why, "B: "+whyB)
		}
		if asked || len(x)+len(y) > 0 {
			p.Missing = append(p.Missing, name+" ("+strings.Join(why, "; ")+")")
		}
		return
	}
	m, _ := metric.Lookup(name)
	r.found = append(r.found, found{pair: len(r.comparison.Pairs), row: len(p.Rows), a: x, b: y})
	p.Rows = append(p.Rows, Row{Metric: m, A: summarize(x), B: summarize(y)})
}

func sample(vs []measure.Value) stats.Sample {
	s := make(stats.Sample, len(vs))
	for i, v := range vs {
		s[i] = stats.Obs{X: v.X, Censored: v.Censored}
	}
	return s
}

func summarize(vs []measure.Value) Summary {
	d := stats.Summarize(sample(vs), confidence)
	s := Summary{
		N: d.N, Median: d.Median.X, AtLeast: d.Median.Bound != stats.Exact,
		Q1: d.Q1.X, Q3: d.Q3.X, Min: d.Min.X, Max: d.Max.X,
	}
	for _, v := range vs {
		s.Values = append(s.Values, Value{X: v.X, AtLeast: v.Censored})
	}
	iv := d.MedianInterval
	s.Confidence = iv.Level
	if !iv.LoOpen {
		s.Lo = &iv.Lo
	}
	if !iv.HiOpen {
		s.Hi = &iv.Hi
	}
	if !iv.Bounded() {
		s.NoInterval = iv.Reason
	}
	return s
}

// smallest is the effect below which a difference does not matter.
func (r *rows) smallest(m metric.Metric) (experiment.Margin, bool) {
	if size, ok := r.effects[m.Name]; ok {
		return size, true
	}
	switch {
	case m.Kind == metric.Ratio:
		return experiment.Margin{Value: 0.10, Relative: true, Text: "10%"}, true
	case m.Kind == metric.Count:
		return experiment.Margin{Value: 1, Text: "1"}, true
	case m.Unit == "%":
		return experiment.Margin{Value: 5, Text: "5 points"}, true
	}
	return experiment.Margin{Value: 1, Text: ""}, false
}

// judge tests all rows in which both sides have two repetitions or more as one
// family, and describes the others.
func (r *rows) judge() error {
	var tested, described []found
	for _, f := range r.found {
		if min(len(f.a), len(f.b)) < 2 {
			described = append(described, f)
		} else {
			tested = append(tested, f)
		}
	}
	r.comparison.Tests = len(tested)
	if err := r.decide(tested, true); err != nil {
		return err
	}
	return r.decide(described, false)
}

// decide puts every row to the claim form compare as a hypothesis of its own,
// so that tests, correction and levels are those of every verdict.
func (r *rows) decide(all []found, tested bool) error {
	var (
		e     experiment.Experiment
		steps []measure.StepInfo
		cells []measure.Cell
	)
	for i, f := range all {
		row := &r.comparison.Pairs[f.pair].Rows[f.row]
		size, _ := r.smallest(row.Metric)
		x, y := f.a, f.b
		if !r.comparison.Interleaved {
			x, y = opposed(x, y)
		}
		names := []string{fmt.Sprintf("A%d", i), fmt.Sprintf("B%d", i)}
		for k, vs := range [][]measure.Value{x, y} {
			steps = append(steps, measure.StepInfo{Step: experiment.Step{Name: names[k]}})
			cells = append(cells, measure.Cell{Metric: row.Metric, Step: names[k], Values: vs})
		}
		h := experiment.Hypothesis{
			ID: names[0], Form: experiment.Compare, Metric: row.Metric.Name, Steps: names,
			Direction: "differ", Effect: &size,
		}
		if !r.comparison.Interleaved {
			h.Because = "what differs between A and B" // an association: nothing was interleaved
		}
		e.Hypotheses = append(e.Hypotheses, h)
	}
	verdicts, err := verdict.Judge(&experiment.Design{Experiment: &e}, measure.Assemble(steps, cells))
	if err != nil {
		return err
	}
	for i, v := range verdicts {
		f := all[i]
		p := &r.comparison.Pairs[f.pair]
		row := &p.Rows[f.row]
		row.take(v, tested)
		row.Bound = effectBound(f.a, f.b, row.Relative)
		size, declared := r.smallest(row.Metric)
		row.Smallest = size.Text
		if declared {
			row.least = size.Value
		}
		if tested && !declared {
			row.Outcome, row.Level, row.Rule = "", "", ""
			row.Raise = fmt.Sprintf("a smallest effect that matters (--effect %s=SIZE)", row.Metric.Name)
		}
		if !r.comparison.Interleaved && row.Level == verdict.StronglySuggested {
			row.Rule = "every need of Measured is met, but the repetitions of the two were not interleaved"
			row.Raise = "one run in which both are steps, so that their repetitions are interleaved"
		}
		row.Sentence = sentence(r.comparison, *p, *row)
	}
	return nil
}

// take copies what the verdict computed.
func (r *Row) take(v verdict.Verdict, tested bool) {
	part := v.Parts[0]
	r.Effect, r.Lo, r.Hi, r.Confidence = part.Effect, part.Lo, part.Hi, part.Confidence
	r.Relative, r.Word, r.Note = part.Relative, part.Word, part.Note
	if !tested {
		r.Raise = "two repetitions or more on both sides"
		return
	}
	r.U, r.Delta, r.P, r.PHolm = part.U, part.Delta, part.P, part.PHolm
	r.Outcome, r.Level, r.Rule, r.Raise = v.Outcome, v.Level, v.Rule, v.Raise
}

// effectBound tells from which side the effect is known, if not from both.
func effectBound(a, b []measure.Value, relative bool) string {
	scale := stats.Points
	if relative {
		scale = stats.Ratio
	}
	switch stats.HodgesLehmann(sample(a), sample(b), scale, confidence).Estimate.Bound {
	case stats.LowerBound, stats.Between:
		return "at least"
	case stats.UpperBound:
		return "at most"
	}
	return ""
}

// opposed numbers the repetitions of sides that were not interleaved. Their own
// numbers pair nothing, so the pairs by which agreement is counted are the least
// favourable ones: the largest of A with the smallest of B, and so on.
func opposed(a, b []measure.Value) (x, y []measure.Value) {
	x, y = slices.Clone(a), slices.Clone(b)
	up := func(v, w measure.Value) int { return cmp.Compare(v.X, w.X) }
	slices.SortStableFunc(x, func(v, w measure.Value) int { return up(w, v) })
	slices.SortStableFunc(y, up)
	for i := range x {
		x[i].Number = i + 1
	}
	for i := range y {
		y[i].Number = i + 1
	}
	return x, y
}

// Spread compares the spread of latency within repetitions. It is description
// beside the tests: its p stands outside Holm's correction.
type Spread struct {
	A Summary `json:"a"`
	B Summary `json:"b"`
	// Effect is the relative change of the typical interquartile range.
	Effect   *float64 `json:"effect,omitempty"`
	U        float64  `json:"u"`
	P        float64  `json:"p"`
	Sentence string   `json:"sentence"`
}

// spreadOf tests the spread where a latency is compared and both sides have
// two repetitions or more.
func spreadOf(a, b step, rows []Row) *Spread {
	if !slices.ContainsFunc(rows, func(r Row) bool { return strings.HasPrefix(r.Metric.Name, "latency_") }) {
		return nil
	}
	m, _ := metric.Lookup("latency_iqr_ms")
	x, _ := values(a.cell(m.Name))
	y, _ := values(b.cell(m.Name))
	if min(len(x), len(y)) < 2 {
		return nil
	}
	change := stats.Spread(sample(x), sample(y), confidence)
	if change.Test.Reason != "" {
		return nil
	}
	s := &Spread{A: summarize(x), B: summarize(y), U: change.Test.U, P: change.Test.P}
	if change.Ratio.Estimate.Known() {
		relative := change.Ratio.Estimate.X - 1
		s.Effect = &relative
	}
	s.Sentence = spreadSentence(m, *s)
	return s
}
