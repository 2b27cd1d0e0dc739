package queue_test

import (
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"brink/internal/queue"
)

const s = time.Second

// batch is n requests that arrive at once.
func batch(n int, service time.Duration) iter.Seq[queue.Request] {
	return queue.Requests(queue.First(n, queue.Every(0)), queue.Constant(service))
}

// visits simulates and keeps every visit.
func visits(t *testing.T, cfg queue.Config, requests iter.Seq[queue.Request]) ([]queue.Visit, queue.Result) {
	t.Helper()
	var all []queue.Visit
	cfg.Each = func(v queue.Visit) { all = append(all, v) }
	result, err := queue.Simulate(cfg, requests)
	if err != nil {
		t.Fatal(err)
	}
	return all, result
}

// The ends were measured on gunicorn's sync workers, to within 10 ms, and are
// what ceil(k/W)*D says for the k-th request of a batch.
func TestBatchesEndInTheStaircaseOfRealWorkers(t *testing.T) {
	sequential := queue.Requests(queue.First(4, queue.Every(3*s)), queue.Constant(3*s))
	for _, c := range []struct {
		name     string
		requests iter.Seq[queue.Request]
		want     []time.Duration
	}{
		{"S1: 8 of 5 s at once", batch(8, 5*s), []time.Duration{5 * s, 5 * s, 5 * s, 5 * s, 10 * s, 10 * s, 10 * s, 10 * s}},
		{"S2: 4 of 3 s one after another", sequential, []time.Duration{3 * s, 6 * s, 9 * s, 12 * s}},
		{"S3: 4 of 3 s at once", batch(4, 3*s), []time.Duration{3 * s, 3 * s, 3 * s, 3 * s}},
		{"S4: 5 of 5 s at once", batch(5, 5*s), []time.Duration{5 * s, 5 * s, 5 * s, 5 * s, 10 * s}},
		{"10 of 5 s at once", batch(10, 5*s), []time.Duration{5 * s, 5 * s, 5 * s, 5 * s, 10 * s, 10 * s, 10 * s, 10 * s, 15 * s, 15 * s}},
	} {
		all, _ := visits(t, queue.Config{Workers: 4, Limit: queue.Unlimited}, c.requests)
		var ends []time.Duration
		for _, v := range all {
			ends = append(ends, v.End())
		}
		if !slices.Equal(ends, c.want) {
			t.Errorf("%s: ends at %v, want %v", c.name, ends, c.want)
		}
	}
}

// Worked out by hand: workers are busy for 5 x 5 s of 4 x 10 s, and the fifth
// waits for 5 s of 10.
func TestResultSumsUpABatch(t *testing.T) {
	got, err := queue.Simulate(queue.Config{Workers: 4, Limit: queue.Unlimited}, batch(5, 5*s))
	if err != nil {
		t.Fatal(err)
	}
	want := queue.Result{Workers: 4, Arrived: 5, Served: 5, Delayed: 1, MaxQueue: 1, Span: 10 * s, Waited: 5, Queued: 5, Busy: 25}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if u, q, w := got.Utilisation(), got.MeanQueue(), got.MeanWait(); u != 0.625 || q != 0.5 || w != 1 {
		t.Errorf("utilisation %v, mean queue %v, mean wait %v, want 0.625, 0.5, 1", u, q, w)
	}
}

func TestSpanStartsWithTheFirstArrival(t *testing.T) {
	late := slices.Values([]queue.Request{{At: 100 * s, Service: s}, {At: 101 * s, Service: s}})
	got, err := queue.Simulate(queue.Config{Workers: 1}, late)
	if err != nil || got.Span != 2*s || got.Utilisation() != 1 {
		t.Errorf("span %v, utilisation %v, error %v, want 2s, 1, none", got.Span, got.Utilisation(), err)
	}
}

// A listening socket holds one connection more than its backlog
// (sk_acceptq_is_full in Linux's include/net/sock.h).
func TestBacklogRefusesWhatDoesNotFit(t *testing.T) {
	all, got := visits(t, queue.Config{Workers: 4, Limit: queue.Backlog(4)}, batch(16, s))
	if got.Served != 9 || got.Refused != 7 || got.MaxQueue != 5 {
		t.Errorf("%d served, %d refused, at most %d queued, want 9, 7, 5", got.Served, got.Refused, got.MaxQueue)
	}
	if want := (queue.Visit{Outcome: queue.Refused}); all[9] != want {
		t.Errorf("the tenth: %+v, want %+v", all[9], want)
	}
}

// Twelve at once on four real sync workers: Recv-Q of the listener is 8.
func TestQueueOfTwelveOnFour(t *testing.T) {
	_, got := visits(t, queue.Config{Workers: 4, Limit: queue.Backlog(2048)}, batch(12, s))
	if got.MaxQueue != 8 || got.Refused != 0 {
		t.Errorf("at most %d queued, %d refused, want 8, 0", got.MaxQueue, got.Refused)
	}
}

// One worker, three at once of 5 s, who stay for 6 s: the third would start at
// 10 s. Without it the worker is free at 10 s, with it at 15 s.
func TestAbandonedRequestsCostTheWorkerOnlyIfServed(t *testing.T) {
	cfg := queue.Config{Workers: 1, Limit: queue.Unlimited, Patience: queue.Constant(6 * s)}
	all, got := visits(t, cfg, batch(3, 5*s))
	if want := (queue.Visit{Wait: 6 * s, Outcome: queue.Abandoned}); all[2] != want {
		t.Errorf("leaving: %+v, want %+v", all[2], want)
	}
	if got.Busy != 10 || got.Wasted != 0 || got.Span != 10*s {
		t.Errorf("leaving: busy %v, wasted %v, span %v, want 10, 0, 10s", got.Busy, got.Wasted, got.Span)
	}

	cfg.ServeAbandoned = true
	all, got = visits(t, cfg, batch(3, 5*s))
	if want := (queue.Visit{Wait: 10 * s, Service: 5 * s, Outcome: queue.Abandoned}); all[2] != want {
		t.Errorf("served: %+v, want %+v", all[2], want)
	}
	if got.Busy != 15 || got.Wasted != 5 || got.Served != 2 || got.Abandoned != 1 {
		t.Errorf("served: busy %v, wasted %v, %d served, %d abandoned, want 15, 5, 2, 1", got.Busy, got.Wasted, got.Served, got.Abandoned)
	}
}

func TestPatienceThatEndsAtTheStartIsServed(t *testing.T) {
	cfg := queue.Config{Workers: 1, Limit: queue.Unlimited, Patience: queue.Constant(5 * s)}
	if _, got := visits(t, cfg, batch(2, 5*s)); got.Served != 2 {
		t.Errorf("%d served, want 2", got.Served)
	}
}

// gunicorn's sync worker with --timeout 2 and a hold of 5 s is killed at 2 s;
// with 1 s until its successor serves, the next starts at 3 s.
func TestWatchdogKillsTheWorkerAndItIsMissing(t *testing.T) {
	cfg := queue.Config{Workers: 1, Limit: queue.Unlimited, Timeout: 2 * s, Restart: s}
	requests := slices.Values([]queue.Request{{Service: 5 * s}, {Service: 2 * s}, {Service: s}})
	all, got := visits(t, cfg, requests)
	want := []queue.Visit{
		{Service: 2 * s, Outcome: queue.TimedOut},
		{Wait: 3 * s, Service: 2 * s},
		{Wait: 5 * s, Service: s},
	}
	if !slices.Equal(all, want) {
		t.Errorf("got %+v, want %+v", all, want)
	}
	if got.TimedOut != 1 || got.Restarts != 1 || got.Busy != 5 || got.Wasted != 2 || got.Span != 6*s {
		t.Errorf("got %+v", got)
	}
}

func TestWatchdogKillsForAbandonedRequestsToo(t *testing.T) {
	cfg := queue.Config{
		Workers: 1, Limit: queue.Unlimited, Timeout: 2 * s, Restart: s,
		Patience: queue.Constant(s), ServeAbandoned: true,
	}
	_, got := visits(t, cfg, batch(2, 5*s))
	if got.TimedOut != 1 || got.Abandoned != 1 || got.Restarts != 2 || got.Wasted != 4 {
		t.Errorf("%d timed out, %d abandoned, %d restarts, %v s wasted, want 1, 1, 2, 4", got.TimedOut, got.Abandoned, got.Restarts, got.Wasted)
	}
}

func TestNoRequestsMakeAnEmptyResult(t *testing.T) {
	got, err := queue.Simulate(queue.Config{Workers: 2}, batch(0, s))
	if err != nil || got != (queue.Result{Workers: 2}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if !math.IsNaN(got.MeanWait()) || !math.IsNaN(got.MeanQueue()) || !math.IsNaN(got.Utilisation()) {
		t.Errorf("means of nothing are %v, %v, %v, want NaN", got.MeanWait(), got.MeanQueue(), got.Utilisation())
	}
}

func TestBadInputIsNamed(t *testing.T) {
	one := queue.Config{Workers: 1, Limit: queue.Unlimited}
	with := func(change func(*queue.Config)) queue.Config {
		cfg := one
		change(&cfg)
		return cfg
	}
	requests := func(r ...queue.Request) iter.Seq[queue.Request] { return slices.Values(r) }
	for _, c := range []struct {
		cfg      queue.Config
		requests iter.Seq[queue.Request]
		want     string
	}{
		{queue.Config{}, batch(1, s), "Workers is 0"},
		{with(func(c *queue.Config) { c.Limit = -1 }), batch(1, s), "Limit is -1"},
		{with(func(c *queue.Config) { c.Timeout = -s }), batch(1, s), "Timeout is -1s"},
		{with(func(c *queue.Config) { c.Restart = -s }), batch(1, s), "Restart is -1s"},
		{one, requests(queue.Request{At: 2 * s}, queue.Request{At: s}), "request 2 arrives at 1s, before 2s"},
		{one, requests(queue.Request{At: -s}), "request 1 arrives at -1s, before 0s"},
		{one, requests(queue.Request{Service: -s}), "request 1 needs a service of -1s"},
		{one, batch(2, math.MaxInt64), "request 2 keeps its worker for longer than virtual time"},
		{with(func(c *queue.Config) { c.Patience = queue.Constant(-s) }), batch(2, s), "request 2 has a patience of -1s"},
	} {
		got, err := queue.Simulate(c.cfg, c.requests)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
		if got != (queue.Result{}) {
			t.Errorf("%s: a result came with it: %+v", c.want, got)
		}
	}
}

func TestOutcomesHaveNames(t *testing.T) {
	for o, want := range []string{"served", "refused", "abandoned", "timed out", "Outcome(4)"} {
		if got := queue.Outcome(o).String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Every stretch of requests repeats the same pattern of waits, refusals,
// departures and restarts, so ten times as many must not allocate more.
func TestCustomersDoNotAllocate(t *testing.T) {
	cfg := queue.Config{
		Workers: 3, Limit: 40, Patience: queue.Constant(20 * s),
		Timeout: 7 * s, Restart: 2 * s, Each: func(queue.Visit) {},
	}
	allocations := func(n int) float64 {
		return testing.AllocsPerRun(3, func() {
			i := 0
			services := func() time.Duration { i++; return time.Duration(i%9) * s }
			if _, err := queue.Simulate(cfg, queue.Requests(queue.First(n, queue.Every(s)), services)); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := allocations(10_000), allocations(100_000); many > few {
		t.Errorf("%v allocations for 10,000 requests, %v for 100,000", few, many)
	}
}
