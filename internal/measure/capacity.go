package measure

import (
	"fmt"
	"math"
	"slices"

	"brink/internal/stats"

	"brink/internal/experiment"
	"brink/internal/queue"
)

// Capacity is what the workers of a step's app can carry on their plan, from
// what was measured in that step.
type Capacity struct {
	Step, App, Server string
	// Workers is how many requests are served at once, Processes in how many
	// worker processes.
	Workers, Processes int
	// ServiceMs is how long one request keeps a worker: the median of
	// occupied_ms over the repetitions.
	ServiceMs float64
	// Requests is how many ServiceMs was learnt from, over all repetitions.
	Requests int64
	// Apart tells that the workers are threads of several processes, each of which
	// keeps the connections that it took: the pool has no one queue.
	Apart bool
	// Rate is the number of requests per second at which no worker has any idle
	// time left. The queue keeps up only below it.
	Rate float64
	// ProcessMB is the resident memory of one process in units of 2^20 bytes, 0
	// where it is not known: the median of memory_mb over the processes and their
	// master. Pages that processes share count in each of them, so that it is an
	// upper bound for one more of them.
	ProcessMB float64
	// PlanMB is the plan's memory, where Limited, or else the machine's; 0 where
	// neither is known.
	PlanMB  int
	Limited bool
	// Waits are in order of the rate. There are none where the pool is apart: what
	// theory gives for one queue would be too little.
	Waits []Expected
	// Needs are for multiples of Rate, in order.
	Needs []Need
}

// Expected is the mean wait for a worker that Poisson arrivals have to expect:
// at least that of requests which all take alike (M/D/c), and with requests as
// different as exponential ones that of M/M/c. Both are +Inf at a utilisation
// of 1 and above.
type Expected struct {
	Rate, Utilisation, LeastMs, MostMs float64
}

// Need is how many workers keep the utilisation at most at 0.8 for a rate, and
// what they cost.
type Need struct {
	Rate               float64
	Workers, Processes int
	// MemoryMB counts the master too. It is 0 where the memory of a process is not
	// known; PlanPct is its share of the plan's.
	MemoryMB, PlanPct float64
	// Fits tells that the plan has that much memory, which is all that it says.
	Fits bool
}

// busyEnough is the utilisation up to which waits stay near the service time;
// above it they grow quickly.
const busyEnough = 0.8

var (
	utilisations = []float64{0.5, 0.7, 0.8, 0.9, 0.95}
	multiples    = []float64{1, 2, 5, 10}
)

// Capacity computes what the workers of a step's app can carry. It is false
// for a step without one app whose workers can be counted, or without answers.
func (t *Table) Capacity(step string) (Capacity, bool) {
	s, ok := t.Step(step)
	app, one := target(s.Step)
	service, known := t.median(step, "occupied_ms")
	workers := pool(app)
	if !ok || !one || workers == 0 || !known || service <= 0 {
		return Capacity{}, false
	}
	c := Capacity{
		Step: step, App: app.Name, Server: app.Server(), Workers: workers, Processes: app.Workers,
		ServiceMs: service, Requests: t.answersBehind(step, "occupied_ms"), Apart: app.Workers > 1 && workers > app.Workers, Rate: queue.SustainableRate(workers, service/1e3),
		PlanMB: s.Plan.MemoryMB, Limited: s.Plan.MemoryMB > 0,
	}
	if !c.Limited {
		c.PlanMB = t.MachineMB
	}
	if mb, ok := t.median(step, "memory_mb"); ok && len(s.Apps) == 1 {
		c.ProcessMB = mb / float64(app.Workers+1)
	}
	c.expect(s.Step)
	for _, m := range multiples {
		c.Needs = append(c.Needs, c.need(m*c.Rate))
	}
	return c, true
}

func (c *Capacity) expect(s experiment.Step) {
	if c.Apart {
		return
	}
	var rates []float64
	for _, u := range utilisations {
		rates = append(rates, u*c.Rate)
	}
	if rate, ok := poisson(s); ok {
		rates = append(rates, rate)
	}
	slices.Sort(rates)
	for _, rate := range rates {
		service := c.ServiceMs / 1e3
		c.Waits = append(c.Waits, Expected{
			Rate: rate, Utilisation: queue.Utilisation(c.Workers, rate, service),
			LeastMs: 1e3 * queue.MDC(c.Workers, rate, service).Mean, MostMs: 1e3 * queue.MMC(c.Workers, rate, service).Mean,
		})
	}
}

func (c *Capacity) need(rate float64) Need {
	// Rounding must not ask for a worker more.
	n := Need{Rate: rate, Workers: int(math.Ceil(rate*c.ServiceMs/1e3/busyEnough - 1e-9))}
	each := c.Workers / c.Processes
	n.Processes = (n.Workers + each - 1) / each
	n.MemoryMB = float64(n.Processes+1) * c.ProcessMB
	if c.PlanMB > 0 && n.MemoryMB > 0 {
		n.PlanPct = 100 * n.MemoryMB / float64(c.PlanMB)
		n.Fits = n.PlanPct <= 100
	}
	return n
}

// Capacities computes the capacity of each kind of pool that the steps have,
// in their order: from its Poisson step of the highest rate, or else from its
// first step.
func (t *Table) Capacities() []Capacity {
	var all []Capacity
	rates := map[string]float64{}
	for _, s := range t.Steps {
		c, ok := t.Capacity(s.Name)
		if !ok {
			continue
		}
		rate, _ := poisson(s.Step)
		kind := fmt.Sprint(c.Server, c.Workers, c.Processes)
		before, seen := rates[kind]
		if !seen {
			all = append(all, c)
			rates[kind] = rate
		} else if rate > before {
			i := slices.IndexFunc(all, func(o Capacity) bool {
				return o.Server == c.Server && o.Workers == c.Workers && o.Processes == c.Processes
			})
			all[i], rates[kind] = c, rate
		}
	}
	return all
}

// answersBehind is how many requests a metric of a step was computed from.
func (t *Table) answersBehind(step, name string) int64 {
	var n int64
	for _, v := range t.Cell(step, name).Usable() {
		n += v.N
	}
	return n
}

// median of a metric over a step's repetitions; ok is false where there is
// none, or only a bound.
func (t *Table) median(step, name string) (x float64, ok bool) {
	var values stats.Sample
	for _, v := range t.Cell(step, name).Usable() {
		values = append(values, stats.Obs{X: v.X, Censored: v.Censored})
	}
	m := stats.Median(values)
	return m.X, m.Bound == stats.Exact
}
