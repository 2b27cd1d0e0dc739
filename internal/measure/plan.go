package measure

import (
	"math"

	"brink/internal/experiment"
	"brink/internal/record"
)

// A window of a repetition is the time over which a signal of the plan counts.
type window int

const (
	// whileTraffic is from the start of traffic, warm-up left out, to its end.
	whileTraffic window = iota
	// wholeStep is from the first deployment to the end of traffic. Where nothing
	// was deployed, as in later phases of an intervention, it begins with traffic.
	wholeStep
	// whileStarting is from the first deployment to the start of traffic.
	whileStarting
	windows
)

// span is a window of one repetition in Unix nanoseconds; it is empty where
// from is not before to.
type span struct{ from, to int64 }

func (s span) holds(at int64) bool { return at >= s.from && at <= s.to }

// counted is a metric that is the growth of one of the plan's counters.
type counted struct {
	metric string
	window window
	of     func(*record.Sample) int64
	// unit is what one of the metric's units is in the counter's; for a share it
	// is what 100 % grow by in a nanosecond.
	unit float64
	// share makes the metric a percentage of the window's time, perCPU one of the
	// plan's CPUs.
	share, perCPU bool
}

const (
	microseconds = 1e-3 // µs in a nanosecond
	nanoseconds  = 1
)

var plan = []counted{
	{metric: "allocstalls", window: wholeStep, of: func(s *record.Sample) int64 { return s.Allocstall }, unit: 1},
	{metric: "direct_reclaims", window: wholeStep, of: func(s *record.Sample) int64 { return s.DirectReclaims }, unit: 1},
	{metric: "major_faults", window: wholeStep, of: func(s *record.Sample) int64 { return s.Pgmajfault }, unit: 1},
	{metric: "pgscan_direct", window: wholeStep, of: func(s *record.Sample) int64 { return s.PgscanDirect }, unit: 1},
	{metric: "pgscan_kswapd", window: wholeStep, of: func(s *record.Sample) int64 { return s.PgscanKswapd }, unit: 1},
	{metric: "pgsteal_direct", window: wholeStep, of: func(s *record.Sample) int64 { return s.PgstealDirect }, unit: 1},
	{metric: "pgsteal_kswapd", window: wholeStep, of: func(s *record.Sample) int64 { return s.PgstealKswapd }, unit: 1},
	{metric: "plan_oom_kills", window: wholeStep, of: func(s *record.Sample) int64 { return s.OOMKills }, unit: 1},
	{metric: "pswpin", window: wholeStep, of: func(s *record.Sample) int64 { return s.Pswpin }, unit: 1},
	{metric: "pswpout", window: wholeStep, of: func(s *record.Sample) int64 { return s.Pswpout }, unit: 1},
	{metric: "refaults_anon", window: wholeStep, of: func(s *record.Sample) int64 { return s.RefaultAnon }, unit: 1},
	{metric: "refaults_file", window: wholeStep, of: func(s *record.Sample) int64 { return s.RefaultFile }, unit: 1},
	{metric: "direct_reclaim_s", window: wholeStep, of: func(s *record.Sample) int64 { return s.DirectReclaimNs }, unit: 1e9},

	{metric: "agent_cpu_pct", of: func(s *record.Sample) int64 { return s.AgentCPUNs }, unit: nanoseconds, share: true, perCPU: true},
	{metric: "iowait_pct", of: func(s *record.Sample) int64 { return s.IOWaitNs }, unit: nanoseconds, share: true, perCPU: true},
	{metric: "kswapd_cpu_pct", of: func(s *record.Sample) int64 { return s.KswapdCPUNs }, unit: nanoseconds, share: true, perCPU: true},
	{metric: "machine_cpu_pct", of: func(s *record.Sample) int64 { return s.BusyNs }, unit: nanoseconds, share: true, perCPU: true},
	{metric: "machine_cpu_start_pct", window: whileStarting, of: func(s *record.Sample) int64 { return s.BusyNs }, unit: nanoseconds, share: true, perCPU: true},
	{metric: "platform_cpu_pct", of: func(s *record.Sample) int64 { return s.PlatformCPUNs }, unit: nanoseconds, share: true, perCPU: true},
	{metric: "psi_io_full_pct", of: func(s *record.Sample) int64 { return s.PSIIOFull }, unit: microseconds, share: true},
	{metric: "psi_io_some_pct", of: func(s *record.Sample) int64 { return s.PSIIOSome }, unit: microseconds, share: true},
	{metric: "psi_memory_full_start_pct", window: whileStarting, of: func(s *record.Sample) int64 { return s.PSIMemFull }, unit: microseconds, share: true},
	{metric: "psi_memory_some_start_pct", window: whileStarting, of: func(s *record.Sample) int64 { return s.PSIMemSome }, unit: microseconds, share: true},
	{metric: "swap_disk_busy_pct", window: wholeStep, of: func(s *record.Sample) int64 { return s.DiskBusyNs }, unit: nanoseconds, share: true},
	{metric: "swap_disk_queue", window: wholeStep, of: func(s *record.Sample) int64 { return s.DiskQueueNs }, unit: 100 * nanoseconds, share: true},
}

// under accumulates what the plan's samples of one repetition say about its
// memory. It keeps no reading.
type under struct {
	spans   [windows]span
	cpus    int
	growths []growth

	pages, swap, swapShare mean
	peak, most, agent      gauge
	end                    Value
	above                  aboveLimit
	late                   lateness
	apps                   cgroups
	seen                   bool
}

func newUnder(spans [windows]span, cpus int) *under {
	u := &under{spans: spans, cpus: cpus, growths: make([]growth, len(plan)), apps: newCgroups(spans)}
	for i, c := range plan {
		u.growths[i] = growth{from: spans[c.window].from, to: spans[c.window].to}
	}
	u.above.span, u.late.span = spans[wholeStep], spans[wholeStep]
	return u
}

func (u *under) add(x *record.Sample) {
	if x.App != "" {
		u.apps.add(x)
		return
	}
	for i, c := range plan {
		u.growths[i].add(x.AtNs, c.of(x))
	}
	u.late.add(x)
	used := -1.0
	if x.MemTotal > 0 && x.MemAvailable >= 0 {
		used = 100 * (1 - float64(x.MemAvailable)/float64(x.MemTotal))
	}
	u.above.add(x.AtNs, used)
	if u.spans[wholeStep].holds(x.AtNs) {
		u.seen = true
		if used >= 0 {
			u.peak.add(int64(used * peakSteps))
		}
		if x.SwapTotal >= 0 && x.SwapFree >= 0 {
			u.most.add(x.SwapTotal - x.SwapFree)
		}
		u.agent.add(x.AgentRSS)
	}
	if !u.spans[whileTraffic].holds(x.AtNs) {
		return
	}
	if used >= 0 {
		u.end = Value{X: used, N: 1}
	}
	if x.MemTotal > 0 && x.MemFree >= 0 {
		u.pages.add(100 * (1 - float64(x.MemFree)/float64(x.MemTotal)))
	}
	if x.SwapTotal >= 0 && x.SwapFree >= 0 {
		u.swap.add(mib(x.SwapTotal - x.SwapFree))
		if x.SwapTotal > 0 {
			u.swapShare.add(100 * (1 - float64(x.SwapFree)/float64(x.SwapTotal)))
		}
	}
}

// peakSteps is the number of steps in a percent in which a peak is kept.
const peakSteps = 1e6

func (u *under) values() map[string]Value {
	v := map[string]Value{}
	none := Value{Missing: noSamples}
	if u.seen {
		none.Missing = unreadable
	}
	for i, c := range plan {
		v[c.metric] = u.counted(c, &u.growths[i], none)
	}
	v["memory_pages_pct"] = u.pages.value(none)
	v["swap_used_mb"] = u.swap.value(none)
	v["swap_used_pct"] = u.swapShare.value(none)
	v["memory_end_pct"] = u.end
	if u.end.N == 0 {
		v["memory_end_pct"] = none
	}
	v["memory_peak_pct"] = u.peak.value(peakSteps, none)
	v["swap_used_max_mb"] = u.most.value(1<<20, none)
	v["agent_rss_mb"] = u.agent.value(1<<20, none)
	v["memory_above_85_min"] = u.above.value(none)
	v["samples_late_pct"] = u.late.value()
	merge(v, u.apps.values(none))
	return v
}

func (u *under) counted(c counted, g *growth, none Value) Value {
	switch {
	case c.window == whileStarting && u.spans[whileStarting].from >= u.spans[whileStarting].to:
		return Value{Missing: "nothing was deployed"}
	case c.perCPU && u.cpus == 0:
		return Value{Missing: unknownCPUs}
	case c.perCPU:
		return g.share(c.unit*float64(u.cpus), none)
	case c.share:
		return g.share(c.unit, none)
	}
	return whole(g.value(c.unit, none), c.unit)
}

// whole rounds a count that was interpolated at the edge of its window.
func whole(v Value, unit float64) Value {
	if unit == 1 {
		v.X = math.Round(v.X)
	}
	return v
}

// value is the highest reading in units of scale.
func (g gauge) value(scale float64, none Value) Value {
	if g.n == 0 {
		return none
	}
	return Value{X: float64(g.most) / scale, N: g.n}
}

// spansOf are the windows of a repetition whose warm-up ends at from.
func spansOf(rep RepetitionInfo, from int64) [windows]span {
	begun, deployed := rep.TrafficNs, rep.firstDeployed()
	if deployed > 0 {
		begun = min(begun, deployed)
	}
	return [windows]span{
		whileTraffic:  {from, rep.TrafficEndNs},
		wholeStep:     {begun, rep.TrafficEndNs},
		whileStarting: {begun, rep.TrafficNs},
	}
}

// asked is the memory that a step's apps are told to fill, in units of 2^20
// bytes.
func asked(step experiment.Step) float64 {
	sum := 0
	for _, a := range step.Apps {
		sum += max(1, a.Workers) * a.AllocMB
	}
	return float64(sum)
}

// residentRatio is the memory that the apps had of what they were told to fill.
func residentRatio(step experiment.Step, resident Value) Value {
	want := asked(step)
	switch {
	case want == 0:
		return Value{Missing: "the apps were told to fill no memory"}
	case resident.Missing == "":
		resident.X /= want
	}
	return resident
}
