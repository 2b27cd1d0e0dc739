package experiment

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestAllProblemsAtOnceInOrder(t *testing.T) {
	file := strings.NewReplacer("workers: 4", "workers: 0", "title: A test\n", "title: \n", "kind: batch", "kind: bacth", "repetitions: 6", "repetitions: 0").Replace(good)
	_, err := Parse("worker.yaml", []byte(file), Options{Set: []string{"plan.cpus=-1"}})
	const want = `--set plan.cpus=-1: plan.cpus: -1 is out of range. Allowed: 0 to 256.
worker.yaml:2:7: title: is empty; write a value or leave the field out.
worker.yaml:17:14: apps[0].workers: 0 is out of range. Allowed: 1 to 256.
worker.yaml:26:13: steps[1].traffic.kind: "bacth" is not a kind of traffic; did you mean "batch"? Allowed: batch, rate, sequential, steady.
worker.yaml:30:14: repetitions: 0 is out of range. Allowed: 1 to 50.`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// Files that could exhaust a machine are refused, or read, in a moment.
func TestFilesAreBounded(t *testing.T) {
	wide := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "k%d: v\n", i)
		}
		return b.String()
	}
	for name, file := range map[string]string{
		"too large":        strings.Repeat("# comment\n", 110_000),
		"flow nesting":     "a: " + strings.Repeat("[", 500_000),
		"flow maps":        "a: " + strings.Repeat("{a: ", 200_000),
		"dashes":           strings.Repeat("- ", 500_000) + "a",
		"question marks":   strings.Repeat("? ", 500_000) + "a",
		"indentation":      indented(1000),
		"many keys":        wide(100_000),
		"keys up to limit": wide(8_000),
		"long scalar":      "a: " + strings.Repeat("x", 1_000_000),
		"long quoted":      `a: "` + strings.Repeat(`\n`, 500_000) + `"`,
		"long key":         strings.Repeat("x", 1_000_000) + ": 1",
		"aliases":          "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n",
		"matrix":           strings.Replace(good, "hold: 2s", "hold: 2s\n      a: "+levels(900)+"\n      b: "+levels(900), 1),
		"big times many":   strings.Replace(good, "name: held", "name: held\n    title: x\n    apps: ["+strings.Repeat("api, ", 1200)+"api]", 1),
		"amplification":    strings.Replace(good, "?secs=${hold}", "?x="+strings.Repeat("${long}", 2000)+"${hold}\n    factors_: 1", 1),
	} {
		start := time.Now()
		_, err := Parse("big.yaml", []byte(file), Options{})
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		// A bound that only a runaway exceeds, on any machine.
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: took %v", name, took)
		} else {
			t.Logf("%s: %v", name, took)
		}
	}
}

func indented(depth int) string {
	var b strings.Builder
	for i := range depth {
		fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", i))
	}
	return b.String()
}

func levels(n int) string {
	return "[" + strings.Repeat("1, ", n-1) + "1]"
}

func TestFilledInTextIsBounded(t *testing.T) {
	long := strings.Repeat("x", 200)
	file := strings.Replace(good, "path: /thread-hold?secs=${hold}", "path: /?"+strings.Repeat("${long}", 100)+"${hold}", 1)
	file = strings.Replace(file, "hold: 2s", "hold: 2s\n      long: "+long, 1)
	_, err := Parse("worker.yaml", []byte(file), Options{})
	if err == nil || !strings.Contains(err.Error(), "grows beyond 16384 bytes") {
		t.Errorf("got %v", err)
	}
}

func TestUnusedAppIsAWarning(t *testing.T) {
	file := strings.Replace(good, "- name: idle\n", "- name: idle\n    apps: [api]\n", 1)
	file = strings.Replace(file, "- name: held\n", "- name: held\n    apps: [api]\n", 1)
	file = strings.Replace(file, "apps:\n", "apps:\n  - {name: spare, runtime: go}\n", 1)
	d, err := mustParse(t, file).Expand("")
	if err != nil {
		t.Fatal(err)
	}
	const want = "worker.yaml:15:12: apps[0].name: no step deploys this app."
	if len(d.Warnings) != 1 || d.Warnings[0].Error() != want {
		t.Errorf("got %v, want %s", d.Warnings, want)
	}
}

func TestWindowsLinesAndByteOrderMark(t *testing.T) {
	windows := "\ufeff" + strings.ReplaceAll(good, "\n", "\r\n")
	e := mustParse(t, windows)
	if diff := cmp.Diff(parseGood(t, Options{}), e, cmpopts.IgnoreUnexported(Experiment{})); diff != "" {
		t.Error(diff)
	}
}

func TestTemplateLoadsAndExpands(t *testing.T) {
	text, err := Template("my-test")
	if err != nil {
		t.Fatal(err)
	}
	e, err := Parse("my-test.yaml", text, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if e.Name != "my-test" || bytes.Contains(text, []byte("NAME")) {
		t.Errorf("the name is not filled in:\n%s", text)
	}
	for _, profile := range []string{"", "quick", "standard", "full"} {
		d, err := e.Expand(profile)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := stepNames(d.Steps), "idle held-concurrency=1 held-concurrency=2 held-concurrency=3"; got != want {
			t.Errorf("%s: steps %s, want %s", profile, got, want)
		}
	}
	for i, section := range []string{"1 Question", "2 Why", "3 Customer", "4 Hypothesis", "6 Variables", "9 Expected", "14 Support", "16 Related"} {
		if !bytes.Contains(text, []byte("# "+section)) {
			t.Errorf("heading %d, %s, is missing", i, section)
		}
	}
	for _, name := range []string{"My Test", "../x", "", "-x"} {
		if _, err := Template(name); err == nil || !strings.Contains(err.Error(), "cannot name an experiment") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Whatever the bytes: no panic, every problem has a place, and what loads
// expands for each of its profiles, survives JSON and can be read back.
func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add(bytes.ReplaceAll(template, []byte("NAME"), []byte("seed")))
	for _, tc := range badFiles {
		f.Add([]byte(strings.Replace(good, tc.old, tc.new, 1)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := Parse("fuzz.yaml", data, Options{})
		if err != nil {
			wantPlaces(t, err)
			return
		}
		profiles := []string{""}
		for name := range e.Profiles {
			profiles = append(profiles, name)
		}
		for _, p := range profiles {
			d, err := e.Expand(p)
			if err != nil {
				t.Fatalf("profile %q: %v", p, err)
			}
			for _, s := range d.Steps {
				sameAfterJSON(t, s)
			}
		}
		sameAfterJSON(t, e.Hypotheses)
		e.source.overridden = true
		text, err := e.YAML()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("fuzz.yaml", text, Options{})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(e, again, cmpopts.IgnoreUnexported(Experiment{})); diff != "" {
			t.Fatalf("%s\n%s", diff, text)
		}
	})
}

func FuzzSet(f *testing.F) {
	for _, s := range []string{"repetitions=4", "apps[0].workers=2", "apps.api.workers=2", "steps.held.factors.concurrency=[1, 2]", "a.b.c={d: e}", "profiles.quick={}", "[0]=1", "x=&a b", "plan=", "plan=~", "steps[0]=1", "apps.api=x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, set string) {
		if _, err := Parse("worker.yaml", []byte(good), Options{Set: []string{set}}); err != nil {
			wantPlaces(t, err)
		}
	})
}
