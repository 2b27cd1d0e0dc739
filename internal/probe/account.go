package probe

import (
	"encoding/json"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"brink/internal/stats"
	"brink/internal/traffic"
)

// Account sums up the requests of one URL in memory that does not grow with
// their number. Latencies count from when a request was due and are kept to
// three significant digits.
//
// A percentile is over the requests that were answered, whatever the status, and
// those that ran into the time-out, of which it is known that their answer would
// have taken at least so long. Requests that were refused, reset or broken off
// have no latency; they are in the share of failures.
type Account struct {
	answered *hdrhistogram.Histogram // latencies, ns
	waited   *hdrhistogram.Histogram // the same, and how long was waited for those that timed out

	ended, failed int64
}

// NewAccount returns an empty account.
func NewAccount() *Account {
	histogram := func() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(24*time.Hour), 3) }
	return &Account{answered: histogram(), waited: histogram()}
}

// Add takes in one request. Those that this process did not send, or cut short
// itself, say nothing about the server and count nowhere.
func (a *Account) Add(p *traffic.Probe) {
	switch p.Outcome {
	case traffic.OutcomeCanceled, traffic.OutcomeUnsent, traffic.OutcomeOutOfFiles, traffic.OutcomeOutOfPorts:
		return
	case traffic.OutcomeOK, traffic.OutcomeHTTP4xx, traffic.OutcomeHTTP5xx:
		add(a.answered, p.Latency())
		add(a.waited, p.Latency())
	case traffic.OutcomeTimeout:
		add(a.waited, p.Latency())
	}
	a.ended++
	if p.Outcome != traffic.OutcomeOK {
		a.failed++
	}
}

func add(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(1, int64(d)), h.HighestTrackableValue())) // within bounds, so it cannot fail
}

// Latency is the q-quantile of the latency in ms, 0 < q < 1, by nearest rank,
// with the interval between two order statistics that holds whatever the
// distribution. Both are bounds where they fall on requests that timed out. Too
// few requests for the quantile make it unknown.
func (a *Account) Latency(q float64) Figure {
	n := a.waited.TotalCount()
	switch need := needed(q); {
	case n == 0:
		return missing("no request was answered")
	case n < need:
		return missing("n too small: %d of %d needed", n, need)
	}
	f := Figure{Estimate: a.ranked(max(1, int64(math.Ceil(q*float64(n)-1e-9))))}
	lo, hi, reached := ranks(n, q, Level)
	f.Interval = stats.Interval{Level: reached, LoOpen: lo == 0, HiOpen: hi > a.answered.TotalCount()}
	if !f.Interval.LoOpen {
		// The histogram rounds up, by less than this.
		at := atRank(a.waited, lo)
		f.Interval.Lo = milliseconds(at - at>>10)
	}
	if !f.Interval.HiOpen {
		f.Interval.Hi = milliseconds(atRank(a.answered, hi))
	}
	switch {
	case hi > n:
		f.Interval.Reason = "n too small for an upper end"
	case f.Interval.HiOpen:
		f.Interval.Reason = "the upper end falls on requests that timed out"
	}
	return f
}

// ranked is the k-th smallest latency. Each that timed out is at least as long as
// was waited for it, so the k-th of what was waited bounds it from below; it is
// that one if none of those that timed out can come before it.
func (a *Account) ranked(k int64) stats.Estimate {
	low := milliseconds(atRank(a.waited, k))
	if k > a.answered.TotalCount() {
		return stats.Estimate{X: low, Bound: stats.LowerBound, Reason: "it falls on requests that timed out"}
	}
	if high := milliseconds(atRank(a.answered, k)); high != low {
		return stats.Estimate{X: low, Upper: high, Bound: stats.Between, Reason: "requests that timed out may lie before it"}
	}
	return stats.Estimate{X: low, Bound: stats.Exact}
}

// atRank is the k-th smallest value.
func atRank(h *hdrhistogram.Histogram, k int64) int64 {
	return h.ValueAtPercentile(100 * float64(k) / float64(h.TotalCount()))
}

func milliseconds(ns int64) float64 { return float64(ns) / 1e6 }

// Failures is the share in percent of the requests that ended in anything but an
// answer with a status below 400.
func (a *Account) Failures() Figure { return share(a.failed, a.ended) }

// Figure is a number with its interval. Both take the requests as independent
// draws. Requests that queue behind one another are not: the interval is then too
// narrow.
type Figure struct {
	stats.Estimate
	Interval stats.Interval
}

// MarshalJSON writes null for what is unknown or open.
func (f Figure) MarshalJSON() ([]byte, error) {
	known := func(x float64, known bool) *float64 {
		if !known {
			return nil
		}
		return &x
	}
	return json.Marshal(struct {
		Value   *float64 `json:"value"`
		AtLeast bool     `json:"at_least,omitempty"`
		AtMost  *float64 `json:"at_most,omitempty"`
		Low     *float64 `json:"low"`
		High    *float64 `json:"high"`
		Level   float64  `json:"level,omitempty"`
		Missing string   `json:"missing,omitempty"`
		Note    string   `json:"note,omitempty"`
	}{
		known(f.X, f.Known()), f.Bound == stats.LowerBound || f.Bound == stats.Between, known(f.Upper, f.Bound == stats.Between),
		known(f.Interval.Lo, !f.Interval.LoOpen), known(f.Interval.Hi, !f.Interval.HiOpen), f.Interval.Level,
		f.missing(), f.note(),
	})
}

func (f Figure) missing() string {
	if f.Known() {
		return ""
	}
	return f.Reason
}

func (f Figure) note() string {
	switch {
	case !f.Known():
		return ""
	case f.Reason != "":
		return f.Reason
	}
	return f.Interval.Reason
}
