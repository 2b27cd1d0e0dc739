package audit

import "brink/internal/verdict"

// levelAllowed is the highest level that repetitions can carry, by the
// ceilings of docs/METHODOLOGY.md. It asks no tests of strength: a publication
// gives summaries and not the repetitions behind them, so this is an upper
// bound and calls nothing of verdict, which judges records.
func levelAllowed(repetitions int, kind Kind, intervention bool) verdict.Level {
	switch {
	case repetitions == 0:
		return verdict.Unknown
	case repetitions == 1, kind == Descriptive && repetitions < 5:
		return verdict.Observed
	case repetitions == 2:
		return verdict.Correlated
	case repetitions == 3:
		return verdict.Inferred
	case repetitions == 4, kind == Association, kind == Causal && !intervention:
		return verdict.StronglySuggested
	}
	return verdict.Measured
}

// repetitionsNeeded is what each level asks for at least.
var repetitionsNeeded = map[verdict.Level]int{
	verdict.Measured: 5, verdict.StronglySuggested: 4,
	verdict.Observed: 1, verdict.Inferred: 1, verdict.Correlated: 1,
	verdict.NotProven: 0, verdict.Unknown: 0,
}

// overstated tells whether a claim carries a level above the allowed one.
func overstated(page, allowed verdict.Level, repetitions int) bool {
	return page != "" && (repetitions < repetitionsNeeded[page] || page == verdict.Measured && allowed != verdict.Measured)
}
