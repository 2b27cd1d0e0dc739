package doctor

import (
	"slices"

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
