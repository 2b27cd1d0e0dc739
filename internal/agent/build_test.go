package agent_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"brink/internal/agent/agenttest"
	"brink/internal/wire"
)

func TestABuildComesBeforeTheStart(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	app := gunicorn("web", 1)
	app.Build = true
	app.Env = map[string]string{"BUILD_FUNCTIONS": "20"}
	ep, err := a.Deploy(t, app)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []wire.EventKind
	for _, e := range a.Events(wire.Deployed, wire.BuildStarted, wire.BuildDone, wire.Started) {
		kinds = append(kinds, e.Kind)
	}
	if want := []wire.EventKind{wire.Deployed, wire.BuildStarted, wire.BuildDone, wire.Started}; !slices.Equal(kinds, want) {
		t.Errorf("events %v, want %v", kinds, want)
	}
	done := a.Events(wire.BuildDone)[0]
	if done.Code == nil || *done.Code != 0 {
		t.Errorf("event %+v, want code 0", done)
	}
	venv := filepath.Join(a.Dir, "app1", "antenv")
	for _, pattern := range []string{"brinkext.*.so", "flask/app.py", "flask/__pycache__/app.*.pyc"} {
		if found, _ := filepath.Glob(filepath.Join(venv, "lib", "python3*", "site-packages", pattern)); len(found) != 1 {
			t.Errorf("%s in the virtual environment: %v, want one", pattern, found)
		}
	}
	// It really runs on what was built.
	b, err := os.ReadFile("/proc/" + strconv.Itoa(ep.Pid) + "/cmdline")
	if err != nil || !strings.HasPrefix(string(b), filepath.Join(venv, "bin", "python")) {
		t.Errorf("command line %q, %v", b, err)
	}
	if n := len(a.Events(wire.WorkerBooted)); n > 1 {
		t.Errorf("%d workers booted, want 1: the compiler is none", n)
	}
	for _, stage := range []string{"virtual environment", "packages", "byte-compilation", "extension"} {
		if !slices.ContainsFunc(a.Logs(), func(l wire.Log) bool { return strings.HasPrefix(l.Line, "build: "+stage+" took ") }) {
			t.Errorf("the log has no line on the %s", stage)
		}
	}
}

func TestAFailedBuildIsTold(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	app := gunicorn("web", 1)
	app.Build = true
	app.Env = map[string]string{"PATH": t.TempDir()} // no compiler
	_, err := a.Deploy(t, app)
	if err == nil || !strings.Contains(err.Error(), "the build exited with code 1; its last lines: build: there is no C compiler (cc)") {
		t.Errorf("error %v", err)
	}
	if n := len(a.Events(wire.Started)); n > 0 {
		t.Error("it was started all the same")
	}
}
