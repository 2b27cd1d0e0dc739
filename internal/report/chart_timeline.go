package report

import (
	"fmt"
	"math"
	"strings"

	"brink/internal/phrase"
)

// TimelineInput is what happened to a plan's memory in one repetition of a
// step, from the first deployment on.
type TimelineInput struct {
	ID, Title string
	// Points are in order of time.
	Points []TimelinePoint
	// Marks are what happened to the apps; at most 60 are drawn.
	Marks []TimelineMark
	// Swap is the size of the swap in MB, 0 when there is none.
	Swap float64
}

// TimelinePoint is one reading. Memory is in units of 2^20 bytes, CPU and
// pressure in percent over the time since the reading before. What could not
// be read is negative.
type TimelinePoint struct {
	// T is in seconds since the first deployment.
	T float64
	// Anon, File, Slab, Other and Free add up to all memory of the plan.
	Anon, File, Slab, Other, Free float64
	SwapUsed                      float64
	// PSISome and PSIFull are the pressure on memory.
	PSISome, PSIFull float64
	// AppsCPU, PlatformCPU and KswapdCPU are shares of the plan's CPUs.
	AppsCPU, PlatformCPU, KswapdCPU float64
}

// MarkKind says what a mark of a timeline is.
type MarkKind string

// The marks of a timeline, in the order of their rows.
const (
	MarkStart    MarkKind = "start"
	MarkServing  MarkKind = "serving"
	MarkRestart  MarkKind = "restart"
	MarkOOMKill  MarkKind = "OOM kill"
	MarkBootKill MarkKind = "worker killed"
	MarkGaveUp   MarkKind = "given up"
)

var markKinds = []MarkKind{MarkStart, MarkServing, MarkRestart, MarkOOMKill, MarkBootKill, MarkGaveUp}

// ruled are the marks that cross all panels.
var ruled = map[MarkKind]bool{MarkStart: true, MarkRestart: true, MarkOOMKill: true, MarkGaveUp: true}

// TimelineMark is something that happened to an app.
type TimelineMark struct {
	T    float64
	Kind MarkKind
	App  string
}

// maxTimelineMarks bounds the marks; nameWidth is the room for a name, as a
// share of the axis.
const (
	maxTimelineMarks = 60
	nameWidth        = 0.065
)

// share is one signal of a panel of a timeline, with its colour's place in the
// theme.
type share struct {
	name   string
	colour int
	of     func(TimelinePoint) float64
}

// Stacked shares stand from the bottom up.
var (
	memoryShares = []share{
		{"anonymous", 1, func(p TimelinePoint) float64 { return p.Anon }},
		{"slab", 2, func(p TimelinePoint) float64 { return p.Slab }},
		{"other", 5, func(p TimelinePoint) float64 { return p.Other }},
		{"file cache", 4, func(p TimelinePoint) float64 { return p.File }},
		{"free", 6, func(p TimelinePoint) float64 { return p.Free }},
	}
	swapShares     = []share{{"swap used", 5, func(p TimelinePoint) float64 { return p.SwapUsed }}}
	pressureShares = []share{
		{"some", 2, func(p TimelinePoint) float64 { return p.PSISome }},
		{"full", 3, func(p TimelinePoint) float64 { return p.PSIFull }},
	}
	cpuShares = []share{
		{"apps", 1, func(p TimelinePoint) float64 { return p.AppsCPU }},
		{"platform", 6, func(p TimelinePoint) float64 { return p.PlatformCPU }},
		{"kswapd", 3, func(p TimelinePoint) float64 { return p.KswapdCPU }},
	}
)

// coloured is a colour encoding in which each share has its own colour.
func coloured(shares []share, names []string) object {
	domain := []string{"-1", "-2", "-3", "-4", "-5", "-6"}
	for _, s := range shares {
		domain[s.colour-1] = s.name
	}
	legend := object{"values": names, "offset": 26, "symbolOpacity": 1}
	if len(shares) < 2 {
		return colours("s", domain, nil)
	}
	return colours("s", domain, legend)
}

// Timeline draws one repetition: what happened to the apps in rows, and below
// it, on the same axis, how memory was split, swap, pressure and CPU. Starts,
// restarts and kills cross all panels.
func Timeline(in TimelineInput) (Chart, error) {
	if len(in.Points) < 2 {
		return Chart{}, fmt.Errorf("chart %s: %w", in.ID, errNothingToDraw)
	}
	for _, p := range in.Points {
		if err := checkFinite(in.ID, p.T, p.Anon, p.File, p.Slab, p.Other, p.Free, p.SwapUsed, p.PSISome, p.PSIFull, p.AppsCPU, p.PlatformCPU, p.KswapdCPU); err != nil {
			return Chart{}, err
		}
	}
	marks := sortedBy(in.Marks, func(a, b TimelineMark) bool { return a.T < b.T })
	note := "Rules: starts, restarts, kills by the kernel, apps given up."
	if len(marks) > maxTimelineMarks {
		note += fmt.Sprintf(" Drawn are the first %d of %d marks.", maxTimelineMarks, len(marks))
		marks = marks[:maxTimelineMarks]
	}
	t := timeline{points: binnedTimeline(in.Points), marks: marks, end: in.Points[len(in.Points)-1].T, table: Table{Columns: []string{"Signal", "First", "Lowest", "Highest", "Last"}}}
	var views []object
	if len(marks) > 0 {
		views = append(views, t.events())
		t.end = max(t.end, marks[len(marks)-1].T)
	}
	views = append(views,
		t.panel("Memory, MB", 150, memoryShares, 0, true),
		t.panel("Swap used, MB", 70, swapShares, in.Swap, false),
		t.panel("Memory pressure (PSI), % of time stalled", 90, pressureShares, 100, false),
		t.panel("CPU of the plan, %", 90, cpuShares, 100, false),
	)
	var drawn []object
	for _, v := range views {
		if v != nil {
			drawn = append(drawn, v)
		}
	}
	if len(drawn) == 0 {
		return Chart{}, fmt.Errorf("chart %s: %w", in.ID, errNothingToDraw)
	}
	axis := drawn[len(drawn)-1]["layer"].([]object)[0]["encoding"].(object)["x"].(object)
	axis["title"] = "seconds since the first deployment"
	delete(axis, "axis")
	spec := object{"vconcat": drawn, "spacing": 22, "resolve": object{"scale": object{"color": "independent"}}, "usermeta": object{"room": 92}}
	for _, missing := range t.missing {
		note += " " + missing + " could not be read."
	}
	return newChart(in.ID, in.Title, t.describe(in), note, spec, t.table)
}

// timeline is a picture being drawn.
type timeline struct {
	points  []TimelinePoint
	marks   []TimelineMark
	end     float64
	table   Table
	missing []string
}

func (t *timeline) x() object {
	return object{"field": "t", "type": "quantitative", "title": nil, "axis": object{"labels": false, "ticks": false}, "scale": object{"domain": []float64{0, round(t.end)}, "nice": false}}
}

// events are rows of marks, one for each kind that occurred, with the apps'
// names.
func (t *timeline) events() object {
	var rows []object
	var kinds []string
	for _, k := range markKinds {
		for _, m := range t.marks {
			if m.Kind == k {
				kinds = append(kinds, string(k))
				rows = append(rows, object{"t": round(m.T), "k": string(k), "a": visible(m.App)})
			}
		}
	}
	kinds = distinct(kinds)
	y := category("k", kinds)
	tooltip := []object{{"field": "k", "title": "what"}, {"field": "a", "title": "app"}, {"field": "t", "title": "s"}}
	layers := []object{{"mark": object{"type": "tick", "thickness": 2, "size": 13, "style": "zero"}, "encoding": object{"x": t.x(), "y": y, "tooltip": tooltip}}}
	layers = append(layers, object{"data": inlineData(t.names()), "mark": object{"type": "text", "style": "markname"},
		"encoding": object{"x": t.x(), "y": y, "text": object{"field": "a", "type": "nominal"}}})
	return object{"height": 20 * len(kinds), "data": inlineData(rows), "layer": layers}
}

// names are the apps' names beside their marks. Marks of one kind that are
// closer than a name is wide share one: "site-5 + 1".
func (t *timeline) names() []object {
	var rows []object
	for _, k := range markKinds {
		var last object
		more := 0
		for _, m := range t.marks {
			if m.Kind != k {
				continue
			}
			if last != nil && m.T-last["t"].(float64) < nameWidth*t.end {
				more++
				last["a"] = fmt.Sprintf("%s + %d", strings.SplitN(last["a"].(string), " + ", 2)[0], more)
				continue
			}
			last, more = object{"t": round(m.T), "k": string(k), "a": visible(m.App)}, 0
			rows = append(rows, last)
		}
	}
	return rows
}

// panel draws signals that share an axis, stacked or as lines; nil when none
// of them could be read.
func (t *timeline) panel(title string, height int, shares []share, top float64, stacked bool) object {
	var rows []object
	var names []string
	for i, s := range shares {
		known := false
		for _, p := range t.points {
			if x := s.of(p); x >= 0 {
				known = true
				rows = append(rows, object{"t": round(p.T), "v": round(x), "s": s.name, "i": i})
			}
		}
		if !known {
			t.missing = append(t.missing, strings.SplitN(title, ",", 2)[0]+" ("+s.name+")")
			continue
		}
		names = append(names, s.name)
		t.summarise(title, s)
	}
	if len(names) == 0 {
		return nil
	}
	y := quantity("v", title)
	y["axis"] = object{"tickCount": 4}
	if top > 0 {
		y["scale"] = object{"domain": []float64{0, round(max(top, t.highest(shares)))}, "nice": false}
	}
	mark := object{"type": "line", "strokeWidth": 1.6}
	encoding := object{"x": t.x(), "y": y, "color": coloured(shares, names),
		"tooltip": []object{{"field": "t", "title": "s"}, {"field": "s", "title": "signal"}, {"field": "v", "title": "value"}}}
	y["stack"] = nil
	if stacked {
		y["stack"] = "zero"
		mark = object{"type": "area"}
		encoding["order"] = object{"field": "i", "type": "quantitative"}
		encoding["opacity"] = object{"condition": object{"test": object{"field": "s", "equal": "free"}, "value": 0.3}, "value": 0.95}
	}
	return object{"height": height, "layer": append([]object{{"data": inlineData(rows), "mark": mark, "encoding": encoding}}, t.rules()...)}
}

// rules are the marks that cross a panel.
func (t *timeline) rules() []object {
	var rows []object
	for _, m := range t.marks {
		if ruled[m.Kind] {
			rows = append(rows, object{"t": round(m.T), "k": string(m.Kind), "a": visible(m.App)})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return []object{{"data": inlineData(rows), "mark": object{"type": "rule", "style": "event"},
		"encoding": object{"x": t.x(), "tooltip": []object{{"field": "k", "title": "what"}, {"field": "a", "title": "app"}, {"field": "t", "title": "s"}}}}}
}

func (t *timeline) highest(shares []share) float64 {
	most := 0.0
	for _, p := range t.points {
		for _, s := range shares {
			most = max(most, s.of(p))
		}
	}
	return most
}

// summarise adds a signal's row to the table.
func (t *timeline) summarise(title string, s share) {
	lo, hi := math.Inf(1), math.Inf(-1)
	var known []float64
	for _, p := range t.points {
		if x := s.of(p); x >= 0 {
			known = append(known, x)
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	label, unit, _ := strings.Cut(title, ", ")
	if label != "Swap used" {
		label += ", " + s.name
	}
	t.table.Rows = append(t.table.Rows, []string{label + ", " + unit, phrase.Number(known[0]), phrase.Number(lo), phrase.Number(hi), phrase.Number(known[len(known)-1])})
}

// describe is the timeline in words.
func (t *timeline) describe(in TimelineInput) string {
	counts := map[MarkKind]int{}
	for _, m := range in.Marks {
		counts[m.Kind]++
	}
	var happened []string
	for _, k := range markKinds {
		if counts[k] > 0 {
			happened = append(happened, fmt.Sprintf("%d × %s", counts[k], k))
		}
	}
	says := fmt.Sprintf("Over %s", formatValue(t.end, "s"))
	if len(happened) > 0 {
		says += ": " + strings.Join(happened, ", ")
	}
	says += "."
	if most := t.highest(swapShares); most > 0 {
		says += fmt.Sprintf(" Swap in use reached %s", formatValue(most, "MB"))
		if in.Swap > 0 {
			says += fmt.Sprintf(" of %s", formatValue(in.Swap, "MB"))
		}
		says += "."
	}
	if most := t.highest(pressureShares); most > 0 {
		says += fmt.Sprintf(" Memory pressure reached %s (some).", formatValue(most, "%"))
	}
	return says
}

// binnedTimeline joins neighbours until at most maxPoints are left. Pressure
// and CPU keep the highest of what is joined, memory the last.
func binnedTimeline(points []TimelinePoint) []TimelinePoint {
	if len(points) <= maxPoints {
		return points
	}
	out := make([]TimelinePoint, 0, maxPoints)
	for b := range maxPoints {
		bin := points[b*len(points)/maxPoints : (b+1)*len(points)/maxPoints]
		joined := bin[len(bin)-1]
		for _, p := range bin {
			joined.PSISome, joined.PSIFull = max(joined.PSISome, p.PSISome), max(joined.PSIFull, p.PSIFull)
			joined.AppsCPU, joined.PlatformCPU, joined.KswapdCPU = max(joined.AppsCPU, p.AppsCPU), max(joined.PlatformCPU, p.PlatformCPU), max(joined.KswapdCPU, p.KswapdCPU)
			joined.SwapUsed = max(joined.SwapUsed, p.SwapUsed)
		}
		out = append(out, joined)
	}
	return out
}
