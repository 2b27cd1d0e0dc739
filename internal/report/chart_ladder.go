package report

import (
	"fmt"
	"slices"

	"brink/internal/metric"
	"brink/internal/phrase"
)

// LadderInput is one metric along ordered steps.
type LadderInput struct {
	ID, Title string
	Metric    metric.Metric
	// Steps stand in their order; at most 60 are drawn.
	Steps []LadderStep
	// Change is the index of the first step after the change point, 0 or less
	// for none.
	Change int
}

// LadderStep is one step with its repetitions.
type LadderStep struct {
	Step string
	// Median may be absent: a step that could not be measured keeps its place.
	Median  *float64
	AtLeast bool
	Values  []float64
}

const maxRungs = 60

// Ladder draws the medians of ordered steps as a line, the repetitions as
// points, and a line where the change point lies.
func Ladder(in LadderInput) (Chart, error) {
	steps := in.Steps[:min(len(in.Steps), maxRungs)]
	var medians, points []object
	var order []string
	for i, s := range steps {
		name := visible(s.Step)
		order = append(order, name)
		if s.Median == nil {
			// A gap in the line, so that it suggests nothing.
			medians = append(medians, object{"s": name, "v": nil, "i": i, "b": "value"})
		} else {
			if err := checkFinite(in.ID, *s.Median); err != nil {
				return Chart{}, err
			}
			row := object{"s": name, "v": round(*s.Median), "i": i, "b": "value"}
			if s.AtLeast {
				row["b"] = "at least"
			}
			medians = append(medians, row)
		}
		for _, j := range thin(len(s.Values), maxPoints/8) {
			if err := checkFinite(in.ID, s.Values[j]); err != nil {
				return Chart{}, err
			}
			points = append(points, object{"s": name, "v": round(s.Values[j])})
		}
	}
	measured := present(medians)
	if len(measured) == 0 {
		return Chart{}, fmt.Errorf("chart %s: %w", in.ID, errNothingToDraw)
	}
	spec := object{"height": 260, "layer": ladderLayers(in, order, medians, points)}
	note := "Line: medians in the order of the steps; points: repetitions; triangles are lower bounds."
	alt := fmt.Sprintf("%s over %s", in.Metric.Title, phrase.Plural(len(steps), "step"))
	if in.changes(len(steps)) {
		note += " Dashed: where the change point lies."
		alt += fmt.Sprintf("; it changes between %s and %s", order[in.Change-1], order[in.Change])
	}
	alt += fmt.Sprintf(". The first median is %s, the last %s.", formatValue(measured[0], in.Metric.Unit), formatValue(measured[len(measured)-1], in.Metric.Unit))
	return newChart(in.ID, in.Title, alt, note, spec, in.table(steps))
}

// present are the values of the rows that have one.
func present(rows []object) []float64 {
	var xs []float64
	for _, r := range rows {
		if x, ok := r["v"].(float64); ok {
			xs = append(xs, x)
		}
	}
	return xs
}

// varies tells whether the medians are not all the same.
func (in LadderInput) varies() bool {
	var first *float64
	for _, s := range in.Steps {
		switch {
		case s.Median == nil:
		case first == nil:
			first = s.Median
		case *s.Median != *first:
			return true
		}
	}
	return false
}

func (in LadderInput) changes(n int) bool { return in.Change > 0 && in.Change < n }

func ladderLayers(in LadderInput, order []string, medians, points []object) []object {
	x := category("s", order)
	x["scale"] = object{"domain": order}
	x["axis"] = object{"labelAngle": 0, "ticks": false, "labelOverlap": true}
	y := quantity("v", axisTitle(in.Metric))
	if !slices.ContainsFunc(append(slices.Clone(medians), points...), func(o object) bool { return o["v"] != nil && o["v"] != 0.0 }) {
		y["scale"] = object{"domain": []int{0, 1}} // of zeros alone the axis would have no size
	}
	layers := []object{
		{"data": inlineData(points), "mark": object{"type": "point", "style": "reading", "filled": true, "opacity": 0.45}, "encoding": object{"x": x, "y": y}},
		{"data": inlineData(medians), "mark": object{"type": "line", "style": "median", "filled": false, "strokeWidth": 1.8}, "encoding": object{"x": x, "y": y, "order": object{"field": "i", "type": "quantitative"}}},
		{"data": inlineData(medians), "mark": object{"type": "point", "style": "median", "filled": true, "size": 80},
			"encoding": object{"x": x, "y": y,
				"shape":   object{"field": "b", "type": "nominal", "legend": nil, "scale": object{"domain": []string{"value", "at least"}, "range": []string{"circle", "triangle-up"}}},
				"tooltip": []object{{"field": "s", "title": "step"}, {"field": "v", "title": "value"}, {"field": "b", "title": "is"}}}},
	}
	if in.changes(len(order)) {
		change := object{"field": "s", "type": "ordinal", "title": nil, "scale": object{"domain": order}, "bandPosition": 0}
		layers = append(layers, object{"data": inlineData([]object{{"s": order[in.Change]}}), "mark": object{"type": "rule", "style": "margin"},
			"encoding": object{"x": change}})
	}
	return layered(layers...)
}

func (in LadderInput) table(steps []LadderStep) Table {
	t := Table{Columns: []string{"Step", "n", "Median, " + unitOr(in.Metric.Unit)}}
	for _, s := range steps {
		median := "not measured"
		if s.Median != nil {
			median = formatMetric(*s.Median, in.Metric)
			if s.AtLeast {
				median = "≥ " + median
			}
		}
		t.Rows = append(t.Rows, []string{s.Step, phrase.Count(int64(len(s.Values))), median})
	}
	return t
}
