package stats

import (
	"testing"

	"pgregory.net/rapid"
)

// R 4.2.2: wilcox.test(b, a, mu = -1.25, alternative = "greater") and mu = 1.25,
// "less"; the 90 % interval by conf.int.
func TestEquivalenceAgreesWithR(t *testing.T) {
	a := Of(85.1, 84.7, 85.9, 85.3, 84.9, 85.6)
	b := Of(85.4, 86.2, 85.0, 85.8, 84.6, 86.0)
	e := EquivalentWithin([]Sample{a, b}, Margin{Points, 1.25}, 0.05)
	near(t, "P", e.P, 0.00757575757576, 1e-12)
	iv := e.Pairs[0].Shift.Interval
	near(t, "lower end", iv.Lo, -0.3, 1e-9)
	near(t, "upper end", iv.Hi, 0.9, 1e-9)
	near(t, "shift", e.Pairs[0].Shift.Estimate.X, 0.3, 1e-9)
	if !e.Equivalent || e.Reason != "" {
		t.Errorf("not equivalent: %s", e.Reason)
	}
	if e := EquivalentWithin([]Sample{a, b}, Margin{Points, 0.5}, 0.05); e.Equivalent || e.P < 0.05 {
		t.Errorf("equivalent within half a point, P = %v", e.P)
	}
}

func TestEveryPairMustBeEquivalent(t *testing.T) {
	steps := steady6(100, 103, 106, 109)
	e := EquivalentWithin(steps, Margin{Ratio, 0.10}, 0.05)
	if e.Equivalent || len(e.Pairs) != 6 {
		t.Fatalf("neighbours are close, first and last are not: %+v", e)
	}
	for _, p := range e.Pairs {
		if want := p.J-p.I < 3; p.Equivalent != want {
			t.Errorf("pair %d-%d: equivalent %v, P = %v, %v", p.I, p.J, p.Equivalent, p.P, p.Shift.Interval)
		}
		if p.P > e.P {
			t.Errorf("P = %v is below that of a pair, %v", e.P, p.P)
		}
	}
	if e := EquivalentWithin(steps, Margin{Ratio, 0.30}, 0.05); !e.Equivalent {
		t.Errorf("not within 30 %%: P = %v, %s", e.P, e.Reason)
	}
}

func TestPinnedStepsAreNoPlateau(t *testing.T) {
	full := Of(100, 100, 100, 100, 100, 100)
	e := EquivalentWithin([]Sample{full, full, full}, Margin{Points, 5}, 0.05, 0, 100)
	if e.Equivalent || len(e.Pinned) != 3 || e.P != 1 || e.Reason == "" {
		t.Errorf("all at 100 %%: %+v", e)
	}
	below := Of(85, 85, 85, 85, 85, 85)
	if e := EquivalentWithin([]Sample{below, below}, Margin{Points, 5}, 0.05, 0, 100); !e.Equivalent || len(e.Pinned) != 0 {
		t.Errorf("all at 85 %%: %+v", e)
	}
}

func TestEquivalenceSaysWhenItCannotTell(t *testing.T) {
	three := Of(85, 86, 85.5)
	cut := Sample{AtLeast(230), AtLeast(230), AtLeast(230), AtLeast(230), AtLeast(230)}
	for name, e := range map[string]Equivalence{
		"three repetitions": EquivalentWithin([]Sample{Of(85, 86), three}, Margin{Points, 50}, 0.05),
		"censored":          EquivalentWithin([]Sample{cut, cut}, Margin{Ratio, 0.1}, 0.05),
		"one step":          EquivalentWithin([]Sample{three}, Margin{Points, 5}, 0.05),
		"no margin":         EquivalentWithin([]Sample{three, three}, Margin{Points, 0}, 0.05),
		"ratio of zero":     EquivalentWithin([]Sample{Of(0, 0), three}, Margin{Ratio, 0.1}, 0.05),
	} {
		if e.Equivalent || e.Reason == "" || e.P < 0.05 {
			t.Errorf("%s: equivalent %v, P = %v, reason %q", name, e.Equivalent, e.P, e.Reason)
		}
		sound(t, e)
	}
}

func TestEquivalenceDoesNotDependOnTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := samples(1, 12, true).Draw(t, "a"), samples(1, 12, true).Draw(t, "b")
		for _, m := range []Margin{{Points, 16}, {Ratio, 1}} {
			x, y := EquivalentWithin([]Sample{a, b}, m, 0.05, 60), EquivalentWithin([]Sample{b, a}, m, 0.05, 60)
			sound(t, x)
			if x.Equivalent != y.Equivalent || x.P-y.P > 1e-12 || y.P-x.P > 1e-12 {
				t.Fatalf("%v: %+v the other way is %+v", m, x, y)
			}
		}
	})
}

// A shift of exactly the margin is the worst case of "not equivalent": over all
// ways to draw the second sample, at most alpha come out equivalent.
func TestEquivalenceHoldsItsLevel(t *testing.T) {
	values := []float64{1, 2.1, 3.3, 4.6, 6, 7.5, 9.1, 10.8, 12.6, 14.5}
	all, hits := 0.0, 0.0
	subsets(len(values), 5, func(chosen []bool) {
		var a, b Sample
		for i, x := range values {
			if chosen[i] {
				b = append(b, Obs{X: x + 20})
			} else {
				a = append(a, Obs{X: x})
			}
		}
		all++
		if EquivalentWithin([]Sample{a, b}, Margin{Points, 20}, 0.05).Equivalent {
			hits++
		}
	})
	if hits == 0 || hits/all > 0.05 {
		t.Errorf("%v of %v at the margin come out equivalent", hits, all)
	}
}
