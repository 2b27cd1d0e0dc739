package verdict

import (
	"testing"

	"brink/internal/metric"
	"brink/internal/stats"
)

func TestEffectsAreNeverInPowersOfTen(t *testing.T) {
	for _, tc := range []struct {
		x     float64
		scale stats.Scale
		unit  string
		want  string
	}{
		{17.0812, stats.Ratio, "s", "+1,708 %"},
		{0.3333, stats.Ratio, "s", "+33.3 %"},
		{-0.25, stats.Ratio, "s", "−25 %"},
		{9.996, stats.Ratio, "s", "+1,000 %"},
		{1234.5, stats.Points, "MB", "+1,235 MB"},
		{-1234.5, stats.Points, "MB", "−1,235 MB"},
		{2.04, stats.Points, "%", "+2.04 points"},
	} {
		if got := effect(tc.x, tc.scale, metric.Metric{Unit: tc.unit}); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.x, got, tc.want)
		}
	}
}
