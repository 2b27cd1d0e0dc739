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
	rss      int64
	queue    int64
	gone     int64
	seen     bool
	apps     appMemory
}

// counter interpolates a rising number at the edges of the traffic.
type counter struct{ at, x []int64 }

type mean struct {
	sum float64
	n   int64
}

func newSignals(from, to int64, cpus int) *signals {
	return &signals{from: from, to: to, cpus: cpus, counters: map[string]*counter{}, apps: appMemory{}, rss: -1, queue: -1, gone: -1}
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
	s.queue = max(s.queue, x.QueueDepth)
	s.gone = max(s.gone, x.Abandoned)
	s.rss = max(s.rss, s.apps.sum(x))
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

const noSamples = "no samples while traffic ran"

func (s *signals) values() map[string]Value {
	v := map[string]Value{}
	missing := func(names ...string) {
		for _, n := range names {
			v[n] = Value{Missing: noSamples}
		}
	}
	n := int64(0)
	if c := s.counters["cpu"]; c != nil {
		n = int64(len(c.at))
	}
	if dx, dt, ok := s.counters["cpu"].delta(s.from, s.to); ok && s.cpus > 0 {
		v["cpu_pct"] = Value{X: 100 * dx / dt / float64(s.cpus), N: n}
		v["cpu_peak_pct"] = Value{X: s.peakCPU(), N: n}
	} else {
		missing("cpu_pct", "cpu_peak_pct")
	}
	for _, name := range []string{"psi_cpu_some_pct", "psi_memory_some_pct", "psi_memory_full_pct"} {
		if dx, dt, ok := s.counters[name].delta(s.from, s.to); ok {
			v[name] = Value{X: 100 * dx * 1000 / dt, N: n} // µs of stall per ns
		} else {
			missing(name)
		}
	}
	if dx, _, ok := s.counters["overflows"].delta(s.from, s.to); ok {
		v["overflows"] = Value{X: math.Round(dx), N: n}
	} else {
		missing("overflows")
	}
	if s.memory.n > 0 {
		v["memory_pct"] = Value{X: s.memory.sum / float64(s.memory.n), N: s.memory.n}
	} else {
		missing("memory_pct")
	}
	gauge := func(name string, x int64, scale float64) {
		if x >= 0 {
			v[name] = Value{X: float64(x) / scale, N: n}
		} else {
			missing(name)
		}
	}
	gauge("memory_mb", s.rss, 1<<20)
	gauge("accept_queue_max", s.queue, 1)
	gauge("abandoned_max", s.gone, 1)
	return v
}

// peakCPU is the highest share over windows of one second, or over the whole
// traffic when that was shorter.
func (s *signals) peakCPU() float64 {
	const window = int64(1e9)
	c, most := s.counters["cpu"], 0.0
	for at := s.from; at < s.to; at += window / 4 {
		end := min(at+window, s.to)
		dx, dt, ok := c.delta(at, end)
		if ok && (dt >= float64(window)*0.9 || s.to-s.from < window) {
			most = max(most, 100*dx/dt/float64(s.cpus))
		}
	}
	return most
}
