package report

import (
	"fmt"
	"strings"

	"brink/internal/experiment"
	"brink/internal/metric"
	"brink/internal/phrase"
	"brink/internal/verdict"
)

// verdictBlocks opens section 10: each hypothesis with what decided it.
func verdictBlocks(m *Model) []block {
	if len(m.Verdicts) == 0 {
		return nil
	}
	blocks := []block{heading("Verdicts")}
	for i, v := range m.Verdicts {
		if len(m.Extent.lacks(v)) > 0 {
			continue
		}
		head := []span{strong(clean(v.Hypothesis.ID)), text(" "), outcome(v.Outcome), text(" "), level(v.Level), text(" ")}
		blocks = append(blocks, block{Anchor: verdictAnchor(i), Para: append(head, prose(v.Sentence)...)})
		if why := reasonBlocks(m, v); len(why) > 0 {
			blocks = append(blocks, folded("How "+clean(v.Hypothesis.ID)+" was decided", why...))
		}
	}
	blocks = append(blocks, waitingBlocks(m)...)
	return append(blocks, folded("What the words mean", levelBlock()))
}

// reasonBlocks is how a hypothesis was decided.
func reasonBlocks(m *Model, v verdict.Verdict) []block {
	var why []block
	if v.Rule != "" {
		why = append(why, block{Para: append([]span{strong("Rule:"), text(" ")}, prose(v.Rule)...)})
	}
	if v.Raise != "" {
		why = append(why, block{Para: append([]span{strong("What would raise it:"), text(" ")}, prose(v.Raise)...)})
	}
	if len(v.Parts) > 0 {
		why = append(why, gridBlock(partGrid(m, v)))
	}
	if len(v.Notes) > 0 {
		why = append(why, proseList(v.Notes))
	}
	return why
}

func levelBlock() block {
	b := block{}
	for _, l := range levelMeanings {
		b.List = append(b.List, []span{level(l.level), text(" " + l.meaning + ".")})
	}
	return b
}

// partColumn is a column of the table behind a verdict; it is left out when
// no part has it.
type partColumn struct {
	column
	cell func(verdict.Part) cell
}

func partGrid(m *Model, v verdict.Verdict) *grid {
	unit := ""
	if mt, ok := metric.Lookup(v.Hypothesis.Metric); ok {
		unit = mt.Unit
	}
	g := &grid{Caption: fmt.Sprintf("%s: %s, comparison by comparison", clean(v.Hypothesis.ID), metricTitle(v.Hypothesis.Metric))}
	var used []partColumn
	for _, c := range partColumns(m, v, unit) {
		for _, p := range v.Parts {
			if len(c.cell(p)) > 0 {
				used = append(used, c)
				g.Columns = append(g.Columns, c.column)
				break
			}
		}
	}
	for _, p := range v.Parts {
		row := make([]cell, len(used))
		for i, c := range used {
			if row[i] = c.cell(p); len(row[i]) == 0 {
				row[i] = words("–")
			}
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

func partColumns(m *Model, v verdict.Verdict, unit string) []partColumn {
	noise, hasNoise := noiseOf(m, v.Hypothesis.Metric)
	return []partColumn{
		{column{Title: "Steps"}, func(p verdict.Part) cell { return stepCell(p.Steps) }},
		{column{Title: "n", Number: true}, func(p verdict.Part) cell {
			return words(joinEach(len(p.N), func(i int) string { return fmt.Sprint(p.N[i]) }))
		}},
		{column{Title: "Median", Number: true}, func(p verdict.Part) cell {
			return words(joinEach(len(p.Median), func(i int) string {
				if i < len(p.N) && p.N[i] == 0 {
					return "–"
				}
				return boundMark(i < len(p.AtLeast) && p.AtLeast[i]) + formatValue(p.Median[i], unit)
			}))
		}},
		{column{Title: "Expected", Number: true}, func(p verdict.Part) cell {
			return optional(p.Expected, func(x float64) string { return formatValue(x, unit) })
		}},
		{column{Title: "Effect", Number: true}, func(p verdict.Part) cell { return effectCell(p, unit) }},
		{column{Title: "Noise floor", Number: true}, func(p verdict.Part) cell {
			if !hasNoise || noise.Still || p.Effect == nil {
				return nil
			}
			return words(noise.size(unit))
		}},
		{column{Title: "U", Number: true}, func(p verdict.Part) cell { return optional(p.U, phrase.Whole) }},
		{column{Title: "Cliff’s δ", Number: true}, func(p verdict.Part) cell { return optional(p.Delta, phrase.Number) }},
		{column{Title: "p", Number: true}, func(p verdict.Part) cell { return optional(p.P, phrase.P) }},
		{column{Title: "p (Holm)", Number: true}, func(p verdict.Part) cell { return optional(p.PHolm, phrase.P) }},
		{column{Title: "Agrees"}, func(p verdict.Part) cell { return words(agreeWord(v, p)) }},
		{column{Title: "Note"}, func(p verdict.Part) cell { return prose(p.Note) }},
	}
}

// agreeWord is whether a part agrees with its claim. A comparison whose verdict
// is open disagrees with nothing.
func agreeWord(v verdict.Verdict, p verdict.Part) string {
	if isOpen(v, p) {
		return undecided
	}
	return yesNo(p.Holds)
}

// isOpen tells whether a comparison says neither yes nor no.
func isOpen(v verdict.Verdict, p verdict.Part) bool {
	switch v.Hypothesis.Form {
	case experiment.Compare, experiment.Equivalent, experiment.CausedBy:
		return !p.Holds && (v.Outcome == verdict.Inconclusive || !hasInterval(p))
	}
	return false
}

// size is the floor as a difference in either direction.
func (n NoiseFloor) size(unit string) string {
	return "± " + strings.TrimPrefix(formatEffect(n.Difference, n.Relative, unit), "+")
}

func noiseOf(m *Model, name string) (NoiseFloor, bool) {
	for _, n := range m.NoiseFloor {
		if n.Metric == name {
			return n, true
		}
	}
	return NoiseFloor{}, false
}

func stepCell(steps []string) cell {
	var c cell
	for i, s := range steps {
		if i > 0 {
			c = append(c, text(" → "))
		}
		c = append(c, code(s))
	}
	return c
}

func effectCell(p verdict.Part, unit string) cell {
	if p.Effect == nil {
		return nil
	}
	s := formatEffect(*p.Effect, p.Relative, unit)
	if p.Lo != nil && p.Hi != nil {
		s += fmt.Sprintf(" [%s, %s]", formatEffect(*p.Lo, p.Relative, unit), formatEffect(*p.Hi, p.Relative, unit))
	}
	if p.Word != "" {
		s += ", " + clean(p.Word)
	}
	return words(s)
}

func joinEach(n int, f func(int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = f(i)
	}
	return strings.Join(parts, " → ")
}

func optional(x *float64, f func(float64) string) cell {
	if x == nil {
		return nil
	}
	return words(f(*x))
}

func boundMark(atLeast bool) string {
	if atLeast {
		return "≥\u00a0"
	}
	return ""
}

func metricTitle(name string) string {
	if mt, ok := metric.Lookup(name); ok {
		return mt.Title
	}
	return clean(name)
}

// resultBlocks is section 10: verdicts, how plans broke, pictures, the published
// figures beside ours, and step by step.
func resultBlocks(m *Model, figures []*figure, lead *figure) []block {
	beside, head := placed(m, figures, lead)
	blocks := append(verdictBlocks(m), modeBlocks(m)...)
	if len(head) > 0 && len(m.Modes) > 0 {
		blocks = append(blocks, heading("Pictures"))
	}
	blocks = append(blocks, figureBlocks(head, lead)...)
	blocks = append(blocks, referenceFigureBlocks(m, beside)...)
	blocks = append(blocks, deployBlocks(m.DeployPairs)...)
	blocks = append(blocks, byStepBlocks(m, beside)...)
	if len(m.Exclusions) > 0 {
		blocks = append(blocks, heading("What was left out"))
		list := proseList(m.Exclusions)
		if len(m.Exclusions) > 8 {
			list = folded(fmt.Sprintf("All that was left out (%d)", len(m.Exclusions)), list)
		}
		blocks = append(blocks, list)
	}
	blocks = append(blocks, failureBlocks(m.Failures)...)
	blocks = append(blocks, eventBlocks(m)...)
	return append(blocks, logBlocks(m)...)
}

func noiseBlocks(floors []NoiseFloor) []block {
	if len(floors) == 0 {
		return nil
	}
	g := &grid{Caption: "Noise floor: the baseline against itself", Columns: columns("Metric", "Baseline", "#Pairs", "#Difference")}
	for _, n := range floors {
		unit := ""
		if mt, ok := metric.Lookup(n.Metric); ok {
			unit = mt.Unit
		}
		size := words(n.size(unit))
		if n.Still {
			size = cell{muted("unknown: it did not vary there")}
		}
		g.Rows = append(g.Rows, []cell{words(metricTitle(n.Metric)), {code(n.Step)}, words(fmt.Sprint(n.N)), size})
	}
	return []block{gridBlock(g)}
}

func failureBlocks(failures []Failure) []block {
	if len(failures) == 0 {
		return nil
	}
	g := &grid{Caption: "Failed requests", Columns: columns("Step", "Outcome", "#Count", "One such error")}
	for _, f := range failures {
		g.Rows = append(g.Rows, []cell{{code(f.Step)}, words(visible(f.Outcome)), words(phrase.Count(f.Count)), {code(f.Example)}})
	}
	return []block{gridBlock(g)}
}

func eventBlocks(m *Model) []block {
	if len(m.Events) == 0 {
		return nil
	}
	g := &grid{Caption: "What happened to the apps", Columns: columns("Step", "#Repetition", "App", "#At", "Event", "Detail")}
	for _, e := range m.Events {
		number := fmt.Sprint(e.Number)
		if e.Twin {
			number += " (twin)"
		}
		g.Rows = append(g.Rows, []cell{{code(e.Step)}, words(number), {code(e.App)}, words(formatDuration(e.At)), words(visible(e.Kind)), {code(e.Detail)}})
	}
	return foldLong("Events", g, m.OmittedEvents)
}

func logBlocks(m *Model) []block {
	if len(m.Logs) == 0 {
		return nil
	}
	g := &grid{Caption: "What the apps wrote", Columns: columns("Step", "App", "Stream", "#Times", "Line")}
	for _, l := range m.Logs {
		g.Rows = append(g.Rows, []cell{{code(l.Step)}, {code(l.App)}, words(visible(l.Stream)), words(phrase.Count(l.Count)), {code(l.Line)}})
	}
	return foldLong("Log lines", g, m.OmittedLogs)
}

func foldLong(what string, g *grid, omitted int64) []block {
	blocks := []block{gridBlock(g)}
	if omitted > 0 {
		blocks = append(blocks, para(muted(fmt.Sprintf("The record holds %s more.", phrase.Count(omitted)))))
	}
	if len(g.Rows) > 8 {
		return []block{folded(fmt.Sprintf("%s (%d)", what, len(g.Rows)), blocks...)}
	}
	return blocks
}

func referenceBlocks(m *Model) []block {
	if m.Reference == nil || len(m.Reference.Claims) == 0 {
		return nil
	}
	title := clean(m.Reference.Title)
	if m.Reference.Date != "" {
		title += ", " + clean(m.Reference.Date)
	}
	g := &grid{Caption: "Published claims beside ours: " + title, Columns: columns("", "The reference says", "#Published", "Its own arithmetic", "Here")}
	byID := map[string]verdict.Verdict{}
	for _, v := range m.Verdicts {
		byID[v.Hypothesis.ID] = v
	}
	for _, c := range m.Reference.Claims {
		says := prose(c.Says)
		if c.Note != "" {
			says = append(append(says, text(" ")), prose(c.Note)...)
		}
		row := []cell{{strong(clean(c.ID))}, says, optional(c.Published, func(x float64) string { return formatValue(x, c.Unit) }), arithmetic(c), ourCell(m, byID, c.Hypothesis)}
		for i := range row {
			if len(row[i]) == 0 {
				row[i] = words("–")
			}
		}
		g.Rows = append(g.Rows, row)
	}
	blocks := []block{heading("Distance to the reference")}
	if levels := claimLevels(m.Reference.Claims); len(levels) > 0 {
		blocks = append(blocks, para(append([]span{text("The level that its repetitions allow the reference: ")}, levels...)...))
	}
	return append(blocks, gridBlock(g))
}

// claimLevels are the levels of the reference's claims, with the claims where they
// differ.
func claimLevels(claims []ReferenceClaim) []span {
	at := map[verdict.Level][]string{}
	var order []verdict.Level
	for _, c := range claims {
		if c.Level == "" {
			continue
		}
		if at[c.Level] == nil {
			order = append(order, c.Level)
		}
		at[c.Level] = append(at[c.Level], c.ID)
	}
	if len(order) == 1 {
		return []span{level(order[0]), text(" for each claim.")}
	}
	var spans []span
	for _, l := range order {
		spans = append(spans, level(l), text(" for "+clean(strings.Join(at[l], ", "))+". "))
	}
	return spans
}

func arithmetic(c ReferenceClaim) cell {
	var out cell
	if c.Formula != "" {
		out = append(out, span{Kind: codeText, Text: clean(c.Formula)})
	}
	if c.Computed != nil {
		out = append(out, text(" = "+formatValue(*c.Computed, c.Unit)))
	}
	if c.Deviation != nil && *c.Deviation != 0 {
		out = append(out, text("; off by "+formatEffect(*c.Deviation, true, "")))
	}
	return out
}

func ourCell(m *Model, byID map[string]verdict.Verdict, id string) cell {
	v, ok := byID[id]
	switch {
	case !ok:
		return words("not tested here")
	case len(m.Extent.lacks(v)) > 0:
		return cell{strong(clean(id)), text(" waits for steps that were not executed")}
	}
	return append(cell{strong(clean(id)), text(" "), outcome(v.Outcome), text(" "), level(v.Level), text(" ")}, prose(v.Numbers)...)
}
