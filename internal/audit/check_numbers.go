package audit

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"brink/internal/experiment"
)

// percentChange: from one figure to another it changed by so many percent.
type percentChange struct {
	From      string   `yaml:"from"`
	To        string   `yaml:"to"`
	Claimed   *Span    `yaml:"claimed"`
	Tolerance *float64 `yaml:"tolerance"`
}

func (c *percentChange) run(f *figures) (answer, error) {
	from, unit, err := f.number("from", c.From)
	if err != nil {
		return answer{}, err
	}
	to, _, err := f.number("to", c.To)
	if err != nil {
		return answer{}, err
	}
	if from == 0 {
		return answer{}, at("from", "it is 0; a change in percent starts from another number")
	}
	change := 100 * (to - from) / from
	a, err := compare(f, change, c.Claimed, c.Tolerance, "%")
	if err != nil {
		return answer{}, err
	}
	a.gives = fmt.Sprintf("%s → %s is %s", formatNumber(from), withUnit(to, unit), signed(math.Round(change*10)/10, "%"))
	if a.outcome == Holds {
		return a, nil
	}
	a.gives += ", not " + signedSpan(c.Claimed, "%")
	if c.Claimed.exact() && *c.Claimed.Lo > -100 {
		a.gives += "; " + f.otherStart(to, *c.Claimed.Lo, unit)
	}
	return a, nil
}

// sameNumber is how near a published figure is to a wanted one when the two
// are taken to be the same: both were rounded, to three digits or so.
const sameNumber = 0.005

// otherStart looks for the published figure, or the difference of the end and
// a published figure, from which the claimed change would follow.
func (f *figures) otherStart(to, claimed float64, unit string) string {
	start := to / (1 + claimed/100)
	same := func(x float64) bool { return math.Abs(x-start) <= sameNumber*math.Abs(start) }
	var found []string
	for _, p := range f.inUnit(unit) {
		if same(p.x) {
			found = append(found, p.label)
		}
		if same(to-p.x) && p.x != 0 {
			found = append(found, fmt.Sprintf("the end less %s (%s)", p.label, formatNumber(p.x)))
		}
	}
	text := fmt.Sprintf("%s takes a start of %s", signed(claimed, "%"), withUnit(rounded(start), unit))
	if len(found) == 0 {
		return text + ", which is not published"
	}
	return text + ": " + strings.Join(found, ", or ")
}

// ratio: one figure is so many times another.
type ratio struct {
	Of        string   `yaml:"of"`
	To        string   `yaml:"to"`
	Claimed   *Span    `yaml:"claimed"`
	Tolerance *float64 `yaml:"tolerance"`
}

func (c *ratio) run(f *figures) (answer, error) {
	of, unit, err := f.number("of", c.Of)
	if err != nil {
		return answer{}, err
	}
	to, other, err := f.number("to", c.To)
	if err != nil {
		return answer{}, err
	}
	if to == 0 {
		return answer{}, at("to", "it is 0; a ratio is to another number")
	}
	if unit != "" && other != "" && unit != other {
		return answer{}, at("to", "%s is in %q and %s in %q", c.To, other, c.Of, unit)
	}
	a, err := compare(f, of/to, c.Claimed, c.Tolerance, "×")
	if err != nil {
		return answer{}, err
	}
	a.gives = fmt.Sprintf("%s / %s is %s", formatNumber(of), withUnit(to, unit), withUnit(rounded(of/to), "×"))
	if a.outcome != Holds {
		a.gives += ", not " + c.Claimed.text("×")
	}
	return a, nil
}

// compare answers whether a computed number is the claimed one.
func compare(f *figures, computed float64, claimed *Span, own *float64, unit string) (answer, error) {
	if claimed == nil {
		return answer{}, at("claimed", "the claimed number is missing")
	}
	tolerance, err := f.or("tolerance", own)
	if err != nil {
		return answer{}, err
	}
	a := answer{outcome: DoesNotFollow, computed: &computed, claimed: claimed, unit: unit}
	if claimed.has(computed, tolerance) {
		a.outcome = Holds
	}
	return a, nil
}

// formula: a formula over figures gives a claimed number, or a published one.
// Variables may stand for columns; then it is computed for each row that all
// of them have.
type formula struct {
	Formula   string            `yaml:"formula"`
	With      map[string]string `yaml:"with"`
	Rows      []string          `yaml:"rows"`
	Unit      string            `yaml:"unit"`
	Claimed   *Span             `yaml:"claimed"`
	Observed  string            `yaml:"observed"`
	Tolerance *float64          `yaml:"tolerance"`
}

func (c *formula) run(f *figures) (answer, error) {
	claimed, word := c.Claimed, "claimed"
	if (c.Observed == "") == (claimed == nil) {
		return answer{}, at("formula", "give exactly one of claimed and observed")
	}
	if c.Observed != "" {
		x, _, err := f.number("observed", c.Observed)
		if err != nil {
			return answer{}, err
		}
		claimed, word = &Span{&x, &x}, "observed"
	}
	results, err := c.compute(f)
	if err != nil {
		return answer{}, err
	}
	a, err := compare(f, results[0].x, claimed, c.Tolerance, c.Unit)
	if err != nil {
		return answer{}, err
	}
	a.gives = fmt.Sprintf("%s is %s", c.Formula, withUnit(rounded(results[0].x), c.Unit))
	if len(results) > 1 {
		return c.rows(f, a, results)
	}
	if a.outcome == Holds {
		a.gives += fmt.Sprintf(" (%s %s)", word, claimed.text(c.Unit))
	} else {
		a.gives += fmt.Sprintf(", and not the %s %s", word, claimed.text(c.Unit))
	}
	return a, nil
}

// rows answers for a formula with a result per row: all must be as claimed.
func (c *formula) rows(f *figures, a answer, results []point) (answer, error) {
	tolerance, err := f.or("tolerance", c.Tolerance)
	if err != nil {
		return answer{}, err
	}
	var off []point
	for _, r := range results {
		if !a.claimed.has(r.x, tolerance) {
			off = append(off, r)
		}
	}
	a.gives = fmt.Sprintf("%s is %s in %d rows", c.Formula, extent(results, c.Unit), len(results))
	if len(off) == 0 {
		a.outcome = Holds
		return a, nil
	}
	a.outcome, a.computed = DoesNotFollow, &off[0].x
	a.gives += fmt.Sprintf("; not %s: %s", a.claimed.text(c.Unit), labelled(off))
	return a, nil
}

// compute evaluates the formula once, or once per common row.
func (c *formula) compute(f *figures) ([]point, error) {
	if strings.TrimSpace(c.Formula) == "" {
		return nil, at("formula", "the formula is missing")
	}
	fixed := map[string]float64{}
	columns := map[string][]point{}
	var labels []string
	for _, name := range slices.Sorted(maps.Keys(c.With)) {
		ref, field := c.With[name], "with."+name
		if _, _, isColumn := f.find(ref); !isColumn {
			x, _, err := f.number(field, ref)
			if err != nil {
				return nil, err
			}
			fixed[name] = x
			continue
		}
		ps, _, err := f.column(field, ref, c.Rows)
		if err != nil {
			return nil, err
		}
		if columns[name] = ps; len(columns) == 1 {
			labels = labelsOf(ps)
		}
	}
	if len(columns) == 0 {
		x, err := evaluate(c.Formula, fixed)
		return []point{{"", x}}, err
	}
	var results []point
	for _, label := range labels {
		vars, ok := bind(fixed, columns, label)
		if !ok {
			continue
		}
		x, err := evaluate(c.Formula, vars)
		if err != nil {
			return nil, err
		}
		results = append(results, point{label, x})
	}
	if len(results) == 0 {
		return nil, at("with", "the columns have no row in common")
	}
	return results, nil
}

// bind gives each variable its number in a row, if all have one.
func bind(fixed map[string]float64, columns map[string][]point, label string) (map[string]float64, bool) {
	vars := maps.Clone(fixed)
	for name, ps := range columns {
		i := slices.IndexFunc(ps, func(p point) bool { return p.label == label })
		if i < 0 {
			return nil, false
		}
		vars[name] = ps[i].x
	}
	return vars, true
}

func evaluate(text string, vars map[string]float64) (float64, error) {
	x, err := experiment.EvalFormula(text, vars)
	if err != nil {
		return 0, at("formula", "%v", err)
	}
	if !(math.Abs(x) <= largest) {
		return 0, at("formula", "its result is beyond 1e15")
	}
	return x, nil
}

// consistency: several statements about one quantity give one number.
type consistency struct {
	Statements []statement `yaml:"statements"`
	Unit       string      `yaml:"unit"`
	Tolerance  *float64    `yaml:"tolerance"`
}

// statement is what one place of the publication says about the quantity.
type statement struct {
	Says    string            `yaml:"says"`
	Formula string            `yaml:"formula"`
	With    map[string]string `yaml:"with"`
}

func (c *consistency) run(f *figures) (answer, error) {
	if len(c.Statements) < 2 {
		return answer{}, at("statements", "it takes two statements or more to be consistent")
	}
	tolerance, err := f.or("tolerance", c.Tolerance)
	if err != nil {
		return answer{}, err
	}
	a := answer{outcome: Holds, unit: c.Unit}
	var parts []string
	var first float64
	for i, s := range c.Statements {
		vars := map[string]float64{}
		field := fmt.Sprintf("statements[%d]", i)
		for _, name := range slices.Sorted(maps.Keys(s.With)) {
			if vars[name], _, err = f.number(field+".with."+name, s.With[name]); err != nil {
				return answer{}, err
			}
		}
		x, err := evaluate(s.Formula, vars)
		if err != nil {
			return answer{}, nest(field, err)
		}
		parts = append(parts, fmt.Sprintf("%s: %s", s.Says, withUnit(rounded(x), c.Unit)))
		if i == 0 {
			first = x
			a.claimed = &Span{&first, &first}
		} else if a.outcome == Holds {
			if a.computed = &x; !a.claimed.has(x, tolerance) {
				a.outcome = Contradicts
			}
		}
	}
	a.gives = strings.Join(parts, "; ")
	return a, nil
}

// nest puts the field of an error under another.
func nest(field string, err error) error {
	var fe *fieldError
	if errors.As(err, &fe) {
		return &fieldError{field + "." + fe.field, fe.message}
	}
	return err
}
