package doctor

// Level is how far the evidence of a finding carries, in the words of
// docs/METHODOLOGY.md. One case is one repetition, so that nothing is Measured,
// and nobody intervened, so that a cause is strongly suggested at most.
type Level string

// The levels, strongest first.
const (
	// Observed: it stands in the evidence itself.
	Observed Level = "Observed"
	// StronglySuggested: independent signs agree.
	StronglySuggested Level = "Strongly Suggested"
	// Inferred: it follows from what was seen by a rule of the domain.
	Inferred Level = "Inferred"
	// Correlated: two things go together, and nothing says more.
	Correlated Level = "Correlated"
)
