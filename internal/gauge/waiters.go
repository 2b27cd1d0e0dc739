package gauge

import (
	"cmp"
	"slices"
	"time"

	"brink/internal/kernel"
)

// waiters are connections that were found in a server's accept queues when all
// were looked at. They are asked for one by one from then on: as long as one of
// them waits, it is the oldest, since queues are served in order.
type waiters struct {
	conns []kernel.QueuedConn // the oldest first
	at    time.Time           // of the look
	fresh bool                // they have not been asked for since
	// halvings counts the looks of which nothing was left by the next reading:
	// in a queue that moves fast, looking tells little.
	halvings int
}

const (
	// mostWaiters bounds what asking one by one costs.
	mostWaiters  = 64
	mostHalvings = 6
)

// find takes those of the space's connections that wait for the server.
func (w *waiters) find(s *server, now time.Time) {
	w.at, w.fresh, w.conns = now, true, w.conns[:0]
	for i := range s.space.conns {
		if c := &s.space.conns[i]; c.Waiting() && s.receiver(c.Local) != nil {
			w.conns = append(w.conns, c.QueuedConn)
		}
	}
	slices.SortFunc(w.conns, func(a, b kernel.QueuedConn) int {
		return cmp.Compare(b.SinceDataMillis.Value, a.SinceDataMillis.Value)
	})
	if len(w.conns) > mostWaiters {
		w.conns = w.conns[:mostWaiters]
	}
}

// ask forgets those that wait no more.
func (w *waiters) ask(l *kernel.TCPLookup) {
	if l == nil {
		w.conns, w.halvings = w.conns[:0], mostHalvings
		return
	}
	kept := w.conns[:0]
	for i := range w.conns {
		if l.Waits(&w.conns[i]) {
			kept = append(kept, w.conns[i])
		}
	}
	w.conns = kept
	switch {
	case len(kept) > 0:
		w.halvings = 0
	case w.fresh:
		w.halvings = min(w.halvings+1, mostHalvings)
	}
	w.fresh = false
}

// settle tells of a socket what is known from its connections that still wait,
// and reports whether that is all there is to tell.
func (w *waiters) settle(s *server, k *Socket, now time.Time) (all bool) {
	k.Oldest, k.Abandoned = Measure{}, known(0)
	n := uint32(0)
	for i := range w.conns {
		c := &w.conns[i]
		if s.receiver(c.Local) != k {
			continue
		}
		n++
		k.seeWaiting(c)
	}
	if n >= k.Queue {
		return true
	}
	// The others have come since.
	k.Abandoned = kernel.Num{}
	if k.Oldest.Value < now.Sub(w.at).Seconds() {
		k.Oldest = Measure{}
	}
	return false
}

// seeWaiting counts a connection in the queue.
func (k *Socket) seeWaiting(c *kernel.QueuedConn) {
	if age := float64(c.SinceDataMillis.Value) / 1000; c.SinceDataMillis.Known && (!k.Oldest.Known || age > k.Oldest.Value) {
		k.Oldest = Measure{age, true}
	}
	if c.Closed && k.Abandoned.Known {
		k.Abandoned.Value++
	}
}
