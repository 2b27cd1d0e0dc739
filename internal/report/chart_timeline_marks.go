package report

import "fmt"

// MarkKind says what a mark of a timeline is.
type MarkKind string

// The marks of a timeline, in the order of their rows.
const (
	MarkTraffic  MarkKind = "traffic"
	MarkPhase    MarkKind = "pressure"
	MarkStart    MarkKind = "start"
	MarkServing  MarkKind = "serving"
	MarkRestart  MarkKind = "restart"
	MarkOOMKill  MarkKind = "OOM kill"
	MarkBootKill MarkKind = "worker killed"
	MarkGaveUp   MarkKind = "given up"
)

var markKinds = []MarkKind{MarkTraffic, MarkPhase, MarkStart, MarkServing, MarkRestart, MarkOOMKill, MarkBootKill, MarkGaveUp}

// ruled are the marks that cross all panels.
var ruled = map[MarkKind]bool{MarkPhase: true, MarkStart: true, MarkRestart: true, MarkOOMKill: true, MarkGaveUp: true}

// TimelineMark is something that happened to an app, or in the step: App then
// says what.
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
	right, left := t.names()
	for _, side := range []struct {
		rows []object
		mark object
	}{{right, object{"type": "text", "style": "markname"}}, {left, object{"type": "text", "style": "markname", "align": "right", "dx": -5}}} {
		if len(side.rows) > 0 {
			layers = append(layers, object{"data": inlineData(side.rows), "mark": side.mark,
				"encoding": object{"x": t.x(), "y": y, "text": object{"field": "a", "type": "nominal"}}})
		}
	}
	return object{"height": 20 * len(kinds), "data": inlineData(rows), "layer": layers}
}

// names are the apps' names beside their marks. Marks of one kind that are
// closer than a name is wide share one, "site-5 + 1", to the right of the last of
// them; at the end of the axis it stands to the left of the first.
func (t *timeline) names() (right, left []object) {
	for _, k := range markKinds {
		var group []TimelineMark
		flush := func() {
			if len(group) == 0 {
				return
			}
			first, last := group[0], group[len(group)-1]
			name := object{"t": round(last.T), "k": string(k), "a": visible(first.App)}
			if len(group) > 1 {
				name["a"] = fmt.Sprintf("%s + %d", name["a"], len(group)-1)
			}
			if last.T > (1-nameWidth)*t.end && first.T > nameWidth*t.end {
				name["t"] = round(first.T)
				left = append(left, name)
			} else {
				right = append(right, name)
			}
			group = nil
		}
		for _, m := range t.marks {
			if m.Kind != k {
				continue
			}
			if len(group) > 0 && m.T-group[len(group)-1].T >= nameWidth*t.end {
				flush()
			}
			group = append(group, m)
		}
		flush()
	}
	return right, left
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
