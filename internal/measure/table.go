// Package measure computes metrics from a record: every number of a report
// is computed here, once.
package measure

import (
	"slices"

	"brink/internal/metric"
)

// Value is one metric in one repetition.
type Value struct {
	// Repetition is the repetition's id in the record; Number counts from 1
	// within the step.
	Repetition int64   `json:"repetition"`
	Number     int     `json:"number"`
	X          float64 `json:"x"`
	// Censored marks a value known only to be at least X.
	Censored bool `json:"censored,omitempty"`
	// Missing says why there is no value; X is then 0 and must not be used.
	Missing string `json:"missing,omitempty"`
	// N is the number of requests or samples behind the value.
	N int64 `json:"n"`
}

// Cell is one metric of one step over its repetitions, in order of Number.
type Cell struct {
	Metric metric.Metric `json:"metric"`
	Step   string        `json:"step"`
	Values []Value       `json:"values"`
	// Twins are the values of the second executions of the baseline.
	Twins []Value `json:"twins,omitempty"`
	// Phases are the single phases of an intervention; Values then holds one
	// mean per repetition.
	Phases []Value `json:"phases,omitempty"`
}

// Usable returns the values that are present.
func (c Cell) Usable() []Value {
	var v []Value
	for _, x := range c.Values {
		if x.Missing == "" {
			v = append(v, x)
		}
	}
	return v
}

// addPhase keeps a phase and folds it into its repetition's mean, so that one
// repetition stays one value.
func (c *Cell) addPhase(v Value) {
	c.Phases = append(c.Phases, v)
	for i := range c.Values {
		w := &c.Values[i]
		if w.Number != v.Number {
			continue
		}
		switch {
		case w.Missing != "":
		case v.Missing != "":
			w.X, w.Censored, w.Missing = 0, false, v.Missing
		default:
			w.X = (w.X + v.X) / 2
			w.Censored = w.Censored || v.Censored
			w.N += v.N
		}
		return
	}
	c.Values = append(c.Values, v)
}

// Assemble makes a table of cells that were measured elsewhere: several runs
// pooled, or an experiment that was simulated. A cell's step must be among the
// steps.
func Assemble(steps []StepInfo, cells []Cell) *Table {
	t := &Table{Steps: steps, cells: map[string]map[string]*Cell{}}
	for _, c := range cells {
		if t.cells[c.Step] == nil {
			t.cells[c.Step] = map[string]*Cell{}
		}
		t.cells[c.Step][c.Metric.Name] = &c
	}
	return t
}

// Without returns the table as it is with some repetitions left out of every
// metric. The table itself stays as it is.
func (t *Table) Without(left ...Exclusion) *Table {
	out := &Table{Steps: t.Steps, MachineCPUs: t.MachineCPUs, MachineMB: t.MachineMB, cells: map[string]map[string]*Cell{}}
	for step, cells := range t.cells {
		out.cells[step] = map[string]*Cell{}
		for name, c := range cells {
			d := *c
			d.Values = slices.Clone(c.Values)
			d.Phases = slices.Clone(c.Phases)
			for _, x := range left {
				if x.Step == step {
					leaveOut(d.Values, x)
					leaveOut(d.Phases, x)
				}
			}
			out.cells[step][name] = &d
		}
	}
	return out
}

func leaveOut(values []Value, x Exclusion) {
	for i := range values {
		if values[i].Number == x.Number {
			values[i].X, values[i].Missing = 0, "excluded: "+x.Reason
		}
	}
}
