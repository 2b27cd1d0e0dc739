package stats

import (
	"math"
	"testing"
)

// By hand. ceil(8 / 4) × 5 s is 10 s; the sign test's p is 1/2^n.
func TestRelativeErrorsByHand(t *testing.T) {
	f := Errors(Of(10.1, 9.9, 10.2, 10, 10.3, 9.8), []float64{10, 10, 10, 10, 10, 10}, Ratio, 0.95)
	wantExact(t, "max", f.MaxAbs, 0.03)
	wantExact(t, "median", f.Median, 0.005)
	wantInterval(t, "interval", f.MedianInterval, -0.02, 0.03, 0.96875)
	for tolerance, want := range map[float64]int{0.03: 6, 0.02: 5, 0.005: 1, 0.001: 1} {
		within, p := f.Within(tolerance)
		if within != want {
			t.Errorf("%d are within %v, want %d", within, tolerance, want)
		}
		if within == 6 {
			near(t, "p", p, 1./64, 1e-12)
		}
		if within == 5 {
			near(t, "p", p, 7./64, 1e-12)
		}
	}
	if _, p := (LawFit{}).Within(1); p != 1 {
		t.Errorf("no fit has p = %v", p)
	}
}

func TestRelativeErrorsWithCensoredValue(t *testing.T) {
	f := Errors(Sample{{X: 10}, {X: 10.5}, AtLeast(8)}, []float64{10, 10, 10}, Ratio, 0.5)
	if f.MaxAbs.String() != "≥ 0.05" || f.Median.String() != "0 to 0.05" {
		t.Errorf("max %v, median %v", f.MaxAbs, f.Median)
	}
	if within, _ := f.Within(0.5); within != 2 {
		t.Errorf("%d within 50 %%, want the two that were seen", within)
	}
	sound(t, f)
}

func TestRelativeErrorsRefuse(t *testing.T) {
	for name, f := range map[string]LawFit{
		"zero":     Errors(Of(1), []float64{0}, Ratio, 0.9),
		"negative": Errors(Of(1), []float64{-1}, Ratio, 0.9),
		"lengths":  Errors(Of(1, 2), []float64{1}, Ratio, 0.9),
		"NaN":      Errors(Of(1), []float64{math.NaN()}, Ratio, 0.9),
		"overflow": Errors(Of(1e308), []float64{1e-308}, Ratio, 0.9),
		"empty":    Errors(nil, nil, Ratio, 0.9),
	} {
		if f.Reason == "" || f.Median.Known() || f.MedianInterval.Known() {
			t.Errorf("%s: %+v", name, f)
		}
		sound(t, f)
	}
}
