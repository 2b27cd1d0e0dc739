package measure

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"brink/internal/experiment"
	"brink/internal/record"
	"brink/internal/wire"
)

const sec = time.Second

// each writes a reading of the plan every second.
func each(r *told, from, to time.Duration, set func(x *wire.Sample, second int64)) {
	for t := from; t <= to; t += sec {
		r.sample("", t, func(x *wire.Sample) { set(x, int64(t/sec)) })
	}
}

// Counters of reclaim count from the first deployment, 20 s before traffic, to
// the end of traffic 10 s after its start. What happened before is the
// platform's.
func TestReclaimCountsFromTheFirstDeployment(t *testing.T) {
	s := newStory(t)
	s.step("s", func(s *experiment.Step) { s.Plan.CPUs = 1 })
	s.repetition("s", 1, 10*sec, func(r *told) {
		r.event("a", -20*sec, wire.Deployed)
		r.event("a", -2*sec, wire.Healthy)
		each(r, -40*sec, 12*sec, func(x *wire.Sample, at int64) {
			x.Pswpout, x.PgscanDirect, x.DirectReclaimNs, x.DirectReclaims = 100*(at+40), 7*(at+40), (at+40)*5e7, at+40
			// CPU: half of each second while apps start, a tenth of it later.
			x.BusyNs = 5e8 * (at + 40)
			if at > 0 {
				x.BusyNs = 5e8*40 + 1e8*at
			}
			x.KswapdCPUNs, x.IOWaitNs, x.CPUNs = 2e7*(at+40), 1e8*(at+40), 3e7*(at+40)
			x.PSIMemSome = 250_000 * (at + 40)
		})
	})
	table := s.load(Options{})
	wants(t, table, "s", map[string]float64{
		"pswpout": 3000, "pgscan_direct": 210, "direct_reclaims": 30, "direct_reclaim_s": 1.5,
		"machine_cpu_pct": 10, "machine_cpu_start_pct": 50, "kswapd_cpu_pct": 2, "iowait_pct": 10,
		"cpu_pct": 3, "apps_kswapd_cpu_pct": 5, "psi_memory_some_start_pct": 25, "psi_memory_some_pct": 25,
	})
}

// Later phases of an intervention deploy nothing: bringing everything back from
// swap before traffic is not what the phase did.
func TestAPhaseWithoutDeploymentCountsItsTraffic(t *testing.T) {
	s := newStory(t)
	s.step("s")
	s.repetition("s", 1, 10*sec, func(r *told) {
		each(r, -40*sec, 12*sec, func(x *wire.Sample, at int64) { x.Pswpin = 100 * (at + 40) })
	})
	table := s.load(Options{})
	wants(t, table, "s", map[string]float64{"pswpin": 1000})
	lacks(t, table, "s", "nothing was deployed", "machine_cpu_start_pct", "psi_memory_some_start_pct")
}

// 1,000 MB of memory, 500 MB of swap.
func TestMemoryAndSwapOfThePlan(t *testing.T) {
	const mb = 1 << 20
	s := newStory(t)
	s.step("s", func(s *experiment.Step) {
		s.Apps = []experiment.App{{Name: "a", Workers: 2, AllocMB: 50}, {Name: "b", Workers: 1, AllocMB: 100}}
	})
	s.repetition("s", 1, 60*sec, func(r *told) {
		r.event("a", -60*sec, wire.Deployed)
		each(r, -60*sec, 60*sec, func(x *wire.Sample, at int64) {
			x.MemTotal, x.SwapTotal = 1000*mb, 500*mb
			x.MemAvailable, x.MemFree, x.SwapFree = 100*mb, 50*mb, 400*mb
			switch {
			case at < 0: // while apps start: 95 % for the first half minute, then 80 %
				x.SwapFree = 100 * mb
				if x.MemAvailable = 200 * mb; at < -30 {
					x.MemAvailable = 50 * mb
				}
			case at == 60:
				x.MemAvailable = 130 * mb
			}
		})
		for i := range 61 {
			r.sample("a", time.Duration(i)*sec, func(x *wire.Sample) { x.RSS, x.CgAnon, x.CgSwap = 60*mb, 40*mb, 10*mb })
			r.sample("b", time.Duration(i)*sec, func(x *wire.Sample) { x.RSS, x.CgAnon, x.CgSwap = 50*mb, 30*mb, 5*mb })
		}
	})
	wants(t, s.load(Options{}), "s", map[string]float64{
		"memory_end_pct": 87, "memory_peak_pct": 95, "memory_pages_pct": 95, "swap_used_mb": 100, "swap_used_pct": 20, "swap_used_max_mb": 400,
		"memory_above_85_min": 1.5, // 30 s while apps start, 60 s of traffic
		"resident_ratio":      110.0 / 200, "cgroup_anon_mb": 70, "cgroup_swap_mb": 15,
	})
}

// What apps wait for adds up over apps; an app's counters may begin late.
func TestDelaysAddUpOverApps(t *testing.T) {
	s := newStory(t)
	s.step("s")
	s.repetition("s", 1, 10*sec, func(r *told) {
		r.event("a", -10*sec, wire.Deployed)
		for i := -10; i <= 11; i++ {
			at := time.Duration(i) * sec
			r.sample("a", at, func(x *wire.Sample) { x.DelaySwapinNs, x.DelayReclaimNs = int64(i+10)*1e8, 0 })
			if i >= 0 {
				r.sample("b", at, func(x *wire.Sample) { x.DelaySwapinNs = int64(i) * 2e8 })
			}
		}
	})
	wants(t, s.load(Options{}), "s", map[string]float64{"delay_swapin_s": 2 + 2, "delay_reclaim_s": 0})
}

// Readings come every second. While memory is stalled for 60 % of the time and
// pages come back, two of eight come after 3 s.
func TestLateReadingsCountUnderHardPressureOnly(t *testing.T) {
	s := newStory(t)
	s.step("s")
	s.repetition("s", 1, 60*sec, func(r *told) {
		at, stalled, in := time.Duration(0), int64(0), int64(0)
		read := func(gap time.Duration, hard bool) {
			at += gap
			if hard {
				stalled += gap.Microseconds() * 6 / 10
				in += 10
			}
			r.sample("", at, func(x *wire.Sample) { x.PSIMemFull, x.Pswpin = stalled, in })
		}
		for range 20 {
			read(sec, false)
		}
		read(9*sec, false)
		for i := range 8 {
			read([]time.Duration{sec, 3 * sec}[i/6], true)
		}
	})
	wants(t, s.load(Options{}), "s", map[string]float64{"samples_late_pct": 25})
}

// However readings fall, the growth of an evenly rising number over a window that
// they cover is the window's length times its slope.
func TestGrowthIsThatOfTheWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slope := rapid.Int64Range(0, 1000).Draw(t, "slope")
		g := growth{from: rapid.Int64Range(0, 500).Draw(t, "from")}
		g.to = g.from + rapid.Int64Range(1, 500).Draw(t, "length")
		for at := int64(0); at <= 1000; at += rapid.Int64Range(1, 40).Draw(t, "gap") {
			g.add(at, slope*at)
		}
		g.add(1001, slope*1001)
		want := float64(slope * (g.to - g.from))
		if d := g.dx - want; d > 1e-6*want+1e-6 || d < -1e-6*want-1e-6 || g.dt != float64(g.to-g.from) {
			t.Fatalf("%v over %v, want %v over %d", g.dx, g.dt, want, g.to-g.from)
		}
	})
}

func TestACounterThatWasResetDoesNotShrink(t *testing.T) {
	g := growth{from: 0, to: 30}
	for i, x := range []int64{100, 150, 20, 60} {
		g.add(int64(i)*10, x)
	}
	if g.dx != 90 {
		t.Errorf("it grew by %v, want 50 before and 40 after the reset", g.dx)
	}
}

// Apps 1 and 2 served before the step, app 3 is new and fails.
func TestOldAndNewAppsAreToldApart(t *testing.T) {
	s := newStory(t)
	s.step("before")
	s.step("s")
	var old int64
	s.repetition("before", 1, 10*sec, func(r *told) { old = r.stream.AppID })
	s.repetition("s", 1, 10*sec, func(r *told) {
		for i := range 4 {
			r.probe(time.Duration(i)*sec, 5*sec, func(p *record.Probe) { p.Status, p.Outcome = 503, "http_5xx" })
		}
		r.probe(9*sec, 500*time.Millisecond, func(p *record.Probe) { p.Status, p.Outcome, p.Pid = 500, "http_5xx", 7 })
		mine := r.stream
		r.stream = record.Stream{RepetitionID: r.ID, AppID: old, Ordinal: 2, Kind: "steady", Held: true}
		var err error
		r.stream.ID, err = r.w.AddStream(r.stream)
		r.check(err)
		for i := range 10 {
			r.probe(time.Duration(i)*sec, 20*time.Millisecond)
		}
		r.check(r.w.UpdateStream(r.stream))
		r.stream = mine
	})
	wants(t, s.load(Options{NoWarmUp: true}), "s", map[string]float64{
		"latency_old_p50_ms": 20, "latency_new_p50_ms": 5000, "failure_old_pct": 0, "failure_new_pct": 100,
		"apps_serving": 1, "apps_failing": 1, "http_5xx": 5, "front_end_5xx": 4, "app_5xx": 1,
	})
}

func TestColdStartsOfSeveralApps(t *testing.T) {
	s := newStory(t)
	s.step("s")
	s.repetition("s", 1, 60*sec, func(r *told) {
		for app, times := range map[string][2]time.Duration{"a": {-100, -95}, "b": {-95, -65}, "c": {-65, -58}} {
			r.event(app, times[0]*sec, wire.Deployed)
			r.event(app, times[1]*sec, wire.Healthy)
		}
	})
	table := s.load(Options{})
	wants(t, table, "s", map[string]float64{
		"cold_start_s": 30, "cold_start_first_s": 5, "cold_start_median_s": 7, "cold_start_newest_s": 7, "first_up_s": 5, "never_up": 0,
	})
	lacks(t, table, "s", "no app started over", "recovery_s")
}

// Two of four apps did not come up until the repetition ended 161 s after they
// were deployed: nobody knows what they take, but that it is not less.
func TestAppsThatAreStillStartingAreBounds(t *testing.T) {
	s := newStory(t)
	s.step("s")
	s.repetition("s", 1, 60*sec, func(r *told) {
		for _, app := range []string{"a", "b", "c", "d"} {
			r.event(app, -100*sec, wire.Deployed)
			r.event(app, -99*sec, wire.Started)
		}
		r.event("a", -90*sec, wire.Healthy)
		r.event("b", -80*sec, wire.Healthy)
	})
	table := s.load(Options{})
	wants(t, table, "s", map[string]float64{"never_up": 2, "first_up_s": 10})
	for name, want := range map[string]float64{"cold_start_s": 161, "cold_start_newest_s": 161} {
		if v := only(t, table, "s", name); !v.Censored || v.X != want {
			t.Errorf("%s is %+v, want at least %v", name, v, want)
		}
	}
}
