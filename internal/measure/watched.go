package measure

import (
	"slices"

	"brink/internal/record"
)

// pressureLimit is the share of memory, in percent, above which the published
// experiment sees pressure begin.
const pressureLimit = 85

// aboveLimit adds up the time that memory was above the limit. Between two
// readings the earlier one holds.
type aboveLimit struct {
	span
	at, ns int64
	above  bool
	n      int64
}

func (a *aboveLimit) add(at int64, used float64) {
	if used < 0 {
		return
	}
	if a.n > 0 && a.above {
		a.ns += max(0, min(at, a.to)-max(a.at, a.from))
	}
	a.at, a.above = at, used > pressureLimit
	a.n++
}

func (a *aboveLimit) value(none Value) Value {
	if a.n < 2 {
		return none
	}
	return Value{X: float64(a.ns) / 60e9, N: a.n}
}

// hardPressure is the share of time, in percent, in which nothing but reclaim
// goes on while memory is under hard pressure.
const hardPressure = 50

// lateness finds out whether readings came in time while memory was under hard
// pressure and pages came back from swap: then a reading says most, and is
// hardest to take. It keeps one number for each reading.
type lateness struct {
	span
	last          record.Sample
	n             int64
	gaps, pressed []int64
}

func (l *lateness) add(x *record.Sample) {
	if !l.holds(x.AtNs) {
		return
	}
	if gap := x.AtNs - l.last.AtNs; l.n > 0 && gap > 0 {
		l.gaps = append(l.gaps, gap)
		stalled := float64(x.PSIMemFull-l.last.PSIMemFull) / microseconds
		if x.PSIMemFull >= 0 && l.last.PSIMemFull >= 0 && 100*stalled >= hardPressure*float64(gap) && x.Pswpin > l.last.Pswpin {
			l.pressed = append(l.pressed, gap)
		}
	}
	l.last = *x
	l.n++
}

// value is the share of readings under hard pressure that came more than twice
// the usual interval after the one before.
func (l *lateness) value() Value {
	if len(l.pressed) == 0 {
		return Value{Missing: "memory was never under such pressure"}
	}
	slices.Sort(l.gaps)
	usual, late := l.gaps[len(l.gaps)/2], 0
	for _, gap := range l.pressed {
		if gap > 2*usual {
			late++
		}
	}
	return Value{X: 100 * float64(late) / float64(len(l.pressed)), N: int64(len(l.pressed))}
}

// held is a metric of what all apps hold together, by their cgroups.
var held = []struct {
	metric string
	of     func(*record.Sample) int64
}{
	{"cgroup_anon_mb", func(s *record.Sample) int64 { return s.CgAnon }},
	{"cgroup_file_mb", func(s *record.Sample) int64 { return s.CgFile }},
	{"cgroup_memory_mb", func(s *record.Sample) int64 { return s.CgMemory }},
	{"cgroup_swap_mb", func(s *record.Sample) int64 { return s.CgSwap }},
}

// delays are metrics of what the processes of all apps waited for.
var delays = []struct {
	metric string
	of     func(*record.Sample) int64
}{
	{"delay_io_s", func(s *record.Sample) int64 { return s.DelayIONs }},
	{"delay_reclaim_s", func(s *record.Sample) int64 { return s.DelayReclaimNs }},
	{"delay_swapin_s", func(s *record.Sample) int64 { return s.DelaySwapinNs }},
	{"delay_thrash_s", func(s *record.Sample) int64 { return s.DelayThrashNs }},
}

// cgroups accumulates the apps' own accounts.
type cgroups struct {
	spans [windows]span
	apps  map[string]*cgroup
}

// cgroup is the accounts of one app.
type cgroup struct {
	held   [4]mean
	delays [4]growth
}

func newCgroups(spans [windows]span) cgroups {
	return cgroups{spans: spans, apps: map[string]*cgroup{}}
}

func (c *cgroups) add(x *record.Sample) {
	a := c.apps[x.App]
	if a == nil {
		a = &cgroup{}
		for i := range a.delays {
			a.delays[i] = growth{from: c.spans[wholeStep].from, to: c.spans[wholeStep].to}
		}
		c.apps[x.App] = a
	}
	for i, d := range delays {
		a.delays[i].add(x.AtNs, d.of(x))
	}
	if !c.spans[whileTraffic].holds(x.AtNs) {
		return
	}
	for i, h := range held {
		if bytes := h.of(x); bytes >= 0 {
			a.held[i].add(mib(bytes))
		}
	}
}

// values adds up the apps: the mean of what each held, and what each waited.
func (c *cgroups) values(none Value) map[string]Value {
	v := map[string]Value{}
	for i, h := range held {
		v[h.metric] = c.sum(none, func(a *cgroup) Value { return a.held[i].value(none) })
	}
	for i, d := range delays {
		v[d.metric] = c.sum(none, func(a *cgroup) Value { return a.delays[i].value(1e9, none) })
	}
	return v
}

func (c *cgroups) sum(none Value, of func(*cgroup) Value) Value {
	total := Value{}
	for _, a := range c.apps {
		if x := of(a); x.Missing == "" {
			total.X += x.X
			total.N += x.N
		}
	}
	if total.N == 0 {
		return none
	}
	return total
}
