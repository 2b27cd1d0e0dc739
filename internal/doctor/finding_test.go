package doctor

import (
	"testing"
	"time"
)

func TestLengthsOfTimeHaveNoEmptyParts(t *testing.T) {
	for d, want := range map[time.Duration]string{
		40 * time.Second: "40s", time.Minute: "1m", 10 * time.Minute: "10m", 10*time.Minute + 20*time.Second: "10m20s", 30*time.Minute + 400*time.Millisecond: "30m",
		time.Hour: "1h", 20 * time.Hour: "20h", time.Hour + 10*time.Minute: "1h10m", time.Hour + 5*time.Second: "1h0m5s", 0: "0s",
	} {
		if got := lasting(d); got != want {
			t.Errorf("%v is written %q, want %q", d, got, want)
		}
	}
}
