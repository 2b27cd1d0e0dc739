package report

import (
	"fmt"
	"math"

	"brink/internal/metric"
	"brink/internal/phrase"
)

// BoxesInput is one metric across steps.
type BoxesInput struct {
	ID, Title string
	Metric    metric.Metric
	// Groups stand from top to bottom; at most 40 are drawn.
	Groups []BoxGroup
}

// BoxGroup is one step with its repetitions. Quartiles come from the same
// computation as the tables.
type BoxGroup struct {
	Step           string
	Q1, Median, Q3 float64
	Values         []BoxValue
}

// BoxValue is the metric in one repetition.
type BoxValue struct {
	X       float64
	AtLeast bool
}

const maxGroups = 40

// Boxes draws a box from Q1 to Q3 with the median for each step, whiskers to
// the smallest and largest value, and every repetition as a point. Values
// that are only bounds are triangles.
func Boxes(in BoxesInput) (Chart, error) {
	if len(in.Groups) == 0 {
		return Chart{}, fmt.Errorf("chart %s: %w", in.ID, errNothingToDraw)
	}
	groups := in.Groups[:min(len(in.Groups), maxGroups)]
	var boxes, points []object
	var order []string
	for _, g := range groups {
		if len(g.Values) == 0 {
			return Chart{}, fmt.Errorf("chart %s: step %s: %w", in.ID, g.Step, errNothingToDraw)
		}
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, v := range g.Values {
			lo, hi = min(lo, v.X), max(hi, v.X)
		}
		if err := checkFinite(in.ID, lo, hi, g.Q1, g.Median, g.Q3); err != nil {
			return Chart{}, err
		}
		name := visible(g.Step)
		order = append(order, name)
		boxes = append(boxes, object{"s": name, "lo": round(lo), "q1": round(g.Q1), "m": round(g.Median), "q3": round(g.Q3), "hi": round(hi)})
		points = append(points, boxPoints(name, g.Values)...)
	}
	spec := object{"height": 46 * len(groups), "layer": boxLayers(in.Metric, order, boxes, points)}
	note := "Box: first to third quartile, line: median, whiskers: smallest and largest, points: repetitions."
	if len(groups) < len(in.Groups) {
		note += fmt.Sprintf(" Drawn are the first %d of %d steps.", len(groups), len(in.Groups))
	}
	alt, table := describeBoxes(in.Metric, groups)
	return newChart(in.ID, in.Title, alt, note, spec, table)
}

func boxPoints(step string, values []BoxValue) []object {
	var rows []object
	picked := thin(len(values), maxPoints/4)
	for n, i := range picked {
		row := object{"s": step, "v": round(values[i].X), "o": round(spread(n, len(picked), 0.5)), "b": "value"}
		if values[i].AtLeast {
			row["b"] = "at least"
		}
		rows = append(rows, row)
	}
	return rows
}

func boxLayers(m metric.Metric, order []string, boxes, points []object) []object {
	y := category("s", order)
	x := func(field string) object { return measured(field, axisTitle(m), false) }
	data := inlineData(boxes)
	return []object{
		{"data": data, "mark": object{"type": "rule", "style": "whisker"}, "encoding": object{"y": y, "x": x("lo"), "x2": object{"field": "hi"}}},
		{"data": data, "mark": object{"type": "bar", "style": "box", "height": 22}, "encoding": object{"y": y, "x": x("q1"), "x2": object{"field": "q3"},
			"tooltip": []object{{"field": "s", "title": "step"}, {"field": "m", "title": "median"}, {"field": "q1"}, {"field": "q3"}}}},
		{"data": data, "mark": object{"type": "tick", "style": "median", "size": 28, "thickness": 2.5}, "encoding": object{"y": y, "x": x("m")}},
		{"data": inlineData(points), "mark": object{"type": "point", "style": "reading", "filled": true},
			"encoding": object{"y": y, "x": x("v"), "yOffset": object{"field": "o", "type": "quantitative", "scale": object{"domain": []float64{-1, 1}}},
				"shape": object{"field": "b", "type": "nominal", "legend": nil,
					"scale": object{"domain": []string{"value", "at least"}, "range": []string{"circle", "triangle-right"}}},
				"tooltip": []object{{"field": "s", "title": "step"}, {"field": "v", "title": "value"}, {"field": "b", "title": "is"}}}},
	}
}

func axisTitle(m metric.Metric) string {
	if m.Unit == "" {
		return visible(m.Title)
	}
	return visible(m.Title + ", " + m.Unit)
}

func describeBoxes(m metric.Metric, groups []BoxGroup) (string, Table) {
	t := Table{Columns: []string{"Step", "n", "Q1", "Median", "Q3", "Values, " + unitOr(m.Unit)}}
	lowest, highest := groups[0], groups[0]
	for _, g := range groups {
		if g.Median < lowest.Median {
			lowest = g
		}
		if g.Median > highest.Median {
			highest = g
		}
		values := ""
		for i, v := range g.Values[:min(len(g.Values), 12)] {
			if i > 0 {
				values += "; "
			}
			if v.AtLeast {
				values += "≥ "
			}
			values += formatMetric(v.X, m)
		}
		if len(g.Values) > 12 {
			values += "; …"
		}
		t.Rows = append(t.Rows, []string{g.Step, phrase.Count(int64(len(g.Values))), formatMetric(g.Q1, m), formatMetric(g.Median, m), formatMetric(g.Q3, m), values})
	}
	alt := fmt.Sprintf("%s in %s: lowest median %s (%s), highest %s (%s).", m.Title, phrase.Plural(len(groups), "step"),
		formatValue(lowest.Median, m.Unit), visible(lowest.Step), formatValue(highest.Median, m.Unit), visible(highest.Step))
	return alt, t
}
