package phrase

import "testing"

func TestNumbersKeepFourDigits(t *testing.T) {
	for _, c := range []struct {
		x    float64
		want string
	}{
		{0, "0"}, {5.004, "5.004"}, {10.012, "10.01"}, {10, "10.00"}, {962.34, "962.3"}, {1234567, "1,234,567"}, {-0.25, "−0.25"},
		{0.00004, "< 0.0001"}, {0.1234, "0.1234"}, {15.999, "16.00"}, {-1999.6, "−2,000"},
	} {
		if got := Number(c.x); got != c.want {
			t.Errorf("Number(%v) = %q, want %q", c.x, got, c.want)
		}
	}
}

func TestPIsNeverZero(t *testing.T) {
	for _, c := range []struct {
		p    float64
		want string
	}{{0.0285714, "p = 0.029"}, {0.1, "p = 0.1"}, {1, "p = 1"}, {0.9999, "p = 1"}, {1e-9, "p < 0.0001"}, {0, "p < 0.0001"}} {
		if got := Equation("p", c.p); got != c.want {
			t.Errorf("%v: %q, want %q", c.p, got, c.want)
		}
	}
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 steps", 1: "1 step", 2: "2 steps", 1234: "1,234 steps"} {
		if got := Plural(n, "step"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
