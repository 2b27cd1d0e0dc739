package experiment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestOverridesReachTheFile(t *testing.T) {
	e := parseGood(t, Options{Set: []string{
		"apps[0].workers=2",
		"apps.api.backlog=7",
		"apps.api.env.MODE=fast",
		"steps.idle.traffic.duration=3s",
		"steps[1].traffic[0].stagger=5ms",
		"steps.held.factors.concurrency=[2, 3]",
		"profiles.quick.scale=0.1",
		"hypotheses.H1.tolerance=20%",
		"title='Another: title'",
	}})
	d, err := e.Expand("quick")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := stepNames(d.Steps), "idle held-concurrency=2 held-concurrency=3"; got != want {
		t.Errorf("steps %s, want %s", got, want)
	}
	a := d.Steps[1].Apps[0]
	if a.Workers != 2 || a.Backlog != 7 || a.Env["MODE"] != "fast" {
		t.Errorf("app %+v", a)
	}
	if d.Scale != 0.1 || d.Steps[0].Traffic[0].Duration.String() != "300ms" || d.Steps[1].Traffic[0].Stagger.String() != "500µs" {
		t.Errorf("scale %v, traffic %+v", d.Scale, d.Steps)
	}
	if e.Hypotheses[0].Tolerance.Value != 0.2 || e.Title != "Another: title" {
		t.Errorf("hypothesis %+v, title %q", e.Hypotheses[0], e.Title)
	}
}

func TestBadOverridesNameTheArgument(t *testing.T) {
	for _, tc := range []struct{ set, want string }{
		{"apps[0].workers=0", `--set apps[0].workers=0: apps[0].workers: 0 is out of range. Allowed: 1 to 256.`},
		{"apps.api.workers=many", `--set apps.api.workers=many: apps[0].workers: "many" is not a whole number.`},
		{"apps.apo.workers=1", `--set apps.apo.workers=1: apps has no item named "apo"; did you mean "api"? Allowed: api.`},
		{"apps[3].workers=1", `--set apps[3].workers=1: apps has 1 items, so [3] is none of them.`},
		{"apps.api.wokers=1", `--set apps.api.wokers=1: apps[0].wokers: "wokers" is not a field of an app; did you mean "workers"?`},
		{"name.first=1", `--set name.first=1: name is "worker", so the path ends there.`},
		{"name[0]=1", `--set name[0]=1: name is "worker", so the path ends there.`},
		{"repetitions", `--set repetitions: is no path=value, such as apps[0].workers=2.`},
		{"=3", `--set =3: is no path=value, such as apps[0].workers=2.`},
		{"repetitions=", `--set repetitions=: "" is no value that a field can have.`},
		{"repetitions=[1", `--set repetitions=[1: "[1" is no value that a field can have.`},
		{"repetitions=99", `--set repetitions=99: repetitions: 99 is out of range. Allowed: 1 to 50.`},
		{"apps[x].workers=1", `--set apps[x].workers=1: "apps[x].workers" is no path; write it like apps[0].workers or apps.api.workers.`},
		{"a..b=1", `--set a..b=1: "a..b" is no path; write it like apps[0].workers or apps.api.workers.`},
		{"profiles.quick.scale=-1", `--set profiles.quick.scale=-1: profiles.quick.scale: -1 is out of range. Allowed: more than 0 and at most 100.`},
	} {
		_, err := Parse("worker.yaml", []byte(good), Options{Set: []string{tc.set}})
		if err == nil || err.Error() != tc.want {
			t.Errorf("got  %v\nwant %s", err, tc.want)
			continue
		}
		wantPlaces(t, err)
	}
}

func TestRepetitionsOverrideHoldsForProfiles(t *testing.T) {
	for _, opts := range []Options{{Repetitions: 2}, {Set: []string{"repetitions=2"}}} {
		d, err := parseGood(t, opts).Expand("quick")
		if err != nil || d.Repetitions != 2 {
			t.Errorf("%+v: %v, %d repetitions", opts, err, d.Repetitions)
		}
	}
	for n, want := range map[int]string{
		51: `--repetitions 51: repetitions: 51 is out of range. Allowed: 1 to 50.`,
		-1: `--repetitions -1: repetitions: -1 is out of range. Allowed: 1 to 50.`,
	} {
		if _, err := Parse("worker.yaml", []byte(good), Options{Repetitions: n}); err == nil || err.Error() != want {
			t.Errorf("%d: got %v", n, err)
		}
	}
}

// What a run keeps is the file itself, and with overrides a file that says the
// same as file and overrides together.
func TestYAMLKeepsTheExperiment(t *testing.T) {
	plain := parseGood(t, Options{})
	text, err := plain.YAML()
	if err != nil || string(text) != good {
		t.Errorf("without overrides the file is not kept as it is: %v", err)
	}
	tricky := []string{
		`title="yes: #1 {x} 'y' 5s"`, `question="no"`, `why="1e3"`, `apps.api.env={A: "007", B: "true", C: "${x", D: " a "}`,
		`steps.held.title="- ${concurrency} \\ \" tab\t"`, "repetitions=4", `symptoms=["~", "null", "a\nb"]`,
	}
	tricky[3] = `apps.api.env={A: "007", B: "true", D: " a "}`
	e := parseGood(t, Options{Set: tricky})
	text, err = e.YAML()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("worker.yaml", text, Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(e, again, cmpopts.IgnoreUnexported(Experiment{})); diff != "" {
		t.Errorf("%s\n%s", diff, text)
	}
	if strings.Contains(string(text), "repetitions: 3") {
		t.Errorf("the profile keeps its repetitions:\n%s", text)
	}
}
