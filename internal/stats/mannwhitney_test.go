package stats

import (
	"math"
	"testing"

	"golang.org/x/perf/benchmath"
	"pgregory.net/rapid"
)

func TestFullSeparationGivesTheKnownP(t *testing.T) {
	// 2 / C(2n, n); the first four are the design's own figures.
	for n, want := range map[int]float64{1: 1, 3: 0.1, 4: 2. / 70, 5: 2. / 252, 6: 2. / 924, 10: 2. / 184756} {
		var a, b Sample
		for i := range n {
			a, b = append(a, Obs{X: float64(i)}), append(b, Obs{X: float64(100 + i)})
		}
		got := MannWhitney(a, b)
		near(t, "P", got.P, want, 1e-12)
		near(t, "MinP", got.MinP, want, 1e-12)
		near(t, "MannWhitneyMinP", MannWhitneyMinP(n, n), want, 1e-12)
		near(t, "PGreater", got.PGreater, 1/choose(2*n, n), 1e-12)
		near(t, "PLess", got.PLess, 1, 1e-12)
		if got.U != float64(n*n) || !got.Exact {
			t.Errorf("n=%d: U = %v, exact %v", n, got.U, got.Exact)
		}
	}
}

// Documented examples of R's wilcox.test (Hollander and Wolfe 1973, p. 69 ff.) and
// of scipy.stats.mannwhitneyu; with ties exactRankTests 0.8-35, wilcox.exact
// (airquality is the example of its help page), and coin 1.4-2, wilcox_test.
func TestMannWhitneyAgreesWithPublishedExamples(t *testing.T) {
	may := Of(41, 36, 12, 18, 28, 23, 19, 8, 7, 16, 11, 14, 18, 14, 34, 6, 30, 11, 1, 11, 4, 32, 23, 45, 115, 37)
	august := Of(39, 9, 16, 78, 35, 66, 122, 89, 110, 44, 28, 65, 22, 59, 23, 31, 44, 21, 9, 45, 168, 73, 76, 118, 84, 85)
	for _, c := range []struct {
		name                    string
		a, b                    Sample
		u, two, greater, less   float64
		tolerance               float64
		hasLessFromTheReference bool
	}{
		{"permeability", permeabilityTerm, permeabilityEarly, 35, 0.254412254412, 0.127206127206, 0, 1e-11, false},
		{"scipy ages", Of(20, 11, 17, 12), Of(19, 22, 16, 29, 24), 17, 1. / 9, 1. / 18, 0, 1e-12, false},
		{"airquality", may, august, 26*26 - 127.5, 6.1087351888e-05, 3.0543675944e-05, 0.999970805717, 1e-12, true},
		{"many ties", Of(1, 2, 2, 3, 3, 3, 5), Of(2, 3, 4, 4, 5, 5, 5, 6), 45, 0.0464646464646, 0.0285936285936, 0.981662781663, 1e-11, true},
		{"lopsided ties", Of(1, 1, 1, 2, 7), Of(1, 2, 3), 9, 0.821428571429, 0.428571428571, 0.714285714286, 1e-11, true},
		{"ties at 230", Of(197, 150, 173, 230, 120, 189), Of(230, 230, 230, 230, 194, 210), 31, 0.034632034632, 0.017316017316, 0.989177489177, 1e-11, true},
	} {
		got := MannWhitney(c.a, c.b)
		near(t, c.name+" U", got.U, c.u, 0)
		near(t, c.name+" P", got.P, c.two, c.tolerance)
		near(t, c.name+" PGreater", got.PGreater, c.greater, c.tolerance)
		if c.hasLessFromTheReference {
			near(t, c.name+" PLess", got.PLess, c.less, c.tolerance)
		}
	}
}

var (
	permeabilityEarly = Of(0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46)
	permeabilityTerm  = Of(1.15, 0.88, 0.90, 0.74, 1.21)
)

// The published table of critical values for α = 0.05 two-sided (Mann and Whitney;
// R: qwilcox(0.025, n, m) - 1): the largest U that is significant.
func TestMannWhitneyCriticalValues(t *testing.T) {
	for _, c := range []struct{ n, m, critical int }{
		{3, 5, 0}, {4, 4, 0}, {4, 5, 1}, {5, 5, 2}, {6, 6, 5}, {7, 7, 8}, {8, 8, 13}, {9, 12, 26}, {10, 10, 23}, {20, 20, 127},
	} {
		null := uNull(c.n, c.m)
		p := func(u int) float64 { return tailsOf(null, u).two }
		if p(c.critical) > 0.05 || p(c.critical+1) <= 0.05 {
			t.Errorf("n=%d m=%d: P(%d) = %v, P(%d) = %v", c.n, c.m, c.critical, p(c.critical), c.critical+1, p(c.critical+1))
		}
	}
}

// benchmath's test is exact without ties up to 50 and 50: an implementation of
// its own.
func TestMannWhitneyAgreesWithBenchmathWithoutTies(t *testing.T) {
	for n := 1; n <= 50; n += 7 {
		for m := 1; m <= 50; m += 9 {
			var a, b []float64
			for i := range n {
				a = append(a, math.Mod(float64(i)*0.618034, 1))
			}
			for i := range m {
				b = append(b, 0.1+math.Mod(float64(i)*0.414213, 1))
			}
			got := MannWhitney(Of(a...), Of(b...))
			th := benchmath.DefaultThresholds
			want := benchmath.AssumeNothing.Compare(benchmath.NewSample(a, &th), benchmath.NewSample(b, &th))
			near(t, "P", got.P, want.P, 1e-9)
		}
	}
}

// The oracle enumerates every relabeling of the pooled values.
func TestMannWhitneyEqualsEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.Custom(func(t *rapid.T) Sample {
			s := make(Sample, rapid.IntRange(1, 6).Draw(t, "n"))
			for i := range s {
				s[i].X = float64(rapid.IntRange(0, 5).Draw(t, "x"))
			}
			return s
		})
		a, b := small.Draw(t, "a"), small.Draw(t, "b")
		pooled := append(a.Values(), b.Values()...)
		count := func(isB func(i int) bool) float64 {
			u := 0.0
			for i, x := range pooled {
				for j, y := range pooled {
					if !isB(i) && isB(j) && y >= x {
						u += map[bool]float64{true: 1, false: 0.5}[y > x]
					}
				}
			}
			return u
		}
		u := count(func(i int) bool { return i >= len(a) })
		mean := float64(len(a)*len(b)) / 2
		var all, two, greater, less float64
		subsets(len(pooled), len(b), func(chosen []bool) {
			v := count(func(i int) bool { return chosen[i] })
			all++
			if math.Abs(v-mean) >= math.Abs(u-mean) {
				two++
			}
			if v >= u {
				greater++
			}
			if v <= u {
				less++
			}
		})
		got := MannWhitney(a, b)
		if got.U != u || math.Abs(got.P-two/all) > 1e-12 ||
			math.Abs(got.PGreater-greater/all) > 1e-12 || math.Abs(got.PLess-less/all) > 1e-12 {
			t.Fatalf("got %+v, want U %v, P %v, %v, %v", got, u, two/all, greater/all, less/all)
		}
	})
}

func TestMannWhitneyIgnoresMonotoneTransformsAndOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := samples(1, 50, true).Draw(t, "a"), samples(1, 50, true).Draw(t, "b")
		want := MannWhitney(a, b)
		sound(t, want)
		for name, f := range map[string]func(float64) float64{
			"shift": func(x float64) float64 { return x + 17 },
			"scale": func(x float64) float64 { return x / 8 },
			"log":   math.Log,
			"cube":  func(x float64) float64 { return x * x * x },
		} {
			got := MannWhitney(a.mapped(f), b.mapped(f))
			if got.U != want.U || got.P != want.P || got.PLess != want.PLess {
				t.Fatalf("%s: %+v became %+v", name, want, got)
			}
		}
		swapped := MannWhitney(b, a)
		if swapped.U != float64(len(a)*len(b))-want.U || math.Abs(swapped.P-want.P) > 1e-12 ||
			math.Abs(swapped.PGreater-want.PLess) > 1e-12 {
			t.Fatalf("swapped: %+v became %+v", want, swapped)
		}
		if d, e := CliffsDelta(a, b), CliffsDelta(b, a); d.X != -e.X {
			t.Fatalf("delta %v swapped is %v", d, e)
		}
	})
}

// What is not known of a censored value must not matter: any true value at or
// above the limit gives the same answer.
func TestCensoredValuesAreTiesAtTheLimit(t *testing.T) {
	a := Sample{{X: 100}, {X: 120}, AtLeast(230)}
	b := Sample{{X: 150}, AtLeast(230), AtLeast(230)}
	got, want := MannWhitney(a, b), MannWhitney(Of(100, 120, 230), Of(150, 230, 230))
	if got.U != want.U || got.P != want.P || got.Note == "" {
		t.Errorf("got %+v, want %+v and a note", got, want)
	}
	// A value of 400 seen in full says nothing against "at least 230".
	got = MannWhitney(append(a, Obs{X: 400}), b)
	want = MannWhitney(Of(100, 120, 230, 230), Of(150, 230, 230))
	if got.U != want.U || got.P != want.P {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// The level holds: over all relabelings of any values, P ≤ α comes up in at most
// a share α of them.
func TestMannWhitneyHoldsItsLevel(t *testing.T) {
	values := []float64{1, 2, 2, 3, 5, 5, 5, 8, 9, 10}
	for _, alpha := range []float64{0.01, 0.05, 0.1, 0.3} {
		hits, all := 0.0, 0.0
		subsets(len(values), 4, func(chosen []bool) {
			var a, b Sample
			for i, x := range values {
				if chosen[i] {
					b = append(b, Obs{X: x})
				} else {
					a = append(a, Obs{X: x})
				}
			}
			all++
			if MannWhitney(a, b).P <= alpha {
				hits++
			}
		})
		if hits/all > alpha {
			t.Errorf("α = %v: rejected in %v of all relabelings", alpha, hits/all)
		}
	}
}

func TestMannWhitneyApproximatesBeyondTheLimit(t *testing.T) {
	var a, b Sample
	for i := range 101 {
		a, b = append(a, Obs{X: float64(i)}), append(b, Obs{X: float64(i) + 15.5})
	}
	approximate, exact := MannWhitney(a, b), MannWhitney(a[:100], b[:100])
	if approximate.Exact || approximate.Note == "" || !exact.Exact {
		t.Fatalf("exact %v at 101 (%q), %v at 100", approximate.Exact, approximate.Note, exact.Exact)
	}
	z := approximateTails(exact.U, 100*100/2, uVariance(tieSizes(a[:100].Values(), b[:100].Values()), 100, 100))
	near(t, "approximate P", z.two, exact.P, 2e-4)
}
