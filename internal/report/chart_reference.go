package report

import (
	"errors"
	"fmt"
	"strings"

	"brink/internal/metric"
)

const (
	publishedThere = "reference, as published"
	measuredHere   = "here, median"
)

// chart draws the table: a panel for each metric, both over the steps.
func (t *referenceTable) chart(id string) (Chart, error) {
	var views []object
	var says []string
	table := Table{Columns: []string{"Metric", "Step", "Reference", "Here", "n", "Distance", "Direction"}}
	for _, m := range t.metrics {
		rows, worth := t.drawn(m)
		if !worth {
			continue
		}
		for i, step := range t.steps {
			if _, ok := t.figure(step, m.Name); !ok {
				continue
			}
			texts := []string{titleWithUnit(m), step}
			for _, c := range t.cells(i, step, m) {
				texts = append(texts, c[0].Text)
			}
			table.Rows = append(table.Rows, texts)
		}
		says = append(says, t.sum(m))
		views = append(views, referencePanel(m, t.steps, rows))
	}
	if len(views) == 0 {
		return Chart{}, fmt.Errorf("chart %s: %w", id, errNothingToDraw)
	}
	spec := object{"vconcat": views, "spacing": 26, "resolve": object{"scale": object{"color": "shared", "shape": "shared"}}}
	const note = "A published range is a bar, with its middle on the line; metrics that are 0 throughout, or known in one step only, stand in the table alone."
	c, err := newChart(id, t.name+": the reference's figures and ours", strings.Join(says, ". ")+".", note, spec, table)
	c.Beside = t.name
	return c, err
}

// drawn are the points of a panel, and whether it is worth drawing: it is not
// where both are known in a single step, or are 0 throughout; the table says that
// better.
func (t *referenceTable) drawn(m metric.Metric) (rows []object, worth bool) {
	both, zero := 0, true
	for _, step := range t.steps {
		f, ok := t.figure(step, m.Name)
		if !ok {
			continue
		}
		there, known := f.middle()
		if known {
			row := object{"c": visible(step), "v": round(there), "k": publishedThere}
			if f.High != nil {
				row["lo"], row["hi"] = round(f.Published.X), round(*f.High)
			}
			rows = append(rows, row)
		}
		here, measured := f.mine()
		if measured {
			rows = append(rows, object{"c": visible(step), "v": round(here), "k": measuredHere})
		}
		if known && measured {
			both++
		}
		zero = zero && there == 0 && here == 0
	}
	return rows, both > 1 && !zero
}

func referencePanel(m metric.Metric, steps []string, rows []object) object {
	names := make([]string, len(steps))
	for i, s := range steps {
		names[i] = visible(s)
	}
	kinds := []string{measuredHere, publishedThere}
	x := category("c", names)
	y := quantity("v", m.Title+", "+unitOr(m.Unit))
	y["axis"] = object{"tickCount": 4}
	color := colours("k", kinds, legendAboveTitle(kinds))
	ranges := object{"data": inlineData(having("hi", rows)), "mark": object{"type": "rule", "strokeWidth": 3, "opacity": 0.35},
		"encoding": object{"x": x, "y": object{"field": "lo", "type": "quantitative", "title": y["title"], "axis": y["axis"]}, "y2": object{"field": "hi"}, "color": color}}
	return object{"height": 130, "data": inlineData(rows), "layer": layered(ranges,
		object{"mark": object{"type": "line", "strokeWidth": 1.4, "opacity": 0.7}, "encoding": object{"x": x, "y": y, "color": color}},
		object{"mark": object{"type": "point", "filled": true, "size": 64}, "encoding": object{"x": x, "y": y, "color": color,
			"shape":   object{"field": "k", "type": "nominal", "title": nil, "legend": legendAboveTitle(kinds), "scale": object{"domain": kinds, "range": []string{"circle", "diamond"}}},
			"tooltip": []object{{"field": "c", "title": "step"}, {"field": "k", "title": "whose"}, {"field": "v", "title": "value"}}}},
	)}
}

// ReferenceCharts draws the published figures beside ours, a picture for each
// table with a panel for each metric. Tables of which nothing is known are left
// out.
func ReferenceCharts(figures []ReferenceFigure) ([]Chart, error) {
	var charts []Chart
	for _, t := range referenceTables(figures) {
		c, err := t.chart(chartID("reference", t.name))
		switch {
		case errors.Is(err, errNothingToDraw):
			continue
		case err != nil:
			return nil, err
		}
		charts = append(charts, c)
	}
	return charts, nil
}
