package stats

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// Efron and Tibshirani, An Introduction to the Bootstrap, 14.2: the variance of the
// spatial test data, 171.5; a = 0.061; 90 % BCa interval (115.8, 259.6) with 2,000
// resamples. R's boot 1.3-28 with 200,000: (115.6, 260.9), and (105.9, 278.6) for
// 95 %.
func TestBCaAgreesWithEfronAndTibshirani(t *testing.T) {
	spatial := []float64{
		48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41,
	}
	variance := func(s [][]float64) float64 { return stat.PopVariance(s[0], nil) }
	b := BCa([][]float64{spatial}, variance, 0.90, 1)
	near(t, "variance", b.Estimate.X, 171.534023669, 1e-9)
	near(t, "acceleration", b.Acceleration, 0.061, 0.0005)
	near(t, "bias", b.Bias, 0.177, 0.035)
	near(t, "lower end", b.Interval.Lo, 115.6, 2)
	near(t, "upper end", b.Interval.Hi, 260.9, 4)
	b = BCa([][]float64{spatial}, variance, 0.95, 1)
	near(t, "lower end at 95 %", b.Interval.Lo, 105.9, 2.5)
	near(t, "upper end at 95 %", b.Interval.Hi, 278.6, 5)
	if again := BCa([][]float64{spatial}, variance, 0.95, 1); again != b {
		t.Error("the same seed gives another interval")
	}
	if other := BCa([][]float64{spatial}, variance, 0.95, 2); other.Interval == b.Interval {
		t.Error("another seed gives the same interval")
	}
}

// scipy 1.10.1, stats.bootstrap(method="BCa", n_resamples=200000), of a quotient
// of means of two samples.
func TestBCaOfTwoSamplesAgreesWithScipy(t *testing.T) {
	x := []float64{19, 22, 16, 29, 24, 18, 25, 21, 27}
	y := []float64{20, 11, 17, 12, 14, 9, 15, 13, 10, 16}
	quotient := func(s [][]float64) float64 { return stat.Mean(s[0], nil) / stat.Mean(s[1], nil) }
	b := BCa([][]float64{x, y}, quotient, 0.95, 3)
	near(t, "estimate", b.Estimate.X, 1.6301703163, 1e-9)
	near(t, "lower end", b.Interval.Lo, 1.34658, 0.02)
	near(t, "upper end", b.Interval.Hi, 1.96296, 0.02)
}

func TestBCaFollowsShiftAndScale(t *testing.T) {
	mean := func(s [][]float64) float64 { return stat.Mean(s[0], nil) }
	xs := []float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3}
	moved := make([]float64, len(xs))
	for i, x := range xs {
		moved[i] = 4*x + 32
	}
	a, b := BCa([][]float64{xs}, mean, 0.95, 1).Interval, BCa([][]float64{moved}, mean, 0.95, 1).Interval
	near(t, "lower end", b.Lo, 4*a.Lo+32, 0.05)
	near(t, "upper end", b.Hi, 4*a.Hi+32, 0.05)
}

func TestBCaSaysWhenItCannot(t *testing.T) {
	mean := func(s [][]float64) float64 { return stat.Mean(s[0], nil) }
	for n := 0; n <= 50; n++ {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = float64(i * i)
		}
		b := BCa([][]float64{xs}, mean, 0.95, 1)
		sound(t, b)
		if b.Interval.Known() != (n >= 8) || (b.Reason == "") != (n >= 8) {
			t.Errorf("n = %d: %v (%s)", n, b.Interval, b.Reason)
		}
	}
	eight := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	for name, b := range map[string]Bootstrap{
		"constant":   BCa([][]float64{{5, 5, 5, 5, 5, 5, 5, 5}}, mean, 0.95, 1),
		"not finite": BCa([][]float64{eight}, func([][]float64) float64 { return math.NaN() }, 0.95, 1),
		"sometimes not finite": BCa([][]float64{eight}, func(s [][]float64) float64 {
			return 1 / stat.PopVariance(s[0], nil) * 0 / (s[0][0] - 8)
		}, 0.95, 1),
		"maximum":  BCa([][]float64{eight}, func(s [][]float64) float64 { return math.Inf(1) }, 0.95, 1),
		"level":    BCa([][]float64{eight}, mean, 1, 1),
		"NaN":      BCa([][]float64{{1, 2, 3, 4, 5, 6, 7, math.NaN()}}, mean, 0.95, 1),
		"no input": BCa(nil, mean, 0.95, 1),
	} {
		if b.Interval.Known() || b.Reason == "" {
			t.Errorf("%s: %v", name, b.Interval)
		}
		sound(t, b)
	}
}
