package doctor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"brink/internal/evidence"
)

// lateApps is what a platform says of apps that did not start in time, one after
// the other, each in its own minute so that no round of restarts is in it.
func lateApps(t *testing.T, apps int) *Report {
	t.Helper()
	var b strings.Builder
	at := time.Date(2026, 6, 10, 3, 0, 0, 0, time.UTC)
	for i := range apps {
		fmt.Fprintf(&b, "%s ERROR - Container site%04d_0_5f5f5f5f for site site%04d did not start within expected time limit. Elapsed time = 230.5 sec\n",
			at.Add(time.Duration(i)*3*time.Minute).Format("2006-01-02T15:04:05.000Z"), i, i)
	}
	c, err := evidence.FromFiles(map[string][]byte{"docker.log": []byte(b.String())})
	if err != nil {
		t.Fatal(err)
	}
	return Diagnose(c)
}

func printed(t *testing.T, r *Report, o TextOptions) string {
	t.Helper()
	var b strings.Builder
	if err := Text(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A screen has some 50 lines, however many apps have the same; a reader of the
// document gets them all.
func TestManyOfOneKindAreToldTogether(t *testing.T) {
	r := lateApps(t, 1500)
	text := printed(t, r, TextOptions{Width: 80})
	if n := strings.Count(text, "\n"); n > 40 {
		t.Errorf("%d lines:\n%s", n, text)
	}
	if want := "failed-start of site0000, site0001, site0002, site0003 and 1,496 more"; !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
		t.Errorf("no %q in:\n%s", want, text)
	}
	if !strings.HasPrefix(text, "FINDINGS: failed-start (1,500)\n") {
		t.Errorf("the head is %q", strings.SplitN(text, "\n", 2)[0])
	}
	if len(r.Findings) != 1500 || r.LeftOut != 0 || len(r.Summary) > 400 {
		t.Errorf("the document has %d findings, leaves %d out, and its summary has %d bytes", len(r.Findings), r.LeftOut, len(r.Summary))
	}
	var b strings.Builder
	if err := Markdown(&b, r); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n > 100 || !strings.Contains(b.String(), "1,479 more") {
		t.Errorf("the ticket has %d lines, or does not say that 1,479 of 1,499 are left out:\n%.3000s", n, b.String())
	}
	if all := printed(t, r, TextOptions{Width: 100, All: true}); !strings.Contains(all, "site1499: ") {
		t.Error("--all leaves apps out")
	}
}

// Four or fewer are told one by one.
func TestFewOfOneKindAreToldOneByOne(t *testing.T) {
	text := printed(t, lateApps(t, 4), TextOptions{Width: 200})
	for _, app := range []string{"site0000", "site0001", "site0002", "site0003"} {
		if !strings.Contains(text, "failed-start of "+app+" (") {
			t.Errorf("nothing of %s alone:\n%s", app, text)
		}
	}
}

// What follows from a cause is one line, however few there are, and the causes keep
// their place before it.
func TestSymptomsOfOneModeAreOneLine(t *testing.T) {
	var findings []Finding
	for i := range 7 {
		findings = append(findings, Finding{Mode: FailedStart, Subject: fmt.Sprintf("app%d", i), What: "It did not answer.", Level: Observed})
	}
	findings = append(findings, Finding{Mode: RestartCascade, What: "All restart.", Level: Observed}, Finding{Mode: CPUContention, What: "The CPUs are busy.", Level: Observed})
	r := &Report{Verdict: Findings, Findings: inCausalOrder(findings)}
	text := printed(t, r, TextOptions{Width: 200})
	if n := strings.Count(text, "follows"); n != 1 || !strings.Contains(text, "follows    failed-start of app0, app1, app2, app3 and 3 more; app0: It did not answer.") {
		t.Errorf("%d lines about what follows:\n%s", n, text)
	}
	if cascade, symptom := strings.Index(text, "All restart."), strings.Index(text, "follows"); cascade < 0 || symptom < cascade {
		t.Errorf("the symptom stands before its cause:\n%s", text)
	}
}

// The surest comes first, then the one with the larger number.
func TestTheWorstOfAGroupIsNamed(t *testing.T) {
	var findings []Finding
	for i, level := range []Level{Inferred, Observed, Observed, Observed, Correlated, Observed} {
		findings = append(findings, Finding{Mode: CrashLoop, Subject: fmt.Sprintf("app%d", i), Level: level, Cause: fmt.Sprintf("It ended %d times.", i),
			Numbers: []Number{{Name: "restarts", Value: float64(10 * i % 25)}}})
	}
	all := groups(findings)
	var names []string
	for _, f := range all[0] {
		names = append(names, f.Subject)
	}
	if want := []string{"app2", "app1", "app3", "app5", "app0", "app4"}; len(all) != 1 || !slices.Equal(names, want) {
		t.Errorf("%d groups, the first is %v, want %v", len(all), names, want)
	}
}

// Different causes stay apart, but a screen has an end.
func TestManyKindsHaveAnEnd(t *testing.T) {
	var findings []Finding
	for i := range 60 {
		findings = append(findings, Finding{Mode: OOMKill, Subject: fmt.Sprintf("job%d", i), What: "It was killed.", Cause: strings.Repeat("x", i), Level: Observed})
	}
	r := &Report{Verdict: Findings, Findings: findings}
	if text := printed(t, r, TextOptions{Width: 80}); strings.Count(text, "\n") > 40 || !strings.Contains(text, "And more: oom-kill (51).") {
		t.Errorf("no end, or none that says what is left out:\n%s", text)
	}
}

func TestAReportHasAnEnd(t *testing.T) {
	c := &evidence.Case{Logs: []evidence.Log{{File: "docker.log", Origin: evidence.FromPlatform}}}
	at := time.Date(2026, 6, 10, 3, 0, 0, 0, time.UTC)
	for i := range mostFindings + 30 {
		c.Events = append(c.Events, evidence.Event{At: at.Add(time.Duration(i) * time.Hour), Kind: evidence.StartTimeout, Origin: evidence.FromPlatform,
			App: fmt.Sprintf("site%d", i), From: evidence.Source{File: "docker.log", Line: i + 1}})
	}
	r := Diagnose(c)
	if len(r.Findings) != mostFindings || r.LeftOut != 30 {
		t.Errorf("%d findings and %d left out, want %d and 30", len(r.Findings), r.LeftOut, mostFindings)
	}
	data, err := json.Marshal(r)
	if err != nil || len(data) > 10<<20 || !strings.Contains(string(data), `"left_out":30`) {
		t.Errorf("the document has %d bytes (%v)", len(data), err)
	}
}

// Long names keep the end, where those of pods and cgroups differ.
func TestLongNamesAndPaths(t *testing.T) {
	long := "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod11aa.slice"
	for name, want := range map[string]string{"shop": "shop", long: "…/kubepods-burstable-pod11aa.slice", strings.Repeat("a", 60): "…" + strings.Repeat("a", 47)} {
		if got := shortName(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	for path, want := range map[string]string{"t1/cgroup/cpu.stat": "t1/cgroup/cpu.stat", "t1" + long + "/cpu.stat": "t1/…/cpu.stat", "/proc/vmstat": "/proc/vmstat"} {
		if got := shortPath(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

// Every signal belongs to a kind of evidence, so that none is left out of what could
// not be seen.
func TestEverySignalHasAKind(t *testing.T) {
	var all []evidence.Signal
	for _, k := range kindsOfEvidence {
		all = append(all, k.signals...)
	}
	for _, s := range evidence.Signals() {
		if !slices.Contains(all, s) {
			t.Errorf("%s is of no kind", s)
		}
	}
	kept, absent := unseenParts([]Unseen{{What: evidence.HasPools, Why: evidence.Denied, Detail: "not yours"}, {What: evidence.HasMemoryPSI, Why: evidence.NotSeen},
		{What: evidence.HasCPUPSI, Why: evidence.NotSeen}, {What: evidence.HasIOPSI, Why: evidence.NotSeen}, {What: evidence.HasLoad, Why: evidence.NotSeen}})
	if !slices.Equal(kept, []string{"worker pools (denied: not yours)"}) || !slices.Equal(absent, []string{"pressure (PSI)", "load"}) {
		t.Errorf("kept %q, absent %q", kept, absent)
	}
}
