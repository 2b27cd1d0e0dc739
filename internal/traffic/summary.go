package traffic

import (
	"fmt"
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

	Elapsed      time.Duration // from the start until every request had ended
	TargetRate   float64       // requests per second that the schedule asked for, 0 where it asks for none
	AchievedRate float64       // requests per second that were sent while the schedule lasted
	Shortfall    float64       // share of the scheduled requests that were not sent while it lasted, 0 to 1

	Connections int // the upper bound that was in force
	Peak        int // the most connections, and so requests, at once

	// Held says that the schedule was kept, so that the traffic was what was
	// asked for. Where it is false, Reason says why in a sentence, and the
	// figures describe some other traffic. The rule is at Summary.judge.
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

const (
	// maxShortfall is the share of requests that a held schedule may have sent
	// after its end, or not at all.
	maxShortfall = 0.01

	// lagFloor is a send lag that is never held against the client: it is what
	// a busy machine's scheduler does to any process.
	lagFloor = 25 * time.Millisecond

	// lagShare is the part of the interval between requests by which a request
	// may be late.
	lagShare = 0.1

	// enoughForP99 is the number of requests from which a 99th percentile says
	// something.
	enoughForP99 = 300

	// readable is the precision of durations in sentences.
	readable = 100 * time.Microsecond

	// lagPerRequest is the time that the client may take for each request of a
	// batch that is due all at once.
	lagPerRequest = 100 * time.Microsecond
)

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
func (t *tally) summary(p *pool, stopped bool) Summary {
	s := t.s
	s.Latency, s.SendLag = quantiles(t.latency), quantiles(t.lag)
	s.Elapsed = time.Duration(p.now() - t.start)
	s.Connections, s.Peak = p.most, p.workers
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

// judge says why the schedule was not held, or nothing. It was not held when
//
//   - the run was stopped,
//   - this process ran out of file descriptors or local ports,
//   - more than 1 % of the requests of traffic with a rate were not sent by the
//     end of the schedule,
//   - the 99th percentile of the send lag of traffic with a rate (below 300
//     requests, which have none to speak of, the median) is above 25 ms and above
//     a tenth of the interval between requests, or
//   - a request of a batch that was due all at once was sent later than 25 ms
//     plus 0.1 ms for each request of the batch.
//
// Sequential traffic has no schedule to miss.
func (t *tally) judge(s *Summary, stopped bool) string {
	if stopped {
		return fmt.Sprintf("stopped after %v, with %d requests cut short", s.Elapsed.Round(time.Millisecond), s.Count(OutcomeCanceled))
	}
	if n := s.Count(OutcomeOutOfFiles); n > 0 {
		return fmt.Sprintf("%d of %d requests found no free file descriptor (ulimit -n is %d)", n, s.Scheduled, fileLimit())
	}
	if n := s.Count(OutcomeOutOfPorts); n > 0 {
		return fmt.Sprintf("%d of %d requests found no free local port", n, s.Scheduled)
	}
	if t.spec.Kind == KindBatch && t.spec.Stagger == 0 {
		allowed := lagFloor + time.Duration(t.spec.Count)*lagPerRequest
		if s.SendLag.Max > allowed {
			return fmt.Sprintf("the last of %d requests at once was sent %v late, more than %v", s.Scheduled, s.SendLag.Max.Round(readable), allowed)
		}
	}
	if !t.paced() {
		return ""
	}
	if s.Shortfall > maxShortfall {
		return fmt.Sprintf("asked for %.4g requests per second, sent %.4g: %d of %d requests were sent after their time, or not at all",
			s.TargetRate, s.AchievedRate, s.Scheduled-t.inTime, s.Scheduled)
	}
	allowed := max(lagFloor, time.Duration(lagShare*float64(t.spec.interval())))
	if s.Sent >= enoughForP99 && s.SendLag.P99 > allowed {
		return fmt.Sprintf("1 %% of the requests were sent more than %v late, which is more than %v", s.SendLag.P99.Round(readable), allowed)
	}
	if s.Sent < enoughForP99 && s.SendLag.P50 > allowed {
		return fmt.Sprintf("half of %d requests were sent more than %v late, which is more than %v", s.Sent, s.SendLag.P50.Round(readable), allowed)
	}
	return ""
}
