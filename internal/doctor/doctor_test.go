package doctor

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"brink/catalog"
	"brink/internal/evidence"
	"brink/internal/verdict"
)

func TestEveryModeHasARuleAnExplanationAndFixturesOfBothKinds(t *testing.T) {
	all := fixtures(t)
	for _, m := range Modes() {
		text, err := Explain(m)
		if err != nil {
			t.Error(err)
		}
		for _, heading := range []string{"# " + string(m) + ": ", "## What it is", "## How it comes about", "## What misleads", "## See it happen", "## Sources"} {
			if !strings.Contains(text, heading) {
				t.Errorf("%s.md has no %q", m, heading)
			}
		}
		named := slices.ContainsFunc(all, func(f fixture) bool { return f.expect.Mode == m || slices.Contains(f.expect.Also, m) })
		twin := slices.ContainsFunc(all, func(f fixture) bool { return slices.Contains(f.expect.Forbid, m) })
		if !named || !twin {
			t.Errorf("%s: a fixture that shows it: %v, one in which it must not be found: %v", m, named, twin)
		}
	}
	if _, err := ParseMode("no-such-mode"); err == nil || !strings.Contains(err.Error(), string(SwapThrash)) {
		t.Errorf("an unknown mode gives %v, which does not list the modes", err)
	}
}

func TestExplanationsNameExperimentsThatShip(t *testing.T) {
	run := regexp.MustCompile(`brink run (\S+)`)
	for _, m := range Modes() {
		text, err := Explain(m)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range run.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(catalog.Names(), found[1]) {
				t.Errorf("%s.md: no experiment %q ships with brink", m, found[1])
			}
		}
	}
}

func TestCausesDoNotGoRoundInACircle(t *testing.T) {
	var visit func(m Mode, path []Mode)
	visit = func(m Mode, path []Mode) {
		if slices.Contains(path, m) {
			t.Fatalf("%v leads back to %s", path, m)
		}
		for _, next := range explains[m] {
			visit(next, append(slices.Clone(path), m))
		}
	}
	for _, m := range Modes() {
		visit(m, nil)
	}
	for m, list := range explains {
		for _, known := range append(list, m) {
			if !slices.Contains(Modes(), known) {
				t.Errorf("%s is no mode", known)
			}
		}
	}
}

// Whatever findings there are: none is lost, none stands before its cause, and
// a cause lists what it explains.
func TestCausesStandBeforeWhatTheyExplain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		modes := rapid.SliceOfN(rapid.SampledFrom(Modes()), 0, 8).Draw(t, "modes")
		var list []Finding
		for i, m := range modes {
			list = append(list, Finding{Mode: m, What: string(rune('a' + i)), Subject: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "subject")})
		}
		ordered := inCausalOrder(list)
		if len(ordered) != len(modes) {
			t.Fatalf("%d findings became %d", len(modes), len(ordered))
		}
		for i, f := range ordered {
			if f.CausedBy == "" {
				continue
			}
			if !slices.ContainsFunc(ordered[:i], func(g Finding) bool { return g.Mode == f.CausedBy && slices.Contains(g.Explains, f.Mode) }) {
				t.Fatalf("%s at %d has no cause %s before it: %v", f.Mode, i, f.CausedBy, ordered)
			}
		}
	})
}

// The rules of methodology.md: one case is one repetition, so nothing is
// Measured; and every number is the evidence's own.
func TestEveryFindingKeepsTheRules(t *testing.T) {
	for _, f := range fixtures(t) {
		r := f.diagnose(t)
		for i := range r.Findings {
			g := &r.Findings[i]
			if !slices.Contains([]Level{Observed, StronglySuggested, Inferred, Correlated}, g.Level) {
				t.Errorf("%s: %s is %q", f.name, g.Mode, g.Level)
			}
			for what, text := range map[string]string{"what": g.What, "level_rule": g.LevelRule, "cause": g.Cause} {
				if text == "" {
					t.Errorf("%s: %s has no %s", f.name, g.Mode, what)
				}
			}
			for what, list := range map[string][]string{"do_now": g.Now, "do_properly": g.Properly, "would_settle": g.Settle} {
				if len(list) == 0 {
					t.Errorf("%s: %s has no %s", f.name, g.Mode, what)
				}
			}
			if len(g.Others) == 0 {
				t.Errorf("%s: %s says of nothing that it is not the cause", f.name, g.Mode)
			}
			checkNumbers(t, f.name+" "+string(g.Mode), g.Numbers)
		}
		for _, list := range [][]Check{r.Good, r.Unsure, r.Notes} {
			for _, c := range list {
				checkNumbers(t, f.name+" "+c.Text, c.Numbers)
			}
		}
		if text, _ := spoken(r); strings.Contains(text, "unknown number") {
			t.Errorf("%s names a number that is not known:\n%s", f.name, text)
		}
	}
}

func checkNumbers(t *testing.T, where string, numbers []Number) {
	t.Helper()
	for _, n := range numbers {
		if len(n.From) == 0 || n.From[0].File == "" {
			t.Errorf("%s: %s %s has no source", where, n.Name, n.Text)
		}
		if math.IsNaN(n.Value) || math.IsInf(n.Value, 0) {
			t.Errorf("%s: %s is %v", where, n.Name, n.Value)
		}
	}
}

// Files that were cut anywhere make no rule fall over, and make nothing healthy
// that was not: what is missing is not zero.
func TestFilesThatWereCut(t *testing.T) {
	for _, f := range fixtures(t) {
		for _, share := range []float64{0.2, 0.5, 0.8, 0.97} {
			cut := f
			cut.files = map[string][]byte{}
			for name, data := range f.files {
				cut.files[name] = data[:int(share*float64(len(data)))]
			}
			r := cut.diagnose(t)
			if r.Verdict == Healthy && len(r.Good) == 0 {
				t.Errorf("%s cut to %v is healthy without anything in order", f.name, share)
			}
		}
	}
}

// No file of a case may be needed for a finding that names another file's
// numbers, and none may make a rule fall over by being absent.
func TestFilesThatAreMissing(t *testing.T) {
	for _, f := range fixtures(t) {
		for left := range f.files {
			less := f
			less.files = map[string][]byte{}
			for name, data := range f.files {
				if name != left {
					less.files[name] = data
				}
			}
			less.diagnose(t)
		}
	}
}

func TestLevelsAreThoseOfTheVerdicts(t *testing.T) {
	for ours, theirs := range map[Level]verdict.Level{Observed: verdict.Observed, StronglySuggested: verdict.StronglySuggested, Inferred: verdict.Inferred, Correlated: verdict.Correlated} {
		if string(ours) != string(theirs) {
			t.Errorf("%q is %q in verdicts", ours, theirs)
		}
	}
}

func TestNothingIsUnknownAndNotHealthy(t *testing.T) {
	r := Diagnose(&evidence.Case{})
	if r.Verdict != Unknown || r.ExitCode() != 3 {
		t.Errorf("an empty case is %s with exit code %d, want unknown and 3", r.Verdict, r.ExitCode())
	}
	if len(r.Unseen) != len(evidence.Signals()) {
		t.Errorf("%d signals are listed as not seen, want all %d", len(r.Unseen), len(evidence.Signals()))
	}
	for _, m := range Modes() {
		if !slices.ContainsFunc(r.Unseen, func(u Unseen) bool { return slices.Contains(u.Modes, m) }) {
			t.Errorf("nothing says that %s could not be judged", m)
		}
	}
}

func TestTheDocumentIsDocumented(t *testing.T) {
	docs, err := os.ReadFile(filepath.Join("..", "..", "docs", "doctor.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{Report{}, Finding{}, Number{}, Other{}, Check{}, Unseen{}, evidence.Source{}, evidence.Input{}, evidence.Stranger{}} {
		typ := reflect.TypeOf(v)
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if name != "" && name != "-" && !strings.Contains(string(docs), "`"+name+"`") {
				t.Errorf("docs/doctor.md does not tell of %s (%s)", name, typ.Name())
			}
		}
	}
	for _, m := range Modes() {
		if !strings.Contains(string(docs), "`"+string(m)+"`") {
			t.Errorf("docs/doctor.md does not tell of the mode %s", m)
		}
	}
}

func TestTheDocumentHoldsListsAndNoNulls(t *testing.T) {
	data, err := json.Marshal(Diagnose(&evidence.Case{}))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "null") || !strings.Contains(string(data), `"format":"brink-doctor/1"`) {
		t.Errorf("the document is %s", data)
	}
}

// One screen by default: most terminals have some 50 lines and 100 columns.
func TestTheTextFitsAScreen(t *testing.T) {
	for _, f := range fixtures(t) {
		var b strings.Builder
		if err := Text(&b, f.diagnose(t), TextOptions{Width: 100}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), "\n"); n > 52 {
			t.Errorf("%s: %d lines:\n%s", f.name, n, b.String())
		}
	}
}

func TestMarkdownKeepsNamesPlain(t *testing.T) {
	c, err := evidence.FromFiles(map[string][]byte{"dmesg.txt": []byte("[1.000001] Out of memory: Killed process 7 (<img src=x>|`a`) total-vm:900kB, anon-rss:600kB, file-rss:0kB\n")})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := Markdown(&b, Diagnose(c)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "<img") || strings.Contains(b.String(), "`a`") {
		t.Errorf("a process's name is markup:\n%s", b.String())
	}
}

// An OOM kill of yesterday in the kernel's log is no state of now; one of a
// minute ago is.
func TestKillsOfThePastAreNotes(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		ago  []time.Duration
		want Verdict
	}{
		{[]time.Duration{20 * time.Hour}, Healthy},
		{[]time.Duration{time.Minute}, Findings},
		{[]time.Duration{3 * time.Hour, 2 * time.Hour, time.Hour}, Findings}, // again and again
		{[]time.Duration{70 * time.Hour, 60 * time.Hour, 50 * time.Hour}, Healthy},
	} {
		known := func(n float64) evidence.Value {
			return evidence.Known(n, evidence.Bytes, evidence.Source{File: "meminfo"})
		}
		kase := &evidence.Case{Readings: []evidence.Reading{{At: at, Meminfo: evidence.Meminfo{MemTotal: known(8e9), MemAvailable: known(5e9)}}}}
		kase.Logs = []evidence.Log{{File: "kmsg", Origin: evidence.FromKernel}}
		for _, ago := range c.ago {
			kase.Events = append(kase.Events, evidence.Event{At: at.Add(-ago), Kind: evidence.OOMKill, Origin: evidence.FromKernel, PID: 7, Comm: "python",
				From: evidence.Source{File: "kmsg", Line: 1}})
		}
		if r := Diagnose(kase); r.Verdict != c.want {
			t.Errorf("kills %v ago: %s, want %s", c.ago, r.Verdict, c.want)
		}
	}
}
