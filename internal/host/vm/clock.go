package vm

import (
	"context"
	"fmt"
	"sync"
	"time"

	"brink/internal/clock"
	"brink/internal/host"
	"brink/internal/wire"
)

// clockProbes is how often the clocks are compared before anything else.
const clockProbes = 5

// keptProbes is how many comparisons count: the closest of the last ones, since
// clocks drift.
const keptProbes = 6

// guestClock knows how far a guest's clock is ahead of this machine's.
type guestClock struct {
	mu   sync.Mutex
	last []reading
}

// reading is one comparison: the guest is ahead by offset, give or take half of
// the round trip.
type reading struct{ offset, round time.Duration }

// probe compares the clocks once.
func (g *guestClock) probe(ctx context.Context, c *wire.Client) error {
	sent := clock.Real.Now()
	var r wire.ClockReading
	if err := c.Call(ctx, wire.ClockProbe, nil, &r); err != nil {
		return err
	}
	answered := clock.Real.Now()
	there := time.Duration(r.AnsweredNs - r.ReceivedNs)
	round := answered.Sub(sent) - there
	// Both ways are taken to be equally long (RFC 5905, section 8).
	offset := (time.Duration(r.ReceivedNs-sent.UnixNano()) + time.Duration(r.AnsweredNs-answered.UnixNano())) / 2
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = append(g.last, reading{offset, max(round, 0)})
	if len(g.last) > keptProbes {
		g.last = g.last[1:]
	}
	return nil
}

// offset is how far the guest is ahead, and how far that may be wrong.
func (g *guestClock) offset() (ahead, uncertainty time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.last) == 0 {
		return 0, 0
	}
	best := g.last[0]
	for _, r := range g.last[1:] {
		if r.round <= best.round {
			best = r
		}
	}
	return best.offset, best.round / 2
}

// note is what is known of the clocks, as a line of a log that belongs to no
// app.
func (g *guestClock) note() wire.Log {
	ahead, uncertainty := g.offset()
	return wire.Log{
		AtNs: clock.Real.Now().UnixNano(), Stream: clockStream,
		Line: fmt.Sprintf("[INFO] ahead_ns=%d uncertainty_ns=%d", ahead, uncertainty),
	}
}

// clockStream is the log's stream in which each comparison of the clocks is
// told.
const clockStream = "clock"

// here is a guest's time by this machine's clock.
func (g *guestClock) here(ns int64) int64 {
	ahead, _ := g.offset()
	return ns - int64(ahead)
}

// translated hands on what an agent says with its times by this machine's
// clock.
type translated struct {
	clock *guestClock
	to    host.Observer
}

func (t translated) Event(e wire.Event) {
	e.AtNs = t.clock.here(e.AtNs)
	t.to.Event(e)
}

func (t translated) Log(l wire.Log) {
	l.AtNs = t.clock.here(l.AtNs)
	t.to.Log(l)
}

func (t translated) Sample(s *wire.Sample) {
	s.AtNs = t.clock.here(s.AtNs)
	t.to.Sample(s)
}
