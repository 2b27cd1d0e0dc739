package stats

import (
	"fmt"
	"math"
)

// Quantile is the q-quantile, 0 ≤ q ≤ 1, by linear interpolation between order
// statistics (type 7 of Hyndman and Fan 1996, the default of R and NumPy). It is
// a bound where it falls on, or next to, a censored value.
func Quantile(s Sample, q float64) Estimate {
	if p := s.problem(); p != "" {
		return unknown(p)
	}
	if !(q >= 0 && q <= 1) {
		return unknown(fmt.Sprintf("a quantile must lie between 0 and 1, not %v", q))
	}
	return quantileOf(s.spans(), q)
}

func quantileOf(spans []span, q float64) Estimate {
	los, his := sortedEnds(spans)
	return span{interpolate(los, q), interpolate(his, q)}.estimate(censoredReason)
}

// interpolate is the type 7 quantile of values in ascending order.
func interpolate(sorted []float64, q float64) float64 {
	h := float64(len(sorted)-1) * q
	j := int(math.Floor(h + 4e-15))
	g := h - float64(j)
	// A product such as 10*0.7 must not miss the order statistic it means.
	if math.Abs(g) < 1e-12 || sorted[j] == sorted[j+1] {
		return sorted[j]
	}
	return (1-g)*sorted[j] + g*sorted[j+1]
}

// TailQuantile is Quantile for percentiles far out, with the number of values
// that they need: 3/(1-q), so 60 for p95 and 300 for p99 (and likewise at the
// lower end). With fewer it is Unknown.
func TailQuantile(s Sample, q float64) Estimate {
	if tail := min(q, 1-q); tail > 0 {
		if need := int(math.Ceil(3/tail - slack)); len(s) < need {
			return unknown(fmt.Sprintf("n too small: %d values where the %g quantile needs %d", len(s), q, need))
		}
	}
	return Quantile(s, q)
}

// Median is the middle value, or the mean of the two middle values.
func Median(s Sample) Estimate { return Quantile(s, 0.5) }

// IQR is the distance between the quartiles. It needs two observations.
func IQR(s Sample) Estimate {
	if p := s.problem(); p != "" {
		return unknown(p)
	}
	if len(s) < 2 {
		return unknown("one observation has no spread")
	}
	q1, q3 := Quantile(s, 0.25), Quantile(s, 0.75)
	if q1.Bound != Exact {
		return unknown("both quartiles fall on censored values")
	}
	return q3.through(func(x float64) float64 { return x - q1.X })
}

// Min is the smallest value.
func Min(s Sample) Estimate { return Quantile(s, 0) }

// Max is the largest value; a bound as soon as one value is censored.
func Max(s Sample) Estimate { return Quantile(s, 1) }

// Mean is the arithmetic mean, a lower bound when a value is censored.
func Mean(s Sample) Estimate {
	if p := s.problem(); p != "" {
		return unknown(p)
	}
	mean := 0.0
	for _, o := range s {
		mean += o.X / float64(len(s))
	}
	m := span{mean, mean}
	if s.Censored() > 0 {
		m.hi = math.Inf(1)
	}
	return m.estimate("it includes censored values at their limits")
}
