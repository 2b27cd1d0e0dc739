package measure

import (
	"slices"
	"testing"
	"time"

	"brink/internal/experiment"
	"brink/internal/metric"
	"brink/internal/record"
	"brink/internal/wire"
)

// ramp samples a plan that uses share CPUs of the time, every 100 ms from from
// to to, with an offset so that no reading falls on the edge of the traffic.
func ramp(r *told, from, to time.Duration, share func(time.Duration) float64) {
	used := 7 * time.Second // apps have used CPU before the traffic
	for t := from; t <= to; t += 100 * time.Millisecond {
		r.sample("", t, func(x *wire.Sample) { x.CPUNs = int64(used) })
		used += time.Duration(share(t) * float64(100*time.Millisecond))
	}
}

// Half a CPU of two is 25 %, whatever happened before and after the traffic:
// readings at −30 ms and 70 ms are interpolated to the edge at 0. Between −30
// ms and 70 ms, and between 1970 and 2070 ms, the ramp is the same as within.
func TestCPUIsInterpolatedAtTheEdges(t *testing.T) {
	s := newStory(t)
	s.step("s")
	s.repetition("s", 1, 2*time.Second, func(r *told) {
		ramp(r, -1030*time.Millisecond, 3*time.Second, func(at time.Duration) float64 {
			if at < -30*time.Millisecond || at >= 2070*time.Millisecond {
				return 2
			}
			return 0.5
		})
	})
	wants(t, s.load(Options{}), "s", map[string]float64{"cpu_pct": 25, "cpu_peak_pct": 25})
}

// A step of the ramp between two readings counts in proportion. 100 ms of CPU
// fall between −50 and 50 ms, half of them into the traffic; none after it: 50
// ms of 2 × 1 s.
func TestCPUAtAnEdgeCountsInProportion(t *testing.T) {
	s := newStory(t)
	s.step("s")
	s.repetition("s", 1, time.Second, func(r *told) {
		ramp(r, -50*time.Millisecond, 1150*time.Millisecond, func(at time.Duration) float64 {
			if at < 0 {
				return 1
			}
			return 0
		})
	})
	wants(t, s.load(Options{}), "s", map[string]float64{"cpu_pct": 2.5})
}

// One second at full load within four idle ones.
func TestPeakCPUIsOverOneSecond(t *testing.T) {
	s := newStory(t)
	s.step("s")
	s.repetition("s", 1, 5*time.Second, func(r *told) {
		ramp(r, -200*time.Millisecond, 5200*time.Millisecond, func(at time.Duration) float64 {
			if at >= 4*time.Second && at < 5*time.Second {
				return 2
			}
			return 0
		})
	})
	wants(t, s.load(Options{}), "s", map[string]float64{"cpu_pct": 20, "cpu_peak_pct": 100})
}

// The peak of traffic shorter than a second is its mean, not that of its
// busiest instant.
func TestPeakCPUOfShortTrafficIsItsMean(t *testing.T) {
	s := newStory(t)
	s.step("s")
	s.repetition("s", 1, 500*time.Millisecond, func(r *told) {
		ramp(r, -200*time.Millisecond, 700*time.Millisecond, func(at time.Duration) float64 {
			if at >= 400*time.Millisecond {
				return 2
			}
			return 0
		})
	})
	wants(t, s.load(Options{}), "s", map[string]float64{"cpu_pct": 20, "cpu_peak_pct": 20})
}

func TestPeakCPUThatReadingsDoNotCoverIsNone(t *testing.T) {
	s := newStory(t)
	s.step("s")
	s.repetition("s", 1, 5*time.Second, func(r *told) {
		ramp(r, 2*time.Second, 2400*time.Millisecond, func(time.Duration) float64 { return 1 })
	})
	table := s.load(Options{})
	wants(t, table, "s", map[string]float64{"cpu_pct": 50})
	lacks(t, table, "s", unreadable, "cpu_peak_pct")
}

func TestCPUsComeFromThePlanThenFromTheRecord(t *testing.T) {
	for _, tc := range []struct {
		name string
		plan int
		fact string
		want float64
	}{{"plan", 1, "8", 100}, {"record", 0, "8", 12.5}, {"nowhere", 0, "", 0}} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStory(t)
			if tc.fact != "" {
				s.check(s.w.AddFacts(record.Fact{Name: "kernel", Value: "6.1"}, record.Fact{Name: "cpus", Value: tc.fact}))
			}
			s.step("s", func(x *experiment.Step) { x.Plan.CPUs = tc.plan })
			s.repetition("s", 1, time.Second, func(r *told) {
				ramp(r, -time.Second, 2*time.Second, func(time.Duration) float64 { return 1 })
			})
			table := s.load(Options{})
			if tc.want == 0 {
				lacks(t, table, "s", unknownCPUs, "cpu_pct", "cpu_peak_pct")
				return
			}
			wants(t, table, "s", map[string]float64{"cpu_pct": tc.want, "cpu_peak_pct": tc.want})
			if table.MachineCPUs != 8 {
				t.Errorf("the machine has %d CPUs, the record says 8", table.MachineCPUs)
			}
		})
	}
}

func TestAFactOfCPUsThatIsNoNumberIsAnError(t *testing.T) {
	s := newStory(t)
	s.check(s.w.AddFacts(record.Fact{Name: "cpus", Value: "many"}))
	_, err := Load(t.Context(), s.open(), Options{})
	if want := `fact cpus of the record: "many" is no number`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

// /proc/pressure totals are in µs: 300 ms of stall in 2 s are 15 %.
func TestPressureIsTheShareOfStalledTime(t *testing.T) {
	s := newStory(t)
	s.step("s")
	s.repetition("s", 1, 2*time.Second, func(r *told) {
		for i := range 31 {
			at := time.Duration(i-5) * 100 * time.Millisecond
			r.sample("", at, func(x *wire.Sample) {
				x.PSICPUSome, x.PSIMemSome, x.PSIMemFull = 5_000_000+int64(i)*15_000, int64(i)*100_000, 42
			})
		}
	})
	wants(t, s.load(Options{}), "s", map[string]float64{"psi_cpu_some_pct": 15, "psi_memory_some_pct": 100, "psi_memory_full_pct": 0})
}

func TestGaugesAndCounters(t *testing.T) {
	s := newStory(t)
	s.step("s")
	s.repetition("s", 1, time.Second, func(r *told) {
		// Before and after the traffic nothing counts.
		for _, at := range []time.Duration{-time.Second, 2 * time.Second} {
			r.sample("a", at, func(x *wire.Sample) { x.RSS, x.QueueDepth, x.Abandoned = 900<<20, 99, 99 })
		}
		for i, at := range []time.Duration{0, 500 * time.Millisecond, time.Second} {
			n := int64(i)
			r.sample("a", at, func(x *wire.Sample) { x.RSS, x.QueueDepth, x.Abandoned = (100+n)<<20, 8-n, n })
			r.sample("b", at, func(x *wire.Sample) { x.RSS, x.QueueDepth, x.Abandoned = 50<<20, 0, 0 })
			r.sample("", at, func(x *wire.Sample) { x.Overflows, x.MemTotal, x.MemAvailable = 1000+17*n, 1000, 300-100*n })
		}
	})
	wants(t, s.load(Options{}), "s", map[string]float64{
		"memory_mb": 152, "accept_queue_max": 8, "abandoned_max": 2, "overflows": 34, "memory_pct": 80,
	})
}

// sampled lists the metrics that come from samples.
func sampled() []string {
	var names []string
	for _, m := range metric.All() {
		if len(m.Source) > 7 && m.Source[:7] == "samples" {
			names = append(names, m.Name)
		}
	}
	return names
}

// A reading that was not possible is -1 in a sample and NULL in the record. It
// must never turn into a zero.
func TestUnreadableSignalsHaveNoValue(t *testing.T) {
	s := newStory(t)
	s.step("blind")
	s.repetition("blind", 1, time.Second, func(r *told) {
		for i := range 11 {
			at := time.Duration(i) * 100 * time.Millisecond
			r.sample("", at, func(*wire.Sample) {})
			r.sample("site", at, func(*wire.Sample) {})
		}
	})
	s.step("unseen")
	s.repetition("unseen", 1, time.Second, nil)
	table := s.load(Options{})
	own := []string{"machine_cpu_start_pct", "psi_memory_full_start_pct", "psi_memory_some_start_pct", "resident_ratio", "samples_late_pct"}
	readings := slices.DeleteFunc(sampled(), func(name string) bool { return slices.Contains(own, name) })
	if len(readings) != 52 {
		t.Errorf("%d metrics come from samples: %v", len(readings), readings)
	}
	lacks(t, table, "blind", unreadable, readings...)
	lacks(t, table, "unseen", noSamples, readings...)
	// The others have a reason of their own.
	for _, step := range []string{"blind", "unseen"} {
		lacks(t, table, step, "nothing was deployed", own[:3]...)
		lacks(t, table, step, "the apps were told to fill no memory", own[3])
		lacks(t, table, step, "memory was never under such pressure", own[4])
	}
}

// A zero that was read is a zero.
func TestAZeroThatWasReadIsAValue(t *testing.T) {
	s := newStory(t)
	s.step("s", func(s *experiment.Step) { s.Apps = []experiment.App{{Name: "site", AllocMB: 50}} })
	s.repetition("s", 1, time.Second, func(r *told) {
		r.event("site", -500*time.Millisecond, wire.Deployed)
		for i := range 21 {
			at := time.Duration(i-10) * 100 * time.Millisecond
			zeros := func(x *wire.Sample) {
				for i, n := range x.Numbers() {
					if i > 0 { // the first is when it was
						*n = 0
					}
				}
				x.MemTotal, x.MemAvailable, x.MemFree, x.SwapTotal, x.SwapFree = 100, 100, 100, 100, 100
				x.Workers = 4
			}
			r.sample("", at, zeros)
			r.sample("site", at, zeros)
		}
	})
	want := map[string]float64{}
	for _, name := range sampled() {
		want[name] = 0
	}
	delete(want, "samples_late_pct") // there was no pressure to be late under
	wants(t, s.load(Options{}), "s", want)
}

// Single readings that failed leave the others in force.
func TestAGapIsBridged(t *testing.T) {
	s := newStory(t)
	s.step("s")
	s.repetition("s", 1, time.Second, func(r *told) {
		for i := range 21 {
			at := time.Duration(i-5) * 100 * time.Millisecond
			r.sample("", at, func(x *wire.Sample) {
				if i%3 == 0 {
					x.CPUNs = int64(i) * 100_000_000
				}
			})
		}
	})
	wants(t, s.load(Options{}), "s", map[string]float64{"cpu_pct": 50})
}

// The series of a steady plan is flat, and counts each repetition once.
func TestSeriesOfASteadyPlanIsFlat(t *testing.T) {
	s := newStory(t)
	s.step("s")
	for n := range 3 {
		s.repetition("s", n+1, 2*time.Second, func(r *told) {
			ramp(r, -time.Second, 3*time.Second, func(time.Duration) float64 { return float64(n+1) / 2 })
			for i := range 20 {
				r.sample("site", time.Duration(i)*100*time.Millisecond, func(x *wire.Sample) { x.QueueDepth = int64(n) })
			}
		})
	}
	s.repetition("s", 4, 2*time.Second, func(r *told) { r.Status, r.Reason = record.Invalid, "too slow" })
	r := s.open()
	table, err := Load(t.Context(), r, Options{})
	if err != nil {
		t.Fatal(err)
	}
	series, n, err := table.Series(t.Context(), r, "s")
	if err != nil || n != 3 {
		t.Fatalf("%d repetitions, %v; want 3", n, err)
	}
	if _, ok := series[SeriesMemory]; ok {
		t.Error("there is a series of memory, which was not read")
	}
	for name, want := range map[string][3]float64{SeriesCPU: {27.5, 50, 72.5}, SeriesQueue: {0.1, 1, 1.9}} {
		if len(series[name]) < 10 {
			t.Errorf("%s has %d points in 2 s", name, len(series[name]))
		}
		for _, p := range series[name] {
			for i, got := range []float64{p.P5, p.P50, p.P95} {
				if d := got - want[i]; d > 1e-6 || d < -1e-6 {
					t.Fatalf("%s at %g s is %v, want %v", name, p.T, p, want)
				}
			}
		}
	}
}
