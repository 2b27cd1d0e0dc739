package catalog

import (
	"fmt"
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
	if want := []string{"memory-pressure", "worker-exhaustion"}; !slices.Equal(Names(), want) {
		t.Fatalf("the catalogue has %v, want %v", Names(), want)
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
			// Among them would be that the repetitions cannot carry the hypotheses,
			// which a single one cannot.
			if single := d.Repetitions == 1 && profile == "quick"; len(d.Warnings) > 0 && !single {
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

// The kinds of worker that the reference did not test, as the field's users run
// them.
func TestWorkerExhaustionTriesEveryKindOfWorker(t *testing.T) {
	d, err := load(t, "worker-exhaustion").Expand("standard")
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]experiment.Step{}
	for _, s := range d.Steps {
		steps[s.Name] = s
	}
	for server, want := range map[string]experiment.App{
		"gunicorn": {Runtime: "flask", WorkerClass: "sync", Workers: 4, Threads: 1},
		"gthread":  {Runtime: "flask", WorkerClass: "gthread", Workers: 4, Threads: 4},
		"gevent":   {Runtime: "flask", WorkerClass: "gevent", Workers: 4, Threads: 1},
		"uvicorn":  {Runtime: "asgi", Workers: 4, Threads: 1},
		"node":     {Runtime: "node", Workers: 1, Threads: 1},
		"go":       {Runtime: "go", Workers: 4, Threads: 1},
	} {
		for _, scenario := range []string{"s1", "s3", "s4", "ten", "net"} {
			s, ok := steps[scenario+"-"+server]
			if !ok {
				t.Errorf("%s is not tried on %s", scenario, server)
				continue
			}
			if a := s.Apps[0]; a.Runtime != want.Runtime || a.WorkerClass != want.WorkerClass || a.Workers != want.Workers || a.Threads != want.Threads {
				t.Errorf("%s: %+v", s.Name, a)
			}
		}
	}
	for _, name := range []string{"blocked-node", "blocked-uvicorn"} {
		if s := steps[name]; s.Apps[0].Workers != 1 || !strings.HasPrefix(s.Traffic[0].Path, "/block-hold?") {
			t.Errorf("%s: %+v", name, s)
		}
	}
	// Utilisation of four workers by holds of 100 ms.
	for _, rate := range []float64{20, 32, 38} {
		s := steps[fmt.Sprintf("poisson-%v", rate)]
		if tr := s.Traffic[0]; tr.Rate != rate || tr.Arrivals != "poisson" || tr.Path != "/thread-hold?secs=0.1" || s.Apps[0].Workers != 4 {
			t.Errorf("%+v", s)
		}
	}
}

// A time-out of the server and the hold that exceeds it are the same in every
// profile: gunicorn counts whole seconds.
func TestTimeOutsAreNotScaled(t *testing.T) {
	for _, profile := range []string{"quick", "standard", "full"} {
		d, err := load(t, "worker-exhaustion").Expand(profile)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range d.Steps {
			if s.Name == "timeout-gunicorn" && (s.Apps[0].Timeout.Seconds() != 2 || s.Traffic[0].Path != "/thread-hold?secs=5") {
				t.Errorf("%s: %+v", profile, s)
			}
		}
	}
}

// What the quick profile leaves out are steps that other profiles execute; the
// reference's own hypotheses stay.
func TestQuickProfileTestsTheReferencesHypotheses(t *testing.T) {
	d, err := load(t, "worker-exhaustion").Expand("quick")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, h := range d.Experiment.Hypotheses {
		ids = append(ids, h.ID)
	}
	for _, id := range []string{"H1", "H2", "H2-published", "H3", "H4", "H4-burn", "waits", "overflow", "killed"} {
		if !slices.Contains(ids, id) {
			t.Errorf("%s is left out: %v", id, d.LeftOut)
		}
	}
}

// Deploying and closing take about 1.1 s, a unit of work less than 5 ms.
func TestProfilesFitIntoTheirTime(t *testing.T) {
	for profile, most := range map[string]time.Duration{"quick": 4 * time.Minute, "standard": 30 * time.Minute} {
		d, err := load(t, "worker-exhaustion").Expand(profile)
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
		t.Logf("%s: %d steps, %v a round, %v in all", profile, len(d.Steps), round, total)
		if total > most {
			t.Errorf("the profile %s takes %v", profile, total)
		}
	}
}

func seconds(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }

// measured is what steps took that no law of rounds describes, in seconds: the
// time-out's first full second after two, and the waves of connections that are
// tried again.
var measured = map[string]float64{"timeout-gunicorn": 2.5, "timeout-gthread": 5, "backlog-4": 4, "backlog-2048": 1.7}

// length is how long a step's traffic takes, in seconds, by the law of rounds.
func length(s experiment.Step) float64 {
	if x, ok := measured[s.Name]; ok {
		return x
	}
	t, v := s.Traffic[0], s.Vars()
	rounds := math.Ceil(v["requests"] / v["workers"])
	switch {
	case t.Duration > 0:
		return t.Duration.Seconds()
	case t.Kind == "sequential":
		return v["requests"] * v["hold"]
	case v["work"] > 0:
		return v["work"] * 0.005 * math.Ceil(v["requests"]/v["cpus"])
	case v["holds"] > 0:
		return v["hold"] * v["holds"] / v["workers"]
	}
	return rounds * (v["hold"] + v["burn"] + v["block"] + v["wait_ms"]/1000)
}
