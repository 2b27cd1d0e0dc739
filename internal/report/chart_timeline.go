package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
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
	}
	kswapdShares = []share{{"kswapd", 3, func(p TimelinePoint) float64 { return p.KswapdCPU }}}

	// signals are all of them, under the letters that they have in a
	// specification's rows.
	signals = slices.Concat(memoryShares, swapShares, pressureShares, cpuShares, kswapdShares)
)

// letter is the field of a share in the rows of a specification.
func letter(s share) string {
	i := slices.IndexFunc(signals, func(x share) bool { return x.name == s.name })
	return string(rune('a' + i))
}

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
		t.end = max(t.end, marks[len(marks)-1].T)
		views = append(views, t.events())
	}
	for _, v := range []object{
		t.panel("Memory, MB", 150, memoryShares, 0, true),
		t.panel("Swap used, MB", 70, swapShares, in.Swap, false),
		t.panel("Memory pressure (PSI), % of time stalled", 90, pressureShares, 100, false),
		t.panel("CPU of the plan, %", 90, cpuShares, 100, false),
		t.panel("CPU of kswapd, % of the plan's", 50, kswapdShares, 0, false),
	} {
		if v != nil {
			views = append(views, v)
		}
	}
	if t.table.Rows == nil {
		return Chart{}, fmt.Errorf("chart %s: %w", in.ID, errNothingToDraw)
	}
	for _, layer := range views[len(views)-1]["layer"].([]object) {
		x := layer["encoding"].(object)["x"].(object)
		x["title"] = "seconds since the first deployment"
		delete(x, "axis")
	}
	spec := object{"data": inlineData(t.rows()), "vconcat": views, "spacing": 22, "resolve": object{"scale": object{"color": "independent"}}, "usermeta": object{"room": 92}}
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

// rows are the points, one object for each with all signals that were read.
func (t *timeline) rows() []object {
	rows := make([]object, len(t.points))
	for i, p := range t.points {
		row := object{"t": math.Round(10*p.T) / 10}
		for _, s := range signals {
			if x := s.of(p); x >= 0 {
				row[letter(s)] = math.Round(10*x) / 10
			}
		}
		rows[i] = row
	}
	return rows
}

// unfold turns the rows into one for each signal of a panel: s is its name, i its
// place, v its value.
func unfold(shares []share) []object {
	letters := make([]string, len(shares))
	name := "''"
	for i, s := range shares {
		letters[i] = letter(s)
		name = fmt.Sprintf("datum.k == '%s' ? '%s' : %s", letters[i], s.name, name)
	}
	place, _ := json.Marshal(letters) // strings
	return []object{
		{"fold": letters, "as": []string{"k", "v"}},
		{"filter": "isValid(datum.v)"},
		{"calculate": name, "as": "s"},
		{"calculate": fmt.Sprintf("indexof(%s, datum.k)", place), "as": "i"},
	}
}

// panel draws signals that share an axis, stacked or as lines; nil when none
// of them could be read.
func (t *timeline) panel(title string, height int, shares []share, top float64, stacked bool) object {
	var known []share
	var names []string
	for _, s := range shares {
		if !slices.ContainsFunc(t.points, func(p TimelinePoint) bool { return s.of(p) >= 0 }) {
			missing := strings.SplitN(title, ",", 2)[0]
			if len(shares) > 1 {
				missing += " (" + s.name + ")"
			}
			t.missing = append(t.missing, missing)
			continue
		}
		known, names = append(known, s), append(names, s.name)
		t.summarise(title, s, len(shares) > 1)
	}
	if len(known) == 0 {
		return nil
	}
	y := quantity("v", title)
	y["axis"] = object{"tickCount": 4}
	if top > 0 {
		y["scale"] = object{"domain": []float64{0, round(max(top, t.highest(known)))}, "nice": false}
	}
	switch {
	case top == 100: // percent
		y["axis"] = object{"values": []int{0, 50, 100}}
	case top == 0 && len(known) == 1:
		y["axis"] = object{"tickCount": 2}
	}
	mark := object{"type": "line", "strokeWidth": 1.6}
	encoding := object{"x": t.x(), "y": y, "color": coloured(known, names), "detail": object{"field": "s", "type": "nominal"},
		"tooltip": []object{{"field": "t", "title": "s"}, {"field": "s", "title": "signal"}, {"field": "v", "title": "value"}}}
	y["stack"] = nil
	if stacked {
		y["stack"] = "zero"
		mark = object{"type": "area"}
		encoding["order"] = object{"field": "i", "type": "quantitative"}
		encoding["opacity"] = object{"condition": object{"test": object{"field": "s", "equal": "free"}, "value": 0.3}, "value": 0.95}
	}
	return object{"height": height, "layer": append([]object{{"transform": unfold(known), "mark": mark, "encoding": encoding}}, t.rules()...)}
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

// summarise adds a signal's row to the table, with its name where its panel has
// several.
func (t *timeline) summarise(title string, s share, named bool) {
	lo, hi := math.Inf(1), math.Inf(-1)
	var known []float64
	for _, p := range t.points {
		if x := s.of(p); x >= 0 {
			known = append(known, x)
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	label, unit, _ := strings.Cut(title, ", ")
	if named {
		label += ", " + s.name
	}
	t.table.Rows = append(t.table.Rows, []string{label + ", " + unit, phrase.Number(known[0]), phrase.Number(lo), phrase.Number(hi), phrase.Number(known[len(known)-1])})
}

// describe is the timeline in words.
func (t *timeline) describe(in TimelineInput) string {
	counts := map[MarkKind]int{}
	for _, m := range in.Marks {
		if m.Kind != MarkTraffic && m.Kind != MarkPhase {
			counts[m.Kind]++
		}
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
