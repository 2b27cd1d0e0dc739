package verdict

import (
	"fmt"
	"slices"
	"strings"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/phrase"
	"brink/internal/stats"
)

// finding is what a claim form returns: the parts for the reader, the evidence
// for the level and the sentence that states the result.
type finding struct {
	parts    []Part
	evidence evidence
	sentence string
	short    string
	notes    []string
}

// form decides one kind of claim.
type form func(j *judge, h experiment.Hypothesis) finding

// forms is the closed set. A form that is not in it cannot be loaded.
var forms = map[experiment.Form]form{
	experiment.Law:        judgeLaw,
	experiment.Compare:    judgeCompare,
	experiment.Equivalent: judgeEquivalent,
	experiment.Trend:      judgeTrend,
	experiment.Cliff:      judgeCliff,
	experiment.Cascade:    judgeCascade,
	experiment.CausedBy:   judgeCausedBy,
}

// judge holds what all forms need.
type judge struct {
	table  *measure.Table
	design *experiment.Design
}

// Judge decides every declared hypothesis of the design on the table. Only
// declared hypotheses are tested, under Holm's correction.
func Judge(d *experiment.Design, t *measure.Table) ([]Verdict, error) {
	j := &judge{table: t, design: d}
	gate := j.calibration()
	findings := make([]finding, len(d.Experiment.Hypotheses))
	ps := make([]float64, len(findings))
	for i, h := range d.Experiment.Hypotheses {
		decide, ok := forms[h.Form]
		if !ok {
			return nil, fmt.Errorf("hypothesis %s: %q is not a claim form", h.ID, h.Form)
		}
		f := decide(j, h)
		f.evidence.config = h.Config
		f.evidence.because = h.Because != "" && h.Form != experiment.CausedBy
		if e := &f.evidence; e.config && e.n >= configN && e.agreeing == e.n {
			e.outcome = Supported // the same outcome every time is what it claims
		}
		if h.Threshold && gate != "" {
			f.evidence.missing, f.evidence.outcome = gate, Inconclusive
		}
		findings[i], ps[i] = f, 1
		if f.evidence.tested {
			ps[i] = f.evidence.p
		}
	}
	corrected, err := j.correct(ps)
	if err != nil {
		return nil, fmt.Errorf("correct the p values: %w", err)
	}
	verdicts := make([]Verdict, len(findings))
	for i, f := range findings {
		f.evidence.pHolm = corrected[i]
		h := d.Experiment.Hypotheses[i]
		f.notes = append(f.notes, nonEmpty(j.withoutOutliers(h))...)
		verdicts[i] = f.verdict(h)
	}
	return verdicts, nil
}

// correct corrects the p values of the hypotheses. What the correction guards is
// the level Measured: those whose declared repetitions allow it form one family.
// The others cannot take it wrongly, whatever their p, and are corrected with all.
func (j *judge) correct(ps []float64) ([]float64, error) {
	all, err := stats.Holm(ps)
	if err != nil {
		return nil, err
	}
	var able []int
	var family []float64
	for i, h := range j.design.Experiment.Hypotheses {
		if j.design.LeastRepetitions(h) >= measuredN {
			able, family = append(able, i), append(family, ps[i])
		}
	}
	corrected, err := stats.Holm(family)
	if err != nil {
		return nil, err
	}
	for k, i := range able {
		all[i] = corrected[k]
	}
	return all, nil
}

// verdict grades a finding.
func (f finding) verdict(h experiment.Hypothesis) Verdict {
	e := f.evidence
	if e.missing != "" {
		e.outcome = Inconclusive
	}
	v := Verdict{Hypothesis: h, Outcome: e.outcome, Sentence: f.sentence, Numbers: f.short, Parts: f.parts, Notes: f.notes}
	v.Level, v.Rule, v.Raise = grade(e)
	if e.tested && e.n >= correlatedN { // a p value from single repetitions says nothing
		v.Sentence += fmt.Sprintf(" (%s, after Holm %s)", phrase.Equation("p", e.p), phrase.P(e.pHolm))
		v.Numbers += ", " + phrase.Equation("p", e.p)
		if phrase.P(e.pHolm) != phrase.P(e.p) {
			v.Numbers += fmt.Sprintf(" (%s after Holm)", phrase.P(e.pHolm))
		}
		for i := range v.Parts {
			v.Parts[i].PHolm = number(e.pHolm)
		}
	}
	if e.missing != "" {
		v.Sentence, v.Numbers = "This cannot be told: "+e.missing, e.missing
		return v
	}
	v.Numbers += ", " + repetitions(f.parts, e.n)
	return v
}

// repetitions says how many there are behind a claim: n where it is about one
// step, and for several how many each of them has.
func repetitions(all []Part, n int) string {
	var steps []string
	var counts []int
	for _, p := range all {
		for i, step := range p.Steps {
			if i < len(p.N) && !slices.Contains(steps, step) {
				steps, counts = append(steps, step), append(counts, p.N[i])
			}
		}
	}
	if len(counts) < 2 {
		return fmt.Sprintf("n = %d", n)
	}
	least, most := slices.Min(counts), slices.Max(counts)
	switch {
	case len(counts) == 2 && least == most:
		return fmt.Sprintf("n = %d each", least)
	case len(counts) == 2:
		return fmt.Sprintf("n = %d and %d", counts[0], counts[1])
	case least == most:
		return fmt.Sprintf("n = %d in each of %d steps", least, len(counts))
	}
	return fmt.Sprintf("n = %d to %d in each of %d steps", least, most, len(counts))
}

// calibration says why the experiment's gate did not open, or is empty.
func (j *judge) calibration() string {
	c := j.design.Experiment.Calibration
	if c == nil {
		return ""
	}
	s, why := j.sample(c.Step, c.Metric)
	m := stats.Median(s)
	switch {
	case len(s) == 0 || m.Bound != stats.Exact:
		return fmt.Sprintf("calibration: %s of %s could not be measured (%s)", c.Metric, c.Step, why)
	case m.X < c.Low || m.X > c.High:
		return fmt.Sprintf("calibration failed: %s of %s was %s, outside %s to %s",
			c.Metric, c.Step, phrase.Whole(m.X), phrase.Whole(c.Low), phrase.Whole(c.High))
	}
	return ""
}

// sample collects a metric's usable values of one step; why says what is
// missing when there are none.
func (j *judge) sample(step, name string) (s stats.Sample, why string) {
	why = "no repetition"
	for _, v := range j.table.Cell(step, name).Values {
		if v.Missing != "" {
			why = v.Missing
			continue
		}
		s = append(s, stats.Obs{X: v.X, Censored: v.Censored})
	}
	return s, why
}

// byNumber indexes a step's usable values by repetition, to pair rounds.
func (j *judge) byNumber(step, name string) map[int]measure.Value {
	m := map[int]measure.Value{}
	for _, v := range j.table.Cell(step, name).Usable() {
		m[v.Number] = v
	}
	return m
}

// scale is how the metric's differences are expressed.
func scale(m measure.Cell) stats.Scale {
	if m.Metric.Kind == "ratio" {
		return stats.Ratio
	}
	return stats.Points
}

// margin turns a declared size into one that stats understands; without one it
// is the default smallest effect of ratio metrics.
func margin(m *experiment.Margin, s stats.Scale) stats.Margin {
	if m == nil {
		return stats.Margin{Scale: s, Size: smallestRatio}
	}
	return stats.Margin{Scale: s, Size: m.Value}
}

// shown turns an effect on a scale into what a reader sees: relative changes
// around zero for ratios.
func shown(x float64, s stats.Scale) float64 {
	if s == stats.Ratio {
		return x - 1
	}
	return x
}

func number(x float64) *float64 { return &x }

// fill puts a shift into a part.
func (p *Part) fill(sh stats.Shift) {
	p.Relative = sh.Scale == stats.Ratio
	if sh.Estimate.Known() {
		p.Effect = number(shown(sh.Estimate.X, sh.Scale))
		if sh.Estimate.Bound != stats.Exact {
			p.note("the effect is only a bound: " + sh.Estimate.Reason)
		}
	}
	if !sh.Interval.LoOpen {
		p.Lo = number(shown(sh.Interval.Lo, sh.Scale))
	}
	if !sh.Interval.HiOpen {
		p.Hi = number(shown(sh.Interval.Hi, sh.Scale))
	}
	p.Confidence = sh.Interval.Level
	p.Word = sh.EffectWord()
	if !sh.Interval.Bounded() {
		p.note(sh.Interval.Reason)
	}
}

func (p *Part) note(text string) {
	if text == "" {
		return
	}
	if strings.Contains(p.Note, text) {
		return
	}
	if p.Note != "" {
		p.Note += "; "
	}
	p.Note += text
}

// describe fills in n and median of the part's steps.
func (p *Part) describe(samples ...stats.Sample) {
	for _, s := range samples {
		m := stats.Median(s)
		p.N = append(p.N, len(s))
		p.Median = append(p.Median, m.X)
		p.AtLeast = append(p.AtLeast, m.Bound == stats.LowerBound)
		if c := s.Censored(); c > 0 {
			p.note(fmt.Sprintf("%d of %d values are bounds", c, len(s)))
		}
	}
}
