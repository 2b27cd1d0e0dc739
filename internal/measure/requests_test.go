package measure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"brink/internal/experiment"
	"brink/internal/record"
)

// The published S4: five holds of 5 s on four workers, in ms.
var published = []float64{5401, 5427, 5379, 5401, 10624}

func batch(s *experiment.Step) { s.Traffic = []experiment.Traffic{{Kind: "batch", Path: "/"}} }

func TestThePublishedS4(t *testing.T) {
	s := newStory(t)
	s.step("s4", batch)
	s.repetition("s4", 1, ms(10624), func(r *told) {
		for i, took := range published {
			r.probe(0, ms(took), served(int32(100+i%4), 5*time.Second))
		}
	})
	table := s.load(Options{})
	wants(t, table, "s4", map[string]float64{
		"requests": 5, "answers": 5, "failure_pct": 0, "workers_seen": 4,
		"first_answer_s": 5.379, "last_answer_s": 10.624, "answers_per_s": 5 / 10.624,
		"latency_p50_ms": 5401, "latency_max_ms": 10624, "latency_mean_ms": (5401 + 5427 + 5379 + 5401 + 10624) / 5.0,
		"served_s": 5, "queue_wait_max_s": 5.624, "queue_wait_p50_ms": 401, "peak_in_service": 4,
	})
	lacks(t, table, "s4", "n too small: 5 of 60 requests", "latency_p95_ms")
	lacks(t, table, "s4", "n too small: 5 of 300 requests", "latency_p99_ms")
}

// Times of whole rounds are computed as on paper: request i of K is in round
// i / W and answered after (i / W + 1) holds. Between two requests a worker
// needs the hand-over, by which the next answer is later.
func TestPeakInServiceIsTheNumberOfWorkers(t *testing.T) {
	const hold, handOver = 300 * time.Millisecond, time.Millisecond
	for _, tc := range []struct{ requests, workers int }{{1, 4}, {3, 4}, {4, 4}, {5, 4}, {8, 4}, {10, 4}, {12, 4}, {7, 1}, {9, 2}} {
		t.Run(fmt.Sprintf("%d on %d", tc.requests, tc.workers), func(t *testing.T) {
			s := newStory(t)
			s.step("s", batch)
			s.repetition("s", 1, time.Minute, func(r *told) {
				for i := range tc.requests {
					round := time.Duration(i / tc.workers)
					r.probe(0, (round+1)*hold+round*handOver, served(int32(i%tc.workers+1), hold))
				}
			})
			wants(t, s.load(Options{}), "s", map[string]float64{
				"peak_in_service": float64(min(tc.requests, tc.workers)), "workers_seen": float64(min(tc.requests, tc.workers)),
			})
		})
	}
}

// An answer that the client reads late seems to overlap with the next request
// of its worker. A short overlap is none; a real one is.
func TestALateAnswerIsNoOverlap(t *testing.T) {
	for late, want := range map[time.Duration]float64{ms(1): 1, ms(50): 1, ms(150): 2} {
		s := newStory(t)
		s.step("s", batch)
		s.repetition("s", 1, time.Minute, func(r *told) {
			r.probe(0, ms(300)+late, served(1, ms(300)))
			r.probe(0, ms(600), served(1, ms(300)))
		})
		wants(t, s.load(Options{}), "s", map[string]float64{"peak_in_service": want})
	}
}

// exact is the nearest-rank quantile of a sorted list.
func exact(sorted []time.Duration, q float64) float64 {
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return float64(sorted[i]) / 1e6
}

func TestPercentilesAgainstAnExactSort(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := newStory(t)
	s.step("s")
	var all []time.Duration
	s.repetition("s", 1, time.Minute, func(r *told) {
		for i := range 20_000 {
			took := ms(math.Exp(3 + 1.5*rng.NormFloat64())) // log-normal around 20 ms, as latencies are
			all = append(all, took)
			r.probe(time.Duration(i)*time.Millisecond, took)
		}
	})
	slices.Sort(all)
	var sum float64
	for _, d := range all {
		sum += float64(d) / 1e6
	}
	wants(t, s.load(Options{}), "s", map[string]float64{
		"latency_p50_ms": exact(all, 0.5), "latency_p95_ms": exact(all, 0.95), "latency_p99_ms": exact(all, 0.99),
		"latency_max_ms": exact(all, 1), "latency_mean_ms": sum / float64(len(all)),
	})
}

// p95 needs 60 requests and p99 300, as docs/METHODOLOGY.md says.
func TestPercentilesOfTooFewRequestsAreNone(t *testing.T) {
	for _, tc := range []struct {
		n        int
		p95, p99 bool
	}{{59, false, false}, {60, true, false}, {299, true, false}, {300, true, true}} {
		s := newStory(t)
		s.step("s")
		s.repetition("s", 1, time.Minute, func(r *told) {
			for i := range tc.n {
				r.probe(time.Duration(i)*time.Millisecond, ms(10))
			}
		})
		table := s.load(Options{})
		for name, want := range map[string]bool{"latency_p50_ms": true, "latency_p95_ms": tc.p95, "latency_p99_ms": tc.p99} {
			if v := only(t, table, "s", name); (v.Missing == "") != want {
				t.Errorf("%s of %d requests is %+v", name, tc.n, v)
			}
		}
	}
}

// Of 100 requests 10 wait 30 s in vain: half took 10 ms, and p95 is at least
// 30 s.
func TestTimeOutsCountInPercentilesAsBounds(t *testing.T) {
	s := newStory(t)
	s.step("s")
	s.repetition("s", 1, time.Minute, func(r *told) {
		for i := range 100 {
			if i%10 == 9 {
				r.probe(time.Duration(i)*time.Millisecond, 30*time.Second, without("timeout"))
			} else {
				r.probe(time.Duration(i)*time.Millisecond, ms(10))
			}
		}
	})
	table := s.load(Options{})
	wants(t, table, "s", map[string]float64{
		"requests": 100, "answers": 90, "timeouts": 10, "failure_pct": 10, "latency_p50_ms": 10,
		"refused": 0, "resets": 0, "aborted": 0, "http_5xx": 0,
	})
	for name, x := range map[string]float64{
		"latency_p95_ms": 30_000, "latency_max_ms": 30_000, "latency_mean_ms": 0.9*10 + 0.1*30_000, "last_answer_s": 30.099,
	} {
		if v := only(t, table, "s", name); !v.Censored || math.Abs(v.X-x) > 0.002*x {
			t.Errorf("%s is %+v, want at least %v", name, v, x)
		}
	}
	if info, _ := table.Step("s"); !info.P95.Censored || info.Requests != 100 || info.Failed != 10 {
		t.Errorf("the step's p95 is %+v of %d requests with %d failed", info.P95, info.Requests, info.Failed)
	}
}

func TestNothingButTimeOutsIsABound(t *testing.T) {
	s := newStory(t)
	s.step("s", batch)
	s.repetition("s", 1, time.Minute, func(r *told) {
		r.probe(0, 2*time.Second, without("timeout"))
		r.probe(0, 2*time.Second, without("timeout"))
	})
	table := s.load(Options{})
	for name, x := range map[string]float64{"first_answer_s": 2, "last_answer_s": 2, "latency_p50_ms": 2000} {
		if v := only(t, table, "s", name); !v.Censored || math.Abs(v.X-x) > 0.002*x {
			t.Errorf("%s is %+v, want at least %v", name, v, x)
		}
	}
	lacks(t, table, "s", "no request was answered", "answers_per_s")
}

func TestALastAnswerThatNeverCameIsABound(t *testing.T) {
	s := newStory(t)
	s.step("s", batch)
	s.repetition("s", 1, time.Minute, func(r *told) {
		r.probe(0, ms(100))
		r.probe(0, ms(700), without("reset"))
	})
	table := s.load(Options{})
	if v := only(t, table, "s", "last_answer_s"); !v.Censored || v.X != 0.7 {
		t.Errorf("last_answer_s is %+v, want at least 0.7", v)
	}
	wants(t, table, "s", map[string]float64{"first_answer_s": 0.1, "resets": 1})
}

func TestEachOutcomeIsCountedAsItself(t *testing.T) {
	s := newStory(t)
	s.step("s", batch)
	status := func(outcome string, code int) func(*record.Probe) {
		return func(p *record.Probe) { p.Outcome, p.Status = outcome, code }
	}
	s.repetition("s", 1, time.Minute, func(r *told) {
		r.probe(0, ms(10))
		r.probe(0, ms(10), status("http_4xx", 404))
		for range 2 {
			r.probe(0, ms(10), status("http_5xx", 503))
		}
		for range 3 {
			r.probe(0, ms(10), without("refused"))
		}
		for range 4 {
			r.probe(0, ms(10), without("reset"))
		}
		r.probe(0, ms(10), without("aborted"))
		// A head came, and the connection was closed before the body was whole.
		r.probe(0, ms(10), status("aborted", 200))
		// These are none of the named ones, and failed all the same.
		for _, outcome := range []string{"endless", "unsent", "out_of_files", "out_of_ports", "unreachable"} {
			r.probe(0, ms(10), without(outcome))
		}
	})
	wants(t, s.load(Options{}), "s", map[string]float64{
		"requests": 18, "refused": 3, "resets": 4, "aborted": 2, "http_5xx": 2, "timeouts": 0, "failure_pct": 100 * 17 / 18.0,
	})
}

func TestStreamsOfOneRepetitionCountTogether(t *testing.T) {
	s := newStory(t)
	s.step("s", batch)
	s.repetition("s", 1, time.Minute, func(r *told) {
		r.probe(ms(50), ms(100))
		second := r.stream
		second.Ordinal, second.Shortfall = 2, 0.25
		id, err := r.w.AddStream(second)
		r.check(err)
		r.check(r.w.Probe(id, &record.Probe{Seq: 1, Due: at(0), Sent: at(0), Done: at(ms(400)), Status: 200, Outcome: "ok", ServedNs: -1}))
	})
	wants(t, s.load(Options{}), "s", map[string]float64{"requests": 2, "first_answer_s": 0.15, "last_answer_s": 0.4, "shortfall_pct": 25})
}

func TestNoRequestIsNoValue(t *testing.T) {
	s := newStory(t)
	s.step("s")
	s.repetition("s", 1, time.Minute, nil)
	table := s.load(Options{})
	wants(t, table, "s", map[string]float64{"requests": 0})
	lacks(t, table, "s", "no request was due", "answers", "failure_pct", "last_answer_s", "latency_p50_ms", "latency_p95_ms", "send_lag_p99_ms", "served_s", "workers_seen")
}

func TestARequestThatWasNeverSentHasNoSendLag(t *testing.T) {
	s := newStory(t)
	s.step("s", batch)
	s.repetition("s", 1, time.Minute, func(r *told) {
		r.probe(0, ms(10), without("unsent"), func(p *record.Probe) { p.Sent, p.Connected = 0, 0 })
	})
	table := s.load(Options{})
	lacks(t, table, "s", "no request was sent", "send_lag_p99_ms")
	lacks(t, table, "s", "no request was answered", "last_answer_s", "latency_mean_ms", "latency_iqr_ms")
}

func TestSendLagCountsFromDue(t *testing.T) {
	s := newStory(t)
	s.step("s", batch)
	s.repetition("s", 1, time.Minute, func(r *told) {
		for range 99 {
			r.probe(0, ms(50))
		}
		r.probe(0, ms(50), func(p *record.Probe) { p.Sent = at(ms(40)) })
		r.probe(0, ms(50), func(p *record.Probe) { p.Sent = at(ms(40)) })
	})
	wants(t, s.load(Options{}), "s", map[string]float64{"send_lag_p99_ms": 40, "latency_p50_ms": 50})
}

func TestAnAppThatDoesNotSayHowLongItServed(t *testing.T) {
	s := newStory(t)
	s.step("s", batch)
	s.repetition("s", 1, time.Minute, func(r *told) { r.probe(0, ms(10)) })
	lacks(t, s.load(Options{}), "s", "the app does not say how long it served", "served_s", "queue_wait_max_s", "queue_wait_p50_ms", "peak_in_service")
}

// However requests are split over repetitions, the pooled percentiles are
// those of all of them.
func TestPoolingDoesNotDependOnTheSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		took := rapid.SliceOfN(rapid.Int64Range(1_000, 3_600_000_000_000), 300, 600).Draw(t, "ns")
		limit := rapid.Int64Range(1_000_000, 3_600_000_000_000).Draw(t, "time-out")
		parts := []*requests{newRequests(), newRequests(), newRequests()}
		whole := newRequests()
		for _, ns := range took {
			p := &record.Probe{Due: start, Sent: start, Done: start + ns, Status: 200, Outcome: "ok", ServedNs: -1}
			if ns >= limit {
				p.Done, p.Status, p.Outcome = start+limit, 0, "timeout"
			}
			whole.add(p, 0)
			parts[rapid.IntRange(0, 2).Draw(t, "part")].add(p, 0)
		}
		pooled := newRequests()
		for _, p := range parts {
			pooled.pool(p)
		}
		a, b := map[string]Value{}, map[string]Value{}
		whole.latencies(a)
		pooled.latencies(b)
		for name := range a {
			x, y := a[name], b[name]
			if math.Abs(x.X-y.X) > 1e-9*x.X { // sums of floats depend on their order
				t.Fatalf("%s is %v of all and %v of the parts", name, x, y)
			}
			x.X, y.X = 0, 0
			if x != y {
				t.Fatalf("%s is %v of all and %v of the parts", name, a[name], b[name])
			}
		}
		if pooled.total != whole.total || pooled.failed != whole.failed {
			t.Fatalf("%d failed of %d, want %d of %d", pooled.failed, pooled.total, whole.failed, whole.total)
		}
	})
}
