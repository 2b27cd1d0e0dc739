package compare

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"brink/internal/experiment"
)

// Two whole runs of three steps, of which one became twice as fast: one line
// says so, one sentence is fit to forward, and the two that stayed are named.
func TestWholeRunsAreToldInBrief(t *testing.T) {
	t.Chdir(t.TempDir())
	seconds(map[string][]float64{"one": slow, "two": slow, "many": slow}).write(t, "before")
	seconds(map[string][]float64{"one": slow, "two": fast, "many": slow}).named("second").write(t, "after")
	c := must(t, "before", "after", Options{})
	var b bytes.Buffer
	if err := Render(&b, c); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	lines := strings.Split(text, "\n")
	if n := len(lines); n > 25 {
		t.Errorf("%d lines for one change:\n%s", n, text)
	}
	var changed []string
	for _, l := range lines {
		if strings.Contains(l, "6/6") {
			changed = append(changed, strings.Join(strings.Fields(l)[:2], " "))
		}
	}
	if want := []string{"two last_answer_s"}; !slices.Equal(changed, want) {
		t.Errorf("changed are %v, want %v:\n%s", changed, want, text)
	}
	if !strings.Contains(text, "No change that matters: one, many.") || strings.Count(text, "Time to the last answer: 2.05 s") != 1 {
		t.Errorf("%s", text)
	}
}

func TestLongListsOfStepsAreCut(t *testing.T) {
	d := Difference{Text: "the plans differ"}
	for i := range 12 {
		d.Steps = append(d.Steps, fmt.Sprint("s", i+1))
	}
	if want := "the plans differ (12 steps: s1, s2, s3 and 9 more)"; d.String() != want {
		t.Errorf("%q, want %q", d, want)
	}
	d.Steps = d.Steps[:4]
	if want := "the plans differ (steps s1, s2, s3, s4)"; d.String() != want {
		t.Errorf("%q, want %q", d, want)
	}
}

// Eight copies that differ alike are one line for each field.
func TestAppsThatDifferAlikeAreNamedTogether(t *testing.T) {
	with := func(change func(i int, a *experiment.App)) step {
		s := &experiment.Step{}
		for i := range 8 {
			a := experiment.App{Name: fmt.Sprint("site-", i+1), Runtime: "flask", Workers: 4, AllocMB: 50}
			change(i, &a)
			s.Apps = append(s.Apps, a)
		}
		return step{design: s}
	}
	same := with(func(int, *experiment.App) {})
	got := appsDiffer(same, with(func(i int, a *experiment.App) {
		a.AllocMB = 75
		if i == 0 || i == 4 {
			a.Workers = 2
		}
	}))
	slices.Sort(got)
	want := []string{"apps 1 to 8 alloc_mb: 50 in A, 75 in B", "apps 1, 5 workers: 4 in A, 2 in B"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := appsDiffer(same, same); len(got) != 0 {
		t.Errorf("equal apps differ: %v", got)
	}
}
