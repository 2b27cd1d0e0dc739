package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// minBootstrap is the smallest sample that is resampled. Below it a
	// bootstrap interval covers far less than it says.
	minBootstrap = 8
	// replications are the resamples behind an interval.
	replications = 9_999
)

// Bootstrap is a statistic with its BCa interval.
type Bootstrap struct {
	Estimate Estimate
	// Interval is approximate: its Level is nominal, and says so.
	Interval Interval
	// Bias is z0, the normal quantile of the share of replications below the
	// estimate; Acceleration is a, from the jackknife.
	Bias, Acceleration float64
	// Reason says why there is no interval, and is empty if there is one.
	Reason string
}

// BCa is the bias-corrected and accelerated bootstrap interval (Efron 1987, JASA
// 82, 171-185; several samples as in Davison and Hinkley 1997, 5.3.2) of any
// statistic of one or more independent samples. It is meant for statistics that
// have no exact interval; MedianInterval, HodgesLehmann, TheilSen and SignFlip have.
// The same seed gives the same interval.
//
// stat must return a finite number for every resample, and must neither keep nor
// change its argument. Each sample needs eight observations, and the values must
// be uncensored, for which the signature has no place.
func BCa(samples [][]float64, stat func(samples [][]float64) float64, level float64, seed uint64) Bootstrap {
	fail := func(b Bootstrap, reason string) Bootstrap {
		b.Reason, b.Interval = reason, noInterval(reason)
		return b
	}
	var b Bootstrap
	if reason := bootstrapProblem(samples, level); reason != "" {
		b.Estimate = unknown(reason)
		return fail(b, reason)
	}
	theta := stat(samples)
	if !finite(theta) {
		b.Estimate = unknown("the statistic is not a finite number")
		return fail(b, b.Estimate.Reason)
	}
	b.Estimate = Estimate{X: theta, Bound: Exact}
	if n := smallest(samples); n < minBootstrap {
		return fail(b, fmt.Sprintf("n too small: a bootstrap interval needs %d observations, not %d", minBootstrap, n))
	}
	replicates := replicate(samples, stat, seed)
	var reason string
	if b.Bias, reason = biasOf(replicates, theta); reason != "" {
		return fail(b, reason)
	}
	if b.Acceleration = acceleration(samples, stat); !finite(b.Acceleration) {
		b.Acceleration = 0
		return fail(b, "the statistic is not finite, or does not change, when single observations are left out")
	}
	b.Interval = b.ends(replicates, level)
	b.Reason = ""
	if !b.Interval.Known() {
		b.Reason = b.Interval.Reason
	}
	return b
}

func bootstrapProblem(samples [][]float64, level float64) string {
	if len(samples) == 0 {
		return "no observations"
	}
	for _, xs := range samples {
		if p := Of(xs...).problem(); p != "" {
			return p
		}
	}
	return levelProblem(level)
}

func smallest(samples [][]float64) int {
	n := len(samples[0])
	for _, xs := range samples {
		n = min(n, len(xs))
	}
	return n
}

// replicate returns the statistic of seeded resamples, in ascending order; values
// that are not numbers come first.
func replicate(samples [][]float64, stat func([][]float64) float64, seed uint64) []float64 {
	r := newRand(seed)
	draw := make([][]float64, len(samples))
	for i, xs := range samples {
		draw[i] = make([]float64, len(xs))
	}
	out := make([]float64, replications)
	for b := range out {
		for i, xs := range samples {
			for j := range draw[i] {
				draw[i][j] = xs[r.IntN(len(xs))]
			}
		}
		out[b] = stat(draw)
	}
	slices.Sort(out)
	return out
}

func biasOf(replicates []float64, theta float64) (z0 float64, reason string) {
	last := len(replicates) - 1
	if !finite(replicates[0]) || !finite(replicates[last]) {
		return 0, "the statistic is not a finite number for every resample"
	}
	if replicates[0] == replicates[last] {
		return 0, "the statistic is the same for every resample"
	}
	below, _ := slices.BinarySearch(replicates, theta)
	through, _ := slices.BinarySearch(replicates, math.Nextafter(theta, math.Inf(1)))
	share := float64(below+through) / 2 / float64(len(replicates))
	if share == 0 || share == 1 {
		return 0, "the estimate lies outside its own resamples"
	}
	return distuv.UnitNormal.Quantile(share), ""
}

// acceleration is a sixth of the skewness of the jackknife influence values. It
// is NaN if they are all zero or not finite.
func acceleration(samples [][]float64, stat func([][]float64) float64) float64 {
	cubes, squares := 0.0, 0.0
	for i, xs := range samples {
		left := slices.Clone(samples)
		values := make([]float64, len(xs))
		mean := 0.0
		for j := range xs {
			left[i] = slices.Delete(slices.Clone(xs), j, j+1)
			values[j] = stat(left)
			mean += values[j] / float64(len(xs))
		}
		n := float64(len(xs))
		for _, v := range values {
			influence := (n - 1) * (mean - v) / n
			squares += influence * influence
			cubes += influence * influence * influence
		}
	}
	return cubes / (6 * math.Pow(squares, 1.5))
}

func (b Bootstrap) ends(replicates []float64, level float64) Interval {
	at := func(p float64) float64 {
		z := b.Bias + distuv.UnitNormal.Quantile(p)
		q := distuv.UnitNormal.CDF(b.Bias + z/(1-b.Acceleration*z))
		rank := q*float64(len(replicates)+1) - 1
		if 1-b.Acceleration*z <= 0 || rank < 0 || rank > float64(len(replicates)-1) {
			return math.Inf(1)
		}
		return interpolate(replicates, rank/float64(len(replicates)-1))
	}
	iv := span{at((1 - level) / 2), at((1 + level) / 2)}.interval(level, "the end lies beyond the resamples")
	iv.Reason = joinNotes(iv.Reason, fmt.Sprintf("bootstrap: the level is approximate with %d resamples", replications))
	return iv
}
