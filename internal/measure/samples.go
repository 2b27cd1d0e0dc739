package measure

import (
	"math"
	"sort"

	"brink/internal/record"
)

// signals accumulates the plan's samples of one repetition. They are kept for
// the traffic's duration only: at ten a second, an hour is 36,000 readings.
type signals struct {
	from, to int64
	cpus     int
	counters map[string]*counter
	memory   mean
	rss      gauge
	queue    gauge
	gone     gauge
	busy     busyWorkers
	// seen tells that there were samples, whatever they could read.
	seen bool
	apps appMemory
}

// counter interpolates a rising number at the edges of the traffic.
type counter struct{ at, x []int64 }

type mean struct {
	sum float64
	n   int64
}

// gauge keeps the highest of the readings that were possible.
type gauge struct{ most, n int64 }

func (g *gauge) add(x int64) {
	if x >= 0 {
		g.most = max(g.most, x)
		g.n++
	}
}

func newSignals(from, to int64, cpus int) *signals {
	return &signals{from: from, to: to, cpus: cpus, counters: map[string]*counter{}, apps: appMemory{}, busy: busyWorkers{last: map[string]busyReading{}}}
}

func (s *signals) add(x *record.Sample) {
	if x.App != "" {
		s.addApp(x)
		return
	}
	s.count("cpu", x.AtNs, x.CPUNs)
	s.count("psi_cpu_some_pct", x.AtNs, x.PSICPUSome)
	s.count("psi_memory_some_pct", x.AtNs, x.PSIMemSome)
	s.count("psi_memory_full_pct", x.AtNs, x.PSIMemFull)
	s.count("overflows", x.AtNs, x.Overflows)
	if !s.inside(x.AtNs) {
		return
	}
	s.seen = true
	if x.MemTotal > 0 && x.MemAvailable >= 0 {
		s.memory.sum += 100 * (1 - float64(x.MemAvailable)/float64(x.MemTotal))
		s.memory.n++
	}
}

func (s *signals) addApp(x *record.Sample) {
	if !s.inside(x.AtNs) {
		return
	}
	s.seen = true
	s.busy.add(x)
	s.queue.add(x.QueueDepth)
	s.gone.add(x.Abandoned)
	s.rss.add(s.apps.sum(x))
}

func (s *signals) inside(at int64) bool { return at >= s.from && at <= s.to }

func (s *signals) count(name string, at, x int64) {
	if x < 0 {
		return
	}
	c := s.counters[name]
	if c == nil {
		c = &counter{}
		s.counters[name] = c
	}
	c.at = append(c.at, at)
	c.x = append(c.x, x)
}

// valueAt interpolates between the two readings around at; ok is false
// outside the readings.
func (c *counter) valueAt(at int64) (x float64, ok bool) {
	if c == nil || len(c.at) == 0 || at < c.at[0] || at > c.at[len(c.at)-1] {
		return 0, false
	}
	i := sort.Search(len(c.at), func(i int) bool { return c.at[i] >= at })
	if c.at[i] == at || i == 0 {
		return float64(c.x[i]), true
	}
	span := float64(c.at[i] - c.at[i-1])
	return float64(c.x[i-1]) + float64(c.x[i]-c.x[i-1])*float64(at-c.at[i-1])/span, true
}

// delta is the growth from from to to, both clipped to the readings; ok is
// false when fewer than two readings remain.
func (c *counter) delta(from, to int64) (dx, dt float64, ok bool) {
	if c == nil || len(c.at) < 2 {
		return 0, 0, false
	}
	from, to = max(from, c.at[0]), min(to, c.at[len(c.at)-1])
	a, ok1 := c.valueAt(from)
	b, ok2 := c.valueAt(to)
	if !ok1 || !ok2 || to <= from {
		return 0, 0, false
	}
	return b - a, float64(to - from), true
}

// Why a signal has no value.
const (
	noSamples   = "no samples while traffic ran"
	unreadable  = "the signal could not be read while traffic ran"
	unknownCPUs = "neither the plan nor the record says how many CPUs there are"
)

func (s *signals) values() map[string]Value {
	v := map[string]Value{}
	none := Value{Missing: noSamples}
	if s.seen {
		none.Missing = unreadable
	}
	growth := func(name string) (dx, dt float64, n int64, ok bool) {
		c := s.counters[name]
		if dx, dt, ok = c.delta(s.from, s.to); ok {
			n = int64(len(c.at))
		}
		return dx, dt, n, ok
	}
	v["cpu_pct"], v["cpu_peak_pct"] = none, none
	if dx, dt, n, ok := growth("cpu"); ok && s.cpus > 0 {
		v["cpu_pct"] = Value{X: 100 * dx / dt / float64(s.cpus), N: n}
		if peak, ok := s.peakCPU(); ok {
			v["cpu_peak_pct"] = Value{X: peak, N: n}
		}
	} else if ok {
		v["cpu_pct"], v["cpu_peak_pct"] = Value{Missing: unknownCPUs}, Value{Missing: unknownCPUs}
	}
	for _, name := range []string{"psi_cpu_some_pct", "psi_memory_some_pct", "psi_memory_full_pct"} {
		v[name] = none
		if dx, dt, n, ok := growth(name); ok {
			v[name] = Value{X: 100 * dx * 1000 / dt, N: n} // µs of stall per ns
		}
	}
	v["overflows"] = none
	if dx, _, n, ok := growth("overflows"); ok {
		v["overflows"] = Value{X: math.Round(dx), N: n}
	}
	v["memory_pct"] = none
	if s.memory.n > 0 {
		v["memory_pct"] = Value{X: s.memory.sum / float64(s.memory.n), N: s.memory.n}
	}
	highest := func(name string, g gauge, scale float64) {
		v[name] = none
		if g.n > 0 {
			v[name] = Value{X: float64(g.most) / scale, N: g.n}
		}
	}
	highest("memory_mb", s.rss, 1<<20)
	highest("accept_queue_max", s.queue, 1)
	highest("abandoned_max", s.gone, 1)
	highest("busy_max", s.busy.sum, 1)
	v["busy_pct"] = none
	if s.busy.workers > 0 {
		v["busy_pct"] = Value{X: 100 * s.busy.busy / s.busy.workers, N: s.busy.sum.n}
	}
	return v
}

// peakCPU is the highest share over windows of one second, or over the whole
// traffic when that was shorter; ok is false when the readings cover no such
// window.
func (s *signals) peakCPU() (most float64, ok bool) {
	window := min(int64(1e9), s.to-s.from)
	last := s.to - window
	for at := s.from; at <= last; at += window / 4 {
		if at+window/4 > last {
			at = last // so that the end is in a window too
		}
		dx, dt, known := s.counters["cpu"].delta(at, at+window)
		if known && dt >= 0.9*float64(window) {
			most, ok = max(most, 100*dx/dt/float64(s.cpus)), true
		}
		if at == last {
			break
		}
	}
	return most, ok
}
