package traffic

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Summary is what became of a run as a whole.
type Summary struct {
	Scheduled int64           // requests that came due
	Sent      int64           // of these, requests to which the client turned
	Outcomes  [outcomes]int64 // by Outcome; they add up to Scheduled
	Bytes     int64           // of answers that were read

	Latency Quantiles // Done - Due, of failed requests too, not of canceled and unsent ones
	SendLag Quantiles // Sent - Due, of those sent
	Queued  int64     // requests that waited for a connection, as all were taken

	Elapsed      time.Duration // from the start until every request had ended
	TargetRate   float64       // requests per second that the schedule asked for, 0 where it asks for none
	AchievedRate float64       // requests per second that were sent while the schedule lasted
	Shortfall    float64       // share of the scheduled requests that were not sent while it lasted, 0 to 1

	Connections int // the upper bound that was in force
	Peak        int // the most connections, and so requests, at once

	// Held says that the schedule was kept, so that the traffic was what was
	// asked for. Where it is false, Reason says why in a sentence, and the
	// figures describe some other traffic. The rules are at tally.judge.
	Held   bool
	Reason string
}

// Count is the number of requests with that outcome.
func (s *Summary) Count(o Outcome) int64 { return s.Outcomes[o] }

// Quantiles describe a set of durations to three significant digits, counting
// by nearest rank. They are 0 for an empty set.
type Quantiles struct {
	P50, P95, P99, Max time.Duration
}

// tally adds up probes. It takes the same memory for any number of them.
type tally struct {
	spec    Spec
	start   int64
	s       Summary
	inTime  int64 // sent before the schedule's end
	latency *hdrhistogram.Histogram
	lag     *hdrhistogram.Histogram
}

func newTally(spec Spec, start int64) *tally {
	histogram := func() *hdrhistogram.Histogram {
		return hdrhistogram.New(int64(time.Microsecond), int64(24*time.Hour), 3)
	}
	return &tally{spec: spec, start: start, latency: histogram(), lag: histogram()}
}

func (t *tally) add(p *Probe) {
	t.s.Scheduled++
	t.s.Outcomes[p.Outcome]++
	t.s.Bytes += p.Bytes
	if p.Sent != 0 {
		t.s.Sent++
		record(t.lag, p.SendLag())
		// Poisson arrivals that are bounded by count may be due after the span.
		if p.Sent <= max(addCapped(t.start, t.spec.span()), addCapped(p.Due, t.spec.interval())) {
			t.inTime++
		}
	}
	if p.Outcome != OutcomeCanceled && p.Outcome != OutcomeUnsent {
		record(t.latency, p.Latency())
	}
}

func record(h *hdrhistogram.Histogram, d time.Duration) {
	// Clamped to what the histogram holds, so there is no error to return.
	_ = h.RecordValue(min(max(0, int64(d)), h.HighestTrackableValue()))
}

func quantiles(h *hdrhistogram.Histogram) Quantiles {
	at := func(percent float64) time.Duration { return time.Duration(h.ValueAtPercentile(percent)) }
	return Quantiles{P50: at(50), P95: at(95), P99: at(99), Max: time.Duration(h.Max())}
}

// summary closes the account of a run, which may have stopped early.
func (t *tally) summary(d *dispatcher, stopped bool) Summary {
	p, s := d.pool, t.s
	s.Latency, s.SendLag = quantiles(t.latency), quantiles(t.lag)
	s.Elapsed = time.Duration(p.now() - t.start)
	s.Connections, s.Peak = p.most, p.workers
	if t.spec.Kind != KindSequential {
		s.Queued = d.queued
	}
	if t.paced() {
		t.rates(&s, stopped)
	}
	s.Reason = t.judge(&s, stopped)
	s.Held = s.Reason == ""
	return s
}

// paced holds for traffic with a rate: steady, rate and staggered batches.
func (t *tally) paced() bool { return t.spec.interval() > 0 }

func (t *tally) rates(s *Summary, stopped bool) {
	s.TargetRate = float64(time.Second) / float64(t.spec.interval())
	if s.Scheduled > 0 { // none may have come due, of Poisson arrivals
		s.Shortfall = 1 - float64(t.inTime)/float64(s.Scheduled)
	}
	span := t.spec.span()
	if stopped {
		span = min(span, s.Elapsed)
	}
	s.AchievedRate = float64(t.inTime) / max(span, 1).Seconds()
}
