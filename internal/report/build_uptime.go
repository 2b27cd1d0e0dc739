package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"brink/internal/experiment"
	"brink/internal/measure"
	"brink/internal/wire"
)

// uptimes draws the apps of each step in which one restarted, or about which
// a cascade is claimed, in the first repetition that shows it.
func (b *builder) uptimes() error {
	claimed := map[string]bool{}
	for _, h := range b.Design.Experiment.Hypotheses {
		if h.Form == experiment.Cascade {
			for _, s := range h.Steps {
				claimed[s] = true
			}
		}
	}
	for _, s := range b.Table.Steps {
		rep, ok := restarting(s, claimed[s.Name])
		if !ok {
			continue
		}
		in := UptimeInput{
			ID: chartID("uptime", s.Name), Title: fmt.Sprintf("%s: ups and downs of its apps, repetition %d", s.Name, rep.Number),
			Apps: appUptimes(rep.Events, rep.EndedNs),
		}
		if len(in.Apps) == 0 {
			continue
		}
		c, err := Uptime(in)
		if aboutMemory(s.Step) {
			c.Beside = s.Name // where the timeline is
		}
		if err := b.add(c, err); err != nil {
			return err
		}
		if b.m.Lead == "" && claimed[s.Name] { // nothing is told over steps: how apps fell together tells most
			b.m.Lead = in.ID
		}
	}
	return nil
}

// restarting finds the repetition to draw: the first that came to its end and in
// which an app restarted or, where a cascade is claimed, the first.
func restarting(s measure.StepInfo, claimed bool) (measure.RepetitionInfo, bool) {
	whole := slices.DeleteFunc(slices.Clone(s.Repetitions), func(r measure.RepetitionInfo) bool { return !came(r) || r.Twin })
	for _, rep := range whole {
		for _, e := range rep.Events {
			if e.Kind == wire.Restarted {
				return rep, true
			}
		}
	}
	if claimed && len(whole) > 0 {
		return whole[0], true
	}
	return measure.RepetitionInfo{}, false
}

// appUptimes turns events into stretches: an app is starting from its
// deployment or restart until it is healthy, and down from its exit on.
func appUptimes(events []wire.Event, end int64) []AppUptime {
	type open struct {
		since int64
		state AppState
	}
	at := map[string]open{}
	byApp := map[string]*AppUptime{}
	var order []string
	if len(events) == 0 {
		return nil
	}
	first := events[0].AtNs
	s := func(ns int64) float64 { return float64(ns-first) / 1e9 }
	change := func(app string, ns int64, state AppState) {
		if o, ok := at[app]; ok && ns > o.since {
			byApp[app].Stretches = append(byApp[app].Stretches, Stretch{From: s(o.since), To: s(ns), State: o.state})
		}
		at[app] = open{ns, state}
	}
	for _, e := range events {
		if byApp[e.App] == nil {
			byApp[e.App] = &AppUptime{App: e.App}
			order = append(order, e.App)
		}
		switch e.Kind {
		case wire.Deployed:
			change(e.App, e.AtNs, Starting)
		case wire.Restarted:
			byApp[e.App].Restarts++
			change(e.App, e.AtNs, Starting)
		case wire.Healthy:
			change(e.App, e.AtNs, Serving)
		case wire.WorkerKilled:
			if at[e.App].state == Starting {
				byApp[e.App].Kills = append(byApp[e.App].Kills, s(e.AtNs))
			}
		case wire.Exited, wire.GaveUp:
			change(e.App, e.AtNs, Down)
		}
	}
	slices.SortStableFunc(order, byName)
	out := make([]AppUptime, len(order))
	for i, app := range order {
		change(app, max(end, at[app].since), at[app].state)
		out[i] = *byApp[app]
	}
	return out
}

// byName puts app-9 before app-10.
func byName(a, b string) int {
	stem := func(s string) string { return strings.TrimRight(s, "0123456789") }
	return cmp.Or(strings.Compare(stem(a), stem(b)), len(a)-len(b), strings.Compare(a, b))
}
