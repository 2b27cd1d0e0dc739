package measure

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"brink/internal/experiment"
	"brink/internal/metric"
	"brink/internal/record"
	"brink/internal/wire"
)

// tenSeconds sends a request every 10 ms for 10 s; those of the first second
// take 100 ms, the others 10 ms.
func tenSeconds(r *told) {
	for i := range 1000 {
		took := ms(10)
		if i < 100 {
			took = ms(100)
		}
		r.probe(time.Duration(i)*10*time.Millisecond, took)
	}
	ramp(r, -100*time.Millisecond, 10100*time.Millisecond, func(at time.Duration) float64 {
		if at < time.Second {
			return 2
		}
		return 1
	})
}

func warm(d time.Duration) func(*experiment.Step) {
	return func(s *experiment.Step) { s.WarmUp = experiment.Duration(d) }
}

func TestWarmUpIsCutAndCanBeTakenBack(t *testing.T) {
	s := newStory(t)
	s.step("s", warm(time.Second))
	s.repetition("s", 1, 10*time.Second, tenSeconds)
	r := s.open()
	load := func(o Options) (*Table, RepetitionInfo) {
		table, err := Load(t.Context(), r, o)
		if err != nil {
			t.Fatal(err)
		}
		info, _ := table.Step("s")
		return table, info.Repetitions[0]
	}
	cut, rep := load(Options{})
	wants(t, cut, "s", map[string]float64{"requests": 900, "latency_max_ms": 10, "cpu_pct": 50})
	if rep.Skipped != 100 || rep.WarmUpEndNs != at(time.Second) {
		t.Errorf("%d requests skipped until %d, want 100 until %d", rep.Skipped, rep.WarmUpEndNs, at(time.Second))
	}
	whole, rep := load(Options{NoWarmUp: true})
	wants(t, whole, "s", map[string]float64{"requests": 1000, "latency_max_ms": 100, "cpu_pct": 55})
	if rep.Skipped != 0 || rep.WarmUpEndNs != 0 {
		t.Errorf("%d requests skipped until %d, want none", rep.Skipped, rep.WarmUpEndNs)
	}
}

// What is cut is what the step declares, at most a fifth of it, and nothing of
// batches and sequences (docs/METHODOLOGY.md).
func TestWarmUpIsAtMostAFifth(t *testing.T) {
	for declared, want := range map[time.Duration]time.Duration{0: 0, time.Second: time.Second, 2 * time.Second: 2 * time.Second, 3 * time.Second: 2 * time.Second, time.Hour: 2 * time.Second} {
		step := experiment.Step{WarmUp: experiment.Duration(declared), Traffic: []experiment.Traffic{{Kind: "rate"}}}
		if got := warmUp(step, record.Repetition{TrafficNs: at(0), TrafficEndNs: at(10 * time.Second)}); got != want {
			t.Errorf("%v of 10 s are cut, want %v of the declared %v", got, want, declared)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		declared := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "declared"))
		lasts := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "lasts"))
		kinds := rapid.SliceOfN(rapid.SampledFrom([]string{"steady", "rate", "batch", "sequential"}), 1, 3).Draw(t, "kinds")
		step := experiment.Step{WarmUp: experiment.Duration(declared)}
		free := false
		for _, k := range kinds {
			step.Traffic = append(step.Traffic, experiment.Traffic{Kind: k})
			free = free || k == "batch" || k == "sequential"
		}
		got := warmUp(step, record.Repetition{TrafficNs: at(0), TrafficEndNs: at(lasts)})
		switch {
		case free && got != 0:
			t.Fatalf("%v cut from %v", got, kinds)
		case !free && declared <= lasts/5 && got != declared:
			t.Fatalf("%v cut, %v declared of %v", got, declared, lasts)
		case got > declared || got > lasts/5+1:
			t.Fatalf("%v cut, %v declared of %v", got, declared, lasts)
		}
	})
}

func TestWarmUpThatLeavesNothingSaysSo(t *testing.T) {
	s := newStory(t)
	s.step("s", warm(time.Second))
	s.repetition("s", 1, 10*time.Second, func(r *told) { r.probe(0, ms(10)) })
	table := s.load(Options{})
	wants(t, table, "s", map[string]float64{"requests": 0})
	lacks(t, table, "s", "all 1 requests were due in the warm-up", "latency_p50_ms", "last_answer_s", "served_s")
}

func TestBatchesAreNotCut(t *testing.T) {
	s := newStory(t)
	s.step("s", warm(time.Second), batch)
	s.repetition("s", 1, 10*time.Second, tenSeconds)
	table := s.load(Options{})
	wants(t, table, "s", map[string]float64{"requests": 1000})
}

// tells checks every metric of a step's only repetition.
func tells(t *testing.T, table *Table, step, reason string, but ...string) {
	t.Helper()
	kept := map[string]bool{}
	for _, name := range but {
		kept[name] = true
	}
	for _, m := range metric.All() {
		if kept[m.Name] {
			if v := only(t, table, step, m.Name); v.Missing != "" {
				t.Errorf("%s is %+v, want a value", m.Name, v)
			}
			continue
		}
		lacks(t, table, step, reason, m.Name)
	}
}

// pooledStep is a step of which everything can be said: Poisson arrivals at
// workers that can be counted.
func pooledStep(s *experiment.Step) {
	s.Apps = []experiment.App{{Name: "site", Runtime: "go", Workers: 16, AllocMB: 1}}
	s.Traffic = []experiment.Traffic{{App: "site", Kind: "rate", Arrivals: "poisson", Rate: 1000, Path: "/"}}
}

// busy is a repetition in which everything was seen.
func busy(r *told) {
	r.event("site", -900*time.Millisecond, wire.Deployed)
	r.event("site", -600*time.Millisecond, wire.WorkerKilled)
	r.event("site", -400*time.Millisecond, wire.Healthy)
	for i := range 300 {
		r.probe(time.Duration(i)*time.Millisecond, ms(10), served(1, ms(9)))
	}
	for i := range 31 {
		t := time.Duration(i-5) * 100 * time.Millisecond
		r.sample("", t, func(x *wire.Sample) {
			rising(x, i)
			x.PSIMemFull, x.MemTotal, x.MemAvailable, x.MemFree, x.SwapTotal, x.SwapFree = int64(i)*100_000, 2, 1, 1, 2, 1
		})
		r.sample("site", t, func(x *wire.Sample) {
			rising(x, i)
			x.RSS, x.QueueDepth, x.Abandoned, x.Busy, x.Workers = 1<<20, 0, 0, 9, 16
		})
	}
}

// rising makes each number of a reading its place in the series.
func rising(x *wire.Sample, i int) {
	for place, n := range x.Numbers() {
		if place > 0 { // the first is when it was
			*n = int64(i)
		}
	}
}

// everySite lists the metrics of a step that is no later rung of a ladder, on
// which alone there are apps from before.
func everySite() []metric.Metric {
	return slices.DeleteFunc(metric.All(), func(m metric.Metric) bool { return strings.Contains(m.Name, "_old_") })
}

func TestEveryMetricHasAValueWhenAllWasSeen(t *testing.T) {
	s := newStory(t)
	s.step("s", pooledStep)
	s.repetition("s", 1, 2*time.Second, busy)
	table := s.load(Options{})
	for _, m := range everySite() {
		if v := only(t, table, "s", m.Name); v.Missing != "" {
			t.Errorf("%s is %+v, want a value", m.Name, v)
		}
	}
}

// fromEventsAlone are the metrics that no traffic is needed for.
var fromEventsAlone = []string{
	"boot_kills", "cold_start_first_s", "cold_start_median_s", "cold_start_newest_s", "cold_start_s", "exits", "first_up_s",
	"never_up", "oom_kills", "recovery_s", "restarted_apps", "restarts", "worker_kills",
}

func TestRepetitionsThatMayNotBeUsedSayWhy(t *testing.T) {
	for _, tc := range []struct {
		status, reason, want string
		kept                 []string
	}{
		{record.Interrupted, "stopped by the user", "interrupted: stopped by the user", nil},
		{record.Invalid, "asked for 500, sent 300", "invalid: asked for 500, sent 300", nil},
		{record.Failed, "app site did not start", "failed: app site did not start", fromEventsAlone},
		{record.Interrupted, "", "interrupted", nil},
	} {
		t.Run(tc.want, func(t *testing.T) {
			s := newStory(t)
			s.step("s")
			s.repetition("s", 1, 2*time.Second, func(r *told) {
				busy(r)
				r.Status, r.Reason = tc.status, tc.reason
			})
			table := s.load(Options{})
			tells(t, table, "s", tc.want, tc.kept...)
			if info, _ := table.Step("s"); info.Requests != 0 || info.P95.Missing == "" {
				t.Errorf("%d of its requests describe the step, p95 %+v", info.Requests, info.P95)
			}
			if u := table.Cell("s", "last_answer_s").Usable(); len(u) != 0 {
				t.Errorf("usable: %+v", u)
			}
		})
	}
}

// A repetition that was running when the record was cut off was interrupted.
func TestARepetitionThatWasCutOffIsInterrupted(t *testing.T) {
	s := newStory(t)
	s.step("s")
	s.repetition("s", 1, 2*time.Second, func(r *told) {
		busy(r)
		r.Status = record.Running
	})
	table := s.load(Options{})
	v := only(t, table, "s", "last_answer_s")
	if want := "interrupted: cut off: the record ends at "; len(v.Missing) < len(want) || v.Missing[:len(want)] != want {
		t.Errorf("last_answer_s is %+v, want none because %q", v, want)
	}
}

func TestExclusionLeavesOutOneRepetitionByName(t *testing.T) {
	s := newStory(t)
	for _, name := range []string{"a", "b"} {
		s.step(name, pooledStep)
		for n := 1; n <= 2; n++ {
			s.repetition(name, n, 2*time.Second, busy)
		}
	}
	s.repetition("a", 2, 2*time.Second, func(r *told) {
		busy(r)
		r.Twin = true
	})
	table := s.load(Options{Exclude: []Exclusion{{Step: "a", Number: 2, Reason: "the machine was rebooted"}}})
	for _, m := range everySite() {
		a, b := table.Cell("a", m.Name), table.Cell("b", m.Name)
		if len(a.Values) != 2 || a.Values[0].Missing != "" || a.Values[1].Missing != "excluded: the machine was rebooted" || a.Values[1].X != 0 {
			t.Errorf("%s of a: %+v", m.Name, a.Values)
		}
		if len(a.Usable()) != 1 || len(b.Usable()) != 2 || len(a.Twins) != 1 || a.Twins[0].Missing != "" {
			t.Errorf("%s: %d and %d usable, twins %+v; want 1, 2 and one", m.Name, len(a.Usable()), len(b.Usable()), a.Twins)
		}
	}
	info, _ := table.Step("a")
	if r := info.Repetitions; r[0].Excluded != "" || r[1].Excluded != "excluded: the machine was rebooted" || r[2].Excluded != "" {
		t.Errorf("excluded: %q, %q, %q", r[0].Excluded, r[1].Excluded, r[2].Excluded)
	}
	if info.Requests != 300 {
		t.Errorf("%d requests describe step a, want the 300 of its first repetition", info.Requests)
	}
}

func TestAnExclusionOfNothingIsAnError(t *testing.T) {
	s := newStory(t)
	s.step("a")
	s.repetition("a", 1, time.Second, busy)
	r := s.open()
	for _, x := range []Exclusion{{"a", 2, "x"}, {"z", 1, "x"}} {
		if _, err := Load(t.Context(), r, Options{Exclude: []Exclusion{x}}); err == nil {
			t.Errorf("excluding %s:%d, which is not there, is no error", x.Step, x.Number)
		}
	}
}

// A twin is no repetition of the baseline: it stands beside it.
func TestTwinsStandBesideTheBaseline(t *testing.T) {
	s := newStory(t)
	s.step("base", batch)
	for n := 1; n <= 2; n++ {
		for _, twin := range []bool{false, true} {
			s.repetition("base", n, time.Second, func(r *told) {
				r.Twin = twin
				took := ms(float64(100 * n))
				if twin {
					took += ms(7)
				}
				r.probe(0, took)
			})
		}
	}
	table := s.load(Options{})
	c := table.Cell("base", "last_answer_s")
	if len(c.Values) != 2 || c.Values[0].X != 0.1 || c.Values[1].X != 0.2 || c.Values[0].Number != 1 || c.Values[1].Number != 2 {
		t.Errorf("values %+v, want 0.1 and 0.2", c.Values)
	}
	if len(c.Twins) != 2 || c.Twins[0].X != 0.107 || c.Twins[1].X != 0.207 {
		t.Errorf("twins %+v, want 0.107 and 0.207", c.Twins)
	}
	if info, _ := table.Step("base"); info.Requests != 2 {
		t.Errorf("%d requests describe the baseline, want 2 without the twins'", info.Requests)
	}
}

// The phases ABBA of one repetition are one value of each of both steps, their
// mean; a phase that may not be used takes it away.
func TestPhasesOfARepetitionAreOneValue(t *testing.T) {
	s := newStory(t)
	s.step("on", batch)
	s.step("off", batch)
	phase := func(step string, number, phase int, took time.Duration, status string) {
		s.repetition(step, number, time.Second, func(r *told) {
			r.Phase, r.Status, r.Reason = phase, status, status
			r.probe(0, took)
		})
	}
	phase("on", 1, 1, ms(400), record.Done)
	phase("off", 1, 2, ms(100), record.Done)
	phase("off", 1, 3, ms(140), record.Done)
	phase("on", 1, 4, ms(440), record.Done)
	phase("off", 2, 1, ms(100), record.Done)
	phase("on", 2, 2, ms(400), record.Done)
	phase("on", 2, 3, ms(400), record.Invalid)
	phase("off", 2, 4, ms(100), record.Invalid)
	table := s.load(Options{})
	on, off := table.Cell("on", "last_answer_s"), table.Cell("off", "last_answer_s")
	if len(on.Phases) != 4 || len(off.Phases) != 4 {
		t.Fatalf("%d and %d phases, want 4 and 4", len(on.Phases), len(off.Phases))
	}
	for _, c := range []struct {
		cell Cell
		want float64
	}{{on, 0.42}, {off, 0.12}} {
		v := c.cell.Values
		if len(v) != 2 || v[0].Missing != "" || math.Abs(v[0].X-c.want) > 1e-12 || v[0].N != 2 || v[0].Number != 1 {
			t.Errorf("%s: values %+v, want %v of 2 answers first", c.cell.Step, v, c.want)
		}
		if len(v) == 2 && (v[1].Missing != "invalid: invalid" || v[1].X != 0) {
			t.Errorf("%s: the second value is %+v, want none", c.cell.Step, v[1])
		}
	}
}

func TestAMetricThatWasNeverComputedHasNoValues(t *testing.T) {
	table := newStory(t).load(Options{})
	c := table.Cell("nowhere", "cpu_pct")
	if c.Step != "nowhere" || c.Metric.Unit != "%" || len(c.Values) != 0 {
		t.Errorf("the cell is %+v", c)
	}
	if _, ok := table.Step("nowhere"); ok {
		t.Error("a step that is not there was found")
	}
}

func TestBarsAreTheFirstRequests(t *testing.T) {
	s := newStory(t)
	s.step("s", batch)
	s.repetition("s", 1, time.Minute, func(r *told) {
		for i, took := range published {
			r.probe(0, ms(took), served(int32(100+i%4), 5*time.Second), func(p *record.Probe) { p.Connected = at(ms(7)) })
		}
		r.probe(ms(100), ms(200), without("refused"))
	})
	bars, total, err := Bars(t.Context(), s.open(), 1, 5)
	if err != nil || total != 6 || len(bars) != 5 {
		t.Fatalf("%d bars of %d, %v; want 5 of 6", len(bars), total, err)
	}
	if want := (Bar{Due: 0, Connected: 0.007, Start: 5.624, End: 10.624, Pid: 100, Outcome: "ok"}); bars[4] != want {
		t.Errorf("the fifth bar is %+v, want %+v", bars[4], want)
	}
}
