package report

import (
	"encoding/json"
	"fmt"
)

// palette is the colours of charts. Each stands out from its background by at
// least 3:1, as WCAG 1.4.11 asks of graphics.
type palette struct {
	paper, ink, muted, grid string
	// series are the colours of categories in order: the measured and served,
	// the waiting, the failed, then others.
	series []string
}

// lightPalette colours the charts of the Markdown report, which has no style
// sheet.
var lightPalette = palette{
	paper: "#ffffff", ink: "#1b2129", muted: "#56606c", grid: "#e3e7ec",
	series: []string{"#2a6aa0", "#c27a0a", "#b3312b", "#2f7d5b", "#7b559c", "#5d6875"},
}

// pagePalette refers to the custom properties of the HTML report's style
// sheet, so that light, dark and print need no new drawing.
var pagePalette = palette{
	paper: "var(--paper)", ink: "var(--ink)", muted: "var(--muted)", grid: "var(--grid)",
	series: []string{"var(--series-1)", "var(--series-2)", "var(--series-3)", "var(--series-4)", "var(--series-5)", "var(--series-6)"},
}

// chartFont is the stack of the HTML report's style sheet.
const chartFont = `system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif`

// config is the Vega-Lite configuration of a palette. Marks refer to its
// styles by name.
func (p palette) config() object {
	return object{
		"aria": false, "background": nil, "font": chartFont,
		"view":  object{"stroke": nil},
		"range": object{"category": p.series},
		"axis": object{
			"labelColor": p.muted, "titleColor": p.muted, "gridColor": p.grid, "domainColor": p.muted, "tickColor": p.muted,
			"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "labelPadding": 6, "titlePadding": 8,
			"tickCount": 6, "labelLimit": 190, "labelSeparation": 8,
		},
		"axisY": object{"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleX": 0, "titleY": -12, "domain": false, "ticks": false},
		"axisX": object{"grid": false},
		"legend": object{
			"orient": "top", "direction": "horizontal", "labelColor": p.ink, "labelFontSize": 12, "titleFontSize": 12,
			"symbolStrokeWidth": 2, "symbolSize": 90, "labelLimit": 260, "columnPadding": 16, "offset": 10,
		},
		"style": p.styles(),
	}
}

func (p palette) styles() object {
	dashed := []int{5, 4}
	return object{
		"stripe":    object{"color": p.grid, "opacity": 0.45},
		"onbar":     object{"color": p.paper, "fontSize": 11},
		"guide":     object{"color": p.muted, "strokeWidth": 1.5, "strokeDash": dashed},
		"margin":    object{"color": p.series[1], "strokeWidth": 1.5, "strokeDash": dashed},
		"event":     object{"color": p.series[2], "strokeWidth": 1, "strokeDash": []int{2, 3}},
		"markname":  object{"color": p.muted, "fontSize": 11, "align": "left", "baseline": "middle", "dx": 5},
		"limit":     object{"color": p.muted, "fontSize": 12, "align": "right", "baseline": "bottom", "dy": -3},
		"kill":      object{"color": p.ink},
		"zero":      object{"color": p.muted, "strokeWidth": 1},
		"tolerance": object{"color": p.muted, "opacity": 0.14},
		"noise":     object{"color": p.muted, "opacity": 0.25},
		"box":       object{"color": p.series[0], "opacity": 0.25},
		"whisker":   object{"color": p.series[0], "strokeWidth": 1.2},
		"median":    object{"color": p.series[0]},
		"reading":   object{"color": p.series[0], "opacity": 0.8, "stroke": p.paper, "strokeWidth": 0.8, "size": 52},
	}
}

// dress gives a specification a theme and a fixed width, for readers without
// the page's script.
func dress(spec json.RawMessage, p palette, width int) (json.RawMessage, error) {
	var s object
	if err := json.Unmarshal(spec, &s); err != nil {
		return nil, fmt.Errorf("chart specification: %w", err)
	}
	s["config"] = p.config()
	s["background"] = p.paper
	if views, ok := s["vconcat"].([]any); ok {
		for _, v := range views {
			if view, ok := v.(object); ok {
				view["width"] = width
			}
		}
	} else {
		s["width"] = width
	}
	return json.Marshal(s)
}
