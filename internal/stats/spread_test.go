package stats

import "testing"

// R 4.2.2: wilcox.test on the spreads and on their logarithms.
func TestSpreadAgreesWithR(t *testing.T) {
	a := Of(1.1, 0.9, 1.3, 1.0, 1.2, 0.8)
	b := Of(2.6, 3.1, 2.2, 1.25, 2.9, 3.4)
	s := Spread(a, b, 0.95)
	near(t, "P", s.Test.P, 0.004329004329, 1e-11)
	near(t, "ratio", s.Ratio.Estimate.X, 2.59165326899, 1e-10)
	near(t, "lower end", s.Ratio.Interval.Lo, 1.5625, 1e-10)
	near(t, "upper end", s.Ratio.Interval.Hi, 3.4, 1e-10)
}

func TestSpreadIsBlindToLocation(t *testing.T) {
	iqrs := func(shift float64) Sample {
		var out Sample
		for i := range 5 {
			f := float64(i + 1)
			out = append(out, Obs{X: IQR(Of(shift, shift+f, shift+2*f, shift+3*f)).X})
		}
		return out
	}
	if s := Spread(iqrs(0), iqrs(1000), 0.95); s.Test.P != 1 || s.Ratio.Estimate.X != 1 {
		t.Errorf("a shifted median changes the spread: %+v", s)
	}
}

func TestSpreadOfZero(t *testing.T) {
	s := Spread(Of(0, 0, 0, 0), Of(1, 2, 3, 4), 0.95)
	near(t, "P", s.Test.P, 2./70, 1e-12)
	if s.Ratio.Estimate.Known() {
		t.Errorf("a ratio to zero is %v", s.Ratio.Estimate)
	}
	if s := Spread(Of(-1), Of(1), 0.95); s.Test.Reason == "" || s.Test.P != 1 {
		t.Error("a negative range is accepted")
	}
}
