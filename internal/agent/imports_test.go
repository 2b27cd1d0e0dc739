package agent_test

import (
	"os/exec"
	"strings"
	"testing"
)

// The agent runs beside what it measures: it must stay small, so the record's
// database, charts, the report and the rooms above are kept out of it.
func TestTheAgentStaysSmall(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "brink/internal/agent").Output()
	if err != nil {
		t.Fatal(err)
	}
	forbidden := []string{
		"modernc.org/", "database/sql", "gonum.org/", "golang.org/x/perf", "charm.land/", "html/template",
		"github.com/spf13/", "github.com/goccy/", "github.com/expr-lang/", "github.com/invopop/",
		"brink/internal/record", "brink/internal/report", "brink/internal/measure", "brink/internal/verdict",
		"brink/internal/lab", "brink/internal/cli", "brink/internal/experiment", "brink/internal/traffic",
		"brink/internal/host", "brink/internal/goapp", "brink/catalog",
	}
	deps := strings.Fields(string(out))
	if len(deps) < 50 {
		t.Fatalf("go list names only %d packages", len(deps))
	}
	for _, dep := range deps {
		for _, f := range forbidden {
			if dep == strings.TrimSuffix(f, "/") || strings.HasPrefix(dep, f) {
				t.Errorf("the agent imports %s", dep)
			}
		}
	}
}
