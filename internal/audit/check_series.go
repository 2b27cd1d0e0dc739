package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// rangeCheck: all numbers lie in a range.
type rangeCheck struct {
	Of        []string `yaml:"of"`
	Rows      []string `yaml:"rows"`
	Claimed   *Span    `yaml:"claimed"`
	Tolerance *float64 `yaml:"tolerance"`
}

func (c *rangeCheck) run(f *figures) (answer, error) {
	ps, unit, err := f.points("of", c.Of, c.Rows)
	if err != nil {
		return answer{}, err
	}
	a, err := compare(f, ps[0].x, c.Claimed, c.Tolerance, unit)
	if err != nil {
		return answer{}, err
	}
	tolerance, err := f.or("tolerance", c.Tolerance)
	if err != nil {
		return answer{}, err
	}
	var out []point
	for _, p := range ps {
		if !c.Claimed.has(p.x, tolerance) {
			out = append(out, p)
		}
	}
	a.outcome, a.gives = Holds, "it is "+extent(ps, unit)
	if len(out) > 0 {
		a.outcome, a.computed = Contradicts, &out[0].x
		a.gives += ", not " + c.Claimed.text(unit)
		if len(ps) > 1 {
			a.gives += ": " + labelled(out)
		}
	}
	return a, nil
}

// monotone: a column rises (or falls) over the rows, or over another column.
type monotone struct {
	Of        []string `yaml:"of"`
	By        []string `yaml:"by"`
	Rows      []string `yaml:"rows"`
	Direction string   `yaml:"direction"`
	// Strict asks for a change at each row, not only for none backwards.
	Strict bool `yaml:"strict"`
}

func (c *monotone) run(f *figures) (answer, error) {
	if c.Direction != "rising" && c.Direction != "falling" {
		return answer{}, at("direction", "it is rising or falling")
	}
	ps, unit, err := f.points("of", c.Of, c.Rows)
	if err != nil {
		return answer{}, err
	}
	places := labelsOf(ps)
	if len(c.By) > 0 {
		pairs, byUnit, err := f.paired(ps, "by", c.By, c.Rows)
		if err != nil {
			return answer{}, err
		}
		slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.x, b.x) })
		ps, places = nil, nil
		for _, p := range pairs {
			ps = append(ps, point{p.label, p.y})
			places = append(places, fmt.Sprintf("%s (%s)", withUnit(p.x, byUnit), p.label))
		}
	}
	if len(ps) < 2 {
		return answer{}, at("of", "it takes two numbers or more to rise or fall")
	}
	a := answer{outcome: Holds, unit: unit, gives: fmt.Sprintf("%s %s: %s", c.Direction, extent(ps, unit), arrows(ps))}
	for i := 1; i < len(ps); i++ {
		step := ps[i].x - ps[i-1].x
		if c.Direction == "falling" {
			step = -step
		}
		if step < 0 || c.Strict && step == 0 {
			a.outcome, a.computed = Contradicts, &ps[i].x
			a.gives = fmt.Sprintf("from %s to %s it goes from %s to %s", places[i-1], places[i], formatNumber(ps[i-1].x), withUnit(ps[i].x, unit))
			return a, nil
		}
	}
	return a, nil
}

// plateau: numbers stay within so much of each other, over at least
// plateauLevels different values of what is varied where that is given.
type plateau struct {
	Of     []string `yaml:"of"`
	Rows   []string `yaml:"rows"`
	Within *float64 `yaml:"within"`
	Over   []string `yaml:"over"`
}

// plateauLevels: two alike values are a coincidence before they are a plateau.
const plateauLevels = 3

func (c *plateau) run(f *figures) (answer, error) {
	ps, unit, err := f.points("of", c.Of, c.Rows)
	if err != nil {
		return answer{}, err
	}
	if c.Within == nil || *c.Within < 0 || !usable(*c.Within) {
		return answer{}, at("within", "it says how far apart the numbers may be, in their unit, and is not negative")
	}
	if len(ps) < 2 {
		return answer{}, at("of", "it takes two numbers or more to stay level")
	}
	lo, hi := bounds(ps)
	apart := hi - lo
	if unit == "%" {
		unit = "points"
	}
	a := answer{outcome: Holds, computed: &apart, claimed: &Span{Hi: c.Within}, unit: unit}
	a.gives = fmt.Sprintf("%s: %s apart", arrows(ps), withUnit(rounded(apart), unit))
	// The margin is compared after rounding: 85.7 − 85.2 is 0.5.
	if rounded(apart) > *c.Within {
		a.outcome = Contradicts
		a.gives += fmt.Sprintf(", more than %s", withUnit(*c.Within, unit))
		return a, nil
	}
	if len(c.Over) == 0 {
		return a, nil
	}
	pairs, _, err := f.paired(ps, "over", c.Over, c.Rows)
	if err != nil {
		return answer{}, err
	}
	var levels []string
	for _, p := range pairs {
		if level := formatNumber(p.x); !slices.Contains(levels, level) {
			levels = append(levels, level)
		}
	}
	a.gives += fmt.Sprintf(" at %s of %s", strings.Join(c.Over, " and "), strings.Join(levels, ", "))
	if len(levels) < plateauLevels {
		a.outcome = DoesNotFollow
		a.gives += fmt.Sprintf(", and a plateau takes %d different ones", plateauLevels)
	}
	return a, nil
}

// proportional: one column is a constant times another.
type proportional struct {
	Y         []string `yaml:"y"`
	X         []string `yaml:"x"`
	Rows      []string `yaml:"rows"`
	Tolerance *float64 `yaml:"tolerance"`
}

func (c *proportional) run(f *figures) (answer, error) {
	ys, yUnit, err := f.points("y", c.Y, c.Rows)
	if err != nil {
		return answer{}, err
	}
	pairs, xUnit, err := f.paired(ys, "x", c.X, c.Rows)
	if err != nil {
		return answer{}, err
	}
	tolerance, err := f.or("tolerance", c.Tolerance)
	if err != nil {
		return answer{}, err
	}
	var factors []point
	for _, p := range pairs {
		if p.x == 0 {
			return answer{}, at("x", "it is 0 in row %s; a proportion is to another number", p.label)
		}
		factors = append(factors, point{p.label, p.y / p.x})
	}
	if len(factors) < 2 {
		return answer{}, at("y", "it takes two rows or more to be proportional")
	}
	lo, hi := bounds(factors)
	mid := (lo + hi) / 2
	a := answer{outcome: Holds, unit: "×", gives: fmt.Sprintf("%s per %s is %s", yUnit, xUnit, arrows(factors))}
	if hi-lo > 2*tolerance*max(mid, -mid) {
		grow, base := factors[len(factors)-1].x/factors[0].x, 1.0
		a.outcome = DoesNotFollow
		a.gives += ", not one factor"
		if factors[0].x != 0 {
			a.computed, a.claimed = &grow, &Span{&base, &base}
		}
	}
	return a, nil
}

// threshold: in a range of a column things fail. A case in the range that did
// not fail speaks against it.
type threshold struct {
	Of   []string `yaml:"of"`
	Fail []string `yaml:"fail"`
	Rows []string `yaml:"rows"`
	At   *Span    `yaml:"at"`
}

func (c *threshold) run(f *figures) (answer, error) {
	if c.At == nil {
		return answer{}, at("at", "the range in which it fails is missing")
	}
	fails, _, err := f.points("fail", c.Fail, c.Rows)
	if err != nil {
		return answer{}, err
	}
	pairs, unit, err := f.paired(fails, "of", c.Of, c.Rows)
	if err != nil {
		return answer{}, err
	}
	var failed, stood []point
	for _, p := range pairs {
		switch {
		case !c.At.has(p.x, 0):
		case p.y > 0:
			failed = append(failed, point{p.label, p.x})
		default:
			stood = append(stood, point{p.label, p.x})
		}
	}
	a := answer{outcome: Holds, claimed: c.At, unit: unit}
	switch {
	case len(stood) > 0:
		a.outcome, a.computed = Contradicts, &stood[0].x
		a.gives = fmt.Sprintf("at %s these did not fail: %s", c.At.text(unit), labelled(stood))
		if len(failed) > 0 {
			a.gives += fmt.Sprintf("; failed: %s", labelled(failed))
		}
	case len(failed) == 0:
		a.outcome = DoesNotFollow
		a.gives = fmt.Sprintf("nothing failed at %s", c.At.text(unit))
	default:
		a.computed = &failed[0].x
		a.gives = fmt.Sprintf("at %s all failed: %s", c.At.text(unit), labelled(failed))
	}
	return a, nil
}

// pair is one row of two columns.
type pair struct {
	label string
	y, x  float64
}

// paired finds the numbers of other columns in the rows of ys.
func (f *figures) paired(ys []point, field string, names, rows []string) ([]pair, string, error) {
	xs, unit, err := f.points(field, names, rows)
	if err != nil {
		return nil, "", err
	}
	var pairs []pair
	for _, y := range ys {
		if i := slices.IndexFunc(xs, func(x point) bool { return x.label == y.label }); i >= 0 {
			pairs = append(pairs, pair{y.label, y.x, xs[i].x})
		}
	}
	if len(pairs) == 0 {
		return nil, "", at(field, "it has no row in common with the other column")
	}
	return pairs, unit, nil
}
