package report

import (
	"cmp"
	"slices"

	"brink/internal/experiment"
)

// figures sets the published figures beside our medians, for the steps that
// this run has executed.
func (b *builder) figures() []ReferenceFigure {
	var out []ReferenceFigure
	rank := loadRank(b.Design.Steps)
	for _, f := range b.Design.Published() {
		if slices.Contains(b.m.Extent.Waiting, f.Step) {
			continue
		}
		out = append(out, ReferenceFigure{
			Table: f.Table, Step: f.Step, Rank: rank[f.Step], Metric: f.Metric, Published: Number{X: f.X}, High: f.High, Source: f.Source,
			Emulation: b.whyHere(f.Metric.Name), Ours: b.median(f.Step, f.Metric.Name), N: len(b.Table.Cell(f.Step, f.Metric.Name).Usable()),
		})
	}
	return out
}

// loadRank puts steps in the order in which published tables have them: zips
// before containers, then by the number of apps, then by what they fill.
func loadRank(steps []experiment.Step) map[string]int {
	load := func(s experiment.Step) (containers, apps, mb int) {
		for _, a := range s.Apps {
			mb += max(1, a.Workers) * a.AllocMB
			if a.Deploy == "container" {
				containers++
			}
		}
		return min(containers, 1), len(s.Apps), mb
	}
	sorted := slices.Clone(steps)
	slices.SortStableFunc(sorted, func(x, y experiment.Step) int {
		xc, xn, xmb := load(x)
		yc, yn, ymb := load(y)
		return cmp.Or(cmp.Compare(xc, yc), cmp.Compare(xn, yn), cmp.Compare(xmb, ymb))
	})
	rank := map[string]int{}
	for i, s := range sorted {
		rank[s.Name] = i
	}
	return rank
}
