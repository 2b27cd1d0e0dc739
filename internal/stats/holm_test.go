package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// R 4.2.2: p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.2, 0.04), "holm"); the first four
// values are the worked example on the Holm-Bonferroni method (reject the first and
// the fourth at 0.05).
func TestHolmAgreesWithR(t *testing.T) {
	for _, c := range []struct{ ps, want []float64 }{
		{[]float64{0.01, 0.04, 0.03, 0.005, 0.2, 0.04}, []float64{0.05, 0.12, 0.12, 0.03, 0.2, 0.12}},
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{[]float64{0.7}, []float64{0.7}},
		{[]float64{1, 1}, []float64{1, 1}},
		{nil, nil},
	} {
		got, err := Holm(c.ps)
		if err != nil || len(got) != len(c.want) {
			t.Fatalf("%v: %v, %v", c.ps, got, err)
		}
		for i := range got {
			near(t, "adjusted", got[i], c.want[i], 1e-12)
		}
	}
}

func TestHolmRefusesWhatIsNoProbability(t *testing.T) {
	for _, p := range []float64{-0.1, 1.1, math.NaN(), math.Inf(1)} {
		if _, err := Holm([]float64{0.5, p}); err == nil {
			t.Errorf("%v is accepted", p)
		}
	}
}

// 23, 6 and 1 are the methodology's own figures for n = 6, 5 and 4.
func TestHolmCapacity(t *testing.T) {
	for n, want := range map[int]int{3: 0, 4: 1, 5: 6, 6: 23} {
		minP := MannWhitneyMinP(n, n)
		if got := HolmCapacity(minP, 0.05); got != want {
			t.Errorf("n = %d carries %d hypotheses, want %d", n, got, want)
		}
		family := make([]float64, want+1)
		for i := range family {
			family[i] = 1
		}
		family[0] = minP
		if adjusted, _ := Holm(family); adjusted[0] < 0.05 {
			t.Errorf("n = %d carries %d after all", n, want+1)
		}
		if want > 0 {
			if adjusted, _ := Holm(family[:want]); adjusted[0] >= 0.05 {
				t.Errorf("n = %d does not carry %d", n, want)
			}
		}
	}
	if HolmCapacity(0.05, 0.05) != 0 || HolmCapacity(0, 0.05) != 0 {
		t.Error("a p that is not below alpha carries something")
	}
}

func TestHolmKeepsOrderAndIsNoSmaller(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ps := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 50).Draw(t, "ps")
		got, err := Holm(ps)
		if err != nil {
			t.Fatal(err)
		}
		for i := range ps {
			if got[i] < ps[i] || got[i] > min(1, float64(len(ps))*ps[i]) {
				t.Fatalf("%v became %v of %d", ps[i], got[i], len(ps))
			}
			for j := range ps {
				if ps[i] < ps[j] && got[i] > got[j] {
					t.Fatalf("order of %v and %v turned round: %v, %v", ps[i], ps[j], got[i], got[j])
				}
			}
		}
		shuffled := slices.Clone(ps)
		slices.Reverse(shuffled)
		back, _ := Holm(shuffled)
		slices.Reverse(back)
		if !slices.Equal(back, got) {
			t.Fatalf("order of declaration matters: %v, %v", got, back)
		}
	})
}

// The family-wise error of ten true null hypotheses, by theory at most 5 %.
func TestHolmHoldsTheFamilyWiseError(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	const rounds = 4000
	wrong := 0
	for range rounds {
		ps := make([]float64, 10)
		for i := range ps {
			ps[i] = r.Float64()
		}
		adjusted, _ := Holm(ps)
		if slices.Min(adjusted) < 0.05 {
			wrong++
		}
	}
	// Four standard errors of a share of 0.05.
	if share := float64(wrong) / rounds; share > 0.05+4*math.Sqrt(0.05*0.95/rounds) {
		t.Errorf("%v of the families have a false rejection", share)
	}
}
