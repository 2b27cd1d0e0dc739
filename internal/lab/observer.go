package lab

import (
	"sync"

	"brink/internal/record"
	"brink/internal/wire"
)

// observer writes what the host sees to the record, under the repetition that
// is being executed, and hands on events to who follows them.
type observer struct {
	record  *record.Writer
	tracker *tracker
	follow  func(wire.Event)

	mu    sync.Mutex
	rep   int64
	first error
}

func newObserver(w *record.Writer, t *tracker, follow func(wire.Event)) *observer {
	return &observer{record: w, tracker: t, follow: follow}
}

func (o *observer) enter(rep int64) {
	o.mu.Lock()
	o.rep = rep
	o.mu.Unlock()
}

func (o *observer) at() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.rep
}

func (o *observer) keep(err error) {
	if err == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.first == nil {
		o.first = err
	}
}

func (o *observer) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.first
}

// Event records e and shows it to who watches and follows.
func (o *observer) Event(e wire.Event) {
	o.keep(o.record.Event(o.at(), e))
	o.tracker.event(e)
	o.follow(e)
}

// Log records one line of an app.
func (o *observer) Log(l wire.Log) { o.keep(o.record.Log(o.at(), l)) }

// Sample records one reading.
func (o *observer) Sample(s *wire.Sample) { o.keep(o.record.Sample(o.at(), s)) }
