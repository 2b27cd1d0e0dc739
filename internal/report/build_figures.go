package report

// figures sets the published figures beside our medians, for the steps that
// this run's profile has.
func (b *builder) figures() []ReferenceFigure {
	var out []ReferenceFigure
	for _, f := range b.Design.Published() {
		out = append(out, ReferenceFigure{
			Table: f.Table, Step: f.Step, Metric: f.Metric, Published: Number{X: f.X}, High: f.High, Source: f.Source,
			Ours: b.median(f.Step, f.Metric.Name), N: len(b.Table.Cell(f.Step, f.Metric.Name).Usable()),
		})
	}
	return out
}
