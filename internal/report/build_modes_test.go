package report

import (
	"strings"
	"testing"

	"brink/internal/verdict"
)

// The starts of the made-up run take 2 s for each app: those of three apps and
// more take at least 1.5 times as long as those of two, and those of four and
// more twice as long. That is said on the first screen and in section 10 with its
// step, its n and the rule; what was not seen is said too.
func TestReportShowsHowThePlanBroke(t *testing.T) {
	d, text := pressured(t)
	dir, _ := pressureRun{steps: 8, repetitions: 2, readings: 60}.write(t, d, text)
	m := judged(t, d, dir)
	if len(m.Modes) != len(verdict.ModeKinds) {
		t.Fatalf("%d modes, want all %d, seen or not", len(m.Modes), len(verdict.ModeKinds))
	}
	start := m.Modes[0]
	if start.Kind != string(verdict.StartupDegradation) || len(start.Seen) == 0 || start.Seen[0].N != 2 {
		t.Fatalf("%+v", start)
	}
	md := renderedMarkdown(t, m)
	for _, want := range []string{"**How the plan broke:** start-up degradation (", "| **Start-up degradation** | `4x50`", "Apps start in 4 s with 2 apps", "Not seen in the steps that were executed: capacity cliff", "**Restart cascade**: in most repetitions half of the apps or more"} {
		if !strings.Contains(md, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	// An experiment without a plan of its own breaks nothing of the kind.
	if other := built(t); other.Modes != nil || strings.Contains(renderedMarkdown(t, other), "How the plan broke") {
		t.Error("a plan without memory of its own is said to break in it")
	}
}
