package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"brink/internal/metric"
	"brink/internal/phrase"
)

// ReferenceFigure is one published figure beside ours.
type ReferenceFigure struct {
	// Table is the name under which figures stand together, such as
	// "Flask, number of apps".
	Table string `json:"table"`
	Step  string `json:"step"`
	// Rank is the step's place in its table: lower ones come first, equal ones as
	// they are listed.
	Rank int `json:"rank,omitempty"`
	// Metric is ours; Published is in its unit. High is the end of a published
	// range that begins at Published.
	Metric    metric.Metric `json:"metric"`
	Published Number        `json:"published"`
	High      *float64      `json:"high,omitempty"`
	// Source is where it was published: a table's number, say.
	Source string `json:"source,omitempty"`
	// Ours is the median over N repetitions.
	Ours Number `json:"ours"`
	N    int    `json:"n"`
	// Emulation says what of the distance the emulation makes, as clauses; empty
	// for nothing that is known. It is the same for all figures of a metric.
	Emulation string `json:"emulation,omitempty"`
}

// middle is the published figure as one number, and whether there is one.
func (f ReferenceFigure) middle() (float64, bool) {
	switch {
	case f.Published.None != "":
		return 0, false
	case f.High != nil:
		return (f.Published.X + *f.High) / 2, true
	}
	return f.Published.X, true
}

// mine is our figure, and whether there is one.
func (f ReferenceFigure) mine() (float64, bool) { return f.Ours.X, f.Ours.None == "" }

// distance is how far our figure is from the published one, 0 inside a
// published range: relative for ratio metrics, otherwise in the unit.
func (f ReferenceFigure) distance() (d float64, ok bool) {
	published, known := f.middle()
	ours, measured := f.mine()
	if !known || !measured {
		return 0, false
	}
	if f.High != nil {
		switch {
		case ours >= f.Published.X && ours <= *f.High:
			return 0, true
		case ours < f.Published.X:
			published = f.Published.X
		default:
			published = *f.High
		}
	}
	if f.Metric.Kind == metric.Ratio {
		if published == 0 {
			return 0, false
		}
		return ours/published - 1, true
	}
	return ours - published, true
}

// move is a direction from one step to the next.
type move int

// Changes that are smaller than these are none.
const (
	flatRatio  = 0.05
	flatPoints = 1.0
	flatCount  = 0.5
)

func moveOf(from, to float64, m metric.Metric) move {
	change, flat := to-from, flatPoints
	switch m.Kind {
	case metric.Ratio:
		change, flat = change/math.Max(math.Abs(from), 1e-9), flatRatio
	case metric.Count:
		flat = flatCount
	}
	switch {
	case change > flat:
		return 1
	case change < -flat:
		return -1
	}
	return 0
}

func (m move) arrow() string { return [...]string{"↓", "→", "↑"}[m+1] }

// referenceTable is the figures of one table, step by step.
type referenceTable struct {
	name    string
	source  string
	steps   []string
	metrics []metric.Metric
	at      map[string]ReferenceFigure
}

func referenceTables(figures []ReferenceFigure) []*referenceTable {
	var out []*referenceTable
	byName, ranks := map[string]*referenceTable{}, map[string]int{}
	for _, f := range figures {
		t := byName[f.Table]
		if t == nil {
			t = &referenceTable{name: f.Table, source: f.Source, at: map[string]ReferenceFigure{}}
			byName[f.Table] = t
			out = append(out, t)
		}
		if _, seen := t.figure(f.Step, f.Metric.Name); !seen {
			t.add(f)
			ranks[f.Step] = f.Rank
		}
	}
	for _, t := range out {
		slices.SortStableFunc(t.steps, func(x, y string) int { return cmp.Compare(ranks[x], ranks[y]) })
	}
	return out
}

func (t *referenceTable) add(f ReferenceFigure) {
	t.at[f.Step+"\x00"+f.Metric.Name] = f
	t.steps = distinct(append(t.steps, f.Step))
	for _, m := range t.metrics {
		if m.Name == f.Metric.Name {
			return
		}
	}
	t.metrics = append(t.metrics, f.Metric)
}

func (t *referenceTable) figure(step, name string) (ReferenceFigure, bool) {
	f, ok := t.at[step+"\x00"+name]
	return f, ok
}

// moves are the directions in which both go from the step before to the i-th,
// where both are known at both.
func (t *referenceTable) moves(i int, m metric.Metric) (there, here move, ok bool) {
	if i == 0 {
		return 0, 0, false
	}
	before, ok1 := t.figure(t.steps[i-1], m.Name)
	now, ok2 := t.figure(t.steps[i], m.Name)
	if !ok1 || !ok2 {
		return 0, 0, false
	}
	p0, a := before.middle()
	p1, b := now.middle()
	o0, c := before.mine()
	o1, d := now.mine()
	if !a || !b || !c || !d {
		return 0, 0, false
	}
	return moveOf(p0, p1, m), moveOf(o0, o1, m), true
}

// grid is the table for people: metric by metric and step by step what was
// published, what was measured here, the distance, and the direction from the
// step before.
func (t *referenceTable) grid() *grid {
	caption := clean(t.name)
	if t.source != "" {
		caption += " (published in " + clean(t.source) + ")"
	}
	g := &grid{Caption: caption, Columns: columns("Metric", "Step", "#Reference", "#Here", "#n", "#Distance", "Direction")}
	for _, m := range t.metrics {
		title := cell{strong(titleWithUnit(m))}
		for i, step := range t.steps {
			if _, ok := t.figure(step, m.Name); !ok {
				continue
			}
			g.Rows = append(g.Rows, append([]cell{title, {code(step)}}, t.cells(i, step, m)...))
			title = words("")
		}
	}
	return g
}

func titleWithUnit(m metric.Metric) string {
	if m.Unit == "" {
		return clean(m.Title)
	}
	return clean(m.Title + ", " + m.Unit)
}

// cells are what a table shows of one published figure.
func (t *referenceTable) cells(i int, step string, m metric.Metric) []cell {
	f, _ := t.figure(step, m.Name)
	show := func(n Number) string {
		if n.None != "" {
			return clean(n.None)
		}
		return boundMark(n.AtLeast) + formatMetric(n.X, m)
	}
	published := show(f.Published)
	if f.High != nil {
		published += " – " + formatMetric(*f.High, m)
	}
	distance, direction := "–", words("–")
	if d, ok := f.distance(); ok {
		distance = boundMark(f.Ours.AtLeast && !f.Published.AtLeast) + formatEffect(d, m.Kind == metric.Ratio, m.Unit)
		if d == 0 {
			distance = "none"
		}
	}
	if there, here, ok := t.moves(i, m); ok {
		direction = words("both " + there.arrow())
		if there != here {
			direction = cell{strong(there.arrow() + " there, " + here.arrow() + " here")}
		}
	}
	return []cell{words(published), words(show(f.Ours)), words(fmt.Sprint(f.N)), words(distance), direction}
}

// sum says in one sentence how near a metric comes.
func (t *referenceTable) sum(m metric.Metric) string {
	pairs, same, worst, worstStep := 0, 0, 0.0, ""
	for i, step := range t.steps {
		if there, here, ok := t.moves(i, m); ok {
			pairs++
			if there == here {
				same++
			}
		}
		if f, ok := t.figure(step, m.Name); ok {
			if d, ok := f.distance(); ok && (worstStep == "" || math.Abs(d) > math.Abs(worst)) {
				worst, worstStep = d, step
			}
		}
	}
	var says string
	switch {
	case worstStep == "":
		return m.Title + ": nothing to compare"
	case worst == 0:
		says = m.Title + ": no distance"
	default:
		says = fmt.Sprintf("%s: farthest is %s (%s)", m.Title, formatEffect(worst, m.Kind == metric.Ratio, m.Unit), visible(worstStep))
	}
	if pairs > 0 {
		says += fmt.Sprintf("; the same direction in %d of %s", same, phrase.Plural(pairs, "move"))
	}
	return says
}

// because is what the emulation has to do with a metric's distances.
func (t *referenceTable) because(m metric.Metric) string {
	for _, step := range t.steps {
		if f, ok := t.figure(step, m.Name); ok {
			return f.Emulation
		}
	}
	return ""
}

// referenceFigureBlocks set the published figures beside ours, table by table,
// each below its picture.
func referenceFigureBlocks(m *Model, pictures map[string][]*figure) []block {
	if m.Reference == nil || len(m.Reference.Figures) == 0 {
		return nil
	}
	blocks := []block{heading("The reference's figures beside ours"), para(text(fmt.Sprintf(
		"Published in \"%s\"; ours are medians over n repetitions. A direction is that from the step before; less than %g\u00a0%%, %g point or one of a count is none.",
		clean(m.Reference.Title), 100*flatRatio, flatPoints)))}
	if len(m.Emulation) > 0 {
		blocks = append(blocks, para(text("What of a distance is made by the emulation is said below each table, and what the emulation is in section 13.")))
	}
	for _, t := range referenceTables(m.Reference.Figures) {
		for _, f := range pictures[t.name] {
			blocks = append(blocks, block{Figure: f})
		}
		blocks = append(blocks, gridBlock(t.grid()))
		var says [][]span
		for _, x := range t.metrics {
			line := words(t.sum(x) + ".")
			if why := t.because(x); why != "" {
				line = append(line, text(" "), strong("Emulation:"), text(" "+clean(why)+"."))
			}
			says = append(says, line)
		}
		blocks = append(blocks, block{List: says})
	}
	return blocks
}
