package catalog

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"brink/internal/experiment"
)

func load(t *testing.T, name string) *experiment.Experiment {
	t.Helper()
	data, file, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	e, err := experiment.Parse(file, data, experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEveryExperimentLoadsForEveryProfile(t *testing.T) {
	if !slices.Contains(Names(), "worker-exhaustion") {
		t.Fatalf("the catalogue has %v", Names())
	}
	for _, name := range Names() {
		e := load(t, name)
		if e.Name != name {
			t.Errorf("the folder %s holds the experiment %s", name, e.Name)
		}
		for _, profile := range []string{"quick", "standard", "full"} {
			d, err := e.Expand(profile)
			if err != nil {
				t.Errorf("%s, %s: %v", name, profile, err)
				continue
			}
			if profile != "quick" && len(d.Warnings) > 0 {
				t.Errorf("%s, %s: %v", name, profile, d.Warnings)
			}
		}
	}
}

func TestOpenNamesWhatThereIs(t *testing.T) {
	for _, name := range []string{"worker-exhaustio", "", ".", "..", "worker-exhaustion/experiment.yaml"} {
		if _, _, err := Open(name); err == nil || !strings.Contains(err.Error(), "worker-exhaustion") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// The scenarios are the reference's: how many requests, of how many seconds,
// on four workers, and each on both servers.
func TestWorkerExhaustionHasTheReferencesScenarios(t *testing.T) {
	d, err := load(t, "worker-exhaustion").Expand("full")
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]experiment.Step{}
	for _, s := range d.Steps {
		steps[s.Name] = s
	}
	for _, tc := range []struct {
		name, kind string
		requests   int
		path       string
	}{
		{"s1", "batch", 8, "/thread-hold?secs=5"},
		{"s2", "sequential", 4, "/thread-hold?secs=3"},
		{"s3", "batch", 4, "/thread-hold?secs=3"},
		{"s4", "batch", 5, "/thread-hold?secs=5"},
		{"ten", "batch", 10, "/thread-hold?secs=5"},
	} {
		for server, runtime := range map[string]string{"gunicorn": "flask", "go": "go"} {
			s, ok := steps[tc.name+"-"+server]
			if !ok {
				t.Errorf("%s is not tried on %s", tc.name, server)
				continue
			}
			tr, app := s.Traffic[0], s.Apps[0]
			if tr.Kind != tc.kind || tr.Count != tc.requests || tr.Path != tc.path || tr.Stagger != 0 {
				t.Errorf("%s: traffic %+v", s.Name, tr)
			}
			if app.Runtime != runtime || app.Workers != 4 || app.Threads != 1 || s.Plan.CPUs != 1 {
				t.Errorf("%s: app %+v on %+v", s.Name, app, s.Plan)
			}
			if runtime == "flask" && app.WorkerClass != "sync" {
				t.Errorf("%s: worker class %q", s.Name, app.WorkerClass)
			}
		}
	}
	for name, cpus := range map[string]int{"s5-work-1-cpu1": 1, "s5-work-2-cpu1": 1, "s5-work-1-cpu2": 2, "s5-work-2-cpu2": 2, "s5-time-2-cpu1": 1} {
		if s, ok := steps[name]; !ok || s.Plan.CPUs != cpus || s.Apps[0].Runtime != "flask" {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if s := steps["s5-time-2-cpu1"]; s.Traffic[0].Path != "/cpu-burn?secs=3" || s.Traffic[0].Count != 2 {
		t.Errorf("S5 is not the reference's: %+v", s.Traffic)
	}
}

// The figures are those of the published page.
func TestWorkerExhaustionQuotesTheReferencesNumbers(t *testing.T) {
	e := load(t, "worker-exhaustion")
	want := map[string]struct{ observed, predicted float64 }{
		"H1": {10.624, 0}, "H2": {10.624, 7.5}, "H2-twice": {10.624, 10}, "H3": {2, 3},
		"S1": {11, 10}, "S2": {13, 12}, "S4-batch": {5.401, 5}, "S5": {4, 3}, "ten": {0, 15}, "H4": {},
	}
	for _, c := range e.Reference.Claims {
		w, ok := want[c.ID]
		if !ok {
			t.Errorf("%s is not expected", c.ID)
		}
		delete(want, c.ID)
		if c.Observed != nil && *c.Observed != w.observed || c.Observed == nil && w.observed != 0 {
			t.Errorf("%s: observed %v, want %v", c.ID, c.Observed, w.observed)
		}
		if c.Formula == "" {
			continue
		}
		if x, err := experiment.EvalFormula(c.Formula, c.Values); err != nil || x != w.predicted {
			t.Errorf("%s: %s = %v, %v; want %v", c.ID, c.Formula, x, err, w.predicted)
		}
	}
	for id := range want {
		t.Errorf("claim %s is missing", id)
	}
}

// Four minutes are what the quick profile may take; deploying and closing take
// about 1.1 s, a unit of work less than 5 ms.
func TestQuickProfileFitsIntoFourMinutes(t *testing.T) {
	d, err := load(t, "worker-exhaustion").Expand("quick")
	if err != nil {
		t.Fatal(err)
	}
	var round time.Duration
	for _, s := range d.Steps {
		each := 1100*time.Millisecond + seconds(length(s))
		round += each
		if s.Name == d.Experiment.Baseline {
			round += each
		}
	}
	total := round * time.Duration(d.Repetitions)
	t.Logf("%d steps, %v a round, %v in all", len(d.Steps), round, total)
	if total > 210*time.Second {
		t.Errorf("the quick profile takes %v", total)
	}
}

func seconds(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }

// length is how long a step's traffic takes, in seconds, by the law of rounds.
func length(s experiment.Step) float64 {
	t, v := s.Traffic[0], s.Vars()
	rounds := math.Ceil(v["requests"] / v["workers"])
	switch {
	case t.Kind == "steady":
		return t.Duration.Seconds()
	case t.Kind == "sequential":
		return v["requests"] * v["hold"]
	case v["work"] > 0:
		return v["work"] * 0.005 * math.Ceil(v["requests"]/v["cpus"])
	}
	return rounds * (v["hold"] + v["burn"])
}
