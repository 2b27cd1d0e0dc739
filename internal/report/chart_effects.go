package report

import (
	"fmt"

	"brink/internal/phrase"
)

// EffectsInput is estimated effects with their intervals.
type EffectsInput struct {
	ID, Title string
	// Unit is the metric's; Relative effects and margins are fractions.
	Unit     string
	Relative bool
	// Rows stand from top to bottom; at most 40 are drawn.
	Rows []EffectRow
}

// EffectRow is one comparison.
type EffectRow struct {
	Label    string
	Estimate float64
	// Lo and Hi bound the interval; nil where it could not be computed or has
	// no bound on that side.
	Lo, Hi *float64
	// Margin is the declared smallest effect or margin; nil where there is none.
	// It is drawn on the side of 0 that is claimed: above when Side is positive,
	// below when it is negative, on both when it is 0.
	Margin *float64
	Side   int
	// Noise is the noise floor, not negative; nil where there is none.
	Noise *float64
	// Holds tells whether the claim holds here; Open that neither this nor the
	// opposite could be told, as without an interval.
	Holds, Open bool
}

const (
	agrees    = "agrees"
	disagrees = "does not agree"
	undecided = "undecided"
)

// word is what the comparison says about its claim.
func (r EffectRow) word() string {
	switch {
	case r.Holds:
		return agrees
	case r.Open:
		return undecided
	}
	return disagrees
}

// Effects draws each estimate with its interval beside 0, the declared
// margins and the noise floor.
func Effects(in EffectsInput) (Chart, error) {
	if len(in.Rows) == 0 {
		return Chart{}, fmt.Errorf("chart %s: %w", in.ID, errNothingToDraw)
	}
	rows := in.Rows[:min(len(in.Rows), maxGroups)]
	factor, unit := 1.0, unitOr(in.Unit)
	if unit == "%" {
		unit = "points"
	}
	if in.Relative {
		factor, unit = 100, "%"
	}
	var data []object
	var order []string
	said := map[string]int{}
	bounded := 0
	for _, r := range rows {
		o, err := r.data(in.ID, factor)
		if err != nil {
			return Chart{}, err
		}
		order = append(order, visible(r.Label))
		data = append(data, o)
		said[r.word()]++
		if r.Lo != nil || r.Hi != nil {
			bounded++
		}
	}
	margins := []object{}
	for _, r := range rows {
		if r.Margin == nil {
			continue
		}
		if err := checkFinite(in.ID, *r.Margin); err != nil {
			return Chart{}, err
		}
		if r.Side >= 0 {
			margins = append(margins, object{"l": visible(r.Label), "x": round(*r.Margin * factor)})
		}
		if r.Side <= 0 {
			margins = append(margins, object{"l": visible(r.Label), "x": round(-*r.Margin * factor)})
		}
	}
	spec := object{"height": 38 * len(rows), "layer": effectLayers("difference, "+visible(unit), order, data, margins, said)}
	alt := fmt.Sprintf("%s, %s: %d %s with the claim, %d %s not, %d undecided. %s", phrase.Plural(len(rows), "effect"), intervals(bounded, len(rows)),
		said[agrees], verb(said[agrees], "agrees", "agree"), said[disagrees], verb(said[disagrees], "does", "do"), said[undecided], in.widest(rows))
	note := "Point: estimate; line: interval, drawn to the estimate on a side where it has no end; brackets: the declared margin; grey: the noise floor of two identical executions."
	if bounded < len(rows) {
		note += " A point without a line has no interval: repetitions were too few."
	}
	if len(rows) < len(in.Rows) {
		note += fmt.Sprintf(" Drawn are the first %d of %d.", len(rows), len(in.Rows))
	}
	return newChart(in.ID, in.Title, alt, note, spec, in.table(rows))
}

// intervals says how many of the effects have one.
func intervals(bounded, all int) string {
	switch bounded {
	case 0:
		return "none with an interval"
	case all:
		return "with " + verb(all, "its interval", "their intervals")
	}
	return fmt.Sprintf("%d of them with an interval", bounded)
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func (r EffectRow) data(id string, factor float64) (object, error) {
	o := object{"l": visible(r.Label), "e": round(r.Estimate * factor), "h": r.word()}
	numbers := []float64{r.Estimate}
	for key, bound := range map[string]*float64{"lo": r.Lo, "hi": r.Hi} {
		if bound != nil {
			o[key] = round(*bound * factor)
			numbers = append(numbers, *bound)
		}
	}
	if r.Lo != nil || r.Hi != nil {
		o["from"], o["to"] = o["e"], o["e"]
		if r.Lo != nil {
			o["from"] = o["lo"]
		}
		if r.Hi != nil {
			o["to"] = o["hi"]
		}
	}
	if r.Noise != nil {
		o["n1"], o["n2"] = round(-*r.Noise*factor), round(*r.Noise*factor)
		numbers = append(numbers, *r.Noise)
	}
	return o, checkFinite(id, numbers...)
}

func effectLayers(title string, order []string, data, margins []object, said map[string]int) []object {
	y := category("l", order)
	y["axis"] = object{"labelAngle": 0, "ticks": false, "domain": false, "labelLimit": 300, "labelExpr": "split(datum.label, ': ')"}
	x := func(field string) object { return measured(field, title, true) }
	var shown []string
	for _, w := range []string{agrees, disagrees, undecided} {
		if said[w] > 0 {
			shown = append(shown, w)
		}
	}
	// Neither good nor bad: the undecided take the theme's grey.
	color := colours("h", []string{agrees, "", disagrees, "-", "--", undecided}, object{"values": shown})
	return layered(
		object{"data": inlineData(having("n1", data)), "mark": object{"type": "bar", "style": "noise", "height": 24}, "encoding": object{"y": y, "x": x("n1"), "x2": object{"field": "n2"}}},
		object{"data": inlineData([]object{{"x": 0}}), "mark": object{"type": "rule", "style": "zero"}, "encoding": object{"x": x("x")}},
		object{"data": inlineData(margins), "mark": object{"type": "tick", "style": "margin", "size": 24, "thickness": 2}, "encoding": object{"y": y, "x": x("x")}},
		object{"data": inlineData(having("from", data)), "mark": object{"type": "rule", "strokeWidth": 2}, "encoding": object{"y": y, "x": x("from"), "x2": object{"field": "to"}, "color": color}},
		object{"data": inlineData(data), "mark": object{"type": "point", "filled": true, "size": 80, "opacity": 1}, "encoding": object{"y": y, "x": x("e"), "color": color,
			"tooltip": []object{{"field": "l", "title": "comparison"}, {"field": "e", "title": "difference"}, {"field": "lo", "title": "from"}, {"field": "hi", "title": "to"}, {"field": "h", "title": "claim"}}}},
	)
}

func (in EffectsInput) widest(rows []EffectRow) string {
	largest := rows[0]
	for _, r := range rows {
		if abs(r.Estimate) > abs(largest.Estimate) {
			largest = r
		}
	}
	return fmt.Sprintf("The largest is %s (%s).", formatEffect(largest.Estimate, in.Relative, in.Unit), visible(largest.Label))
}

func (in EffectsInput) table(rows []EffectRow) Table {
	t := Table{Columns: []string{"Comparison", "Effect", "From", "To", "Noise floor", "Agrees"}}
	bound := func(x *float64) string {
		if x == nil {
			return "–"
		}
		return formatEffect(*x, in.Relative, in.Unit)
	}
	for _, r := range rows {
		t.Rows = append(t.Rows, []string{r.Label, formatEffect(r.Estimate, in.Relative, in.Unit), bound(r.Lo), bound(r.Hi), bound(r.Noise), map[string]string{agrees: "yes", disagrees: "no", undecided: undecided}[r.word()]})
	}
	return t
}

func abs(x float64) float64 {
	if x < 0 {
		return -x
	}
	return x
}
