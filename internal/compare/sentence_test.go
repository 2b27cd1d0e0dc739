package compare

import (
	"testing"

	"brink/internal/phrase"
)

func TestDigits(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 2: "2", 2.004: "2", 2.046: "2.05", 0.0123456: "0.0123", 12.34: "12.3", 99.96: "100",
		123.4: "123", 1234.5: "1234", -0.25: "−0.25", 0.999: "0.999", 0.9996: "1", 1e-12: "0", 4.5: "4.5",
	} {
		if got := digits(x); got != want {
			t.Errorf("digits(%v) = %q, want %q", x, got, want)
		}
	}
	for x, want := range map[float64]string{0.5: "+0.5", -0.5: "−0.5", 0: "0", 1e-13: "0", -1e-13: "0"} {
		if got := signed(x); got != want {
			t.Errorf("signed(%v) = %q, want %q", x, got, want)
		}
	}
	for p, want := range map[float64]string{1: "p = 1", 0.00216: "p = 0.0022", 0.00001: "p < 0.0001"} {
		if got := phrase.Equation("p", p); got != want {
			t.Errorf("%v: %q, want %q", p, got, want)
		}
	}
}
