package catalog

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"brink/internal/experiment"
)

func pressure(t *testing.T, profile string) (*experiment.Design, map[string]experiment.Step) {
	t.Helper()
	d, err := load(t, "memory-pressure").Expand(profile)
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]experiment.Step{}
	for _, s := range d.Steps {
		steps[s.Name] = s
	}
	return d, steps
}

// The configurations are the reference's: apps, megabytes and, in full, minutes
// of traffic at one request to each app every 10 s.
func TestMemoryPressureHasTheReferencesSteps(t *testing.T) {
	_, steps := pressure(t, "full")
	for _, tc := range []struct {
		name          string
		apps, mb      int
		runtime, mode string
		minutes       float64
	}{
		{"2x100", 2, 100, "flask", "zip", 150},
		{"3x100", 3, 100, "flask", "zip", 3},
		{"3x50", 3, 50, "flask", "zip", 5}, {"4x50", 4, 50, "flask", "zip", 5}, {"5x50", 5, 50, "flask", "zip", 5},
		{"6x50", 6, 50, "flask", "zip", 5}, {"8x50", 8, 50, "flask", "zip", 5},
		{"fresh-3x50", 3, 50, "flask", "zip", 5}, {"fresh-8x50", 8, 50, "flask", "zip", 5},
		{"4x75", 4, 75, "flask", "zip", 5}, {"4x100", 4, 100, "flask", "zip", 5}, {"4x125", 4, 125, "flask", "zip", 5},
		{"4x150", 4, 150, "flask", "zip", 5}, {"4x175", 4, 175, "flask", "zip", 5}, {"6x75", 6, 75, "flask", "zip", 5},
		{"node-zip-2x50", 2, 50, "node", "zip", 10}, {"node-zip-4x100", 4, 100, "node", "zip", 5}, {"node-zip-6x100", 6, 100, "node", "zip", 60},
		{"node-container-2x50", 2, 50, "node", "container", 10}, {"node-container-4x100", 4, 100, "node", "container", 5},
		{"node-container-6x100", 6, 100, "node", "container", 60}, {"node-container-4x75", 4, 75, "node", "container", 60},
		{"node-container-8x50", 8, 50, "node", "container", 5}, {"node-zip-8x50", 8, 50, "node", "zip", 5},
		{"node-container-4x175", 4, 175, "node", "container", 5}, {"node-zip-4x175", 4, 175, "node", "zip", 5},
	} {
		s, ok := steps[tc.name]
		if !ok {
			t.Errorf("%s is missing", tc.name)
			continue
		}
		if len(s.Apps) != tc.apps || len(s.Traffic) != tc.apps {
			t.Errorf("%s has %d apps and %d streams", s.Name, len(s.Apps), len(s.Traffic))
		}
		for _, a := range s.Apps {
			if a.AllocMB != tc.mb || a.Runtime != tc.runtime || a.Deploy != tc.mode || a.Workers != 1 || a.StartLimit.Seconds() != 230 {
				t.Errorf("%s: %+v", s.Name, a)
			}
		}
		for _, tr := range s.Traffic {
			if tr.Kind != "steady" || tr.Every.Seconds() != 10 || tr.Duration.Seconds() != 60*tc.minutes {
				t.Errorf("%s: %+v", s.Name, tr)
			}
		}
		if p := s.Plan; p.Size != "B1" || p.CPUs != 1 || p.MemoryMB != 1855 || p.SwapMB != 2048 {
			t.Errorf("%s: %+v", s.Name, p)
		}
	}
}

// 10 requests a second for 60 s, on the plan that the step before filled.
func TestBurstsAreTheReferences(t *testing.T) {
	_, steps := pressure(t, "full")
	for _, of := range []string{"node-zip-6x100", "node-container-6x100", "node-container-4x75"} {
		before, s := steps[of], steps[of+"-burst"]
		rate := 0.0
		for _, tr := range s.Traffic {
			rate += tr.Rate
			if tr.Duration.Seconds() != 60 {
				t.Errorf("%s: %+v", s.Name, tr)
			}
		}
		if rate < 9.99 || rate > 10.01 || s.Ladder != before.Ladder || s.Rung != before.Rung+1 || len(s.Apps) != len(before.Apps) {
			t.Errorf("%s after %s: %v a second, rung %d of %q", s.Name, before.Name, rate, s.Rung, s.Ladder)
		}
	}
}

func TestRepetitionsGoWhereClaimsNeedThem(t *testing.T) {
	d, steps := pressure(t, "standard")
	for _, name := range []string{"2x100", "8x50", "4x75", "4x175", "6x75", "tax-on", "tax-off"} {
		if n := d.RepetitionsOf(steps[name]); n != 6 {
			t.Errorf("%s is repeated %d times, want 6", name, n)
		}
	}
	for _, name := range []string{"3x100", "4x125", "node-container-4x75", "fresh-8x50", "b2-6x75"} {
		if n := d.RepetitionsOf(steps[name]); n != 3 {
			t.Errorf("%s is repeated %d times, want 3", name, n)
		}
	}
}

// What is varied, and that nothing else is.
func TestFactorsOfTheEmulationAreVariedSeparately(t *testing.T) {
	_, steps := pressure(t, "standard")
	base := steps["4x100"]
	for name, change := range map[string]func(*experiment.Plan){
		"hot-0":     func(p *experiment.Plan) { p.Share.HotMB = 0 },
		"hot-600":   func(p *experiment.Plan) { p.Share.HotMB = 600 },
		"disk-slow": func(p *experiment.Plan) { p.SwapIOPS, p.SwapMBs = 60, 6 },
		"disk-free": func(p *experiment.Plan) { p.SwapIOPS, p.SwapMBs = 0, 0 },
	} {
		want := base.Plan
		change(&want)
		s := steps[name]
		if s.Plan != want || s.Start != base.Start || fmt.Sprint(s.Apps) != fmt.Sprint(base.Apps) {
			t.Errorf("%s: %+v on %+v", name, s.Apps, s.Plan)
		}
	}
	for _, limit := range []int{90, 230} {
		for _, timeout := range []int{30, 600} {
			s := steps[fmt.Sprintf("6x75-t%ds-l%ds", timeout, limit)]
			if len(s.Apps) != 6 || s.Apps[0].Timeout.Seconds() != float64(timeout) || s.Apps[0].StartLimit.Seconds() != float64(limit) || s.Start != "together" {
				t.Errorf("%s: %+v", s.Name, s.Apps)
			}
		}
	}
	if a, b := steps["6x75"], steps["staggered-6x75"]; a.Start != "together" || b.Start != "staggered" || a.Plan != b.Plan {
		t.Errorf("started %q and %q", a.Start, b.Start)
	}
}

// The figures are those of the published page.
func TestMemoryPressureQuotesTheReferencesFigures(t *testing.T) {
	d, _ := pressure(t, "full")
	got := map[string]float64{}
	for _, p := range d.Published() {
		got[p.Source+" "+p.Step+" "+p.Metric.Name] = p.X
		if p.High != nil {
			got[p.Source+" "+p.Step+" "+p.Metric.Name+" high"] = *p.High
		}
	}
	for what, want := range map[string]float64{
		"10.1 2x100 memory_pct": 76, "10.1 8x50 memory_pct": 85.7, "10.1 8x50 machine_cpu_pct": 87.2, "10.1 5x50 cold_start_newest_s": 135,
		"10.1 8x50 latency_mean_ms": 1070, "10.1 8x50 never_up": 2, "10.1 8x50 http_5xx": 6,
		"10.2 4x175 cold_start_s": 360, "10.2 4x150 memory_peak_pct": 91, "10.2 6x75 memory_pct": 93, "10.2 4x100 machine_cpu_pct": 12,
		"10.2 4x100 machine_cpu_pct high":     44,
		"10.3 node-container-8x50 memory_pct": 77, "10.4 node-container-4x175 cold_start_s": 60,
		"10.5 node-zip-2x50 swap_used_mb": 985, "10.5 node-zip-6x100 psi_memory_some_pct": 5.79, "10.5 node-zip-6x100 allocstalls": 121,
		"10.6 node-container-4x75-burst latency_p99_ms": 715, "10.6 node-zip-6x100-burst latency_mean_ms": 16.8, "10.6 node-container-4x75 swap_used_pct": 49,
	} {
		if x, ok := got[what]; !ok || x != want {
			t.Errorf("%s is %v, %v; want %v", what, x, ok, want)
		}
	}
	// Arithmetic that the page prints, and what its own numbers give.
	for id, want := range map[string]float64{"H1-startup": 6, "pgscan-kswapd": 144.85, "pgscan-direct": 2767.01, "H2": 1.76, "cliff-latency": 12.87} {
		i := slices.IndexFunc(d.Experiment.Reference.Claims, func(c experiment.ReferenceClaim) bool { return c.ID == id })
		c := d.Experiment.Reference.Claims[i]
		if x, err := experiment.EvalFormula(c.Formula, c.Values); err != nil || x < want-0.005 || x > want+0.005 {
			t.Errorf("%s: %s = %v, %v; want %v", id, c.Formula, x, err, want)
		}
	}
}

// Measured without KVM on two cores: a boot with its share takes 15 s, two apps
// start in 10 s, four of 175 MB in 85 to 120 s and six of 75 MB in 95 to 140 s. All
// of the profile took 7 minutes.
func TestQuickMemoryPressureFitsIntoItsTime(t *testing.T) {
	d, _ := pressure(t, "quick")
	starts := map[string]time.Duration{"2x100": 10 * time.Second, "4x175": 120 * time.Second, "6x75": 140 * time.Second}
	total := time.Duration(0)
	for _, s := range d.Steps {
		each := 20*time.Second + starts[s.Name] + time.Duration(s.Settle) + time.Duration(s.Traffic[0].Duration)
		if s.Name == d.Experiment.Baseline {
			each *= 2
		}
		total += each
	}
	if len(d.Steps) != 3 || d.Repetitions != 1 || total > 12*time.Minute {
		t.Errorf("%d steps, %d repetitions, %v", len(d.Steps), d.Repetitions, total)
	}
}

// A claim about where something happens needs the calibration, and the family
// must not be larger than six repetitions carry.
func TestThresholdClaimsAreMarked(t *testing.T) {
	d, _ := pressure(t, "standard")
	tested := 0
	for _, h := range d.Experiment.Hypotheses {
		if !h.Config {
			tested++
		}
		marked := slices.Contains([]string{"plateau", "H1-cliff", "cliff-old", "H1-cascade"}, h.ID)
		if h.Threshold != marked {
			t.Errorf("%s: threshold is %v", h.ID, h.Threshold)
		}
	}
	if tested > experiment.Carries(6) {
		t.Errorf("%d tested hypotheses, six repetitions carry %d", tested, experiment.Carries(6))
	}
	if c := d.Experiment.Calibration; c == nil || c.Step != "2x100" || c.Metric != "memory_pct" || c.Low != 74 || c.High != 78 {
		t.Errorf("calibration: %+v", c)
	}
}
