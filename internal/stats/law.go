package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// LawFit is how far measured values are from what a formula predicts.
type LawFit struct {
	// Errors are (measured - predicted) / predicted on Ratio and measured -
	// predicted on Points, one per repetition in the order given; censored where
	// the measured value is.
	Errors Sample
	// MaxAbs is the largest magnitude of an error.
	MaxAbs Estimate
	// Median is of the signed errors, with its exact interval.
	Median         Estimate
	MedianInterval Interval
	// Reason says why there is no answer, and is empty if there is one.
	Reason string
}

// Errors compares each repetition's measured value with its prediction, which on
// Ratio must be above zero.
func Errors(measured Sample, predicted []float64, scale Scale, level float64) LawFit {
	if reason := lawProblem(measured, predicted, scale); reason != "" {
		return LawFit{
			MaxAbs: unknown(reason), Median: unknown(reason), MedianInterval: noInterval(reason), Reason: reason,
		}
	}
	errors := make(Sample, len(measured))
	sizes := make([]span, len(measured))
	for i, o := range measured {
		e := o.X - predicted[i]
		if scale == Ratio {
			e /= predicted[i]
		}
		errors[i] = Obs{X: e, Censored: o.Censored}
		sizes[i] = span{math.Abs(e), math.Abs(e)}
		if o.Censored {
			sizes[i] = span{max(0, e), math.Inf(1)}
		}
	}
	if reason := errors.problem(); reason != "" {
		return LawFit{
			MaxAbs: unknown(rangeReason), Median: unknown(rangeReason), MedianInterval: noInterval(rangeReason), Reason: rangeReason,
		}
	}
	return LawFit{
		Errors: errors,
		MaxAbs: quantileOf(sizes, 1),
		Median: Median(errors), MedianInterval: MedianInterval(errors, level),
	}
}

func lawProblem(measured Sample, predicted []float64, scale Scale) string {
	if p := firstProblem(measured, Of(predicted...)); p != "" {
		return p
	}
	if len(measured) != len(predicted) {
		return fmt.Sprintf("%d predictions do not fit %d observations", len(predicted), len(measured))
	}
	for _, p := range predicted {
		if scale == Ratio && p <= 0 {
			return fmt.Sprintf("a relative error needs predictions above zero, not %v", p)
		}
	}
	return ""
}

// Within counts the repetitions whose error is at most tolerance (0.05 is 5 %).
// p is one-sided and exact for "at least half of all repetitions miss it" (a sign
// test): 1/2^n when all n are within. A censored value is never within. p is 1
// where there is no fit.
func (f LawFit) Within(tolerance float64) (within int, p float64) {
	n := len(f.Errors)
	for _, e := range f.Errors {
		if !e.Censored && math.Abs(e.X) <= tolerance*(1+slack) {
			within++
		}
	}
	return within, SignTest(within, n)
}

// SignTest is the chance that at least k of n independent repetitions agree when
// each does so no more often than not: the exact one-sided p of the sign test, and
// 1 where there is nothing to test.
func SignTest(k, n int) float64 {
	if k <= 0 || n <= 0 {
		return 1
	}
	return min(1, distuv.Binomial{N: float64(n), P: 0.5}.Survival(float64(k-1)))
}
