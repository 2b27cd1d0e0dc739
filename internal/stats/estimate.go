package stats

import (
	"fmt"
	"math"
	"slices"
)

// Bound says how much of an Estimate is known.
type Bound int

const (
	// Unknown: there is no number; the Reason says why.
	Unknown Bound = iota
	// Exact: the number is X.
	Exact
	// LowerBound: the number is X or more.
	LowerBound
	// UpperBound: the number is X or less.
	UpperBound
	// Between: the number lies between X and Upper.
	Between
)

// String returns the bound's name in lower case.
func (b Bound) String() string {
	return [...]string{"unknown", "exact", "lower bound", "upper bound", "between"}[b]
}

// Estimate is a number that may be known from one side only.
type Estimate struct {
	// X is the value, or the end that is known. It is 0 when Unknown.
	X float64
	// Upper is the upper end when Bound is Between, else 0.
	Upper float64
	// Bound says what X is. The zero value is Unknown.
	Bound Bound
	// Reason says why the estimate is not exact, or adds a caveat.
	Reason string
}

// Known reports whether there is a number at all, be it only a bound.
func (e Estimate) Known() bool { return e.Bound != Unknown }

// String prints the number as it may be quoted: "51", "≥ 230", "unknown".
func (e Estimate) String() string {
	switch e.Bound {
	case Exact:
		return fmt.Sprintf("%.6g", e.X)
	case LowerBound:
		return fmt.Sprintf("≥ %.6g", e.X)
	case UpperBound:
		return fmt.Sprintf("≤ %.6g", e.X)
	case Between:
		return fmt.Sprintf("%.6g to %.6g", e.X, e.Upper)
	}
	return "unknown"
}

func unknown(reason string) Estimate { return Estimate{Reason: reason} }

// Interval is a confidence interval. An end that is open has no number.
type Interval struct {
	// Lo and Hi are the ends, both included; 0 where open.
	Lo, Hi float64
	// LoOpen and HiOpen mark an end at which nothing can be excluded.
	LoOpen, HiOpen bool
	// Level is the level that was reached, between 0 and 1: for exact
	// intervals at least what was asked for. It is 0 without an interval.
	Level float64
	// Reason says why an end is open, or how the interval is not exact.
	Reason string
}

// Known reports whether at least one end is a number.
func (iv Interval) Known() bool { return !iv.LoOpen || !iv.HiOpen }

// Bounded reports whether both ends are numbers.
func (iv Interval) Bounded() bool { return !iv.LoOpen && !iv.HiOpen }

// Contains reports whether the interval cannot exclude x.
func (iv Interval) Contains(x float64) bool {
	return (iv.LoOpen || iv.Lo <= x) && (iv.HiOpen || x <= iv.Hi)
}

// Inside reports whether the whole interval lies within [lo, hi].
func (iv Interval) Inside(lo, hi float64) bool {
	return iv.Bounded() && lo <= iv.Lo && iv.Hi <= hi
}

// ClearOf reports whether the interval excludes everything strictly between lo
// and hi and lies on one side of it.
func (iv Interval) ClearOf(lo, hi float64) bool {
	return !iv.LoOpen && iv.Lo >= hi || !iv.HiOpen && iv.Hi <= lo
}

// String prints the interval: "[3, 7]", "[3, …)", "unknown".
func (iv Interval) String() string {
	if !iv.Known() {
		return "unknown"
	}
	lo, hi := "(…", "…)"
	if !iv.LoOpen {
		lo = fmt.Sprintf("[%.6g", iv.Lo)
	}
	if !iv.HiOpen {
		hi = fmt.Sprintf("%.6g]", iv.Hi)
	}
	return lo + ", " + hi
}

func noInterval(reason string) Interval {
	return Interval{LoOpen: true, HiOpen: true, Reason: reason}
}

const (
	censoredReason = "it falls on censored values"
	rangeReason    = "it is beyond the range of a floating-point number"
)

// span holds what is known of a number; inside the package an end may be infinite.
type span struct{ lo, hi float64 }

func (s span) estimate(reason string) Estimate {
	switch {
	case math.IsNaN(s.lo) || math.IsNaN(s.hi) || math.IsInf(s.lo, 1) || math.IsInf(s.hi, -1):
		return unknown(rangeReason)
	case s.lo == s.hi:
		return Estimate{X: s.lo, Bound: Exact}
	case math.IsInf(s.lo, -1) && math.IsInf(s.hi, 1):
		return unknown(reason)
	case math.IsInf(s.hi, 1):
		return Estimate{X: s.lo, Bound: LowerBound, Reason: reason}
	case math.IsInf(s.lo, -1):
		return Estimate{X: s.hi, Bound: UpperBound, Reason: reason}
	}
	return Estimate{X: s.lo, Upper: s.hi, Bound: Between, Reason: reason}
}

func (s span) interval(level float64, reason string) Interval {
	iv := Interval{Lo: s.lo, Hi: s.hi, Level: level}
	if !finite(s.lo) {
		iv.Lo, iv.LoOpen, iv.Reason = 0, true, reason
	}
	if !finite(s.hi) {
		iv.Hi, iv.HiOpen, iv.Reason = 0, true, reason
	}
	if !iv.Known() {
		iv.Level = 0
	}
	return iv
}

// span is the inverse of span.estimate.
func (e Estimate) span() span {
	switch e.Bound {
	case Exact:
		return span{e.X, e.X}
	case LowerBound:
		return span{e.X, math.Inf(1)}
	case UpperBound:
		return span{math.Inf(-1), e.X}
	case Between:
		return span{e.X, e.Upper}
	}
	return span{math.Inf(-1), math.Inf(1)}
}

// through maps an estimate by an increasing function.
func (e Estimate) through(f func(float64) float64) Estimate {
	if !e.Known() {
		return e
	}
	e.X = f(e.X)
	if e.Bound == Between {
		e.Upper = f(e.Upper)
	}
	if !finite(e.X) || !finite(e.Upper) {
		return unknown(rangeReason)
	}
	return e
}

// through maps an interval by an increasing function.
func (iv Interval) through(f func(float64) float64) Interval {
	s := span{math.Inf(-1), math.Inf(1)}
	if !iv.LoOpen {
		s.lo = f(iv.Lo)
	}
	if !iv.HiOpen {
		s.hi = f(iv.Hi)
	}
	reason := iv.Reason
	if !iv.LoOpen && !finite(s.lo) || !iv.HiOpen && !finite(s.hi) {
		reason = rangeReason
	}
	out := s.interval(iv.Level, reason)
	out.Reason = reason
	return out
}

// sortedEnds returns the lower and the upper ends, each in ascending order. An
// order statistic grows with each of its arguments, so what is true of the k-th
// lower end bounds the k-th value from below, and likewise above.
func sortedEnds(spans []span) (los, his []float64) {
	los, his = make([]float64, len(spans)), make([]float64, len(spans))
	for i, s := range spans {
		los[i], his[i] = s.lo, s.hi
	}
	slices.Sort(los)
	slices.Sort(his)
	return los, his
}

// orderInterval is [k-th smallest, k-th largest] of partly known numbers.
func orderInterval(spans []span, k int, level float64) Interval {
	los, his := sortedEnds(spans)
	return span{los[k-1], his[len(his)-k]}.interval(level, "the end falls on censored values")
}
