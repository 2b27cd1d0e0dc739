package report

import (
	"fmt"

	"brink/internal/phrase"
)

// PredictedInput is what a law gives against what was measured.
type PredictedInput struct {
	ID, Title string
	// Unit is the metric's.
	Unit string
	// Tolerance is the law's, relative (0.1 is 10 %) when Relative, otherwise
	// in Unit.
	Tolerance float64
	Relative  bool
	Points    []PredictedPoint
}

// PredictedPoint is one step, or one repetition of it.
type PredictedPoint struct {
	Step                string
	Predicted, Measured float64
	// AtLeast marks a measured bound; Holds tells whether the point is within
	// the tolerance.
	AtLeast, Holds bool
}

const (
	within  = "within tolerance"
	outside = "outside tolerance"
)

// Predicted draws measured against predicted, with the line of identity and
// the band of the tolerance.
func Predicted(in PredictedInput) (Chart, error) {
	if len(in.Points) == 0 {
		return Chart{}, fmt.Errorf("chart %s: %w", in.ID, errNothingToDraw)
	}
	var most float64
	var points []object
	outsideCount := 0
	for _, p := range in.Points {
		if err := checkFinite(in.ID, p.Predicted, p.Measured); err != nil {
			return Chart{}, err
		}
		most = max(most, p.Predicted, p.Measured)
		if !p.Holds {
			outsideCount++
		}
	}
	for _, i := range thin(len(in.Points), maxPoints) {
		p := in.Points[i]
		holds := within
		if !p.Holds {
			holds = outside
		}
		points = append(points, object{"x": round(p.Predicted), "y": round(p.Measured), "s": visible(p.Step), "h": holds})
	}
	x := quantity("x", "predicted, "+visible(unitOr(in.Unit)))
	y := quantity("y", "measured, "+visible(unitOr(in.Unit)))
	x["scale"] = object{"domain": []float64{0, round(most * 1.05)}, "nice": false}
	lineX := object{"field": "x", "type": "quantitative"}
	tooltip := []object{{"field": "s", "title": "step"}, {"field": "x", "title": "predicted"}, {"field": "y", "title": "measured"}, {"field": "h", "title": "verdict"}}
	spec := object{"height": 320, "layer": []object{
		{"data": inlineData(in.band(most * 1.05)), "mark": object{"type": "area", "style": "tolerance"},
			"encoding": object{"x": lineX, "y": object{"field": "lo", "type": "quantitative"}, "y2": object{"field": "hi"}}},
		{"data": inlineData([]object{{"x": 0, "y": 0}, {"x": round(most * 1.05), "y": round(most * 1.05)}}),
			"mark": object{"type": "line", "style": "guide"}, "encoding": object{"x": x, "y": y}},
		{"data": inlineData(points), "mark": object{"type": "point", "filled": true, "size": 70, "opacity": 0.8},
			"encoding": object{"x": x, "y": y, "tooltip": tooltip,
				"color": object{"field": "h", "type": "nominal", "title": nil, "legend": outsideLegend(outsideCount),
					"scale": object{"domain": []string{within, "", outside}, "range": "category"}},
				"shape": object{"field": "h", "type": "nominal", "title": nil, "legend": outsideLegend(outsideCount),
					"scale": object{"domain": []string{within, "", outside}, "range": []string{"circle", "circle", "diamond"}}}}},
	}}
	alt := fmt.Sprintf("Measured against predicted for %s: %d within the tolerance of %s, %d outside.", phrase.Plural(len(in.Points), "point"),
		len(in.Points)-outsideCount, formatTolerance(in.Tolerance, in.Relative, in.Unit), outsideCount)
	return newChart(in.ID, in.Title, alt, "Dashed: measured equals predicted. Shaded: the tolerance.", spec, in.table())
}

// outsideLegend keeps the legend for pictures that have both kinds of point.
func outsideLegend(n int) any {
	if n == 0 {
		return nil
	}
	return object{"values": []string{within, outside}, "offset": 26}
}

// band is the tolerance around the identity line.
func (in PredictedInput) band(most float64) []object {
	at := func(x float64) object {
		d := in.Tolerance
		if in.Relative {
			d *= x
		}
		return object{"x": round(x), "lo": round(max(0, x-d)), "hi": round(x + d)}
	}
	return []object{at(0), at(min(in.Tolerance, most)), at(most)}
}

func (in PredictedInput) table() Table {
	t := Table{Columns: []string{"Step", "Predicted, " + unitOr(in.Unit), "Measured, " + unitOr(in.Unit), "Within tolerance"}}
	for _, i := range thin(len(in.Points), 60) {
		p := in.Points[i]
		bound := ""
		if p.AtLeast {
			bound = "≥ "
		}
		t.Rows = append(t.Rows, []string{p.Step, phrase.Number(p.Predicted), bound + phrase.Number(p.Measured), yesNo(p.Holds)})
	}
	return t
}

func formatTolerance(x float64, relative bool, unit string) string {
	if relative {
		return trimmed(x*100) + " %"
	}
	return formatValue(x, unit)
}

func unitOr(unit string) string {
	if unit == "" {
		return "count"
	}
	return unit
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
