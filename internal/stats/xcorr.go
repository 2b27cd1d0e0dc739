package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// CrossCorrelation is the strongest lagged correlation of two series' changes.
type CrossCorrelation struct {
	// Lag is how many samples y follows x; negative if x follows y.
	Lag int
	// R is Pearson's correlation of the differences at that lag, -1 to 1.
	R float64
	// N is the number of pairs of differences behind R. EffectiveN is how
	// many independent pairs they are worth, from the autocorrelations of both
	// (Bartlett 1946; Pyper and Peterman 1998, Can. J. Fish. Aquat. Sci. 55).
	N          int
	EffectiveN float64
	// P is approximate: Fisher's z with EffectiveN, times the number of lags
	// that were tried. 1 if there is a Reason.
	P float64
	// Reason says why there is no answer, and is empty if there is one.
	Reason string
}

// minOverlap is the fewest pairs of differences from which a correlation is told.
const minOverlap = 10

// Correlate differences two series that were sampled at the same instants and
// correlates the changes at every lag from -maxLag to maxLag. Differencing takes
// out common trends, which would correlate by themselves. What it finds is never
// more than a correlation.
func Correlate(x, y []float64, maxLag int) CrossCorrelation {
	c := CrossCorrelation{P: 1}
	if c.Reason = seriesProblem(x, y, maxLag); c.Reason != "" {
		return c
	}
	dx, dy := changes(x), changes(y)
	if steady(x, dx) || steady(y, dy) {
		c.Reason = "a series changes by the same amount throughout"
		return c
	}
	c.N = len(dx)
	for _, lag := range lagsByDistance(maxLag) {
		a, b := overlap(dx, dy, lag)
		// Equal up to rounding is no reason to prefer a longer lag.
		if r := correlation(a, b); math.Abs(r) > math.Abs(c.R)+1e-12 {
			c.Lag, c.R, c.N = lag, r, len(a)
		}
	}
	a, b := overlap(dx, dy, c.Lag)
	c.EffectiveN = effectivePairs(a, b)
	if c.EffectiveN <= 4 {
		c.Reason = fmt.Sprintf("the changes follow each other so closely that they are worth only %.1f independent pairs", c.EffectiveN)
		return c
	}
	z := math.Atanh(math.Min(math.Abs(c.R), 1-1e-15)) * math.Sqrt(c.EffectiveN-3)
	c.P = min(1, float64(2*maxLag+1)*2*distuv.UnitNormal.Survival(z))
	return c
}

func seriesProblem(x, y []float64, maxLag int) string {
	if len(x) != len(y) {
		return fmt.Sprintf("the series have %d and %d samples", len(x), len(y))
	}
	if p := firstProblem(Of(x...), Of(y...)); p != "" {
		return p
	}
	if maxLag < 0 {
		return fmt.Sprintf("the largest lag cannot be negative, as %d is", maxLag)
	}
	if need := minOverlap + 1 + maxLag; len(x) < need {
		return fmt.Sprintf("n too small: lags up to %d need %d samples, not %d", maxLag, need, len(x))
	}
	return ""
}

func changes(x []float64) []float64 {
	d := make([]float64, len(x)-1)
	for i := range d {
		d[i] = x[i+1] - x[i]
	}
	return d
}

// steady reports whether the changes d of x differ by no more than rounding.
func steady(x, d []float64) bool {
	size := max(math.Abs(slices.Max(x)), math.Abs(slices.Min(x)))
	return slices.Max(d)-slices.Min(d) <= 1e-12*size
}

// lagsByDistance is 0, 1, -1, 2, -2, ...
func lagsByDistance(maxLag int) []int {
	lags := []int{0}
	for l := 1; l <= maxLag; l++ {
		lags = append(lags, l, -l)
	}
	return lags
}

// overlap pairs a[t] with b[t+lag].
func overlap(a, b []float64, lag int) ([]float64, []float64) {
	if lag < 0 {
		b, a = overlap(b, a, -lag)
		return a, b
	}
	return a[:len(a)-lag], b[lag:]
}

// correlation is Pearson's, and 0 where a side does not vary.
func correlation(a, b []float64) float64 {
	if r := stat.Correlation(a, b, nil); finite(r) {
		return max(-1, min(1, r))
	}
	return 0
}

// effectivePairs is n / (1 + 2 Σ (1-k/n) ρa(k) ρb(k)), over lags up to a quarter
// of n and never above n.
func effectivePairs(a, b []float64) float64 {
	n := float64(len(a))
	sum := 1.0
	for k := 1; k <= len(a)/4; k++ {
		sum += 2 * (1 - float64(k)/n) * autocorrelation(a, k) * autocorrelation(b, k)
	}
	return n / max(1, sum)
}

func autocorrelation(a []float64, lag int) float64 {
	mean := stat.Mean(a, nil)
	top, bottom := 0.0, 0.0
	for i, x := range a {
		bottom += (x - mean) * (x - mean)
		if i+lag < len(a) {
			top += (x - mean) * (a[i+lag] - mean)
		}
	}
	if r := top / bottom; finite(r) {
		return r
	}
	return 0
}
