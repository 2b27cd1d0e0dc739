package doctor

import (
	"slices"
	"time"

	"brink/internal/evidence"
)

// dropsOf is what one listener dropped between the readings.
func (l *look) dropsOf(s *evidence.Listener) evidence.Value {
	return l.Delta(func(r *evidence.Reading) evidence.Value {
		if at := r.Listener(s.Address); at != nil {
			return at.Drops
		}
		return evidence.Missing(evidence.NotSeen, "it does not listen there")
	})
}

// standsFor is how long nothing may be taken from a queue that is not full before
// that looks bad: one slow request in front of one worker does the same for less.
const standsFor = 5 * time.Second

// heldQueue tells of the listener that held most at every look, if one held any,
// and reports whether it did: that is not in order, whether or not it overflows.
func (l *look) heldQueue(a *answer) bool {
	r := l.lastListeners()
	if r == nil {
		return false
	}
	var held *evidence.Listener
	var least evidence.Value
	for i := range r.Listeners {
		if v := l.leastQueue(&r.Listeners[i]); v.AtLeast(1) && (held == nil || v.Number > least.Number) {
			held, least = &r.Listeners[i], v
		}
	}
	if held == nil {
		return false
	}
	var w words
	text := "The accept queue of " + held.Address + " holds " + w.n("accept queue", held.Queue) + " of " + w.n("backlog", held.Backlog) + ", and held " + w.n("least accept queue", least) + " or more at every look"
	settle := "The state of its workers or its loop in the same seconds, and how long the oldest has waited."
	span, ok := l.Span()
	switch {
	case ok && span.Duration() >= standsFor && l.takesNothing(held):
		a.suspect(Queues, text+"; no connection left it between the looks: the server accepts nothing.", settle, &w)
	case least.AtLeast(manyWait):
		a.suspect(Queues, text+": the server is behind.", settle, &w)
	default:
		a.cannotTell(Queues, text+"; whether the server is behind, or a few arrived just then, is not told.", settle, &w)
	}
	a.unsure[len(a.unsure)-1].of = held.Address
	return true
}

// takesNothing reports whether it is certain that nothing was taken from a queue
// between the readings: its oldest connection has waited for longer than that, for
// the queue is first in, first out; or the kernel put none in, and there are not
// fewer than before.
//
// inet_csk_reqsk_queue_add, reqsk_queue_remove and TCP_MIB_PASSIVEOPENS in the
// kernel's sources.
func (l *look) takesNothing(s *evidence.Listener) bool {
	span, ok := l.Span()
	if !ok || !span.Seconds.Known {
		return false
	}
	for i := range l.Pools {
		p := &l.Pools[i]
		here := slices.ContainsFunc(p.Sockets, func(at evidence.Listener) bool { return at.Address == s.Address })
		if here && p.Oldest.AtLeast(span.Seconds.Number) {
			return true
		}
	}
	before := l.Readings[0].Listener(s.Address)
	opened := l.Delta(func(r *evidence.Reading) evidence.Value { return r.Netstat.PassiveOpens })
	return !s.Unix && opened.AtMost(0) && before != nil && before.Queue.AtLeast(1) && s.Queue.AtLeast(before.Queue.Number)
}

// lastListeners is the latest reading in which something listens, nil without one.
func (l *look) lastListeners() *evidence.Reading {
	for i := range l.Readings {
		if r := &l.Readings[len(l.Readings)-1-i]; len(r.Listeners) > 0 {
			return r
		}
	}
	return nil
}

// wasFull is the only listener of TCP whose queue was full at some reading, nil if
// there is none or several.
func (l *look) wasFull() *evidence.Listener {
	var only *evidence.Listener
	for i := range l.Readings {
		for j := range l.Readings[i].Listeners {
			s := &l.Readings[i].Listeners[j]
			if s.Unix || !s.Full() {
				continue
			}
			if only != nil && only.Address != s.Address {
				return nil
			}
			only = s
		}
	}
	return only
}

// severalListen reports whether more than one TCP socket listens, so that a counter
// of the network namespace may be about any.
func (l *look) severalListen() bool {
	r := l.Last()
	if r == nil {
		return false
	}
	n := 0
	for i := range r.Listeners {
		if !r.Listeners[i].Unix {
			n++
		}
	}
	return n > 1
}

// eachQueue parts what shows overflows by the queue that it is about, where there
// are several: each is judged by what is its own, and what the kernel counts for all
// of them together is nobody's. The kernel's lines about ports come latest first.
func (l *look) eachQueue(o overflow) []overflow {
	if len(o.full) < 2 {
		return o.eachPort()
	}
	var all []overflow
	busy, said := o.busy, o.said
	for _, s := range o.full {
		about := func(e *evidence.Event) bool { return e.Address == s.Address || s.Port > 0 && e.Port == s.Port }
		part := overflow{full: []*evidence.Listener{s}, lasts: l.fullThroughout(s.Address), busy: only(busy, about), said: only(said, about), shared: o.rate}
		if drops := l.dropsOf(s); drops.Above(0) {
			part.listener, part.perListener = s, drops
		}
		busy, said = slices.DeleteFunc(slices.Clone(busy), about), slices.DeleteFunc(slices.Clone(said), about)
		all = append(all, part)
	}
	if len(busy)+len(said) > 0 {
		rest := overflow{busy: busy, said: said, shared: o.rate}
		all = append(all, rest.eachPort()...)
	}
	return all
}

// eachPort parts the kernel's lines about floods by their ports.
func (o overflow) eachPort() []overflow {
	var ports []int
	for _, e := range slices.Backward(o.said) {
		if e.Kind == evidence.SynFlood && !slices.Contains(ports, e.Port) {
			ports = append(ports, e.Port)
		}
	}
	if len(ports) < 2 || len(o.full)+len(o.busy) > 0 || o.listener != nil {
		return []overflow{o.ofLastPort(ports)}
	}
	var all []overflow
	for _, port := range ports {
		part := overflow{said: only(o.said, func(e *evidence.Event) bool { return e.Kind == evidence.SynFlood && e.Port == port }), shared: o.rate}
		all = append(all, part)
	}
	return all
}

// ofLastPort keeps the kernel's lines about the port that it named last: the
// queues of two ports are two.
func (o overflow) ofLastPort(ports []int) overflow {
	if len(ports) > 1 {
		o.said = only(o.said, func(e *evidence.Event) bool { return e.Kind != evidence.SynFlood || e.Port == ports[0] })
	}
	return o
}

// only keeps the events that are wanted.
func only(events []*evidence.Event, wanted func(*evidence.Event) bool) []*evidence.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e *evidence.Event) bool { return !wanted(e) })
}
