// Package stats decides what numbers allow to be said: rank tests, intervals,
// effect sizes, change points and equivalence, for a handful of repetitions.
//
// Numbers go in and numbers come out; the package knows no metric, no unit and
// no experiment. Three rules hold everywhere:
//
//   - Every observation is one repetition's summary. The functions have no way
//     to tell, so callers must never pass the requests of one repetition.
//   - A value may be censored ("not up within 230 s" is "at least 230"). Tests
//     take it as a tie at the limit, estimates and intervals become bounds.
//   - What cannot be computed is a value with a Reason. Nothing returned is ever
//     NaN or infinite, a p value without a test is 1, an interval end without a
//     number is open.
//
// Where two samples meet, the first is the base and the second is what changed:
// a positive shift, a delta above zero and a ratio above one all say that the
// second is larger.
package stats

import (
	"fmt"
	"math"
)

// Scale says in which terms two values of a metric are compared.
type Scale int

const (
	// Points compares by difference, in the metric's own unit: percentages,
	// counts, anything with a baseline near zero.
	Points Scale = iota
	// Ratio compares by quotient (differences of logarithms), for metrics
	// that are above zero by nature, such as durations.
	Ratio
)

// String returns "points" or "ratio".
func (s Scale) String() string {
	if s == Ratio {
		return "ratio"
	}
	return "points"
}

// slack is the relative tolerance for comparing probabilities that were summed
// in floating point with a level: 1-0.9 is not 0.1.
const slack = 1e-9

func levelProblem(level float64) string {
	if !(level > 0 && level < 1) {
		return fmt.Sprintf("the level must lie between 0 and 1, not %v", level)
	}
	return ""
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// percent prints a level without the noise of floating point: 95 %, 96.9 %.
func percent(level float64) string { return fmt.Sprintf("%.4g %%", 100*level) }
