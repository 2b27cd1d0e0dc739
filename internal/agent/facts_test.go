package agent

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// Other programs say the same of this machine.
func TestFactsAgreeWithOtherTools(t *testing.T) {
	list, err := Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	facts := map[string]string{}
	for _, f := range list {
		if f.Value == "" {
			t.Errorf("%s has no value", f.Name)
		}
		facts[f.Name] = f.Value
	}
	if want := output(t, "uname", "-r"); !strings.Contains(facts["kernel"], want) {
		t.Errorf("kernel %q, uname says %q", facts["kernel"], want)
	}
	if want := output(t, "getconf", "_NPROCESSORS_ONLN"); facts["cpus"] != want {
		t.Errorf("CPUs %q, getconf says %q", facts["cpus"], want)
	}
	if want := strings.TrimPrefix(output(t, "node", "--version"), "v"); facts["node"] != want {
		t.Errorf("node %q, it says %q", facts["node"], want)
	}
	for _, module := range []string{"flask", "gunicorn", "gevent"} {
		want := output(t, "/usr/bin/python3", "-c", "import "+module+"; print("+module+".__version__)")
		if facts[module] != want {
			t.Errorf("%s %q, it says %q", module, facts[module], want)
		}
	}
	if runtime.NumCPU() > 0 && facts["CPUs allowed"] == "unknown" {
		t.Error("the CPUs that may be used are unknown")
	}
}

func TestFindPythonReallyImports(t *testing.T) {
	p, err := FindPython(t.Context(), "flask", "gunicorn")
	if err != nil || !p.Has("flask", "gunicorn") {
		t.Fatalf("%+v, %v", p, err)
	}
	if out := output(t, p.Path, "-c", "import flask, gunicorn; print('yes')"); out != "yes" {
		t.Errorf("%s prints %q", p.Path, out)
	}
	none, err := FindPython(t.Context(), "no_such_module_anywhere")
	if err != nil || none.Has("no_such_module_anywhere") || none.Versions["python"] == "" {
		t.Errorf("%+v, %v; want an interpreter without the module", none, err)
	}
}
