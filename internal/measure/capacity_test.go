package measure

import (
	"math"
	"testing"
	"time"

	"brink/internal/experiment"
	"brink/internal/metric"
	"brink/internal/record"
	"brink/internal/wire"
)

// carrying is a step like that of the rounds, with 90 MB in two workers and
// their master.
func carrying(s *story, name string, change func(*experiment.Step)) {
	s.step(name, change)
	s.repetition(name, 1, time.Second, func(r *told) {
		rounds(r)
		r.sample("site", ms(10), func(x *wire.Sample) { x.RSS = 90 << 20 })
	})
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-3*math.Abs(want) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// A request keeps one of two workers for 102 ms, so 19.6 a second are
// sustainable. Erlang C for two workers at half their capacity is 1/3, and the
// mean wait with exponential services a third of a service. For twice the rate
// at a utilisation of 0.8 it takes 2 × 2 / 0.8 = 5 workers.
func TestCapacityOfAPool(t *testing.T) {
	s := newStory(t)
	s.check(s.w.AddFacts(record.Fact{Name: "MemTotal", Value: "1000 MiB"}))
	carrying(s, "s", pooledApp(sync2, experiment.Traffic{Kind: "rate", Arrivals: "poisson", Rate: 4}))
	table := s.load(Options{})
	c, ok := table.Capacity("s")
	if !ok || c.Server != "gunicorn sync" || c.Workers != 2 || c.Processes != 2 || c.PlanMB != 1000 || c.Limited {
		t.Fatalf("%v %+v", ok, c)
	}
	near(t, "service", c.ServiceMs, 102)
	if n := table.Cell("s", "occupied_ms").Values[0].N; c.Requests != n || n == 0 {
		t.Errorf("learnt from %d requests, the cell says %d", c.Requests, n)
	}
	near(t, "rate", c.Rate, 2/0.102)
	near(t, "memory of a process", c.ProcessMB, 30)
	if len(c.Waits) != 6 || c.Waits[0].Rate != 4 || len(c.Needs) != 4 {
		t.Fatalf("%+v", c)
	}
	half := c.Waits[1]
	near(t, "utilisation", half.Utilisation, 0.5)
	near(t, "wait at half", half.MostMs, 34)
	if half.LeastMs < 0.5*34 || half.LeastMs > 0.6*34 {
		t.Errorf("constant services wait %v ms, want a little more than half of 34", half.LeastMs)
	}
	n := c.Needs[1]
	if n.Workers != 5 || n.Processes != 5 || !n.Fits {
		t.Errorf("%+v", n)
	}
	near(t, "their memory", n.MemoryMB, 6*30)
	near(t, "their share", n.PlanPct, 18)
}

func TestThreadsCostNoProcess(t *testing.T) {
	s := newStory(t)
	threads := experiment.App{Runtime: "flask", WorkerClass: "gthread", Workers: 2, Threads: 4}
	carrying(s, "s", func(st *experiment.Step) {
		pooledApp(threads, atOnce)(st)
		st.Plan = experiment.Plan{MemoryMB: 100}
	})
	c, ok := s.load(Options{}).Capacity("s")
	if !ok || c.Workers != 8 || c.Processes != 2 || !c.Limited || c.PlanMB != 100 {
		t.Fatalf("%v %+v", ok, c)
	}
	// Each process keeps what it took, so that no theory of one queue holds.
	if !c.Apart || len(c.Waits) != 0 {
		t.Errorf("the threads of two processes are apart, and have the waits %+v", c.Waits)
	}
	// 8 / 0.8 = 10 threads in 3 processes, and the master.
	if n := c.Needs[0]; n.Workers != 10 || n.Processes != 3 || n.MemoryMB != 4*30 || n.Fits {
		t.Errorf("%+v", n)
	}
}

// The threads of one process have one queue.
func TestThreadsOfOneProcessShareAQueue(t *testing.T) {
	s := newStory(t)
	carrying(s, "s", pooledApp(experiment.App{Runtime: "flask", WorkerClass: "gthread", Workers: 1, Threads: 8}, atOnce))
	c, ok := s.load(Options{}).Capacity("s")
	if !ok || c.Apart || len(c.Waits) == 0 {
		t.Errorf("%v %+v", ok, c)
	}
}

func TestCapacitiesAreOneForEachPool(t *testing.T) {
	s := newStory(t)
	poisson := func(rate float64) experiment.Traffic {
		return experiment.Traffic{Kind: "rate", Arrivals: "poisson", Rate: rate}
	}
	carrying(s, "batch", pooledApp(sync2, atOnce))
	carrying(s, "slow", pooledApp(sync2, poisson(4)))
	carrying(s, "fast", pooledApp(sync2, poisson(9)))
	carrying(s, "slower", pooledApp(sync2, poisson(8)))
	carrying(s, "loop", pooledApp(experiment.App{Runtime: "node", Workers: 1}, atOnce))
	carrying(s, "go", pooledApp(experiment.App{Runtime: "go", Workers: 2}, atOnce))
	s.step("nothing", pooledApp(experiment.App{Runtime: "go", Workers: 7}, atOnce))
	all := s.load(Options{}).Capacities()
	if len(all) != 2 || all[0].Step != "fast" || all[1].Step != "go" {
		t.Fatalf("%+v", all)
	}
}

// The middle of three repetitions is the second, and a bound is no median.
func TestCapacityTakesTheMiddleRepetition(t *testing.T) {
	m, _ := metric.Lookup("occupied_ms")
	step := StepInfo{Step: experiment.Step{Name: "s"}}
	of := func(v ...Value) (float64, bool) {
		return Assemble([]StepInfo{step}, []Cell{{Metric: m, Step: "s", Values: v}}).median("s", "occupied_ms")
	}
	if x, ok := of(Value{X: 1}, Value{X: 3}, Value{X: 2}); !ok || x != 2 {
		t.Errorf("the median of 1, 2 and 3 is %v, %v", x, ok)
	}
	if x, ok := of(Value{X: 1}, Value{X: 2}); !ok || x != 1.5 {
		t.Errorf("the median of 1 and 2 is %v, %v", x, ok)
	}
	if _, ok := of(Value{X: 1}, Value{X: 2, Censored: true}, Value{X: 2, Censored: true}); ok {
		t.Error("a bound was taken for a median")
	}
}
