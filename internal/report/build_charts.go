package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"brink/internal/experiment"
	"brink/internal/metric"
	"brink/internal/stats"
)

// charts draws what the record and the verdicts give material for.
func (b *builder) charts() error {
	for _, draw := range []func() error{
		b.requestBars, b.frames, b.waits, b.staircase, b.predicted, b.cpuFrame, b.effects, b.boxes, b.ladders, b.uptimes, b.references, b.timelines,
	} {
		if err := draw(); err != nil {
			return err
		}
	}
	return nil
}

// references draws the published figures beside ours.
func (b *builder) references() error {
	if b.m.Reference == nil {
		return nil
	}
	charts, err := ReferenceCharts(b.m.Reference.Figures)
	b.m.Charts = append(b.m.Charts, charts...)
	return err
}

// chartID is a chart's name, made of letters, digits and dashes.
func chartID(kind, about string) string {
	return kind + "-" + strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '-'
	}, about)
}

// add keeps a chart, unless there was nothing to draw in it: steps may not have
// been executed.
func (b *builder) add(c Chart, err error) error {
	switch {
	case errors.Is(err, errNothingToDraw):
		return nil
	case err != nil:
		return err
	}
	c.Section = 10
	b.m.Charts = append(b.m.Charts, c)
	return nil
}

// staircase draws the last answers of all steps that hold workers over
// ceil(K / W) × D, and beside them those of event loops, to which it does not
// apply.
func (b *builder) staircase() error {
	in := StaircaseInput{ID: "staircase", Title: "Last answer against concurrency"}
	for _, s := range b.Table.Steps {
		k, w, d, ok := holdOf(s.Step)
		if !ok || (w != 0 && in.Workers != 0 && in.Workers != w) {
			continue
		}
		in.Workers = max(in.Workers, w)
		for _, v := range b.Table.Cell(s.Name, "last_answer_s").Usable() {
			in.Points = append(in.Points, StaircasePoint{Concurrency: k, LastS: v.X, HoldS: d, AtLeast: v.Censored, Series: serverWord(s.Apps[0]), Loop: w == 0})
		}
	}
	if in.Workers == 0 {
		return nil
	}
	return b.add(Staircase(in))
}

// holdOf reads K, W and D of a step whose single batch holds workers; W is 0
// on an event loop.
func holdOf(s experiment.Step) (k, w int, d float64, ok bool) {
	hold, has := s.Factors["hold"]
	if !has || !hold.Numeric || len(s.Traffic) != 1 || s.Traffic[0].Kind != "batch" || len(s.Apps) != 1 || s.Apps[0].Workers < 1 {
		return 0, 0, 0, false
	}
	w, _ = servesAtOnce(s.Apps[0])
	return s.Traffic[0].Count, w, hold.Number, true
}

// predicted draws, for each law over a metric with a unit, what the formula
// gives against every repetition.
func (b *builder) predicted() error {
	for _, v := range b.Verdicts {
		h := v.Hypothesis
		if h.Form != experiment.Law || b.Table.Cell("", h.Metric).Metric.Kind == metric.Count {
			continue
		}
		in := PredictedInput{
			ID: chartID("predicted", h.ID), Title: fmt.Sprintf("%s: predicted by %s, and measured", h.ID, h.Formula),
			Unit: b.Table.Cell("", h.Metric).Metric.Unit, Tolerance: h.Tolerance.Value, Relative: h.Tolerance.Relative,
		}
		for _, p := range v.Parts {
			if p.Expected == nil {
				continue
			}
			for _, x := range b.Table.Cell(p.Steps[0], h.Metric).Usable() {
				in.Points = append(in.Points, PredictedPoint{
					Step: p.Steps[0], Predicted: *p.Expected, Measured: x.X, AtLeast: x.Censored, Holds: h.Agrees(x.X, *p.Expected) && !x.Censored,
				})
			}
		}
		if !worthDrawing(in.Points) {
			continue
		}
		if err := b.add(Predicted(in)); err != nil {
			return err
		}
	}
	return nil
}

// worthDrawing leaves out laws that predict one value and meet it: a single
// spot on the line shows nothing that the verdict does not say.
func worthDrawing(points []PredictedPoint) bool {
	for _, p := range points {
		if !p.Holds || p.Predicted != points[0].Predicted {
			return true
		}
	}
	return false
}

// effects draws the comparisons of each metric that was compared.
func (b *builder) effects() error {
	byMetric := map[string]*EffectsInput{}
	var order []string
	for _, v := range b.Verdicts {
		h := v.Hypothesis
		var size *experiment.Margin
		switch h.Form {
		case experiment.Compare, experiment.CausedBy:
			size = h.Effect
		case experiment.Equivalent:
			size = h.Margin
		default:
			continue
		}
		in := byMetric[h.Metric]
		if in == nil {
			m := b.Table.Cell("", h.Metric).Metric
			in = &EffectsInput{ID: chartID("effects", h.Metric), Title: m.Title + ": differences with their intervals", Unit: m.Unit, Relative: m.Kind == metric.Ratio}
			byMetric[h.Metric] = in
			order = append(order, h.Metric)
		}
		var declared *float64
		if size != nil {
			declared = &size.Value
		}
		for _, p := range v.Parts {
			if p.Effect == nil || len(p.Steps) != 2 {
				continue
			}
			in.Rows = append(in.Rows, EffectRow{
				Label: fmt.Sprintf("%s: %s → %s", h.ID, p.Steps[0], p.Steps[1]), Estimate: *p.Effect, Lo: p.Lo, Hi: p.Hi,
				Margin: declared, Side: side(h), Noise: b.noise(h.Metric), Holds: p.Holds, Open: isOpen(v, p),
			})
		}
	}
	for _, name := range order {
		if in := byMetric[name]; len(in.Rows) > 0 {
			if err := b.add(Effects(*in)); err != nil {
				return err
			}
		}
	}
	return nil
}

// side is the direction in which a hypothesis claims an effect, 0 for either.
func side(h experiment.Hypothesis) int {
	switch h.Direction {
	case "rise":
		return 1
	case "fall":
		return -1
	}
	return 0
}

func (b *builder) noise(name string) *float64 {
	for _, n := range b.m.NoiseFloor {
		if n.Metric == name && !n.Still {
			return &n.Difference
		}
	}
	return nil
}

// boxes draws the repetitions of every step that a comparison names.
func (b *builder) boxes() error {
	steps := map[string][]string{}
	var order []string
	for _, h := range b.Design.Experiment.Hypotheses {
		if h.Form != experiment.Compare && h.Form != experiment.Equivalent && h.Form != experiment.CausedBy {
			continue
		}
		if steps[h.Metric] == nil {
			order = append(order, h.Metric)
		}
		for _, s := range h.Steps {
			if !slices.Contains(steps[h.Metric], s) {
				steps[h.Metric] = append(steps[h.Metric], s)
			}
		}
	}
	for _, name := range order {
		m := b.Table.Cell("", name).Metric
		in := BoxesInput{ID: chartID("boxes", name), Title: m.Title + ": every repetition", Metric: m}
		for _, step := range steps[name] {
			if g, ok := b.boxGroup(step, name); ok {
				in.Groups = append(in.Groups, g)
			}
		}
		if len(in.Groups) == 0 || len(in.Groups) == 1 && len(in.Groups[0].Values) == 1 {
			continue // a single spot shows nothing
		}
		if err := b.add(Boxes(in)); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) boxGroup(step, name string) (BoxGroup, bool) {
	values := b.Table.Cell(step, name).Usable()
	if len(values) == 0 {
		return BoxGroup{}, false
	}
	sum := stats.Summarize(sampleOf(values), 0.95)
	g := BoxGroup{Step: step, Q1: sum.Q1.X, Median: sum.Median.X, Q3: sum.Q3.X}
	for _, v := range values {
		g.Values = append(g.Values, BoxValue{X: v.X, AtLeast: v.Censored})
	}
	return g, true
}

// ladders draws ordered claims, with the change point where there is one.
func (b *builder) ladders() error {
	for _, v := range b.Verdicts {
		h := v.Hypothesis
		if h.Form != experiment.Trend && h.Form != experiment.Cliff {
			continue
		}
		m := b.Table.Cell("", h.Metric).Metric
		in := LadderInput{ID: chartID("ladder", h.ID), Title: fmt.Sprintf("%s: %s over the steps", h.ID, m.Title), Metric: m}
		for i, step := range h.Steps {
			values := b.Table.Cell(step, h.Metric).Usable()
			ls := LadderStep{Step: step}
			if len(values) > 0 {
				med := stats.Median(sampleOf(values))
				ls.Median, ls.AtLeast = &med.X, med.Bound == stats.LowerBound
			}
			for _, x := range values {
				ls.Values = append(ls.Values, x.X)
			}
			in.Steps = append(in.Steps, ls)
			if h.Form == experiment.Cliff && i > 0 && i < len(v.Parts) && v.Parts[i].Holds && v.Parts[i-1].Holds {
				in.Change = i
			}
		}
		if err := b.add(Ladder(in)); err != nil {
			return err
		}
		// Where nobody waited in a batch, what changes over the steps tells most.
		if b.m.Lead == "" && len(b.m.Extent.lacks(v)) == 0 && in.varies() {
			b.m.Lead = in.ID
		}
	}
	return nil
}
