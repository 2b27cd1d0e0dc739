package measure

import (
	"cmp"
	"slices"

	"brink/internal/stats"
)

// maxBins bounds the instants of a band.
const maxBins = 240

// Reading is a signal at one instant of one repetition, in seconds since
// traffic began.
type Reading struct {
	T, X float64
}

// Band aligns the readings of repetitions in bins of the given width in
// seconds and returns, for each bin that has any, the p5, median and p95 over
// the repetitions' means in it, at the bin's middle. Each repetition counts
// once, however often it was read. Readings before 0 are left out. The width
// must be above 0; it is widened so that no more than maxBins bins result.
func Band(repetitions [][]Reading, width float64) []BandPoint {
	end := 0.0
	for _, readings := range repetitions {
		for _, r := range readings {
			end = max(end, r.T)
		}
	}
	if width = max(width, end/(maxBins-1)); width <= 0 {
		return nil
	}
	bins := map[int][]float64{}
	for _, readings := range repetitions {
		sums, counts := map[int]float64{}, map[int]float64{}
		for _, r := range readings {
			if r.T >= 0 {
				bin := int(r.T / width)
				sums[bin] += r.X
				counts[bin]++
			}
		}
		for bin, sum := range sums {
			bins[bin] = append(bins[bin], sum/counts[bin])
		}
	}
	points := make([]BandPoint, 0, len(bins))
	for bin, means := range bins {
		over := stats.Of(means...)
		points = append(points, BandPoint{T: (float64(bin) + 0.5) * width,
			P5: stats.Quantile(over, 0.05).X, P50: stats.Median(over).X, P95: stats.Quantile(over, 0.95).X})
	}
	slices.SortFunc(points, func(a, b BandPoint) int { return cmp.Compare(a.T, b.T) })
	return points
}

// BandPoint is one instant of a signal over the repetitions of a step: the
// median, and p5 and p95 around it. T counts in seconds from the start of
// traffic.
type BandPoint struct {
	T, P5, P50, P95 float64
}
