package audit

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

var (
	// identifier leaves dots out: they separate the parts of a name.
	identifier = expression(`^[a-z][a-z0-9_]*$`)
	claimID    = expression(`^[a-z0-9][a-z0-9-]*$`)
	rowName    = expression(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)
)

// expression is compiled when it is first used: most commands audit nothing.
func expression(source string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(source) })
}

// reference checks the document and computes its claims.
func (d *document) reference() (*Reference, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	r := &Reference{Name: d.Name, Title: d.Title, Source: d.Source}
	ids := map[string]bool{}
	for i, c := range d.Claims {
		field := fmt.Sprintf("claims[%d]", i)
		if ids[c.ID] {
			return nil, at(field+".id", "%q is the id of an earlier claim", c.ID)
		}
		ids[c.ID] = true
		result, err := d.audit(c)
		if err != nil {
			return nil, nest(field, err)
		}
		r.results = append(r.results, result)
	}
	return r, nil
}

// check looks at everything but the claims.
func (d *document) check() error {
	for _, f := range []struct{ field, value string }{
		{"name", d.Name}, {"title", d.Title},
		{"source.kind", d.Source.Kind}, {"source.date_of", d.Source.DateOf},
	} {
		if strings.TrimSpace(f.value) == "" {
			return at(f.field, "it is missing")
		}
	}
	if !claimID().MatchString(d.Name) {
		return at("name", "it has small letters, digits and hyphens")
	}
	if _, err := time.Parse(time.DateOnly, d.Source.Date); err != nil {
		return at("source.date", "it is a day such as \"2026-04-02\"")
	}
	if d.Tolerance == nil {
		return at("tolerance", "it is missing: how far a computed number may be from a claimed one, such as 0.05")
	}
	if err := tolerable("tolerance", *d.Tolerance); err != nil {
		return err
	}
	if d.Repetitions == nil || *d.Repetitions < 0 {
		return at("repetitions", "it says how many repetitions stand behind each claim, 0 or more")
	}
	if len(d.Claims) == 0 {
		return at("claims", "there is no claim in it")
	}
	for _, name := range slices.Sorted(maps.Keys(d.Figures)) {
		f := d.Figures[name]
		if err := checkNumber("figures."+name, name, f.Value); err != nil {
			return err
		}
		if f.Value == nil {
			return at("figures."+name, "its value is missing")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Tables)) {
		if err := d.Tables[name].check("tables."+name, name); err != nil {
			return err
		}
		if _, twice := d.Figures[name]; twice {
			return at("tables."+name, "a figure has the same name")
		}
	}
	return nil
}

func (t table) check(field, name string) error {
	if !identifier().MatchString(name) {
		return at(field, "a name has small letters, digits and underscores, and begins with a letter")
	}
	for i, r := range t.Rows {
		if !rowName().MatchString(r) {
			return at(fmt.Sprintf("%s.rows[%d]", field, i), "a row's name has letters, digits, hyphens and underscores")
		}
		if slices.Contains(t.Rows[:i], r) {
			return at(fmt.Sprintf("%s.rows[%d]", field, i), "%q is the name of an earlier row", r)
		}
	}
	for _, col := range slices.Sorted(maps.Keys(t.Columns)) {
		place := field + ".columns." + col
		c := t.Columns[col]
		if len(c.Values) != len(t.Rows) {
			return at(place, "it has %d values for %d rows; null stands for a cell without a number", len(c.Values), len(t.Rows))
		}
		if len(c.Values) == 0 {
			return at(place, "it has no values")
		}
		for _, v := range c.Values {
			if err := checkNumber(place, col, v); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkNumber(field, name string, x *float64) error {
	if !identifier().MatchString(name) {
		return at(field, "a name has small letters, digits and underscores, and begins with a letter")
	}
	if x != nil && !usable(*x) {
		return at(field, "a value is %s", usableRange)
	}
	return nil
}

// audit computes one claim.
func (d *document) audit(c claim) (Result, error) {
	n := *d.Repetitions
	if c.Repetitions != nil {
		n = *c.Repetitions
	}
	if err := c.check(n); err != nil {
		return Result{}, err
	}
	r := Result{
		Claim: c.ID, Section: c.Section, Says: c.Says, Kind: c.Kind, Note: c.Note,
		Repetitions: n, PageLevel: c.Level, Level: levelAllowed(n, c.Kind, c.Intervention),
	}
	r.Overstated = overstated(r.PageLevel, r.Level, n)
	if c.Check == nil {
		r.Outcome, r.Gives = CannotBeChecked, c.Unchecked
		return r, nil
	}
	kind, check, err := c.Check.one()
	if err != nil {
		return Result{}, &fieldError{"check", err.Error()}
	}
	f := &figures{scalars: d.Figures, tables: d.Tables, tolerance: *d.Tolerance}
	a, err := check.run(f)
	if err != nil {
		return Result{}, nest("check."+kind, err)
	}
	r.Check, r.Figures = kind, f.used
	r.Outcome, r.Computed, r.Claimed, r.Unit, r.Gives = a.outcome, a.computed, a.claimed, a.unit, a.gives
	return r, nil
}

func (c claim) check(repetitions int) error {
	switch {
	case !claimID().MatchString(c.ID):
		return at("id", "it has small letters, digits and hyphens")
	case strings.TrimSpace(c.Section) == "":
		return at("section", "it is missing: where the claim stands")
	case strings.TrimSpace(c.Says) == "":
		return at("says", "it is missing: what the claim says")
	case c.Kind != Descriptive && c.Kind != Association && c.Kind != Causal:
		return at("kind", "it is descriptive, association or causal")
	case c.Intervention && c.Kind != Causal:
		return at("intervention", "only a causal claim rests on one")
	case repetitions < 0:
		return at("repetitions", "it is 0 or more")
	case (c.Check == nil) == (strings.TrimSpace(c.Unchecked) == ""):
		return at("check", "give exactly one of check and unchecked (why it cannot be checked)")
	}
	if _, ok := repetitionsNeeded[c.Level]; !ok && c.Level != "" {
		return at("level", "it is Measured, Observed, Strongly Suggested, Inferred, Correlated, Not Proven or Unknown")
	}
	return nil
}
