package experiment

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const secs = Duration(time.Second)

// planFile is a file whose experiment, app and only step have the given fields
// beside what they need, in flow style.
func planFile(plan, app, step string) string {
	return fmt.Sprintf(`name: plan
title: t
type: performance
question: q
repetitions: 6
plan: {%s}
apps:
  - {name: web, runtime: flask%s}
steps:
  - {name: one%s, traffic: {app: web, kind: batch, count: 1, path: /}}
profiles:
  half: {scale: 0.5}
`, plan, app, step)
}

func onlyStep(t *testing.T, file string) Step {
	t.Helper()
	return mustParse(t, file).Steps[0]
}

// MemTotal and swap of B1 are those of the published experiment.
func TestSizesStandForAPlan(t *testing.T) {
	for _, tc := range []struct {
		plan, step string
		want       Plan
	}{
		{"size: B1", "", Plan{Size: "B1", CPUs: 1, MemoryMB: 1855, SwapMB: 2048}},
		{"size: B2", "", Plan{Size: "B2", CPUs: 2, MemoryMB: 3710, SwapMB: 4096}},
		{"size: B3", "", Plan{Size: "B3", CPUs: 4, MemoryMB: 7420, SwapMB: 8192}},
		{"size: B1, swap_mb: 900", "", Plan{Size: "B1", CPUs: 1, MemoryMB: 1855, SwapMB: 900}},
		{"size: B1, swap_mb: 900", ", plan: {size: B2}", Plan{Size: "B2", CPUs: 2, MemoryMB: 3710, SwapMB: 900}},
		{"size: B1", `, factors: {size: B2, cpus: 1}, plan: {size: "${size}", cpus: "${cpus}"}`, Plan{Size: "B2", CPUs: 1, MemoryMB: 3710, SwapMB: 4096}},
		{"size: B1, swap_iops: 150, swap_mb_s: 12.5", "", Plan{Size: "B1", CPUs: 1, MemoryMB: 1855, SwapMB: 2048, SwapIOPS: 150, SwapMBs: 12.5}},
	} {
		if got := onlyStep(t, planFile(tc.plan, "", tc.step)).Plan; got != tc.want {
			t.Errorf("%s%s: %s", tc.plan, tc.step, cmp.Diff(tc.want, got))
		}
	}
}

// The fields of share and platform are changed one by one.
func TestStepsChangePartsOfThePlan(t *testing.T) {
	file := planFile("size: B1, share: {ballast_mb: 650, hot_mb: 300, sidecar_mb: 150, cache_mb: 300}, platform: {start_limit: 90s}", "",
		`, factors: {hot: 0}, plan: {share: {hot_mb: "${hot}", hot_every: 2s}, platform: {restarts: 3, front_end: false}}`)
	want := Plan{
		Size: "B1", CPUs: 1, MemoryMB: 1855, SwapMB: 2048,
		Share:    Share{BallastMB: 650, HotEvery: 2 * secs, SidecarMB: 150, CacheMB: 300, CacheEvery: 5 * secs},
		Platform: Platform{PingEvery: secs, PingTimeout: 10 * secs, StartLimit: 90 * secs, Backoff: 5 * secs, Restarts: 3, Hold: 230 * secs},
	}
	if got := onlyStep(t, file).Plan; got != want {
		t.Error(cmp.Diff(want, got))
	}
}

func TestPlanWithoutAPlatformHasNone(t *testing.T) {
	s := onlyStep(t, planFile("size: B1", "", ""))
	if s.Plan.Platform != (Platform{}) || s.Plan.Share != (Share{}) || s.Pressure != (Pressure{}) {
		t.Errorf("%+v", s)
	}
	if s.Apps[0].StartLimit != 60*secs {
		t.Errorf("start limit %v", s.Apps[0].StartLimit)
	}
}

func TestPlatformGivesAppsTheirStartLimit(t *testing.T) {
	for app, want := range map[string]Duration{"": 230 * secs, ", start_limit: 40s": 40 * secs} {
		if got := onlyStep(t, planFile("platform: {backoff: 1s}", app, "")).Apps[0].StartLimit; got != want {
			t.Errorf("%q: %v, want %v", app, got, want)
		}
	}
}

func TestStartingAndPressure(t *testing.T) {
	plan := "size: B1"
	for step, want := range map[string]Step{
		", start: together":                            {Start: "together"},
		", start: staggered":                           {Start: "staggered", Stagger: 30 * secs},
		", start: staggered, stagger: 4s, observe: 2m": {Start: "staggered", Stagger: 4 * secs, Observe: 120 * secs},
		", pressure: {mb: 400}, swap_in: true":         {Pressure: Pressure{MB: 400, Every: secs}, SwapIn: true},
		", pressure: {mb: 0, every: 2s}":               {},
		`, factors: {p: 70}, pressure: {mb: "${p}"}`:   {Pressure: Pressure{MB: 70, Every: secs}},
	} {
		got := onlyStep(t, planFile(plan, "", step))
		if got.Start != want.Start || got.Stagger != want.Stagger || got.Observe != want.Observe || got.Pressure != want.Pressure || got.SwapIn != want.SwapIn {
			t.Errorf("%s: %+v", step, got)
		}
	}
	d, err := mustParse(t, planFile(plan, "", ", start: staggered, observe: 2m")).Expand("half")
	if err != nil {
		t.Fatal(err)
	}
	if s := d.Steps[0]; s.Stagger != 15*secs || s.Observe != 120*secs {
		t.Errorf("at half the time the stagger is %v and the observation %v", s.Stagger, s.Observe)
	}
}

func TestBadPlans(t *testing.T) {
	for _, tc := range []struct{ plan, app, step, want string }{
		{"size: B4", "", "", `plan.size: "B4" is not a size of plan; did you mean "B1"? Allowed: B1, B2, B3.`},
		{"swap_iops: 60", "", "", `plan.swap_iops: slows swap down, and the plan has none of its own; write swap_mb or size.`},
		{"memory_mb: 100, swap_mb_s: 6", "", "", `plan.swap_mb_s: slows swap down, and the plan has none of its own; write swap_mb or size.`},
		{"size: B1, swap_iops: -1", "", "", `plan.swap_iops: -1 is out of range. Allowed: 0 to 1000000.`},
		{"size: B1, share: {balast_mb: 1}", "", "", `plan.share.balast_mb: "balast_mb" is not a field of a share; did you mean "ballast_mb"?`},
		{"size: B1, share: {ballast_mb: 100, hot_mb: 101}", "", "", `plan.share.hot_mb: 101 MB of a ballast of 100 MB cannot be hot; write at most ballast_mb.`},
		{"size: B1, share: {sidecar_mb: 10, sidecar_hot_mb: 11}", "", "", `plan.share.sidecar_hot_mb: 11 MB of a sidecar of 10 MB cannot be hot; write at most sidecar_mb.`},
		{"share: {ballast_mb: 100}", "", "", `plan.share: takes memory of a plan that does not limit it; write memory_mb or size.`},
		{"size: B1, share: {ballast_mb: 1555, cache_mb: 300}", "", "", `plan.share: ballast and cache take 1855 MB, and the plan has 1855 MB of memory; leave room for the apps.`},
		{"size: B1, share: {swapped_mb: 2048}", "", "", `plan.share.swapped_mb: 2048 MB are to be in swap from the beginning, and the plan has 2048 MB of swap; write less than that.`},
		{"memory_mb: 100, share: {swapped_mb: 1}", "", "", `plan.share.swapped_mb: 1 MB are to be in swap from the beginning, and the plan has 0 MB of swap; write less than that.`},
		{"size: B1", ", copies: 4, workers: 2, alloc_mb: 488", "", `steps[0].apps: apps, the platform's share and pressure of step one take 3904 MB, and the plan has 1855 MB of memory and 2048 MB of swap.`},
		{"size: B1, share: {sidecar_mb: 1000}", ", copies: 3", ", pressure: {mb: 904}", `steps[0].apps: apps, the platform's share and pressure of step one take 3904 MB, and the plan has 1855 MB of memory and 2048 MB of swap.`},
		{"size: B1, share: {swapped_mb: 1000, sidecar_mb: 1000}", ", copies: 2", ", pressure: {mb: 904}", `steps[0].apps: apps, the platform's share and pressure of step one take 3904 MB, and the plan has 1855 MB of memory and 2048 MB of swap.`},
		{"cpus: 1", "", ", pressure: {mb: 10}", `steps[0].pressure: takes memory of a plan that does not limit it; write memory_mb or size in the plan.`},
		{"size: B1", "", ", pressure: {every: 1s}", `steps[0].pressure.mb: is missing.`},
		{"platform: {front_end: false, hold: 10s}", "", "", `plan.platform.hold: belongs to a front end, and front_end is false.`},
		{"platform: {ping_every: 0s}", "", "", `plan.platform.ping_every: 0s is out of range. Allowed: 1ms to 24h.`},
		{"cpus: 1", ", memory_limit_mb: 64", "", `apps[0].memory_limit_mb: belongs to deploy: container; a zip has no limit of its own.`},
		{"cpus: 1", ", deploy: docker", "", `apps[0].deploy: "docker" is not a way to deploy. Allowed: container, zip.`},
		{"cpus: 1", ", deploy: container, build: true", "", `apps[0].build: belongs to deploy: zip; a container comes built.`},
		{"cpus: 1", ", timeout: 1500ms", "", `apps[0].timeout: 1.5s is no whole number of seconds, which is what gunicorn sync counts.`},
		{"cpus: 1", "", ", start: together, stagger: 1s", `steps[0].stagger: belongs to start: staggered.`},
		{"cpus: 1", "", ", start: ladder", `steps[0].start: "ladder" is not a way to start apps. Allowed: staggered, together.`},
	} {
		_, err := Parse("p.yaml", []byte(planFile(tc.plan, tc.app, tc.step)), Options{})
		var all FileErrors
		if !errors.As(err, &all) || len(all) != 1 {
			t.Errorf("%s%s%s: %v", tc.plan, tc.app, tc.step, err)
			continue
		}
		if _, got, _ := strings.Cut(all[0].Error(), ": "); got != tc.want {
			t.Errorf("%s%s%s:\ngot  %s\nwant %s", tc.plan, tc.app, tc.step, got, tc.want)
		}
	}
}

func TestBuildBelongsToPython(t *testing.T) {
	file := strings.Replace(planFile("cpus: 1", ", build: true", ""), "flask", "node", 1)
	_, err := Parse("p.yaml", []byte(file), Options{})
	if err == nil || !strings.Contains(err.Error(), "apps[0].build: belongs to runtimes flask and asgi, not to node.") {
		t.Error(err)
	}
	if a := onlyStep(t, strings.Replace(planFile("cpus: 1", ", build: true", ""), "flask", "asgi", 1)).Apps[0]; !a.Build || a.Server() != "uvicorn" || a.WorkerClass != "" {
		t.Errorf("%+v", a)
	}
}

// 2 apps of 150 MB sidecars, 650 MB ballast and 2 × 100 MB fit; so does what
// fills memory and swap to the last megabyte.
func TestPlansAreFilledToTheBrim(t *testing.T) {
	onlyStep(t, planFile("size: B1, share: {ballast_mb: 650, sidecar_mb: 150, cache_mb: 300}", ", copies: 2, alloc_mb: 100", ""))
	onlyStep(t, planFile("size: B1", ", alloc_mb: 3903", ""))
}

func TestDescriptionNamesDeploymentStartAndPressure(t *testing.T) {
	s := onlyStep(t, planFile("size: B1", ", copies: 2, deploy: container, memory_limit_mb: 128", ", start: together, pressure: {mb: 400}"))
	s.Traffic = s.Traffic[:1]
	if got, want := s.AppsText(), "web-1 to web-2 (gunicorn sync, 1 worker, container of 128 MB), started together"; got != want {
		t.Errorf("got %s", got)
	}
	if got, want := s.TrafficText(), "1 at once: / at web-1, under a pressure of 400 MB touched every 1s"; got != want {
		t.Errorf("got %s", got)
	}
	if got, want := s.Plan.Text(), "B1: 1 CPU, 1855 MB, 2048 MB of swap"; got != want {
		t.Errorf("got %s", got)
	}
}
