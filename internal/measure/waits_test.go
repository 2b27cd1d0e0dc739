package measure

import (
	"math"
	"testing"
	"time"

	"brink/internal/experiment"
	"brink/internal/record"
	"brink/internal/wire"
)

// pooledApp makes a step one whose requests go to one app with a pool of workers.
func pooledApp(a experiment.App, t experiment.Traffic) func(*experiment.Step) {
	return func(s *experiment.Step) {
		a.Name, t.App, t.Path = "site", "site", "/"
		s.Apps, s.Traffic = []experiment.App{a}, []experiment.Traffic{t}
	}
}

var (
	atOnce = experiment.Traffic{Kind: "batch"}
	sync2  = experiment.App{Runtime: "flask", WorkerClass: "sync", Workers: 2}
)

// Eight holds of 100 ms on two workers that need 2 ms between two of them, and
// of which each answer is 1 ms under way: on paper the waits are 0, 102, 204 and
// 306 ms, each twice, and 1 ms more as the client sees it.
func rounds(r *told) {
	const hold, between, way = 100 * time.Millisecond, 2 * time.Millisecond, time.Millisecond
	for i := range 8 {
		round := time.Duration(i / 2)
		r.probe(0, (round+1)*hold+round*between+way, served(int32(i%2+1), hold))
	}
}

func TestSimulatedWaitIsThatOnPaper(t *testing.T) {
	s := newStory(t)
	s.step("s", pooledApp(sync2, atOnce))
	s.repetition("s", 1, time.Second, rounds)
	wants(t, s.load(Options{}), "s", map[string]float64{
		"wait_mean_ms": 154, "wait_simulated_ms": 154, "wait_over_simulated": 1, "occupied_ms": 102,
		"utilisation_pct": 100 * 8 * 100 / (2 * 407.0),
	})
}

// Requests that one worker serves while the other stands idle wait longer than
// first come, first served by two would have them wait.
func TestAnIdleWorkerShowsAgainstTheSimulation(t *testing.T) {
	s := newStory(t)
	s.step("s", pooledApp(sync2, atOnce))
	s.repetition("s", 1, 2*time.Second, func(r *told) {
		for i := range 9 {
			r.probe(0, time.Duration(i+1)*ms(100), served(1, ms(100)))
		}
	})
	// On paper two workers make 0, 0, 100, 100, 200, 200, 300, 300 and 400 ms.
	if v := only(t, s.load(Options{}), "s", "wait_over_simulated"); v.X < 1.5 {
		t.Errorf("%+v, want far more than 1", v)
	}
}

// Pollaczek and Khinchine: one worker, utilisation 1/2, constant service of
// 100 ms: the mean wait is half a service.
func TestTheoryIsPollaczekAndKhinchines(t *testing.T) {
	s := newStory(t)
	one := experiment.App{Runtime: "go", Workers: 1}
	s.step("s", pooledApp(one, experiment.Traffic{Kind: "rate", Arrivals: "poisson", Rate: 5}))
	s.repetition("s", 1, 10*time.Second, func(r *told) {
		for i := range 10 {
			r.probe(time.Duration(i)*time.Second, ms(100), served(1, ms(100)))
		}
	})
	table := s.load(Options{})
	wants(t, table, "s", map[string]float64{"wait_theory_ms": 50, "occupied_ms": 100})
	if v := only(t, table, "s", "wait_simulated_ms"); v.X != 0 {
		t.Errorf("requests that never met wait %+v in the simulation", v)
	}
}

func TestTheoryEndsWhereTheQueueGrows(t *testing.T) {
	s := newStory(t)
	s.step("s", pooledApp(sync2, experiment.Traffic{Kind: "rate", Arrivals: "poisson", Rate: 20}))
	s.repetition("s", 1, time.Second, rounds)
	s.step("even", pooledApp(sync2, experiment.Traffic{Kind: "rate", Arrivals: "constant", Rate: 1}))
	s.repetition("even", 1, time.Second, rounds)
	table := s.load(Options{})
	lacks(t, table, "s", unsteady, "wait_theory_ms", "wait_over_theory")
	lacks(t, table, "even", notPoisson, "wait_theory_ms", "wait_over_theory")
}

func TestPoolIsWhatIsServedAtOnce(t *testing.T) {
	for _, tc := range []struct {
		app  experiment.App
		want int
	}{
		{experiment.App{Runtime: "flask", WorkerClass: "sync", Workers: 4, Threads: 1}, 4},
		{experiment.App{Runtime: "flask", WorkerClass: "gthread", Workers: 4, Threads: 4}, 16},
		{experiment.App{Runtime: "go", Workers: 3}, 3},
		{experiment.App{Runtime: "flask", WorkerClass: "gevent", Workers: 4}, 0},
		{experiment.App{Runtime: "asgi", Workers: 4}, 0},
		{experiment.App{Runtime: "node", Workers: 1}, 0},
		{experiment.App{Runtime: "command", Workers: 4}, 0},
	} {
		if got := pool(tc.app); got != tc.want {
			t.Errorf("%+v: %d, want %d", tc.app, got, tc.want)
		}
	}
}

func TestNothingIsSaidAboutPoolsThatCannotBeKnown(t *testing.T) {
	s := newStory(t)
	s.step("loop", pooledApp(experiment.App{Runtime: "node", Workers: 1}, atOnce))
	s.repetition("loop", 1, time.Second, rounds)
	s.step("lost", pooledApp(sync2, atOnce))
	s.repetition("lost", 1, time.Second, func(r *told) {
		rounds(r)
		r.probe(0, ms(400), without("timeout"))
	})
	s.step("two", func(st *experiment.Step) {
		pooledApp(sync2, atOnce)(st)
		st.Traffic = append(st.Traffic, experiment.Traffic{App: "other"})
	})
	s.repetition("two", 1, time.Second, rounds)
	table := s.load(Options{})
	lacks(t, table, "loop", noPool, pooled...)
	lacks(t, table, "two", severalApps, pooled...)
	lacks(t, table, "lost", "1 requests had no answer, and nobody knows how long they kept a worker", "occupied_ms", "wait_simulated_ms", "wait_over_simulated")
	if v := only(t, table, "lost", "utilisation_pct"); !v.Censored || v.Missing != "" {
		t.Errorf("utilisation_pct with a request that was lost is %+v, want a bound", v)
	}
}

// The warm-up's requests keep workers too, though they do not count.
func TestTheSimulationKnowsTheWarmUp(t *testing.T) {
	s := newStory(t)
	s.step("s", func(st *experiment.Step) {
		pooledApp(experiment.App{Runtime: "go", Workers: 1}, experiment.Traffic{Kind: "steady"})(st)
		st.WarmUp = experiment.Duration(150 * time.Millisecond)
	})
	s.repetition("s", 1, time.Second, func(r *told) {
		r.probe(ms(100), ms(200), served(1, ms(200)))
		r.probe(ms(200), ms(200), served(1, ms(100)))
	})
	// The first is served from 100 to 300 ms, so the second waits 100 ms.
	wants(t, s.load(Options{}), "s", map[string]float64{"requests": 1, "wait_mean_ms": 100, "wait_simulated_ms": 100})
}

func TestWhatBecomesOfRequestsThatAWorkerDoesNotAnswer(t *testing.T) {
	s := newStory(t)
	s.step("s", batch)
	s.repetition("s", 1, 3*time.Second, func(r *told) {
		r.event("site", -2*time.Second, wire.Deployed)
		r.event("site", -time.Second, wire.Healthy)
		r.check(r.w.Event(r.ID, wire.Event{App: "site", AtNs: at(ms(500)), Kind: wire.WorkerKilled, Signal: 9, Detail: "worker time-out"}))
		r.check(r.w.Event(r.ID, wire.Event{App: "site", AtNs: at(ms(600)), Kind: wire.WorkerKilled, Signal: 9}))
		r.probe(0, ms(2150), without("aborted"))
		r.probe(0, ms(2150), without("aborted"), func(p *record.Probe) { p.Bytes = 12 })
		r.probe(0, ms(100), served(1, ms(90)), func(p *record.Probe) { p.Connected = at(ms(7)) })
		r.probe(0, ms(100), served(1, ms(90)))
		r.probe(0, ms(100), served(2, ms(90)), func(p *record.Probe) { p.FirstByte = at(ms(60)) })
		r.probe(0, ms(100), served(1, ms(90)))
	})
	wants(t, s.load(Options{}), "s", map[string]float64{
		"aborted": 2, "empty_replies": 1, "worker_kills": 1, "boot_kills": 0,
		"connect_max_s": 0.007, "first_byte_max_s": 0.1, "top_worker_share_pct": 75, "workers_seen": 2,
	})
}

// A connection that did not come about in time took at least so long, unless
// the stream keeps connections and may have needed none.
func TestConnectionsThatNeverCameAreBounds(t *testing.T) {
	s := newStory(t)
	late := func(r *told) {
		r.probe(0, ms(20))
		r.probe(0, 3*time.Second, without("timeout"), func(p *record.Probe) { p.Connected = 0 })
	}
	s.step("new", batch)
	s.repetition("new", 1, 4*time.Second, late)
	s.step("kept", func(st *experiment.Step) { st.Traffic = []experiment.Traffic{{Kind: "batch", Reuse: true}} })
	s.repetition("kept", 1, 4*time.Second, late)
	table := s.load(Options{})
	for _, tc := range []struct {
		step, name string
		x          float64
		censored   bool
	}{
		{"new", "connect_max_s", 3, true}, {"kept", "connect_max_s", 0, false},
		{"new", "first_byte_max_s", 3, true}, {"kept", "first_byte_max_s", 3, true},
	} {
		if v := only(t, table, tc.step, tc.name); v.X != tc.x || v.Censored != tc.censored || v.Missing != "" {
			t.Errorf("%s of %s is %+v, want %v, a bound: %v", tc.name, tc.step, v, tc.x, tc.censored)
		}
	}
}

// Two of four workers hold a connection for a second, of which one request of
// 400 ms is answered: 2 s less 0.4 s went to nobody.
func TestWorkersThatServeNobodyAreWasted(t *testing.T) {
	s := newStory(t)
	s.step("s", batch)
	s.repetition("s", 1, 2*time.Second, func(r *told) {
		for i := range 21 {
			busy := int64(2)
			if i >= 10 {
				busy = 0
			}
			r.sample("site", time.Duration(i)*ms(100), func(x *wire.Sample) { x.Busy, x.Workers = busy, 4 })
		}
		r.probe(0, ms(410), served(1, ms(400)))
	})
	table := s.load(Options{})
	wants(t, table, "s", map[string]float64{"wasted_s": 1.6, "busy_max": 2, "busy_pct": 25})
	if d := math.Abs(only(t, table, "s", "busy_pct").X - 25); d > 1e-9 {
		t.Errorf("off by %v", d)
	}
}
