package measure

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"brink/internal/experiment"
	"brink/internal/metric"
	"brink/internal/record"
)

// Percentiles below these numbers of requests say more than they know
// (docs/METHODOLOGY.md).
const (
	minForP95 = 60
	minForP99 = 300
)

// requests accumulates the probes of one repetition in memory that does not
// grow with their number, except for the bounded visits.
type requests struct {
	total, answers, failed  int64
	http5xx, timeouts       int64
	refused, resets, aborts int64
	skipped, empty          int64

	firstDue, firstDone, lastDone int64
	// lastEnd is the end of the last request, answered or not.
	lastEnd int64

	latency, lag, wait, served *hdrhistogram.Histogram
	// In nanoseconds.
	latencySum, waitSum, servedSum float64
	latencyMax                     int64
	// reuse tells that the stream keeps connections, so that a probe without a
	// time of connecting may have needed none.
	reuse               bool
	connect, firstBytes longest
	// censoredFrom is the shortest latency known only to be at least so long.
	censoredFrom int64

	// pids counts the answers of each process.
	pids   map[int32]int64
	visits visits
}

// longest is the longest of several times, one of which may be known only to
// be at least so long.
type longest struct{ most, atLeast, n int64 }

func (l *longest) add(ns int64) { l.most, l.n = max(l.most, ns), l.n+1 }

// cut takes a time that was cut off.
func (l *longest) cut(ns int64) { l.atLeast, l.n = max(l.atLeast, ns), l.n+1 }

func (l *longest) seconds(missing string) Value {
	if l.n == 0 {
		return Value{Missing: missing}
	}
	return Value{X: float64(max(l.most, l.atLeast)) / 1e9, N: l.n, Censored: l.atLeast > l.most}
}

// histogram holds 1 µs to 24 h with three significant digits.
func histogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, (24 * time.Hour).Microseconds(), 3)
}

func newRequests() *requests {
	return &requests{
		latency: histogram(), lag: histogram(), wait: histogram(), served: histogram(),
		censoredFrom: math.MaxInt64, pids: map[int32]int64{},
	}
}

// add takes one probe; those due before from belong to the warm-up and count
// only as skipped.
func (r *requests) add(p *record.Probe, from int64) {
	r.visits.add(p, p.Due >= from)
	if p.Due < from {
		r.skipped++
		return
	}
	r.total++
	if r.firstDue == 0 || p.Due < r.firstDue {
		r.firstDue = p.Due
	}
	r.lastEnd = max(r.lastEnd, p.Done)
	if p.Sent > 0 {
		record1(r.lag, p.Sent-p.Due)
	}
	r.milestones(p)
	switch p.Outcome {
	case "timeout":
		r.timeouts++
		r.censoredFrom = min(r.censoredFrom, p.Done-p.Due)
		r.addLatency(p.Done - p.Due)
	case "refused":
		r.refused++
	case "reset":
		r.resets++
	case "aborted":
		r.aborts++
		if p.Bytes == 0 {
			r.empty++
		}
	}
	if p.Status == 0 {
		r.failed++
		return
	}
	r.addAnswer(p)
}

// milestones takes how long the request was under way to its connection and to
// its first byte.
func (r *requests) milestones(p *record.Probe) {
	late := p.Outcome == "timeout"
	switch {
	case p.Connected > 0 && p.Sent > 0:
		r.connect.add(p.Connected - p.Sent)
	case late && p.Sent > 0 && !r.reuse:
		r.connect.cut(p.Done - p.Sent)
	}
	switch {
	case p.FirstByte > 0:
		r.firstBytes.add(p.FirstByte - p.Due)
	case late:
		r.firstBytes.cut(p.Done - p.Due)
	}
}

func (r *requests) addAnswer(p *record.Probe) {
	if p.Outcome == "timeout" {
		r.failed++
		return
	}
	r.answers++
	if p.Status >= 500 {
		r.http5xx++
	}
	if p.Outcome != "ok" || p.Status >= 400 {
		r.failed++
	}
	if r.firstDone == 0 || p.Done < r.firstDone {
		r.firstDone = p.Done
	}
	r.lastDone = max(r.lastDone, p.Done)
	r.addLatency(p.Done - p.Due)
	if p.Pid > 0 {
		r.pids[p.Pid]++
	}
	if p.ServedNs < 0 {
		return
	}
	record1(r.served, p.ServedNs)
	record1(r.wait, p.Done-p.Due-p.ServedNs)
	r.servedSum += float64(p.ServedNs)
	r.waitSum += float64(p.Done - p.Due - p.ServedNs)
}

func (r *requests) addLatency(ns int64) {
	record1(r.latency, ns)
	r.latencySum += float64(ns)
	r.latencyMax = max(r.latencyMax, ns)
}

// record1 stores a duration in µs, at least one.
func record1(h *hdrhistogram.Histogram, ns int64) {
	us := min(max(ns/1000, 1), h.HighestTrackableValue())
	_ = h.RecordValue(us) // within the bounds by the line above
}

// pool adds what describes the requests of another repetition.
func (r *requests) pool(o *requests) {
	r.total += o.total
	r.failed += o.failed
	r.timeouts += o.timeouts
	r.latency.Merge(o.latency)
	r.latencySum += o.latencySum
	r.latencyMax = max(r.latencyMax, o.latencyMax)
	r.censoredFrom = min(r.censoredFrom, o.censoredFrom)
}

// values computes every metric that the probes of a step carry.
func (r *requests) values(step experiment.Step) map[string]Value {
	v := map[string]Value{}
	set := func(name string, x float64) { v[name] = Value{X: x, N: r.total} }
	set("requests", float64(r.total))
	if r.total == 0 {
		r.nothing(v)
		return v
	}
	set("answers", float64(r.answers))
	set("failure_pct", 100*float64(r.failed)/float64(r.total))
	set("http_5xx", float64(r.http5xx))
	set("timeouts", float64(r.timeouts))
	set("refused", float64(r.refused))
	set("resets", float64(r.resets))
	set("aborted", float64(r.aborts))
	set("empty_replies", float64(r.empty))
	set("workers_seen", float64(len(r.pids)))
	v["connect_max_s"] = r.connect.seconds("no request opened a connection")
	v["first_byte_max_s"] = r.firstBytes.seconds("no request was answered")
	v["top_worker_share_pct"] = Value{Missing: "the app does not say which process answered"}
	if len(r.pids) > 0 {
		v["top_worker_share_pct"] = Value{X: busiest(r.pids), N: r.answers}
	}
	v["send_lag_p99_ms"] = Value{Missing: "no request was sent"}
	if n := r.lag.TotalCount(); n > 0 {
		v["send_lag_p99_ms"] = Value{X: float64(r.lag.ValueAtQuantile(99)) / 1e3, N: n}
	}
	r.latencies(v)
	r.answered(v)
	r.service(v)
	r.waits(step, v)
	return v
}

// nothing says of every metric of requests that there were none.
func (r *requests) nothing(v map[string]Value) {
	reason := "no request was due"
	if r.skipped > 0 {
		reason = fmt.Sprintf("all %d requests were due in the warm-up", r.skipped)
	}
	for _, m := range metric.All() {
		if _, ok := v[m.Name]; !ok && strings.HasPrefix(m.Source, "probes") {
			v[m.Name] = Value{Missing: reason}
		}
	}
}

func (r *requests) latencies(v map[string]Value) {
	n := r.latency.TotalCount()
	quantile := func(name string, q float64, need int64) {
		if n < need {
			v[name] = Value{Missing: fmt.Sprintf("n too small: %d of %d requests", n, need), N: n}
			return
		}
		us := r.latency.ValueAtQuantile(q)
		v[name] = Value{X: float64(us) / 1e3, N: n, Censored: us*1000 >= r.censoredFrom-r.censoredFrom/500}
	}
	quantile("latency_p50_ms", 50, 1)
	quantile("latency_p95_ms", 95, minForP95)
	quantile("latency_p99_ms", 99, minForP99)
	if n == 0 {
		missing := Value{Missing: "no request was answered"}
		v["latency_mean_ms"], v["latency_max_ms"], v["latency_iqr_ms"] = missing, missing, missing
		return
	}
	iqr := r.latency.ValueAtQuantile(75) - r.latency.ValueAtQuantile(25)
	v["latency_iqr_ms"] = Value{X: float64(iqr) / 1e3, N: n, Censored: r.latency.ValueAtQuantile(75)*1000 >= r.censoredFrom}
	v["latency_mean_ms"] = Value{X: r.latencySum / float64(n) / 1e6, N: n, Censored: r.timeouts > 0}
	v["latency_max_ms"] = Value{X: float64(r.latencyMax) / 1e6, N: n, Censored: r.latencyMax >= r.censoredFrom}
}

// answered computes what is counted from the first due request. Requests that
// never got an answer make the last answer a bound, and the first one too when
// all of them timed out.
func (r *requests) answered(v map[string]Value) {
	s := func(ns int64) float64 { return float64(ns-r.firstDue) / 1e9 }
	if r.answers == 0 {
		missing := Value{Missing: "no request was answered"}
		v["first_answer_s"], v["last_answer_s"], v["answers_per_s"] = missing, missing, missing
		if r.timeouts > 0 {
			never := Value{X: s(r.lastEnd), N: r.timeouts, Censored: true}
			v["first_answer_s"], v["last_answer_s"] = never, never
		}
		return
	}
	v["first_answer_s"] = Value{X: s(r.firstDone), N: r.answers}
	last := Value{X: s(r.lastDone), N: r.answers}
	if r.answers < r.total {
		last = Value{X: s(max(r.lastDone, r.lastEnd)), N: r.answers, Censored: true}
	}
	v["last_answer_s"] = last
	v["answers_per_s"] = Value{X: float64(r.answers) / s(r.lastDone), N: r.answers}
}

func (r *requests) service(v map[string]Value) {
	n := r.served.TotalCount()
	if n == 0 {
		for _, name := range []string{"served_s", "queue_wait_max_s", "queue_wait_p50_ms", "wait_mean_ms", "wait_p95_ms", "peak_in_service"} {
			v[name] = Value{Missing: notSaid}
		}
		return
	}
	v["served_s"] = Value{X: float64(r.served.ValueAtQuantile(50)) / 1e6, N: n}
	v["queue_wait_max_s"] = Value{X: float64(r.wait.Max()) / 1e6, N: n}
	v["queue_wait_p50_ms"] = Value{X: float64(r.wait.ValueAtQuantile(50)) / 1e3, N: n}
	v["wait_mean_ms"] = Value{X: r.waitSum / float64(n) / 1e6, N: n}
	v["wait_p95_ms"] = Value{X: float64(r.wait.ValueAtQuantile(95)) / 1e3, N: n}
	if n < minForP95 {
		v["wait_p95_ms"] = Value{Missing: fmt.Sprintf("n too small: %d of %d requests", n, minForP95), N: n}
	}
	if r.visits.tooMany {
		v["peak_in_service"] = tooManyVisits
	} else {
		v["peak_in_service"] = Value{X: float64(r.visits.peak()), N: n}
	}
}
