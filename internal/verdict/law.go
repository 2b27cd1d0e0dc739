package verdict

import (
	"fmt"
	"math"
	"slices"

	"brink/internal/experiment"
	"brink/internal/phrase"
	"brink/internal/stats"
)

// judgeLaw decides "the metric equals a formula of controlled values": by the
// error of each repetition against the value that the formula gives for its
// step. A step agrees when the interval of its median error lies within the
// tolerance, or, where there are too few repetitions for an interval, when all
// of them do, and below five with room to spare. A step refutes the law when all
// of its repetitions lie outside, were it a single one. The test is the sign test
// of "a repetition lies within the tolerance no more often than not", over all
// repetitions of all steps, which are independent.
func judgeLaw(j *judge, h experiment.Hypothesis) finding {
	f := finding{evidence: evidence{kind: descriptive, n: math.MaxInt, agreeing: math.MaxInt, clear: true}}
	all, within, holding, refuted := 0, 0, 0, 0
	largest := 0.0
	for _, name := range h.Steps {
		p, agree, errs := j.lawPart(h, name)
		f.parts = append(f.parts, p)
		if len(errs) == 0 {
			f.evidence.missing = name + ": " + p.Note
			continue
		}
		f.evidence.n = min(f.evidence.n, len(errs))
		f.evidence.agreeing = min(f.evidence.agreeing, agree)
		all, within = all+len(errs), within+agree
		for _, e := range errs {
			largest = math.Max(largest, math.Abs(e.X))
		}
		if p.Holds {
			holding++
		} else if agree == 0 && allOutside(errs, h.Tolerance.Value) {
			refuted++
		}
	}
	if all == 0 {
		f.evidence.n, f.evidence.agreeing = 0, 0
		return f
	}
	f.evidence.clear = holding == len(h.Steps)
	f.evidence.tested = true
	f.evidence.p = stats.SignTest(within, all)
	f.evidence.outcome = parts(holding, refuted, len(h.Steps))
	f.sentence, f.short = j.lawSentence(h, f, within, all, largest)
	return f
}

// lawPart compares one step with its formula. Errors are relative for ratio
// metrics and differences otherwise.
func (j *judge) lawPart(h experiment.Hypothesis, name string) (p Part, agree int, errs stats.Sample) {
	p = Part{Steps: []string{name}, Relative: h.Tolerance.Relative}
	step, ok := j.table.Step(name)
	if !ok {
		p.Note = "the step did not run"
		return p, 0, nil
	}
	want, err := h.Evaluate(step.Step)
	if err != nil {
		p.Note = err.Error()
		return p, 0, nil
	}
	p.Expected = number(want)
	s, why := j.sample(name, h.Metric)
	p.describe(s)
	if len(s) == 0 {
		p.Note = why
		return p, 0, nil
	}
	sc := stats.Points
	if h.Tolerance.Relative {
		sc = stats.Ratio
	}
	predicted := slices.Repeat([]float64{want}, len(s))
	fit := stats.Errors(s, predicted, sc, confidence)
	if fit.Reason != "" {
		p.Note = fit.Reason
		return p, 0, nil
	}
	agree, _ = fit.Within(h.Tolerance.Value)
	if fit.Median.Known() {
		p.Effect = number(fit.Median.X)
	}
	p.Holds = agree == len(s) && (h.Config || roomy(fit.Errors, h.Tolerance.Value))
	if iv := fit.MedianInterval; iv.Bounded() {
		p.Lo, p.Hi, p.Confidence = number(iv.Lo), number(iv.Hi), iv.Level
		p.Holds = iv.Inside(-h.Tolerance.Value, h.Tolerance.Value)
	}
	return p, agree, fit.Errors
}

// allOutside tells whether every error is known to be larger than the tolerance.
func allOutside(errs stats.Sample, tolerance float64) bool {
	for _, e := range errs {
		if beyond := e.X > tolerance || e.X < -tolerance && !e.Censored; !beyond {
			return false
		}
	}
	return true
}

// roomy tells whether the range of the errors, made twice as long around its
// middle, lies inside the tolerance. That is asked of less than five repetitions:
// were the truth at the edge, three would all fall inside with a chance of one in
// eight and four of one in sixteen, and so with one in twenty at most. The range
// stands in for the standard deviation, as in Lord's test (1947, Biometrika 34).
func roomy(errs stats.Sample, tolerance float64) bool {
	if len(errs) >= measuredN {
		return true
	}
	lo, hi := errs[0].X, errs[0].X
	for _, e := range errs {
		lo, hi = math.Min(lo, e.X), math.Max(hi, e.X)
	}
	const rounding = 1e-9
	room := math.Min(tolerance-hi, tolerance+lo)
	return (hi-lo)/2 <= room+rounding*tolerance
}

// parts combines the parts of a claim: all must hold.
func parts(holding, refuted, all int) Outcome {
	switch {
	case holding == all:
		return Supported
	case holding > 0 && refuted > 0:
		return PartiallySupported
	case refuted > 0 && holding == 0:
		return NotSupported
	}
	return Inconclusive
}

func (j *judge) lawSentence(h experiment.Hypothesis, f finding, within, all int, largest float64) (sentence, short string) {
	m := j.table.Cell(h.Steps[0], h.Metric).Metric
	size := func(x float64) string {
		if h.Tolerance.Relative {
			return fmt.Sprintf("%.3g %%", 100*x)
		}
		return withUnit(x, m)
	}
	text := fmt.Sprintf("%s equalled %s within %s in %d of %d repetitions of %s (largest error %s)",
		m.Title, h.Formula, size(h.Tolerance.Value), within, all, phrase.Plural(len(h.Steps), "step"), size(largest))
	if len(f.parts) == 1 && f.parts[0].Expected != nil && len(f.parts[0].Median) == 1 {
		text += fmt.Sprintf(": the formula gives %s, measured was %s", withUnit(*f.parts[0].Expected, m), withUnit(f.parts[0].Median[0], m))
	}
	return text, fmt.Sprintf("%d of %d repetitions within %s, largest error %s", within, all, size(h.Tolerance.Value), size(largest))
}
