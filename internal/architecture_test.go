// Package internal_test checks the borders between the rooms, as
// docs/ARCHITECTURE.md draws them.
package internal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// floors gives each room its floor. A package imports only from floors below
// its own; kinds of host import from host and below.
var floors = map[string]int{
	"internal/kernel": 0, "internal/stats": 0, "internal/queue": 0, "internal/clock": 0,
	"internal/wire": 0, "internal/metric": 0, "internal/textfile": 0, "internal/phrase": 0, "internal/servertest": 0, "apps": 0,
	"internal/experiment": 1, "internal/record": 1, "internal/goapp": 1, "catalog": 1,
	"internal/gauge": 1, "internal/system": 1, "internal/measure": 2, "internal/traffic": 2, "internal/agent": 2, "internal/frontend": 2,
	"internal/host": 2, "internal/evidence": 2, "internal/agent/agenttest": 3, "internal/traffic/bench": 3,
	"internal/lab": 3, "internal/verdict": 3, "internal/probe": 3, "internal/upstream": 2, "internal/guest": 3, "internal/exporter": 4, "internal/doctor": 4, "internal/doctor/closedloop": 5, "internal/watch": 3,
	"internal/audit":     4,
	"internal/compare":   4,
	"internal/report":    4,
	"internal/cli":       5,
	"cmd/brink":          6,
	"cmd/brink-exporter": 6,
}

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "brink/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// room is the path of a package's room and whether it is ours.
func room(path string) (string, bool) {
	rest, ours := strings.CutPrefix(path, "brink/")
	return rest, ours
}

func TestPackagesImportOnlyFromFloorsBelow(t *testing.T) {
	for _, p := range packages(t) {
		from, _ := room(p.ImportPath)
		if from == "internal" {
			continue
		}
		kind, isKind := strings.CutPrefix(from, "internal/host/")
		floor, known := floors[from]
		if !known && !isKind {
			t.Errorf("%s has no floor: give it one here and in docs/ARCHITECTURE.md", from)
			continue
		}
		for _, i := range p.Imports {
			to, ours := room(i)
			if !ours {
				continue
			}
			switch {
			case isKind && (to == "internal/host" || to == "internal/agent" || to == "internal/guest"):
			case isKind && strings.HasPrefix(to, from+"/"): // parts of the kind
			case isKind && floors[to] < floors["internal/host"] && !strings.HasPrefix(to, "internal/host/"):
			case isKind:
				t.Errorf("host kind %s imports %s", kind, to)
			case strings.HasPrefix(to, "internal/host/"):
				if from != "internal/cli" && !isKind {
					t.Errorf("%s imports %s: only the command line knows kinds of host", from, to)
				}
			case floors[to] >= floor:
				t.Errorf("%s (floor %d) imports %s (floor %d)", from, floor, to, floors[to])
			}
		}
	}
}

// TestAgentStaysSmall keeps what pins its pages in memory away from the heavy
// rooms.
func TestAgentStaysSmall(t *testing.T) {
	for _, p := range packages(t) {
		if p.ImportPath != "brink/internal/agent" {
			continue
		}
		for _, d := range p.Deps {
			for _, heavy := range []string{"modernc.org/sqlite", "brink/internal/record", "brink/internal/report", "brink/internal/measure", "brink/internal/stats", "charm.land/"} {
				if strings.HasPrefix(d, heavy) {
					t.Errorf("agent depends on %s", d)
				}
			}
		}
	}
}

// TestTimeComesFromClock keeps the machine's clock out of the rooms that pace,
// wait or stamp.
func TestTimeComesFromClock(t *testing.T) {
	for _, dir := range []string{"lab", "traffic", "agent"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			text, err := os.ReadFile(dir + "/" + e.Name())
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range []string{"time.Now(", "time.Sleep(", "time.After(", "time.NewTimer(", "time.NewTicker(", "time.Tick("} {
				if strings.Contains(string(text), call) {
					t.Errorf("%s/%s calls %s)", dir, e.Name(), call)
				}
			}
		}
	}
}

// TestBuildsForMacOS keeps doctor, report and everything else that reads what
// was recorded elsewhere within reach of machines that are not Linux.
func TestBuildsForMacOS(t *testing.T) {
	cmd := exec.Command("go", "build", "-o", os.DevNull, "brink/cmd/brink")
	cmd.Env = append(os.Environ(), "GOOS=darwin", "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
