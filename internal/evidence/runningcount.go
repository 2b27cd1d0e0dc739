package evidence

import "slices"

// counted is one event of a platform, which it tells of again with a count that has
// grown.
type counted struct {
	kind                             EventKind
	app, reason, probe, text, server string
}

// takeCounted takes in an event whose line repeats the count of it so far.
func (r *logReader) takeCounted(e Event, l *logLine) {
	if i := r.take(e, l); i >= 0 {
		r.state.counted = append(r.state.counted, i)
	}
}

// sinceLast leaves each line that repeats a running count what it adds to the line
// before, so that the sum over the lines is the latest count. A count that has not
// grown is of another event of the same words.
//
// https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/ (deprecatedCount)
func (s *logState) sinceLast() {
	events := s.b.c.Events
	slices.SortStableFunc(s.counted, func(x, y int) int { return events[x].At.Compare(events[y].At) })
	before := map[counted]float64{}
	for _, i := range s.counted {
		e := &events[i]
		key := counted{kind: e.Kind, app: e.App, reason: e.Reason, probe: e.Probe, text: e.Text, server: e.Address}
		n := e.Times.Number
		if last := before[key]; last > 0 && n > last {
			e.Times = Known(n-last, Events, e.Times.From...)
		}
		before[key] = n
	}
	s.counted = nil
}
