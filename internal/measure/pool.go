package measure

import (
	"fmt"

	"brink/internal/metric"
)

// Pool puts the repetitions of several runs of one experiment into one table.
// The tables must have the same steps; the caller sees to it that they belong
// together. Repetitions are numbered on from run to run, so that those of one
// round keep a number in common; their ids stay those of their own records. What
// describes all requests of a step together (P95, P99) cannot be pooled.
func Pool(tables ...*Table) (*Table, error) {
	if len(tables) == 0 {
		return nil, fmt.Errorf("nothing to pool")
	}
	steps := make([]StepInfo, len(tables[0].Steps))
	for i, s := range tables[0].Steps {
		steps[i].Step = s.Step
		missing := Value{Missing: "requests of several runs are not pooled"}
		steps[i].P95, steps[i].P99 = missing, missing
	}
	cells := map[string]*Cell{}
	var order []*Cell
	offset := 0
	for _, t := range tables {
		if len(t.Steps) != len(steps) {
			return nil, fmt.Errorf("tables of %d and %d steps cannot be pooled", len(steps), len(t.Steps))
		}
		highest := 0
		for i := range steps {
			from, ok := t.Step(steps[i].Name)
			if !ok {
				return nil, fmt.Errorf("step %s is not in every table", steps[i].Name)
			}
			steps[i].Requests += from.Requests
			steps[i].Failed += from.Failed
			for _, rep := range from.Repetitions {
				highest = max(highest, rep.Number)
				rep.Number += offset
				steps[i].Repetitions = append(steps[i].Repetitions, rep)
			}
			for _, m := range metric.All() {
				key := steps[i].Name + "\x00" + m.Name
				if cells[key] == nil {
					cells[key] = &Cell{Metric: m, Step: steps[i].Name}
					order = append(order, cells[key])
				}
				cells[key].append(t.Cell(steps[i].Name, m.Name), offset)
			}
		}
		offset += highest
	}
	all := make([]Cell, len(order))
	for i, c := range order {
		all[i] = *c
	}
	pooled := Assemble(steps, all)
	pooled.MachineCPUs, pooled.MachineMB = tables[0].MachineCPUs, tables[0].MachineMB
	return pooled, nil
}

// append adds another run's values, numbered on from offset.
func (c *Cell) append(o Cell, offset int) {
	renumbered := func(vs []Value) []Value {
		out := make([]Value, len(vs))
		for i, v := range vs {
			v.Number += offset
			out[i] = v
		}
		return out
	}
	c.Values = append(c.Values, renumbered(o.Values)...)
	c.Twins = append(c.Twins, renumbered(o.Twins)...)
	c.Phases = append(c.Phases, renumbered(o.Phases)...)
}
