package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func steady6(levels ...float64) []Sample {
	var steps []Sample
	for i, l := range levels {
		var s Sample
		for j := range 6 {
			// Six repetitions spread by 5 %, in another order each step.
			s = append(s, Obs{X: l * (1 + 0.01*float64((j*5+i)%6))})
		}
		steps = append(steps, s)
	}
	return steps
}

// The shapes are drawn by hand; what they are called follows from the words.
func TestFindChangeTellsShapesApart(t *testing.T) {
	for _, c := range []struct {
		name            string
		steps           []Sample
		shape           Shape
		boundary, spike int
	}{
		{"cliff", steady6(10, 10.2, 10.1, 30, 31, 30), StepShape, 2, -1},
		{"fall", steady6(30, 31, 10, 10.1), StepShape, 1, -1},
		{"cliff at the last step", steady6(10, 10, 10, 10, 40), StepShape, 3, -1},
		{"cliff at the first step", steady6(40, 10, 10, 10, 10), StepShape, 0, -1},
		{"two steps", steady6(10, 20), StepShape, 0, -1},
		{"lone spike", steady6(10, 10, 40, 10, 10, 10), SpikeShape, -1, 2},
		{"lone dip", steady6(40, 10, 40, 40), SpikeShape, -1, 1},
		{"excursion", steady6(10, 10, 40, 41, 10, 10), ExcursionShape, -1, -1},
		{"gradual", steady6(10, 20, 30, 40, 50, 60), GradualShape, -1, -1},
		{"flat", steady6(10, 10, 10), NoShape, -1, -1},
		{"cliff beside a spike", steady6(10, 10, 90, 10, 10, 50, 50, 50), StepShape, 4, 2},
		{"cliff and drift", steady6(10, 10, 10, 40, 45, 50), StepShape, 2, -1},
	} {
		got := FindChange(c.steps, Points, 1)
		if got.Shape != c.shape || got.Boundary != c.boundary || got.Spike != c.spike {
			t.Errorf("%s: %v, boundary %d, spike %d (%+v)", c.name, got.Shape, got.Boundary, got.Spike, got)
		}
		if want := c.shape == StepShape; got.Found(0.05) != want {
			t.Errorf("%s: found %v with P = %v", c.name, got.Found(0.05), got.P)
		}
	}
}

// The first page of every text on change points: the flow of the Nile at Aswan,
// 1871 to 1970, fell after 1898 (Cobb 1978, Biometrika 65, 243-251), the 28th year.
func TestFindChangeInTheNile(t *testing.T) {
	nile := []float64{
		1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180, 799, 958, 1140,
		1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969,
		831, 726, 456, 824, 702, 1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759,
		781, 865, 845, 944, 984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890,
		744, 749, 838, 1050, 918, 986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740,
	}
	var steps []Sample
	for _, x := range nile {
		steps = append(steps, Of(x))
	}
	got := FindChange(steps, Points, 1)
	if got.Boundary != 27 || !got.Found(0.001) || got.Delta > -0.6 {
		t.Errorf("got %+v, want a fall after index 27", got)
	}
}

// All 7! orders enumerated by a program of its own in Python with scipy's ranks.
func TestBoundaryPAgreesWithEnumeration(t *testing.T) {
	for _, c := range []struct {
		steps []Sample
		at    int
		p     float64
	}{
		{[]Sample{Of(1), Of(2), Of(1.5), Of(7), Of(8), Of(7.5), Of(9)}, 2, 0.1},
		{[]Sample{Of(1, 2), Of(1.5, 1.5), Of(7), Of(8, 6), Of(7)}, 1, 0.02857142857142857},
	} {
		values, _ := commonValues(c.steps)
		p, exact := boundaryP(pool(values), len(values), c.at, 1)
		near(t, "P", p, c.p, 1e-12)
		if !exact {
			t.Error("7! relabelings are not enumerated")
		}
	}
}

func TestFindChangeOfTwoStepsIsMannWhitney(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := samples(1, 6, false).Draw(t, "a"), samples(1, 6, false).Draw(t, "b")
		c := FindChange([]Sample{a, b}, Points, 1)
		sound(t, c)
		if c.Shape == StepShape && math.Abs(c.P-MannWhitney(a, b).P) > 1e-12 {
			t.Fatalf("P = %v, Mann-Whitney %v", c.P, MannWhitney(a, b).P)
		}
	})
}

func TestFindChangeFollowsScaleAndReversal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(samples(1, 2, true), 2, 4).Draw(t, "steps")
		c := FindChange(steps, Points, 1)
		sound(t, c)
		var scaled []Sample
		for _, s := range steps {
			scaled = append(scaled, s.mapped(func(x float64) float64 { return 8 * x }))
		}
		d := FindChange(scaled, Points, 1)
		if d.Shape != c.Shape || d.Boundary != c.Boundary || d.P != c.P || d.Delta != c.Delta {
			t.Fatalf("scaled: %+v became %+v", c, d)
		}
	})
}

func TestFindChangeWithCensoredStep(t *testing.T) {
	steps := steady6(20, 21, 20)
	cut := Sample{AtLeast(230), AtLeast(230), AtLeast(230), AtLeast(230), {X: 229}, AtLeast(230)}
	got := FindChange(append(steps, cut, cut), Ratio, 1)
	if got.Boundary != 2 || !got.Found(0.01) || got.Delta != 1 || got.Note == "" {
		t.Errorf("got %+v, want a boundary after index 2 with a note", got)
	}
}

// With no change the candidate must not be significant more often than alpha:
// exactly, over all 6! orders of six different values.
func TestBoundaryPHoldsItsLevel(t *testing.T) {
	order := []int{0, 1, 2, 3, 4, 5}
	value := []float64{3, 4, 6, 11, 19, 40}
	all, hits := 0.0, 0.0
	for {
		var steps []Sample
		for _, i := range order {
			steps = append(steps, Of(value[i]))
		}
		all++
		if FindChange(steps, Points, 1).Found(0.2) {
			hits++
		}
		if !nextPermutation(order) {
			break
		}
	}
	if all != 720 || hits/all > 0.2 {
		t.Errorf("%v of %v orders have a change at 0.2", hits, all)
	}
}
