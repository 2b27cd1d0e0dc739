package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// R 4.2.2: cor(diff(x)[1:17], diff(y)[3:19]) = 0.993432724645, y being x two samples
// later and slightly disturbed; the effective n from NumPy by the same formula.
func TestCorrelateAgreesWithR(t *testing.T) {
	x := []float64{1, 3, 2, 5, 4, 8, 6, 7, 9, 8, 12, 10, 11, 15, 13, 14, 18, 16, 17, 20}
	y := []float64{
		5.1, 3.8, 1.3, 3, 2.1, 4.9, 4.2, 8.2, 5.7, 7.1, 9, 8.2, 11.9, 10.3, 11.1, 14.8, 13, 14.1, 18.2, 15.9,
	}
	c := Correlate(x, y, 5)
	if c.Lag != 2 || c.N != 17 || c.Reason != "" {
		t.Fatalf("got %+v, want lag 2 over 17 pairs", c)
	}
	near(t, "R", c.R, 0.993432724645, 1e-9)
	near(t, "effective n", c.EffectiveN, 7.809543952978974, 1e-9)
	back := Correlate(y, x, 5)
	if back.Lag != -2 || math.Abs(back.R-c.R) > 1e-12 {
		t.Errorf("the other way: %+v", back)
	}
}

// Two independent random walks correlate strongly as they are; their differences
// do not, and P stays above 0.05 in about 95 % of draws.
func TestCorrelateIsNotFooledByCommonTrends(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const rounds = 400
	wrong := 0
	for range rounds {
		x, y := make([]float64, 100), make([]float64, 100)
		for i := 1; i < 100; i++ {
			x[i] = x[i-1] + 0.5 + r.NormFloat64()
			y[i] = y[i-1] + 0.5 + r.NormFloat64()
		}
		if Correlate(x, y, 5).P < 0.05 {
			wrong++
		}
	}
	if share := float64(wrong) / rounds; share > 0.05+4*math.Sqrt(0.05*0.95/rounds) {
		t.Errorf("%v of independent walks correlate", share)
	}
}

func TestCorrelateFollowsShiftAndScale(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	x, y, z := make([]float64, 40), make([]float64, 40), make([]float64, 40)
	for i := range x {
		x[i], y[i] = r.NormFloat64(), r.NormFloat64()
		z[i] = -8*y[i] + 100
	}
	a, b := Correlate(x, y, 4), Correlate(x, z, 4)
	if b.Lag != a.Lag || math.Abs(a.R+b.R) > 1e-9 || math.Abs(a.P-b.P) > 1e-9 {
		t.Errorf("%+v became %+v", a, b)
	}
}

func TestCorrelateSaysWhenItCannot(t *testing.T) {
	ramp, noise := make([]float64, 30), make([]float64, 30)
	for i := range ramp {
		ramp[i], noise[i] = 0.1*float64(i), math.Mod(float64(i)*0.618034, 1)
	}
	bad := append([]float64{math.Inf(1)}, noise[1:]...)
	for name, c := range map[string]CrossCorrelation{
		"steady ramp": Correlate(ramp, noise, 3),
		"constant":    Correlate(noise, make([]float64, 30), 3),
		"lengths":     Correlate(ramp, noise[1:], 3),
		"short":       Correlate(noise[:13], noise[:13], 3),
		"infinite":    Correlate(bad, noise, 3),
		"negative":    Correlate(noise, noise, -1),
		"empty":       Correlate(nil, nil, 0),
	} {
		if c.Reason == "" || c.P != 1 {
			t.Errorf("%s: %+v", name, c)
		}
		sound(t, c)
	}
	for n := 14; n <= 30; n++ {
		c := Correlate(noise[:n], ramp[:n], 3)
		sound(t, c)
		sound(t, Correlate(noise[:n], noise[:n], 3))
	}
}
