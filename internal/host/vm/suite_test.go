package vm

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"brink/internal/agent/agenttest"
	"brink/internal/experiment"
	"brink/internal/guest"
	"brink/internal/wire"
)

// suites are tests of other rooms that need a machine which is theirs alone:
// cgroup v2 to divide, crun, swap that may be emptied, memory that may run out.
var suites = []struct{ pkg, tests string }{
	{"agent", "^Test(Guest|.*Container)"},
	{"host/local", "^TestGuest"},
}

// Each test that ran in the guest is a subtest here; one that did not run
// fails.
func TestWhatNeedsAMachineOfItsOwnRunsInOne(t *testing.T) {
	shared := testHost(t)
	h := New(shared.opts)
	programs := map[string]string{guest.Init: h.opts.Brink}
	binaries := map[string]string{}
	for _, s := range suites {
		name := "/" + filepath.Base(s.pkg) + ".test"
		programs[name] = buildTests(t, s.pkg)
		binaries[s.pkg] = guest.Home + name
	}
	drive, err := h.makeDrive(t.Context(), programs)
	if err != nil {
		t.Fatal(err)
	}
	defer drive.Close()
	h.drive.value, h.drive.done = drive, true
	o := agenttest.NewSeen()
	s, err := h.Open(t.Context(), experiment.Plan{CPUs: 1, MemoryMB: 1000, SwapMB: 300}, 0, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}()
	for _, suite := range suites {
		local := programs["/"+filepath.Base(suite.pkg)+".test"]
		want := listTests(t, local, suite.tests)
		name := filepath.Base(suite.pkg)
		// The guest's agent gives each app a cgroup; the tests begin at the top, as
		// they would on a machine that nobody divides.
		app := shell(name, fmt.Sprintf("echo $$ >/sys/fs/cgroup/cgroup.procs && cd /tmp && exec %s -test.v -test.timeout 8m -test.run '%s'", binaries[suite.pkg], suite.tests))
		app.Env = map[string]string{agenttest.GuestVariable: "1"}
		app.StartLimit = experiment.Duration(9 * time.Minute)
		_, err := s.Deploy(t.Context(), app) // it never answers, it ends
		exits := slices.DeleteFunc(o.Events(wire.Exited), func(e wire.Event) bool { return e.App != name })
		if len(exits) != 1 || exits[0].Code == nil {
			t.Fatalf("the tests of %s did not run to their end: %v", suite.pkg, err)
		}
		got := readTests(o.Logs(), name)
		for _, test := range want {
			t.Run(name+"/"+test, func(t *testing.T) {
				if r := got[test]; r.outcome != "PASS" {
					t.Errorf("%q in the guest:\n%s", r.outcome, r.said)
				}
			})
		}
		if code := *exits[0].Code; code != 0 && !t.Failed() {
			t.Errorf("the tests of %s passed and ended with code %d", suite.pkg, code)
		}
		t.Logf("%s: %s", suite.pkg, times(got))
	}
}

// buildTests builds a package's tests so that a guest can run them.
func buildTests(t *testing.T, pkg string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tests")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-trimpath", "-ldflags", "-s -w", "-o", path, "brink/internal/"+pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go test -c: %v: %s", err, out)
	}
	return path
}

func listTests(t *testing.T, program, pattern string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "-test.list", pattern).Output()
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(out))
	if len(names) == 0 {
		t.Fatalf("%s has no tests %s", program, pattern)
	}
	return names
}

// result is what a test in the guest came to and what it said.
type result struct{ outcome, took, said string }

// The lines of go test -v (https://pkg.go.dev/cmd/test2json).
var (
	runLine = regexp.MustCompile(`^=== (?:RUN|CONT|NAME) +([^/\s]+)`)
	endLine = regexp.MustCompile(`^--- (PASS|FAIL|SKIP): ([^/\s]+) \(([0-9.]+s)\)`)
)

func readTests(logs []wire.Log, app string) map[string]result {
	all := map[string]result{}
	current := ""
	for _, l := range logs {
		if l.App != app {
			continue
		}
		if m := endLine.FindStringSubmatch(l.Line); m != nil {
			current = m[2]
			r := all[current]
			r.outcome, r.took = m[1], m[3]
			all[current] = r
		} else if m := runLine.FindStringSubmatch(l.Line); m != nil {
			current = m[1]
		} else {
			r := all[current]
			r.said += l.Line + "\n"
			all[current] = r
		}
	}
	return all
}

func times(results map[string]result) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(results)) {
		list = append(list, name+" "+results[name].took)
	}
	return strings.Join(list, ", ")
}

// A failure in the guest must not get lost on its way; the lines are what go test
// -v prints.
func TestResultsAreReadFromTheirLines(t *testing.T) {
	var logs []wire.Log
	for line := range strings.Lines("=== RUN   TestGood\n--- PASS: TestGood (0.02s)\n=== RUN   TestBad\n    x_test.go:7: no\n--- FAIL: TestBad (1.00s)\n=== RUN   TestCut\npanic: late\n") {
		logs = append(logs, wire.Log{App: "x", Line: strings.TrimSuffix(line, "\n")}, wire.Log{App: "other", Line: "--- PASS: TestCut (0.00s)"})
	}
	got := readTests(logs, "x")
	want := map[string]result{
		"TestGood": {outcome: "PASS", took: "0.02s"},
		"TestBad":  {outcome: "FAIL", took: "1.00s", said: "    x_test.go:7: no\n"},
		"TestCut":  {said: "panic: late\n"},
	}
	if !maps.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
