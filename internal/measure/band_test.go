package measure

import (
	"math"
	"testing"
)

// numpy.percentile([1, 2, 3, 4, 5], [5, 50, 95]) gives 1.2, 3, 4.8.
func TestBandIsOverRepetitions(t *testing.T) {
	var repetitions [][]Reading
	for i := range 5 {
		x := float64(i + 1)
		// The second reading of a bin must not make a repetition count twice.
		repetitions = append(repetitions, []Reading{{-1, 99}, {0.1, x - 0.5}, {0.9, x + 0.5}, {2.5, 10 * x}})
	}
	points := Band(repetitions, 1)
	if len(points) != 2 {
		t.Fatalf("%d points, want 2: the bin from 1 to 2 s is empty: %v", len(points), points)
	}
	for i, want := range []BandPoint{{0.5, 1.2, 3, 4.8}, {2.5, 12, 30, 48}} {
		got := points[i]
		for _, d := range []float64{got.T - want.T, got.P5 - want.P5, got.P50 - want.P50, got.P95 - want.P95} {
			if math.Abs(d) > 1e-9 {
				t.Errorf("point %d is %v, want %v", i, got, want)
			}
		}
	}
}

func TestBandIsBounded(t *testing.T) {
	readings := make([]Reading, 100_000)
	for i := range readings {
		readings[i] = Reading{T: float64(i) / 4, X: 1}
	}
	if n := len(Band([][]Reading{readings}, 0.25)); n == 0 || n > maxBins {
		t.Errorf("%d points, want 1 to %d", n, maxBins)
	}
	if points := Band(nil, 0); points != nil {
		t.Errorf("no readings give %v", points)
	}
}
