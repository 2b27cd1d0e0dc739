package stats

import (
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// everything calls all that takes samples, at the given steps.
func everything(steps []Sample, scale Scale, level float64) []any {
	a, b := steps[0], steps[len(steps)-1]
	var contrasts []Estimate
	var levels, predicted []float64
	for i := range min(len(a), len(b)) {
		contrasts = append(contrasts, Contrast(a[i:i+1], b[i:i+1], scale))
	}
	for i := range steps {
		levels = append(levels, float64(i))
	}
	for range a {
		predicted = append(predicted, 20)
	}
	return []any{
		Summarize(a, level), TailQuantile(a, 0.95), MannWhitney(a, b), CliffsDelta(a, b),
		HodgesLehmann(a, b, scale, level), Spread(a, b, level), JonckheereTerpstra(steps, 1),
		TheilSen(levels, steps, scale, level), FindChange(steps, scale, 1),
		EquivalentWithin(steps, Margin{scale, 0.5}, 0.05, 60), SignFlip(contrasts, scale, level),
		Errors(a, predicted, Ratio, level),
	}
}

func TestNothingReturnedIsEverNaNInfiniteOrUpsideDown(t *testing.T) {
	wild := rapid.SampledFrom([]float64{
		0, 1, 2, -1, 1e-308, 1e308, -1e308, math.MaxFloat64, math.SmallestNonzeroFloat64,
		math.NaN(), math.Inf(1), math.Inf(-1),
	})
	any50 := rapid.Custom(func(t *rapid.T) Sample {
		if rapid.Bool().Draw(t, "tame") {
			return samples(1, 50, true).Draw(t, "s")
		}
		s := make(Sample, rapid.IntRange(0, 6).Draw(t, "n"))
		for i := range s {
			s[i] = Obs{X: wild.Draw(t, "x"), Censored: rapid.Bool().Draw(t, "cut")}
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(any50, 1, 2).Draw(t, "steps")
		scale := rapid.SampledFrom([]Scale{Points, Ratio}).Draw(t, "scale")
		level := rapid.SampledFrom([]float64{0.95, 0.9, 0.5, 0, 1, -1, math.NaN()}).Draw(t, "level")
		for _, result := range everything(steps, scale, level) {
			sound(t, result)
		}
	})
}

// Every n from 1 to 50; the last with a censored value.
func TestEverythingAtEveryN(t *testing.T) {
	for n := 1; n <= 50; n++ {
		var a, b Sample
		for i := range n {
			a = append(a, Obs{X: 10 + float64(i)})
			b = append(b, Obs{X: 20.5 + float64(i), Censored: i == 49})
		}
		for _, result := range everything([]Sample{a, b}, []Scale{Points, Ratio}[n%2], 0.95) {
			sound(t, result)
		}
		if s := HodgesLehmann(a, b, Points, 0.95); s.Interval.Known() != (n >= 4) {
			t.Errorf("n = %d: 95 %% interval of the shift is %v", n, s.Interval)
		}
	}
}

// What is wrong with the input must be said.
func TestBadInputIsNamed(t *testing.T) {
	for name, s := range map[string]Sample{"empty": nil, "NaN": Of(1, math.NaN()), "infinite": {AtLeast(math.Inf(1))}} {
		for _, result := range everything([]Sample{s, s}, Points, 0.95) {
			v := reflect.ValueOf(result)
			if v.Type() == reflect.TypeFor[Shift]() || v.Type() == reflect.TypeFor[Slope]() {
				v = v.FieldByName("Estimate")
			}
			if v.Type() == reflect.TypeFor[SpreadChange]() {
				v = v.FieldByName("Test")
			}
			if v.FieldByName("Reason").String() == "" {
				t.Errorf("%s: %T has no reason", name, result)
			}
			if p := v.FieldByName("P"); p.IsValid() && p.Float() != 1 {
				t.Errorf("%s: %T has P = %v", name, result, p.Float())
			}
		}
	}
}
