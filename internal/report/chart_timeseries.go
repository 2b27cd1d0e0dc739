package report

import (
	"fmt"
	"math"
	"strings"

	"brink/internal/phrase"
)

// TimeSeriesInput is several signals in one frame over the same time axis.
type TimeSeriesInput struct {
	ID, Title string
	// Panels stand from top to bottom; at most 6 are drawn.
	Panels []Panel
	// Marks are instants worth a line through all panels, such as the end of
	// the warm-up; at most 8 are drawn.
	Marks []Mark
	// Note is printed below the picture, after what the lines mean.
	Note string
}

// Panel is one signal.
type Panel struct {
	Title, Unit string
	// Series share the panel's axis; at most 6 are drawn.
	Series []Series
	// Whole marks counts, whose axis has no fractions.
	Whole bool
	// Top is where the axis ends at least, so that a signal that stays low is
	// seen to be low; 0 lets the highest value decide.
	Top float64
	// Limit draws a line across the panel, such as the number of workers, and
	// LimitText names it; 0 draws none.
	Limit     float64
	LimitText string
}

// highest is the highest p95 of the panel, its limit and its top.
func (p Panel) highest() float64 {
	most := max(p.Top, p.Limit)
	for _, s := range p.Series[:min(len(p.Series), maxSeries)] {
		for _, b := range s.Points {
			most = max(most, b.P95)
		}
	}
	return most
}

// Series is one signal of one step or app over its repetitions.
type Series struct {
	Name string
	// Repetitions is how many repetitions the bands are over.
	Repetitions int
	Points      []BandPoint
}

// BandPoint is one instant: the median over repetitions, and p5 and p95
// around it. All are in the panel's unit; T is in seconds.
type BandPoint struct {
	T, P5, P50, P95 float64
}

// Mark is an instant, in seconds, with a word.
type Mark struct {
	T    float64
	Text string
}

const (
	maxPanels = 6
	maxSeries = 6
	maxMarks  = 8
)

// TimeSeries draws medians over repetitions with a band from p5 to p95, one
// panel per signal, all on one time axis. Series of more than 240 points are
// joined into bins whose band covers what it joins.
func TimeSeries(in TimeSeriesInput) (Chart, error) {
	panels := in.Panels[:min(len(in.Panels), maxPanels)]
	if len(panels) == 0 {
		return Chart{}, fmt.Errorf("chart %s: %w", in.ID, errNothingToDraw)
	}
	names, end, err := checkPanels(in.ID, panels)
	if err != nil {
		return Chart{}, err
	}
	var views []object
	table := Table{Columns: []string{"Signal", "Series", "Lowest p5", "Median of medians", "Highest p95"}}
	var says []string
	repetitions := 0
	for i, p := range panels {
		views = append(views, in.panel(p, names, end, i == len(panels)-1))
		var each []string
		for _, s := range p.Series[:min(len(p.Series), maxSeries)] {
			lo, mid, hi := extent(s.Points)
			show := phrase.Number
			if p.Whole {
				show = phrase.Whole
			}
			name := ""
			if len(names) > 1 {
				name = " in " + visible(s.Name)
			}
			table.Rows = append(table.Rows, []string{p.Title + ", " + unitOr(p.Unit), s.Name, show(lo), show(mid), show(hi)})
			each = append(each, between(show(lo), show(hi), p.Unit)+name)
			repetitions = max(repetitions, s.Repetitions)
		}
		says = append(says, p.Title+": "+strings.Join(each, ", "))
	}
	note := "Line: median over repetitions; band: p5 to p95."
	if repetitions == 1 {
		note = "Line: the one repetition; there is no band."
		table.Columns = []string{"Signal", "Series", "Lowest", "Median", "Highest"}
	}
	spec := object{"vconcat": views, "spacing": 26, "resolve": object{"scale": object{"color": "shared"}}}
	alt := fmt.Sprintf("Over %s. %s.", formatValue(end, "s"), strings.Join(says, "; "))
	if in.Note != "" {
		note += " " + in.Note
	}
	return newChart(in.ID, in.Title, visible(alt), note, spec, table)
}

// between is a range in words, or one value where both ends look the same.
func between(lo, hi, unit string) string {
	s := lo
	if hi != lo {
		s += " to " + hi
	}
	return strings.TrimSpace(s + " " + unit)
}

func checkPanels(id string, panels []Panel) (names []string, end float64, err error) {
	for _, p := range panels {
		if len(p.Series) == 0 {
			return nil, 0, fmt.Errorf("chart %s: panel %s: %w", id, p.Title, errNothingToDraw)
		}
		for _, s := range p.Series[:min(len(p.Series), maxSeries)] {
			if len(s.Points) == 0 {
				return nil, 0, fmt.Errorf("chart %s: panel %s, series %s: %w", id, p.Title, s.Name, errNothingToDraw)
			}
			names = append(names, visible(s.Name))
			for _, b := range s.Points {
				if err := checkFinite(id, b.T, b.P5, b.P50, b.P95); err != nil {
					return nil, 0, err
				}
				end = max(end, b.T)
			}
		}
	}
	return distinct(names), end, nil
}

func (in TimeSeriesInput) panel(p Panel, names []string, end float64, last bool) object {
	var rows []object
	for _, s := range p.Series[:min(len(p.Series), maxSeries)] {
		for _, b := range binned(s.Points) {
			rows = append(rows, object{"t": round(b.T), "lo": round(b.P5), "m": round(b.P50), "hi": round(b.P95), "s": visible(s.Name)})
		}
	}
	x := object{"field": "t", "type": "quantitative", "scale": object{"domain": []float64{0, round(end)}, "nice": false}, "title": nil}
	if last {
		x["title"] = "seconds since traffic began"
	} else {
		x["axis"] = object{"labels": false, "ticks": false}
	}
	title := visible(p.Title)
	if p.Unit != "" {
		title += ", " + visible(p.Unit)
	}
	y := func(field string) object {
		e := quantity(field, title)
		axis := object{"tickCount": 4}
		if p.Whole {
			axis["tickMinStep"] = 1
		}
		e["axis"] = axis
		if p.Top > 0 || p.Limit > 0 {
			e["scale"] = object{"domain": []float64{0, round(p.highest())}, "nice": true}
		}
		return e
	}
	color := colours("s", names, legendAboveTitle(names))
	layers := []object{
		{"mark": object{"type": "area", "opacity": 0.2}, "encoding": object{"x": x, "y": y("lo"), "y2": object{"field": "hi"}, "color": color}},
		{"mark": object{"type": "line", "strokeWidth": 1.8}, "encoding": object{"x": x, "y": y("m"), "color": color,
			"tooltip": []object{{"field": "t", "title": "s"}, {"field": "s", "title": "series"}, {"field": "lo", "title": "p5"}, {"field": "m", "title": "median"}, {"field": "hi", "title": "p95"}}}},
	}
	if p.Limit > 0 {
		layers = append(layers, limitLayers(p, y)...)
	}
	if marks := in.marks(); len(marks) > 0 {
		layers = append(layers, object{"data": inlineData(marks), "mark": object{"type": "rule", "style": "guide"}, "encoding": object{"x": x,
			"tooltip": []object{{"field": "w", "title": "mark"}, {"field": "t", "title": "s"}}}})
	}
	return object{"height": 110, "data": inlineData(rows), "layer": layers}
}

// limitLayers are the line of a limit and its name at the right end.
func limitLayers(p Panel, y func(string) object) []object {
	data := inlineData([]object{{"y": round(p.Limit), "w": visible(p.LimitText)}})
	return []object{
		{"data": data, "mark": object{"type": "rule", "style": "margin"}, "encoding": object{"y": y("y")}},
		{"data": data, "mark": object{"type": "text", "style": "limit"}, "encoding": object{"y": y("y"), "x": object{"value": "width"},
			"text": object{"field": "w", "type": "nominal"}}},
	}
}

func (in TimeSeriesInput) marks() []object {
	var rows []object
	for _, m := range in.Marks[:min(len(in.Marks), maxMarks)] {
		if checkFinite(in.ID, m.T) == nil {
			rows = append(rows, object{"t": round(m.T), "w": visible(m.Text)})
		}
	}
	return rows
}

// binned joins neighbours until at most maxPoints are left. A bin keeps the
// widest band and the middle median, so that no peak of a band is lost.
func binned(points []BandPoint) []BandPoint {
	if len(points) <= maxPoints {
		return points
	}
	out := make([]BandPoint, 0, maxPoints)
	for b := range maxPoints {
		from, to := b*len(points)/maxPoints, (b+1)*len(points)/maxPoints
		bin := points[from:to]
		joined := bin[len(bin)/2]
		for _, p := range bin {
			joined.P5, joined.P95 = min(joined.P5, p.P5), max(joined.P95, p.P95)
		}
		out = append(out, joined)
	}
	return out
}

func extent(points []BandPoint) (lo, mid, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	mids := sortedBy(points, func(a, b BandPoint) bool { return a.P50 < b.P50 })
	for _, p := range points {
		lo, hi = min(lo, p.P5), max(hi, p.P95)
	}
	return lo, mids[len(mids)/2].P50, hi
}
