package stats

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance {
		t.Errorf("%s = %v, want %v ± %v", what, got, want, tolerance)
	}
}

func wantExact(t *testing.T, what string, e Estimate, want float64) {
	t.Helper()
	if e.Bound != Exact {
		t.Errorf("%s = %v (%s), want exactly %v", what, e, e.Reason, want)
	}
	near(t, what, e.X, want, 1e-9*max(1, math.Abs(want)))
}

func wantInterval(t *testing.T, what string, iv Interval, lo, hi, level float64) {
	t.Helper()
	if !iv.Bounded() {
		t.Errorf("%s = %v (%s), want [%v, %v]", what, iv, iv.Reason, lo, hi)
		return
	}
	near(t, what+" lower end", iv.Lo, lo, 1e-9*max(1, math.Abs(lo)))
	near(t, what+" upper end", iv.Hi, hi, 1e-9*max(1, math.Abs(hi)))
	near(t, what+" level", iv.Level, level, 1e-9)
}

// samples draws n values that shift, scale and tie without rounding: small whole
// numbers, some of them censored if asked for.
func samples(minN, maxN int, censored bool) *rapid.Generator[Sample] {
	return rapid.Custom(func(t *rapid.T) Sample {
		n := rapid.IntRange(minN, maxN).Draw(t, "n")
		s := make(Sample, n)
		for i := range s {
			s[i].X = float64(rapid.IntRange(1, 60).Draw(t, "x"))
			s[i].Censored = censored && rapid.IntRange(0, 5).Draw(t, "cut") == 0
		}
		return s
	})
}

func (s Sample) mapped(f func(float64) float64) Sample {
	out := slices.Clone(s)
	for i := range out {
		out[i].X = f(out[i].X)
	}
	return out
}

// fatalf is what *testing.T and *rapid.T share.
type fatalf interface {
	Helper()
	Fatalf(format string, args ...any)
}

// sound fails if any number inside v is NaN or infinite, any p outside [0, 1],
// or an interval is upside down.
func sound(t fatalf, v any) {
	t.Helper()
	checkSound(t, reflect.ValueOf(v), "")
}

func checkSound(t fatalf, v reflect.Value, path string) {
	t.Helper()
	switch v.Kind() {
	case reflect.Float64:
		if !finite(v.Float()) {
			t.Fatalf("%s is %v", path, v.Float())
		}
	case reflect.Slice:
		for i := range v.Len() {
			checkSound(t, v.Index(i), path+"[]")
		}
	case reflect.Struct:
		if iv, ok := v.Interface().(Interval); ok && iv.Bounded() && iv.Lo > iv.Hi {
			t.Fatalf("%s is upside down: %v", path, iv)
		}
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			checkSound(t, v.Field(i), path+"."+name)
			if len(name) > 0 && name[0] == 'P' && v.Field(i).Kind() == reflect.Float64 {
				if p := v.Field(i).Float(); p < 0 || p > 1 {
					t.Fatalf("%s.%s = %v is no probability", path, name, p)
				}
			}
		}
	}
}

// subsets calls visit with every choice of m out of n positions.
func subsets(n, m int, visit func(chosen []bool)) {
	chosen := make([]bool, n)
	var pick func(at, left int)
	pick = func(at, left int) {
		if left == 0 {
			visit(chosen)
			return
		}
		for i := at; i <= n-left; i++ {
			chosen[i] = true
			pick(i+1, left-1)
			chosen[i] = false
		}
	}
	pick(0, m)
}
