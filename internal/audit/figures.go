package audit

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// largest bounds what a file may give as a number, and 1/largest what is not
// 0, so that no computation leaves the range of float64.
const (
	largest     = 1e15
	usableRange = "0 or a number of a size between 1e-15 and 1e15"
)

func usable(x float64) bool {
	size := math.Abs(x)
	return size == 0 || size >= 1/largest && size <= largest
}

// figures are the published numbers of one file.
//
// A name has one part for a figure (workers), two for a column of a table
// (scenarios.wall) and three for a cell (scenarios.S4.wall). Where a name is
// wanted, a number stands for itself.
type figures struct {
	scalars   map[string]figure
	tables    map[string]table
	tolerance float64
	// used collects the names that a check asked for.
	used []string
}

// point is a number with the place that it comes from.
type point struct {
	label string
	x     float64
}

func (f *figures) use(name string) {
	if !slices.Contains(f.used, name) {
		f.used = append(f.used, name)
	}
}

// number resolves a figure, a cell or a literal number.
func (f *figures) number(field, name string) (float64, string, error) {
	if x, err := strconv.ParseFloat(name, 64); err == nil {
		if !usable(x) {
			return 0, "", at(field, "%s is not %s", name, usableRange)
		}
		return x, "", nil
	}
	switch parts := strings.Split(name, "."); len(parts) {
	case 1:
		if s, ok := f.scalars[name]; ok {
			f.use(name)
			return *s.Value, s.Unit, nil
		}
	case 3:
		c, ok := f.tables[parts[0]].Columns[parts[2]]
		row := slices.Index(f.tables[parts[0]].Rows, parts[1])
		if ok && row >= 0 && c.Values[row] != nil {
			f.use(name)
			return *c.Values[row], c.Unit, nil
		}
		if ok && row >= 0 {
			return 0, "", at(field, "%s has no number in its cell", name)
		}
	}
	return 0, "", f.unknown(field, name)
}

// points resolves names of figures, cells and columns into numbers with their
// places. From columns only the given rows are taken, or all without rows.
// Empty cells are left out.
func (f *figures) points(field string, names, rows []string) ([]point, string, error) {
	var all []point
	unit := ""
	for i, name := range names {
		place := fmt.Sprintf("%s[%d]", field, i)
		ps, u, err := f.column(place, name, rows)
		if err != nil {
			return nil, "", err
		}
		if i > 0 && u != unit {
			return nil, "", at(place, "%s is in %q and what stands before it in %q", name, u, unit)
		}
		unit = u
		all = append(all, ps...)
	}
	if len(all) == 0 {
		return nil, "", at(field, "there is no number in it")
	}
	return all, unit, nil
}

func (f *figures) column(field, name string, rows []string) ([]point, string, error) {
	t, c, ok := f.find(name)
	if !ok {
		x, unit, err := f.number(field, name)
		label := name
		if parts := strings.Split(name, "."); len(parts) == 3 {
			label = parts[1]
		}
		return []point{{label, x}}, unit, err
	}
	for i, r := range rows {
		if !slices.Contains(t.Rows, r) {
			return nil, "", at(fmt.Sprintf("rows[%d]", i), "%q is no row of %s; it has %s", r, name, strings.Join(t.Rows, ", "))
		}
	}
	f.use(name)
	var ps []point
	for i, r := range t.Rows {
		if c.Values[i] != nil && (len(rows) == 0 || slices.Contains(rows, r)) {
			ps = append(ps, point{r, *c.Values[i]})
		}
	}
	return ps, c.Unit, nil
}

// find looks a column up.
func (f *figures) find(name string) (table, column, bool) {
	id, col, ok := strings.Cut(name, ".")
	if !ok {
		return table{}, column{}, false
	}
	t := f.tables[id]
	c, ok := t.Columns[col]
	return t, c, ok
}

// inUnit lists all figures and cells in a unit, in a fixed order.
func (f *figures) inUnit(unit string) []point {
	var all []point
	for _, name := range slices.Sorted(maps.Keys(f.scalars)) {
		if f.scalars[name].Unit == unit {
			all = append(all, point{name, *f.scalars[name].Value})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(f.tables)) {
		t := f.tables[id]
		for _, name := range slices.Sorted(maps.Keys(t.Columns)) {
			for i, v := range t.Columns[name].Values {
				if v != nil && t.Columns[name].Unit == unit {
					all = append(all, point{id + "." + t.Rows[i] + "." + name, *v})
				}
			}
		}
	}
	return all
}

// or is the check's own tolerance, or the file's.
func (f *figures) or(field string, own *float64) (float64, error) {
	if own == nil {
		return f.tolerance, nil
	}
	return *own, tolerable(field, *own)
}

func tolerable(field string, x float64) error {
	if !(x >= 0 && x < 1) {
		return at(field, "a tolerance is a share of the claimed number, from 0 to below 1")
	}
	return nil
}

func (f *figures) unknown(field, name string) error {
	parts := strings.Split(name, ".")
	if t, ok := f.tables[parts[0]]; ok && len(parts) > 1 {
		return at(field, "%q is no figure; table %s has the columns %s and the rows %s",
			name, parts[0], strings.Join(slices.Sorted(maps.Keys(t.Columns)), ", "), strings.Join(t.Rows, ", "))
	}
	return at(field, "%q is no figure of this file; write figure, table.row.column or a number", name)
}

// fieldError is a mistake at a field of a check.
type fieldError struct {
	field   string
	message string
}

func (e *fieldError) Error() string { return e.message }

func at(field, format string, args ...any) error {
	return &fieldError{field, fmt.Sprintf(format, args...)}
}
