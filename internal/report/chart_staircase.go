package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"brink/internal/phrase"
)

// StaircaseInput is the last answer against concurrency, for one number of
// workers.
type StaircaseInput struct {
	ID, Title string
	// Workers is W of ceil(K / W) × D, at least 1.
	Workers int
	// HoldS is D in seconds; 0 means that the points' holds differ, and that
	// the axis counts holds and not seconds.
	HoldS float64
	// Points are repetitions, one each.
	Points []StaircasePoint
}

// StaircasePoint is one repetition.
type StaircasePoint struct {
	// Concurrency is K, at least 1; LastS is the last answer in seconds;
	// HoldS is the point's D, needed where StaircaseInput.HoldS is 0.
	Concurrency int
	LastS       float64
	HoldS       float64
	// AtLeast marks a last answer that did not come by LastS.
	AtLeast bool
	// Loop marks a server without a fixed number of workers: the staircase is not
	// for it.
	Loop bool
	// Series names what was measured, such as "gunicorn sync"; may be empty.
	Series string
}

// Staircase draws the measured last answers over the line ceil(K / W) × D.
func Staircase(in StaircaseInput) (Chart, error) {
	if len(in.Points) == 0 {
		return Chart{}, fmt.Errorf("chart %s: %w", in.ID, errNothingToDraw)
	}
	if in.Workers < 1 {
		return Chart{}, fmt.Errorf("chart %s: %d workers cannot be drawn", in.ID, in.Workers)
	}
	unit, axis, d := "s", "last answer, s", in.HoldS
	if d == 0 {
		unit, axis, d = "holds", "last answer, in holds", 1
	}
	points, names, most, err := staircasePoints(in, d)
	if err != nil {
		return Chart{}, err
	}
	x := object{"field": "k", "type": "quantitative", "title": "concurrent requests (K)",
		"scale": object{"domain": []float64{0, float64(most) + 1}, "nice": false}, "axis": object{"tickMinStep": 1, "format": "d"}}
	y := quantity("y", axis)
	spec := object{"height": 280, "layer": []object{
		{"data": inlineData(stairs(in.Workers, most, d)), "mark": object{"type": "line", "style": "guide", "interpolate": "step-after"},
			"encoding": object{"x": x, "y": y}},
		{"data": inlineData(points), "mark": object{"type": "point", "filled": true, "size": 62, "opacity": 0.75},
			"encoding": object{"x": x, "y": y, "color": colours("s", names, legendAboveTitle(names)),
				"shape": object{"field": "b", "type": "nominal", "title": nil, "legend": nil,
					"scale": object{"domain": []string{"", "at least"}, "range": []string{"circle", "triangle-up"}}},
				"tooltip": []object{{"field": "s", "title": "server"}, {"field": "c", "title": "concurrent"}, {"field": "y", "title": axis}}}},
	}}
	alt, table := describeStaircase(in, d, unit)
	note := fmt.Sprintf("Dashed: ceil(K / %d) × D.", in.Workers)
	if len(names) > 1 {
		note += " Servers with the same K stand side by side around it."
	}
	if loops := in.loops(); len(loops) > 0 {
		note += fmt.Sprintf(" It is not for %s: an event loop serves all requests that wait at once.", strings.Join(loops, ", "))
	}
	return newChart(in.ID, in.Title, alt, note, spec, table)
}

func staircasePoints(in StaircaseInput, d float64) (rows []object, names []string, most int, err error) {
	points := in.Points
	for _, p := range points {
		names = append(names, p.Series)
	}
	names = distinct(names)
	for _, i := range thin(len(points), maxPoints) {
		p := points[i]
		if in.HoldS == 0 && p.HoldS <= 0 {
			return nil, nil, 0, fmt.Errorf("chart %s: point %d has no hold", in.ID, i+1)
		}
		last := p.in(in)
		if err := checkFinite(in.ID, last); err != nil {
			return nil, nil, 0, err
		}
		row := object{"k": round(float64(p.Concurrency) + in.shift(p)), "c": p.Concurrency, "y": round(last), "s": visible(p.Series), "b": ""}
		if p.AtLeast {
			row["b"] = "at least"
		}
		rows = append(rows, row)
	}
	for _, p := range points {
		most = max(most, p.Concurrency)
	}
	for i := range names {
		names[i] = visible(names[i])
	}
	return rows, names, most, nil
}

// shift moves the series that a concurrency has apart; event loops lie elsewhere
// than the others and cover none of them.
func (in StaircaseInput) shift(p StaircasePoint) float64 {
	var here []string
	for _, o := range in.Points {
		if o.Concurrency == p.Concurrency && o.Loop == p.Loop && !slices.Contains(here, o.Series) {
			here = append(here, o.Series)
		}
	}
	return spread(slices.Index(here, p.Series), len(here), 0.3)
}

// loops are the servers that the staircase is not for.
func (in StaircaseInput) loops() []string {
	var names []string
	for _, p := range in.Points {
		if p.Loop {
			names = append(names, visible(p.Series))
		}
	}
	return distinct(names)
}

// in is the last answer in the chart's unit.
func (p StaircasePoint) in(c StaircaseInput) float64 {
	if c.HoldS == 0 {
		return p.LastS / p.HoldS
	}
	return p.LastS
}

// stairs are the corners of ceil(k / w) × d for k up to most and a little
// beyond, at most maxPoints of them.
func stairs(w, most int, d float64) []object {
	batches := (most + w - 1) / w
	stride := batches/maxPoints + 1
	var rows []object
	for b := 0; b < batches; b += stride {
		rows = append(rows, object{"k": float64(b*w) + 0.5, "y": round(float64(b+1) * d)})
	}
	return append(rows, object{"k": float64(most) + 0.5, "y": round(float64(batches) * d)})
}

func describeStaircase(in StaircaseInput, d float64, unit string) (string, Table) {
	t := Table{Columns: []string{"Concurrent requests", "ceil(K / W) × D, " + unit, "Last answers, " + unit}}
	byK := map[int][]StaircasePoint{}
	var ks []int
	for _, p := range in.Points {
		if byK[p.Concurrency] == nil {
			ks = append(ks, p.Concurrency)
		}
		byK[p.Concurrency] = append(byK[p.Concurrency], p)
	}
	ks = sortedBy(ks, func(a, b int) bool { return a < b })
	for _, i := range thin(len(ks), 60) {
		k := ks[i]
		law := math.Ceil(float64(k)/float64(in.Workers)) * d
		lo, hi := math.Inf(1), math.Inf(-1)
		bound := ""
		for _, p := range byK[k] {
			lo, hi = min(lo, p.in(in)), max(hi, p.in(in))
			if p.AtLeast {
				bound = "≥ "
			}
		}
		t.Rows = append(t.Rows, []string{phrase.Count(int64(k)), phrase.Number(law), bound + numberRange(lo, hi)})
	}
	bound, beside := 0, ""
	for _, p := range in.Points {
		if !p.Loop {
			bound++
		}
	}
	if rest := len(in.Points) - bound; rest > 0 {
		beside = fmt.Sprintf(" Beside it: %s of event loops.", phrase.Plural(rest, "repetition"))
	}
	return fmt.Sprintf("Last answers of %s at %s concurrent requests against the staircase ceil(K / %d) × D; the farthest lies %s %% from it.%s",
		phrase.Plural(bound, "repetition"), concurrencies(ks), in.Workers, trimmed(in.farthest(d)*100), beside), t
}

// farthest is the largest relative distance from the law of a point that it is
// for; bounds have none.
func (in StaircaseInput) farthest(d float64) float64 {
	var worst float64
	for _, p := range in.Points {
		law := math.Ceil(float64(p.Concurrency)/float64(in.Workers)) * d
		if !p.AtLeast && !p.Loop && law > 0 {
			worst = max(worst, math.Abs(p.in(in)-law)/law)
		}
	}
	return worst
}

func concurrencies(ks []int) string {
	ks = sortedBy(ks, func(a, b int) bool { return a < b })
	if len(ks) == 1 {
		return phrase.Count(int64(ks[0]))
	}
	return phrase.Count(int64(ks[0])) + " to " + phrase.Count(int64(ks[len(ks)-1]))
}

// numberRange is a range of numbers, or one number where both ends look the same.
func numberRange(lo, hi float64) string {
	a, b := phrase.Number(lo), phrase.Number(hi)
	if a == b {
		return a
	}
	return a + " to " + b
}
