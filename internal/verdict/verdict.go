// Package verdict judges hypotheses: claim forms against metrics, by the
// rules of docs/METHODOLOGY.md. Nobody types a level or a verdict; they are
// computed here and only here.
package verdict

import "brink/internal/experiment"

// Outcome is what became of a hypothesis.
type Outcome string

// The outcomes. Partially supported is for hypotheses with several steps of
// which some hold.
const (
	Supported          Outcome = "supported"
	PartiallySupported Outcome = "partially supported"
	NotSupported       Outcome = "not supported"
	Inconclusive       Outcome = "inconclusive"
)

// Level is how far the evidence carries.
type Level string

// The evidence levels, strongest claim first.
const (
	Measured          Level = "Measured"
	Observed          Level = "Observed"
	StronglySuggested Level = "Strongly Suggested"
	Inferred          Level = "Inferred"
	Correlated        Level = "Correlated"
	NotProven         Level = "Not Proven"
	Unknown           Level = "Unknown"
)

// Verdict is one hypothesis, judged.
type Verdict struct {
	Hypothesis experiment.Hypothesis `json:"hypothesis"`
	Outcome    Outcome               `json:"outcome"`
	Level      Level                 `json:"level"`
	// Sentence states the result with its deciding numbers, fit to forward.
	Sentence string `json:"sentence"`
	// Numbers are the deciding numbers alone, for a line of a summary.
	Numbers string `json:"numbers"`
	// Rule is the rule that decided the level; Raise says what would raise it,
	// empty at the top.
	Rule  string `json:"rule"`
	Raise string `json:"raise,omitempty"`
	// Parts are the single comparisons behind the verdict: one per step (law)
	// or per pair of steps (compare, equivalent).
	Parts []Part `json:"parts"`
	// Notes are ceilings, censored values, missing signals: section 13.
	Notes []string `json:"notes,omitempty"`
}

// Part is one comparison. Numbers that could not be computed are absent, and
// Note says why.
type Part struct {
	// Steps names the step, or the two steps in the order compared.
	Steps []string `json:"steps"`
	// N are the repetitions used per step.
	N []int `json:"n"`
	// Median is the measured median per step, in the metric's unit; AtLeast
	// marks a median that is a bound because of censored values.
	Median  []float64 `json:"median"`
	AtLeast []bool    `json:"at_least,omitempty"`
	// Expected is the value that the claim gives for a law.
	Expected *float64 `json:"expected,omitempty"`
	// Effect is the estimated difference with its interval [Lo, Hi] at level
	// Confidence: a relative change (0.3 is +30 %) when Relative, otherwise in
	// the metric's unit.
	Effect     *float64 `json:"effect,omitempty"`
	Lo         *float64 `json:"lo,omitempty"`
	Hi         *float64 `json:"hi,omitempty"`
	Confidence float64  `json:"confidence,omitempty"`
	Relative   bool     `json:"relative"`
	// Word is the effect word of METHODOLOGY.md.
	Word string `json:"word,omitempty"`
	// U, Delta and P are Mann-Whitney's U, Cliff's delta and the p value;
	// PHolm is corrected over all declared hypotheses that can be Measured by their
	// repetitions, or over all where this one cannot.
	U     *float64 `json:"u,omitempty"`
	Delta *float64 `json:"delta,omitempty"`
	P     *float64 `json:"p,omitempty"`
	PHolm *float64 `json:"p_holm,omitempty"`
	// Holds tells whether this part agrees with the claim.
	Holds bool   `json:"holds"`
	Note  string `json:"note,omitempty"`
}
