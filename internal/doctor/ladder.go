package doctor

import (
	"math"
	"slices"
	"strconv"

	"brink/internal/evidence"
	"brink/internal/phrase"
)

// ladder is a table whose rows put more and more on one plan.
type ladder struct {
	table *evidence.Table
	steps []step
}

// step is one row of a ladder.
type step struct {
	label                                    string
	apps, alloc                              evidence.Value // how much was put on it
	memory, cpu, errors, coldStart, response evidence.Value
	row                                      int
}

var stepLabel = expression(`^(\d+) ?[x×] ?(\d+(?:\.\d+)?) ?(?:MB|MiB)?$`)

// ladders are the tables that have memory per step.
func (l *look) ladders() []ladder {
	var all []ladder
	for i := range l.Tables {
		t := &l.Tables[i]
		if t.Column("MemoryPercentage") < 0 || len(t.Rows) < 2 {
			continue
		}
		b := ladder{table: t}
		for r := range t.Rows {
			s := step{
				label: t.Rows[r].Label, row: r, apps: t.Value(r, "apps"), memory: t.Value(r, "MemoryPercentage"), cpu: t.Value(r, "CpuPercentage"),
				errors: t.Value(r, "Http5xx"), coldStart: t.Value(r, "cold_start"), response: t.Value(r, "AverageResponseTime"),
			}
			s.named(t)
			b.steps = append(b.steps, s)
		}
		if b.falls() {
			slices.Reverse(b.steps)
		}
		all = append(all, b)
	}
	return all
}

// falls reports whether the table has the largest demand first.
func (b *ladder) falls() bool {
	for i := 1; i < len(b.steps); i++ {
		if !(b.steps[i].demand() < b.steps[i-1].demand()) {
			return false
		}
	}
	return true
}

// named reads what a label such as "6x50MB" says of the demand.
func (s *step) named(t *evidence.Table) {
	s.alloc = evidence.Missing(evidence.NotSeen, "the label does not tell")
	m := stepLabel().FindStringSubmatch(s.label)
	if m == nil {
		s.alloc = t.Value(s.row, "alloc")
		switch {
		case s.label != "":
		case s.apps.Known:
			s.label = phrase.Whole(s.apps.Number) + " apps"
		case s.alloc.Known:
			s.label = Show(s.alloc)
		default:
			s.label = "row " + strconv.Itoa(s.row+1)
		}
		return
	}
	at := evidence.Source{File: t.File, Line: t.Rows[s.row].Line}
	n, _ := strconv.ParseFloat(m[1], 64)
	mb, _ := strconv.ParseFloat(m[2], 64)
	s.alloc = evidence.Known(mb, "MB", at)
	if !s.apps.Known {
		s.apps = evidence.Known(n, evidence.Events, at)
	}
}

// demand is how much was asked for, comparable along the ladder; NaN if it is
// not told.
func (s *step) demand() float64 {
	switch {
	case s.apps.Known && s.alloc.Known:
		return s.apps.Number * s.alloc.Number
	case s.apps.Known:
		return s.apps.Number
	case s.alloc.Known:
		return s.alloc.Number
	}
	return math.NaN()
}

// grew reports whether a value is at least so many times an earlier one.
func grew(from, to evidence.Value, times float64) bool {
	return from.Above(0) && to.Known && to.Number >= times*from.Number
}
