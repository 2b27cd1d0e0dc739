package verdict

import (
	"fmt"

	"brink/internal/experiment"
	"brink/internal/phrase"
)

// kind is the first axis of a claim: what sort of statement it makes.
type kind int

const (
	// descriptive: it happened; it measured so much.
	descriptive kind = iota
	// association: two things moved together.
	association
	// causal: an intervention moved it.
	causal
)

// Strength that the levels ask for (docs/METHODOLOGY.md, "Two axes").
const (
	alpha         = 0.05
	confidence    = 0.95
	measuredN     = experiment.MeasuredRepetitions
	suggestedN    = 4
	inferredN     = 3
	correlatedN   = 2
	configN       = 2
	recommendedN  = 6
	minSignals    = 2
	smallestRatio = 0.10
	suggestedMaxP = alpha
)

// evidence is what a claim form found, in the terms that levels ask about.
type evidence struct {
	kind    kind
	outcome Outcome
	// missing says why the data cannot tell, or is empty.
	missing string
	// because marks a claim about a cause without an intervention behind it.
	because bool
	// config marks a claim about an outcome and not a size.
	config bool
	// n is the smallest number of usable repetitions of any step of the claim,
	// agreeing the smallest number of those that agree with it.
	n, agreeing int
	// tested tells whether there is a p value; pHolm is corrected over all
	// declared hypotheses.
	tested   bool
	p, pHolm float64
	// clear tells whether the interval excludes everything smaller than the
	// declared smallest effect (or lies inside the margin).
	clear bool
	// signals is the number of independent signals behind the claim, passing
	// the number of those that pass their own test.
	signals, passing int
}

// level is one row of the table by which levels are given. The first row whose
// needs are met decides.
type level struct {
	level Level
	// needs is the rule as it is printed with the verdict.
	needs string
	met   func(e evidence) bool
}

// levels reads as docs/METHODOLOGY.md does.
var levels = []level{
	{Unknown, "the data cannot tell", func(e evidence) bool {
		return e.missing != "" || e.n == 0
	}},
	{NotProven, "tested in more than one repetition with enough strength to see the declared effect, and not confirmed", func(e evidence) bool {
		return e.outcome == NotSupported && e.n > 1
	}},
	{Observed, "descriptive, directly seen in one repetition, for the claim or against it; one repetition carries no more", func(e evidence) bool {
		return e.n == 1 && (e.agreeing == 1 || e.outcome == NotSupported || e.outcome == PartiallySupported)
	}},
	{Measured, fmt.Sprintf("a claim about a configuration: the same outcome in %d repetitions or more", configN), func(e evidence) bool {
		return e.config && e.n >= configN && e.agreeing == e.n
	}},
	{Measured, fmt.Sprintf("n ≥ %d agreeing repetitions, p < %v after Holm's correction, and an interval clear of everything smaller than the declared effect", measuredN, alpha), func(e evidence) bool {
		return e.kind != association && !e.because && e.strong()
	}},
	{StronglySuggested, "every need of Measured is met, but no intervention was made: a claim about a cause carries no more", func(e evidence) bool {
		return (e.because || e.kind == association) && e.strong()
	}},
	{StronglySuggested, fmt.Sprintf("n ≥ %d, and several independent signals agree and each passes its test", suggestedN), func(e evidence) bool {
		return e.outcome == Supported && e.n >= suggestedN && e.signals >= minSignals && e.passing == e.signals
	}},
	{Inferred, fmt.Sprintf("%d or more agreeing repetitions, without the strength for more", inferredN), func(e evidence) bool {
		return e.outcome == Supported && e.agreeing >= inferredN
	}},
	{Correlated, fmt.Sprintf("%d agreeing repetitions, or 2 of 3: too little strength for more", correlatedN), func(e evidence) bool {
		return e.agreeing >= correlatedN && 3*e.agreeing >= 2*e.n
	}},
	{Unknown, "too few repetitions agree to tell", func(evidence) bool { return true }},
}

// strong tells whether the strength of Measured is there.
func (e evidence) strong() bool {
	return e.outcome == Supported && e.n >= measuredN && e.agreeing >= measuredN &&
		e.tested && e.pHolm < alpha && e.clear
}

// grade finds the level, the rule that gave it, and what would raise it.
func grade(e evidence) (l Level, rule, raise string) {
	for _, row := range levels {
		if !row.met(e) {
			continue
		}
		rule = row.needs
		if e.missing != "" {
			rule += ": " + e.missing
		}
		return row.level, rule, raiseFrom(row.level, e)
	}
	return Unknown, "", ""
}

// raiseFrom names the first thing that stands between a verdict and the next
// level.
func raiseFrom(l Level, e evidence) string {
	switch {
	case l == Measured:
		return ""
	case e.missing != "":
		return "a run in which it can be seen: " + e.missing
	case l == NotProven:
		return "nothing: the claim was tested and does not hold here"
	case e.because && e.strong():
		return "an intervention that is switched on and off (form caused_by)"
	case e.n < measuredN:
		return fmt.Sprintf("%d repetitions (--repetitions %d, or --profile standard); there were %d", recommendedN, recommendedN, e.n)
	case e.agreeing < e.n:
		return fmt.Sprintf("repetitions that agree: %d of %d did", e.agreeing, e.n)
	case !e.clear:
		return "more repetitions, or a smaller declared effect: the interval still holds values below it"
	case e.tested && e.pHolm >= alpha:
		return fmt.Sprintf("more repetitions or fewer hypotheses: p is %s after Holm's correction", phrase.P(e.pHolm))
	}
	return "more repetitions"
}
