package probe

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"brink/internal/stats"
)

// Level is the confidence level of all intervals, at least.
const Level = 0.95

// needed is the number of values from which a quantile says something: three
// beyond it, so 60 for p95 and 300 for p99 (docs/METHODOLOGY.md).
func needed(q float64) int64 {
	if q <= 0.5 {
		return 1
	}
	return int64(math.Ceil(3/(1-q) - 1e-9))
}

// ranks returns the order statistics, counted from 1, that enclose the
// q-quantile of whatever n independent values were drawn from: P(B < lo) and
// P(B ≥ hi) are at most (1-level)/2 each, with B ~ Bin(n, q) the number of values
// below it. lo is 0 and hi is n+1 where no value is far enough out. The method
// and its table are in Conover, Practical Nonparametric Statistics, 3.2. reached
// is P(lo ≤ B < hi).
func ranks(n int64, q, level float64) (lo, hi int64, reached float64) {
	tail := (1 - level) / 2 * (1 + 1e-9)
	b := distuv.Binomial{N: float64(n), P: q}
	// What lies further out than twelve standard deviations is nothing.
	from := max(0, int64(float64(n)*q-12*math.Sqrt(float64(n)*q*(1-q))))
	below, belowLo := 0.0, 0.0 // P(B < k), P(B < lo)
	lo, hi = 0, n+1
	for k := from; k <= n; k++ {
		if below <= tail {
			lo, belowLo = k, below
		}
		if 1-below <= tail {
			return lo, k, below - belowLo
		}
		below += b.Prob(float64(k))
	}
	return lo, hi, 1 - belowLo
}

// share is k of n in percent, with the exact interval of Clopper and Pearson
// (Biometrika 26, 1934).
func share(k, n int64) Figure {
	if n == 0 {
		return missing("no request came to an end")
	}
	iv := stats.Interval{Lo: 0, Hi: 100, Level: Level}
	if k > 0 {
		iv.Lo = 100 * distuv.Beta{Alpha: float64(k), Beta: float64(n - k + 1)}.Quantile((1-Level)/2)
	}
	if k < n {
		iv.Hi = 100 * distuv.Beta{Alpha: float64(k + 1), Beta: float64(n - k)}.Quantile((1+Level)/2)
	}
	return Figure{stats.Estimate{X: 100 * float64(k) / float64(n), Bound: stats.Exact}, iv}
}

func missing(format string, args ...any) Figure {
	why := fmt.Sprintf(format, args...)
	return Figure{stats.Estimate{Reason: why}, stats.Interval{LoOpen: true, HiOpen: true, Reason: why}}
}
