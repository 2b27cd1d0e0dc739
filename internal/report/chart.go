package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sort"
)

// The charts of a report. Each builder takes numbers that are already
// aggregated and returns a Chart for section 10 with a specification that
// carries neither colours nor a width. Builders refuse what they cannot draw
// truthfully: no data, or numbers that are not finite.

// maxPoints bounds what one series of a chart may hold, so that a report's
// size does not follow the size of a run.
const maxPoints = 240

// resultsSection is where charts stand unless the caller moves them.
const resultsSection = 10

var errNothingToDraw = errors.New("nothing to draw")

// object is one JSON object of a specification.
type object = map[string]any

// newChart marshals the specification and bounds nothing: builders do.
func newChart(id, title, alt, note string, spec object, table Table) (Chart, error) {
	spec["$schema"] = "https://vega.github.io/schema/vega-lite/v6.json"
	spec["description"] = alt
	raw, err := json.Marshal(spec)
	if err != nil {
		return Chart{}, fmt.Errorf("chart %s: %w", id, err)
	}
	return Chart{ID: id, Title: title, Alt: alt, Note: note, Section: resultsSection, Spec: raw, Table: table}, nil
}

// checkFinite refuses numbers that JSON and a reader cannot take.
func checkFinite(id string, xs ...float64) error {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("chart %s: %v is not a number that can be drawn", id, x)
		}
	}
	return nil
}

// quantity is an encoding of a quantitative field with an axis title.
func quantity(field, title string) object {
	return object{"field": field, "type": "quantitative", "title": title, "scale": object{"zero": true, "nice": true}}
}

// category is an encoding of an ordinal field in the given order, without a
// title.
func category(field string, order []string) object {
	return object{"field": field, "type": "ordinal", "title": nil, "scale": object{"domain": distinct(order)},
		"axis": object{"labelAngle": 0, "ticks": false, "domain": false}}
}

// colours is a colour encoding whose n-th domain entry takes the n-th colour
// of the theme. legend is nil for none.
func colours(field string, domain []string, legend any) object {
	return object{"field": field, "type": "nominal", "title": nil, "legend": legend, "scale": object{"domain": domain, "range": "category"}}
}

// legendAboveTitle is a legend that leaves room for the title of the y axis,
// which stands above the axis; nil for a single series.
func legendAboveTitle(names []string) any {
	if len(names) < 2 {
		return nil
	}
	return object{"offset": 26, "symbolOpacity": 1}
}

// measured is a quantitative x encoding whose axis need not begin at 0, with
// grid lines to read values by.
func measured(field, title string, zero bool) object {
	return object{"field": field, "type": "quantitative", "title": title, "axis": object{"grid": true},
		"scale": object{"zero": zero, "nice": true, "padding": 14}}
}

// A tooltip's titles are words of ours only: Vega-Lite writes them into an
// expression without escaping them fully. Values are safe.

// inlineData is data that stands in the specification.
func inlineData(rows []object) object { return object{"values": rows} }

// layered drops the layers whose data is empty: they have no extent.
func layered(layers ...object) []object {
	var out []object
	for _, l := range layers {
		if data, ok := l["data"].(object); ok {
			if rows, ok := data["values"].([]object); ok && len(rows) == 0 {
				continue
			}
		}
		out = append(out, l)
	}
	return out
}

// having picks the rows that have a field.
func having(field string, rows []object) []object {
	var out []object
	for _, r := range rows {
		if r[field] != nil {
			out = append(out, r)
		}
	}
	return out
}

// thin picks at most n of the indices 0..length-1, evenly, ends included.
func thin(length, n int) []int {
	if length <= n {
		n = length
	}
	picked := make([]int, n)
	for i := range picked {
		if n > 1 {
			picked[i] = i * (length - 1) / (n - 1)
		}
	}
	return picked
}

// distinct returns the different strings in the order of their first use.
func distinct(ss []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range ss {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// spread moves n equal points apart around 0, by at most width/2, in a fixed
// order, so that they can be told apart.
func spread(i, n int, width float64) float64 {
	if n < 2 {
		return 0
	}
	return width * (float64(i)/float64(n-1) - 0.5)
}

func sortedBy[T any](xs []T, less func(a, b T) bool) []T {
	out := append([]T(nil), xs...)
	sort.SliceStable(out, func(i, j int) bool { return less(out[i], out[j]) })
	return out
}
