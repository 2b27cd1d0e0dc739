package stats

// Summary describes one step's repetitions for one metric. The median leads.
type Summary struct {
	N, Censored           int
	Median                Estimate
	MedianInterval        Interval
	Min, Q1, Q3, Max, IQR Estimate
	Mean                  Estimate
	// MeanMisleads is set where the mean exceeds 1.5 × the median, so that it
	// must not stand without a note.
	MeanMisleads bool
	// Reason says why there is nothing to describe.
	Reason string
}

// Summarize describes a sample, with a median interval of the given level.
func Summarize(s Sample, level float64) Summary {
	sum := Summary{
		N: len(s), Censored: s.Censored(),
		Median: Median(s), MedianInterval: MedianInterval(s, level),
		Min: Min(s), Q1: Quantile(s, 0.25), Q3: Quantile(s, 0.75), Max: Max(s), IQR: IQR(s),
		Mean:   Mean(s),
		Reason: s.problem(),
	}
	if sum.Median.Bound == Exact && sum.Median.X >= 0 && sum.Mean.Known() {
		sum.MeanMisleads = sum.Mean.X > 1.5*sum.Median.X
	}
	return sum
}
