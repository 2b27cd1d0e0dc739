package experiment

import (
	"maps"
	"slices"

	"brink/internal/metric"
)

// ReferenceFigures are the published values of one metric in one table, by
// step.
type ReferenceFigures struct {
	Table  string `json:"table,omitempty"`
	Source string `json:"source,omitempty"`
	Metric string `json:"metric,omitempty"`
	// Values are in the metric's unit; of a published range they are the lower
	// ends, and High has the upper ones.
	Values map[string]float64 `json:"values,omitempty"`
	High   map[string]float64 `json:"high,omitempty"`
}

// Published is one published figure.
type Published struct {
	Table, Source string
	Step          string
	Metric        metric.Metric
	X             float64
	// High is the upper end of a range that begins at X, nil where there is none.
	High *float64
}

// Published lists the published figures of the steps that the design executes:
// tables and metrics in the order of the file, each in the order of the steps.
func (d *Design) Published() []Published {
	if d.Experiment.Reference == nil {
		return nil
	}
	var all []Published
	for _, f := range d.Experiment.Reference.Figures {
		m, _ := metric.Lookup(f.Metric)
		for _, s := range d.Steps {
			x, ok := f.Values[s.Name]
			if !ok {
				continue
			}
			p := Published{Table: f.Table, Source: f.Source, Step: s.Name, Metric: m, X: x}
			if high, ranged := f.High[s.Name]; ranged {
				p.High = &high
			}
			all = append(all, p)
		}
	}
	return all
}

// figures checks the published figures: that ours can stand beside them.
func (l *loader) figures(c *claims) {
	if l.e.Reference == nil {
		return
	}
	for i, n := range l.root.get("reference").get("figures").elements() {
		if i >= len(l.e.Reference.Figures) || n.kind != mapping {
			return
		}
		f := l.e.Reference.Figures[i]
		if _, ok := metric.Lookup(f.Metric); !ok && f.Metric != "" {
			l.word(n.get("metric"), quote(f.Metric)+" is not a metric", f.Metric, metric.Names())
		}
		for _, list := range []string{"values", "high"} {
			for _, e := range entriesOf(n.get(list)) {
				if c.named && c.byName[e.key] == nil {
					p := n.get(list).keyProblem(e, quote(e.key)+" is not a step")
					p.Suggestion = nearest(e.key, c.names)
					l.add(p)
				}
			}
		}
		for _, step := range slices.Sorted(maps.Keys(f.High)) {
			if low, ok := f.Values[step]; !ok || f.High[step] <= low {
				l.about(n, "high", "%s has no lower value for the range that it ends", quote(step))
			}
		}
	}
}
