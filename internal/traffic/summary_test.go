package traffic

import (
	"strings"
	"testing"
	"time"
)

// judged is what the summary of n requests says, of which each was sent late by
// lag(i) and answered after work.
func judged(spec Spec, n int, work time.Duration, lag func(i int) time.Duration) string {
	t := newTally(spec, 0)
	for i := range n {
		due := int64(i) * int64(spec.interval())
		sent := due + int64(lag(i)) + 1
		t.add(&Probe{Seq: int64(i), Due: due, Sent: sent, Done: sent + int64(work), Status: 200})
	}
	s := t.s
	s.Latency, s.SendLag = quantiles(t.latency), quantiles(t.lag)
	return t.judge(&s, false)
}

// Each percentile is the server's or the traffic counts as not held, from where
// there is one: 60 requests for a p95. The server takes 1 ms here, but for those
// cases in which it takes a second, beside which its client's 40 ms are little.
func TestAP95ThatIsTheClientsIsNotHeld(t *testing.T) {
	paced := Spec{Kind: KindRate, Rate: 100, Duration: 10 * time.Second}
	for _, c := range []struct {
		name string
		spec Spec
		n    int
		work time.Duration
		says string
	}{
		{"60, p95 late", paced, 60, time.Millisecond, "the p95 of the latency, 41"},
		{"59 have no p95", paced, 59, time.Millisecond, ""},
		{"a slow server", paced, 60, time.Second, ""},
		{"a batch within its allowance", Spec{Kind: KindBatch, Count: 200}, 200, time.Millisecond, "the p95 of the latency, 41"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := judged(c.spec, c.n, c.work, func(i int) time.Duration {
				if i%10 == 0 {
					return 40 * time.Millisecond
				}
				return 0
			})
			if (got == "") != (c.says == "") || !strings.HasPrefix(got, c.says) {
				t.Errorf("says %q, want %q", got, c.says)
			}
		})
	}
}

// A p99 needs some 300 requests; below that a single late one is no reason to
// throw the others away, but a late half is. The limits are those at judge.
func TestLatenessIsJudgedByWhatTheNumberOfRequestsCanTell(t *testing.T) {
	paced := Spec{Kind: KindRate, Rate: 100, Duration: 10 * time.Second}
	batch := Spec{Kind: KindBatch, Count: 8}
	oneLate := func(i int) time.Duration {
		if i == 3 {
			return 200 * time.Millisecond
		}
		return 0
	}
	manyLate := func(i int) time.Duration {
		if i%20 == 0 {
			return 40 * time.Millisecond
		}
		return 0
	}
	always := func(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }
	for _, c := range []struct {
		name string
		spec Spec
		n    int
		lag  func(int) time.Duration
		says string
	}{
		{"few, one late", paced, 10, oneLate, ""},
		{"few, all late", paced, 10, always(40 * time.Millisecond), "half of 10 requests were sent more than 40"},
		{"few, all a little late", paced, 10, always(20 * time.Millisecond), ""},
		{"many, 5 % late", paced, 1000, manyLate, "1 % of the requests were sent more than 40"},
		{"many, one late", paced, 1000, oneLate, ""},
		{"a batch within 25 ms and 0.1 ms each", batch, 8, always(25 * time.Millisecond), ""},
		{"a batch beyond", batch, 8, always(30 * time.Millisecond), "the last of 8 requests at once was sent 30"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := judged(c.spec, c.n, time.Millisecond, c.lag)
			if (got == "") != (c.says == "") || !strings.HasPrefix(got, c.says) {
				t.Errorf("says %q, want %q", got, c.says)
			}
		})
	}
}
