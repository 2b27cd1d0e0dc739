package traffic

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"brink/internal/phrase"
)

const (
	// maxShortfall is the share of requests that a held schedule may have sent
	// after its end, or not at all, or that may have waited for a connection.
	maxShortfall = 0.01

	// lagFloor is a send lag that is never held against the client: it is what
	// a busy machine's scheduler does to any process.
	lagFloor = 25 * time.Millisecond

	// lagShare is the part of the interval between requests by which a request
	// may be late.
	lagShare = 0.1

	// enoughForP95 and enoughForP99 are the numbers of requests from which a
	// percentile says something.
	enoughForP95 = 60
	enoughForP99 = 300

	// readable is the precision of durations in sentences.
	readable = 100 * time.Microsecond

	// lagPerRequest is the time that the client may take for each request of a
	// batch that is due all at once.
	lagPerRequest = 100 * time.Microsecond
)

// judge says why the schedule was not held, or nothing. It was not held when
//
//   - the run was stopped,
//   - this process ran out of file descriptors or local ports,
//   - the requests were late, see tally.late, or
//   - more than 1 % of the requests, or any of a batch that was due all at once,
//     waited for a connection because all that may be open were taken.
//
// Sequential traffic has no schedule to miss.
func (t *tally) judge(s *Summary, stopped bool) string {
	if stopped {
		return ended(s)
	}
	if n := s.Count(OutcomeOutOfFiles); n > 0 {
		return fmt.Sprintf("%d of %s found no free file descriptor (ulimit -n is %d)", n, requests(s.Scheduled), fileLimit())
	}
	if n := s.Count(OutcomeOutOfPorts); n > 0 {
		return fmt.Sprintf("%d of %s found no free local port", n, requests(s.Scheduled))
	}
	reasons := []string{t.late(s), t.starved(s)}
	return strings.Join(slices.DeleteFunc(reasons, func(r string) bool { return r == "" }), "; ")
}

// ended says what a run that was stopped left undone.
func ended(s *Summary) string {
	text := fmt.Sprintf("stopped after %v", s.Elapsed.Round(time.Millisecond))
	if n := s.Count(OutcomeCanceled); n > 0 {
		text += fmt.Sprintf(", %s cut short", requests(n))
	}
	if n := s.Count(OutcomeUnsent); n > 0 {
		text += fmt.Sprintf(", %s due and not sent", requests(n))
	}
	return text
}

// late says in what way requests were sent too late for the figures to be the
// server's, or nothing. They were when
//
//   - more than 1 % of the requests of traffic with a rate were not sent by the
//     end of the schedule,
//   - the 99th percentile of the send lag of traffic with a rate (below 300
//     requests, which have none to speak of, the median) is above 25 ms and above
//     a tenth of the interval between requests,
//   - a request of a batch that was due all at once was sent later than 25 ms
//     plus 0.1 ms for each request of the batch, or
//   - of 60 requests or more the 95th percentile of the send lag is above 25 ms
//     and above half of that of the latency, which then is mostly the client's.
func (t *tally) late(s *Summary) string {
	if t.spec.Kind == KindBatch && t.spec.Stagger == 0 {
		allowed := lagFloor + time.Duration(t.spec.Count)*lagPerRequest
		if s.SendLag.Max > allowed {
			return fmt.Sprintf("the last of %s at once was sent %v late, more than %v", requests(s.Scheduled), s.SendLag.Max.Round(readable), allowed)
		}
	}
	if t.paced() {
		if why := t.latePaced(s); why != "" {
			return why
		}
	}
	if lag := s.SendLag.P95; s.Sent >= enoughForP95 && lag > lagFloor && lag > s.Latency.P95/2 {
		return fmt.Sprintf("the p95 of the latency, %v, is mostly this side's delay: 5 %% of the requests were sent %v late or more",
			s.Latency.P95.Round(readable), lag.Round(readable))
	}
	return ""
}

func (t *tally) latePaced(s *Summary) string {
	if s.Shortfall > maxShortfall {
		return fmt.Sprintf("asked for %.4g requests per second, sent %.4g: %d of %s were sent after their time, or not at all",
			s.TargetRate, s.AchievedRate, s.Scheduled-t.inTime, requests(s.Scheduled))
	}
	allowed := max(lagFloor, time.Duration(lagShare*float64(t.spec.interval())))
	if s.Sent >= enoughForP99 && s.SendLag.P99 > allowed {
		return fmt.Sprintf("1 %% of the requests were sent more than %v late, which is more than %v", s.SendLag.P99.Round(readable), allowed)
	}
	if s.Sent < enoughForP99 && s.SendLag.P50 > allowed {
		return fmt.Sprintf("half of %s were sent more than %v late, which is more than %v", requests(s.Sent), s.SendLag.P50.Round(readable), allowed)
	}
	return ""
}

// starved says that requests queued on this side, for want of connections.
func (t *tally) starved(s *Summary) string {
	atOnce := t.spec.Kind == KindBatch && t.spec.Stagger == 0
	if s.Queued == 0 || !atOnce && float64(s.Queued) <= maxShortfall*float64(s.Scheduled) {
		return ""
	}
	taken := fmt.Sprintf("all %s connections were", phrase.Count(int64(s.Connections)))
	if s.Connections == 1 {
		taken = "the only connection was"
	}
	text := fmt.Sprintf("%d of %s waited on this side, as %s taken", s.Queued, requests(s.Scheduled), taken)
	if s.Connections < DefaultConnections && MostConnections() < DefaultConnections {
		text += fmt.Sprintf(" (ulimit -n is %d)", fileLimit())
	}
	return text
}

func requests(n int64) string { return phrase.Plural(int(n), "request") }
