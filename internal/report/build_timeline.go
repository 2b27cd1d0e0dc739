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
// one with the median cold start. Of an intervention it draws all phases of one
// repetition, beside the step in which it is switched on.
func (b *builder) timelines() error {
	for _, s := range b.Table.Steps {
		if !aboutMemory(s.Step) {
			continue
		}
		rep, ok := b.typical(s)
		if !ok {
			continue
		}
		title, all := "%s: memory, pressure and CPU, repetition %d", []execution{{step: s, rep: rep}}
		if rep.Phase > 0 {
			off, on := b.intervened(s.Name)
			if !on {
				continue
			}
			title, all = "%s switched on and off: memory, pressure and CPU, repetition %d", b.phases(s, off, rep.Number)
		}
		in := TimelineInput{ID: chartID("timeline", s.Name), Title: fmt.Sprintf(title, s.Name, rep.Number), Swap: float64(s.Plan.SwapMB)}
		if err := b.follow(&in, all); err != nil {
			return err
		}
		if len(in.Points) < 2 {
			continue
		}
		c, err := Timeline(in)
		c.Beside = s.Name
		if err := b.add(c, err); err != nil {
			return err
		}
	}
	return nil
}

// typical is the repetition of a step with the median cold start, or else the
// first one that came to its end, or that was begun.
func (b *builder) typical(s measure.StepInfo) (measure.RepetitionInfo, bool) {
	starts := b.Table.Cell(s.Name, "cold_start_s").Usable()
	slices.SortStableFunc(starts, func(x, y measure.Value) int { return cmp.Compare(x.X, y.X) })
	mine := slices.DeleteFunc(slices.Clone(s.Repetitions), func(r measure.RepetitionInfo) bool { return r.Excluded != "" || r.Twin })
	if len(starts) > 0 {
		median := starts[(len(starts)-1)/2].Repetition
		mine = slices.DeleteFunc(mine, func(r measure.RepetitionInfo) bool { return r.ID != median })
	}
	if i := slices.IndexFunc(mine, came); i >= 0 {
		return mine[i], true
	}
	if len(mine) == 0 {
		return measure.RepetitionInfo{}, false
	}
	return mine[0], true
}

// intervened is the step that a step is switched off to, and whether it is one
// that is switched on.
func (b *builder) intervened(step string) (off string, on bool) {
	for _, h := range b.Design.Experiment.Hypotheses {
		if h.Form == experiment.CausedBy && h.On == step {
			return h.Off, true
		}
	}
	return "", false
}

// execution is what a timeline shows: a repetition, or one phase of one, in which
// something is on or off.
type execution struct {
	step  measure.StepInfo
	rep   measure.RepetitionInfo
	state string
}

// phases are the phases of one repetition of an intervention in their order.
func (b *builder) phases(on measure.StepInfo, off string, number int) []execution {
	var all []execution
	add := func(s measure.StepInfo, state string) {
		for _, r := range s.Repetitions {
			if r.Number == number && r.Phase > 0 && r.Excluded == "" && came(r) {
				all = append(all, execution{s, r, state})
			}
		}
	}
	add(on, "on")
	if s, ok := b.Table.Step(off); ok {
		add(s, "off")
	}
	slices.SortStableFunc(all, func(x, y execution) int { return cmp.Compare(x.rep.Phase, y.rep.Phase) })
	return all
}

// follow puts the readings and the events of executions that follow each other
// on one axis.
func (b *builder) follow(in *TimelineInput, all []execution) error {
	var from int64
	for i, x := range all {
		points, err := b.Table.Timeline(b.ctx, b.Reader, x.step.Name, x.rep)
		if err != nil {
			return err
		}
		events, err := b.Reader.Events(b.ctx, x.rep.ID)
		if err != nil {
			return err
		}
		begin := x.rep.StartedNs
		if j := slices.IndexFunc(events, func(e wire.Event) bool { return e.Kind == wire.Deployed }); j >= 0 {
			begin = events[j].AtNs
		}
		if i == 0 {
			from = begin
		}
		for _, p := range points {
			p.T += float64(begin-from) / 1e9
			// A reading whose time is a little late makes a share of more than all.
			p.PSISome, p.PSIFull = min(p.PSISome, 100), min(p.PSIFull, 100)
			in.Points = append(in.Points, TimelinePoint(p))
		}
		in.Marks = append(in.Marks, marksOf(x, events, from)...)
	}
	return nil
}

// marksOf are what happened in an execution, counted from the first deployment.
func marksOf(x execution, events []wire.Event, from int64) []TimelineMark {
	var marks []TimelineMark
	at := func(ns int64, kind MarkKind, what string) {
		if ns >= from {
			marks = append(marks, TimelineMark{T: float64(ns-from) / 1e9, Kind: kind, App: what})
		}
	}
	switch {
	case x.rep.TrafficNs == 0:
	case x.state != "":
		at(x.rep.TrafficNs, MarkPhase, x.state)
	default:
		at(x.rep.TrafficNs, MarkTraffic, "begins")
		if x.rep.TrafficEndNs > 0 {
			at(x.rep.TrafficEndNs, MarkTraffic, "ends")
		}
	}
	for _, e := range events {
		if kind, ok := markOf[e.Kind]; ok {
			at(e.AtNs, kind, e.App)
		}
	}
	return marks
}
