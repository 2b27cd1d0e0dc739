package report

import (
	"cmp"
	"fmt"
	"slices"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/wire"
)

// markOf says how an event is marked in a timeline.
var markOf = map[wire.EventKind]MarkKind{
	wire.Deployed: MarkStart, wire.Healthy: MarkServing, wire.Restarted: MarkRestart,
	wire.OOMKilled: MarkOOMKill, wire.WorkerKilled: MarkBootKill, wire.GaveUp: MarkGaveUp,
}

// timelines draws one repetition of each step whose plan is about memory: the
// one with the median cold start.
func (b *builder) timelines() error {
	for _, s := range b.Table.Steps {
		if s.Plan.MemoryMB == 0 && s.Plan.SwapMB == 0 && s.Plan.Share == (experiment.Share{}) {
			continue
		}
		rep, ok := b.typical(s)
		if !ok {
			continue
		}
		in := TimelineInput{ID: chartID("timeline", s.Name), Title: fmt.Sprintf("%s: memory, pressure and CPU, repetition %d", s.Name, rep.Number), Swap: float64(s.Plan.SwapMB)}
		points, err := b.Table.Timeline(b.ctx, b.Reader, s.Name, rep)
		if err != nil {
			return err
		}
		for _, p := range points {
			in.Points = append(in.Points, TimelinePoint(p))
		}
		if in.Marks, err = b.marks(rep); err != nil {
			return err
		}
		if len(in.Points) < 2 {
			continue
		}
		if err := b.add(Timeline(in)); err != nil {
			return err
		}
	}
	return nil
}

// typical is the repetition of a step with the median cold start, or the first
// one that was executed.
func (b *builder) typical(s measure.StepInfo) (measure.RepetitionInfo, bool) {
	starts := b.Table.Cell(s.Name, "cold_start_s").Usable()
	slices.SortStableFunc(starts, func(x, y measure.Value) int { return cmp.Compare(x.X, y.X) })
	for _, rep := range s.Repetitions {
		if rep.Excluded == "" && !rep.Twin && (len(starts) == 0 || rep.ID == starts[(len(starts)-1)/2].Repetition) {
			return rep, true
		}
	}
	return measure.RepetitionInfo{}, false
}

// marks are what happened to the apps, counted from the first deployment.
func (b *builder) marks(rep measure.RepetitionInfo) ([]TimelineMark, error) {
	events, err := b.Reader.Events(b.ctx, rep.ID)
	if err != nil {
		return nil, err
	}
	from := rep.StartedNs
	if i := slices.IndexFunc(events, func(e wire.Event) bool { return e.Kind == wire.Deployed }); i >= 0 {
		from = events[i].AtNs
	}
	var marks []TimelineMark
	for _, e := range events {
		if kind, ok := markOf[e.Kind]; ok && e.AtNs >= from {
			marks = append(marks, TimelineMark{T: float64(e.AtNs-from) / 1e9, Kind: kind, App: e.App})
		}
	}
	return marks, nil
}
