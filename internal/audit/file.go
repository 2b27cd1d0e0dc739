package audit

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"brink/internal/verdict"
)

// document is a reference file.
type document struct {
	Name   string `yaml:"name"`
	Title  string `yaml:"title"`
	Source Source `yaml:"source"`
	// Tolerance is how far a computed number may be from a claimed one, as a
	// share of the claimed one, where a check does not say.
	Tolerance *float64 `yaml:"tolerance"`
	// Repetitions is how many repetitions stand behind each claim that does
	// not say.
	Repetitions *int `yaml:"repetitions"`

	Figures map[string]figure `yaml:"figures"`
	Tables  map[string]table  `yaml:"tables"`
	Claims  []claim           `yaml:"claims"`
}

// figure is one published number.
type figure struct {
	Value   *float64 `yaml:"value"`
	Unit    string   `yaml:"unit"`
	Section string   `yaml:"section"`
	About   string   `yaml:"about"`
}

// table is a published table, by columns.
type table struct {
	Section string            `yaml:"section"`
	About   string            `yaml:"about"`
	Rows    []string          `yaml:"rows"`
	Columns map[string]column `yaml:"columns"`
}

// column has one value per row; null is a cell without a number.
type column struct {
	Unit   string     `yaml:"unit"`
	Values []*float64 `yaml:"values"`
}

type claim struct {
	ID           string        `yaml:"id"`
	Section      string        `yaml:"section"`
	Says         string        `yaml:"says"`
	Kind         Kind          `yaml:"kind"`
	Intervention bool          `yaml:"intervention"`
	Level        verdict.Level `yaml:"level"`
	Repetitions  *int          `yaml:"repetitions"`
	Note         string        `yaml:"note"`

	// Exactly one of the two: how to compute it, or why that cannot be done.
	Check     *checks `yaml:"check"`
	Unchecked string  `yaml:"unchecked"`
}

// checks holds exactly one check.
type checks struct {
	PercentChange   *percentChange   `yaml:"percent_change"`
	Ratio           *ratio           `yaml:"ratio"`
	Formula         *formula         `yaml:"formula"`
	Consistency     *consistency     `yaml:"consistency"`
	Range           *rangeCheck      `yaml:"range"`
	Monotone        *monotone        `yaml:"monotone"`
	Plateau         *plateau         `yaml:"plateau"`
	Proportional    *proportional    `yaml:"proportional"`
	Threshold       *threshold       `yaml:"threshold"`
	ClockResolution *clockResolution `yaml:"clock_resolution"`
	BlindMeasure    *blindMeasure    `yaml:"blind_measure"`
	Definition      *definition      `yaml:"definition"`
	QueryColumns    *queryColumns    `yaml:"query_columns"`
	ExitCode        *exitCode        `yaml:"exit_code"`
}

// check computes a claim. An error is a mistake in the file.
type check interface {
	run(f *figures) (answer, error)
}

// answer is what a check found.
type answer struct {
	outcome  Outcome
	computed *float64
	claimed  *Span
	unit     string
	gives    string
}

// one returns the single check that is there, with its name in the file.
func (c *checks) one() (string, check, error) {
	var name string
	var found check
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		if v.Field(i).IsNil() {
			continue
		}
		if found != nil {
			found = nil
			break
		}
		name = v.Type().Field(i).Tag.Get("yaml")
		found = v.Field(i).Interface().(check)
	}
	if found == nil {
		return "", nil, errors.New("a check has exactly one kind: " + checkKinds)
	}
	return name, found, nil
}

const checkKinds = "blind_measure, clock_resolution, consistency, definition, exit_code, formula, " +
	"monotone, percent_change, plateau, proportional, query_columns, range, ratio or threshold"

// Span is a claimed number or a range of them. A side without a bound is nil.
type Span struct {
	Lo *float64 `json:"lo,omitempty"`
	Hi *float64 `json:"hi,omitempty"`
}

// UnmarshalYAML reads a number, or a mapping with from, to or both.
func (s *Span) UnmarshalYAML(n ast.Node) error {
	wrong := func(message string) error { return &textError{lineOfNode(n), message} }
	var x float64
	if err := yaml.NodeToValue(n, &x); err == nil && usable(x) {
		s.Lo, s.Hi = &x, &x
		return nil
	}
	var ends map[string]float64
	if err := yaml.NodeToValue(n, &ends); err != nil || len(ends) == 0 {
		return wrong("what is claimed is a number, or a range with from, to or both")
	}
	for key, x := range ends {
		switch {
		case !usable(x):
			return wrong("an end of a range is " + usableRange)
		case key == "from":
			s.Lo = &x
		case key == "to":
			s.Hi = &x
		default:
			return wrong(fmt.Sprintf("a range has from, to or both, and no %q", key))
		}
	}
	if s.Lo != nil && s.Hi != nil && *s.Lo > *s.Hi {
		return wrong("a range goes from a lower number to a higher one")
	}
	return nil
}

// has tells whether x lies in the span, with its ends moved outwards by a
// share of themselves.
func (s *Span) has(x, tolerance float64) bool {
	return (s.Lo == nil || x >= *s.Lo-tolerance*math.Abs(*s.Lo)) && (s.Hi == nil || x <= *s.Hi+tolerance*math.Abs(*s.Hi))
}

// exact tells whether the span is one number.
func (s *Span) exact() bool {
	return s.Lo != nil && s.Hi != nil && *s.Lo == *s.Hi
}

func (s *Span) text(unit string) string {
	switch {
	case s.exact():
		return withUnit(*s.Lo, unit)
	case s.Hi == nil:
		return withUnit(*s.Lo, unit) + " or more"
	case s.Lo == nil:
		return withUnit(*s.Hi, unit) + " or less"
	}
	return formatNumber(*s.Lo) + " to " + withUnit(*s.Hi, unit)
}
