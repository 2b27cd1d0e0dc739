package local

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"brink/internal/agent"
	"brink/internal/experiment"
	"brink/internal/host"
)

// pretend is a host on which only the given things were found.
func pretend(python *agent.Python, node string) *Host {
	h := New(Options{})
	h.python["flask gunicorn"], h.python["flask gunicorn gevent"], h.python["uvicorn"] = python, python, python
	h.node = &node
	h.containers = func() error { return errors.New("crun is not installed") }
	return h
}

func TestCheckNamesWhatIsMissing(t *testing.T) {
	have, _, err := agent.AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	bare := &agent.Python{Versions: map[string]string{"python": "3.11.2"}}
	full := &agent.Python{Versions: map[string]string{"python": "3.11.2", "flask": "2.2.2", "gunicorn": "20.1.0"}}
	app := func(runtime, class string) experiment.App {
		return experiment.App{Name: "a", Runtime: runtime, WorkerClass: class, Workers: 1}
	}
	for _, tc := range []struct {
		name string
		host *Host
		plan experiment.Plan
		app  experiment.App
		want []host.Missing
	}{
		{"nothing", pretend(full, "18.0.0"), experiment.Plan{CPUs: have}, app("flask", "sync"), nil},
		{"CPUs", pretend(full, ""), experiment.Plan{CPUs: have + 1}, app("go", ""), []host.Missing{
			{Need: fmt.Sprintf("%d CPUs", have+1), Advice: fmt.Sprintf("This machine lets brink use %d; run the step on a larger one or set fewer CPUs.", have)}}},
		{"memory is no need", pretend(full, ""), experiment.Plan{MemoryMB: 1 << 30, SwapMB: 1 << 30}, app("go", ""), nil},
		{"python", pretend(nil, ""), experiment.Plan{}, app("flask", "sync"), []host.Missing{
			{Need: "python3, flask, gunicorn", App: "a", Advice: "Install it with: apt-get install python3 python3-flask gunicorn.", Substitute: "go"}}},
		{"flask and gunicorn", pretend(bare, ""), experiment.Plan{}, app("flask", ""), []host.Missing{
			{Need: "flask, gunicorn", App: "a", Advice: "Install it with: apt-get install python3-flask gunicorn.", Substitute: "go"}}},
		{"gevent, which nothing can stand for", pretend(full, ""), experiment.Plan{}, app("flask", "gevent"), []host.Missing{
			{Need: "gevent", App: "a", Advice: "Install it with: apt-get install python3-gevent."}}},
		{"uvicorn, which nothing can stand for", pretend(full, ""), experiment.Plan{}, app("asgi", ""), []host.Missing{
			{Need: "uvicorn", App: "a", Advice: "Install it with: apt-get install python3-uvicorn."}}},
		{"python for uvicorn", pretend(nil, ""), experiment.Plan{}, app("asgi", ""), []host.Missing{
			{Need: "python3, uvicorn", App: "a", Advice: "Install it with: apt-get install python3 python3-uvicorn."}}},
		{"node", pretend(full, ""), experiment.Plan{}, app("node", ""), []host.Missing{
			{Need: "Node.js 18", App: "a", Advice: "Install it with: apt-get install nodejs."}}},
		{"a newer node", pretend(full, "16.20.2"), experiment.Plan{}, app("node", ""), []host.Missing{
			{Need: "Node.js 18", App: "a", Advice: "Node.js 16.20.2 is installed; put version 18 or later on PATH."}}},
		{"containers", pretend(full, ""), experiment.Plan{}, experiment.App{Name: "a", Runtime: "flask", Deploy: "container"}, []host.Missing{
			{Need: "a host that carries containers", App: "a", Advice: "This one does not: crun is not installed."}}},
		{"a zip needs no containers", pretend(full, ""), experiment.Plan{}, experiment.App{Name: "a", Runtime: "flask", Deploy: "zip"}, nil},
		{"the command", pretend(full, ""), experiment.Plan{}, experiment.App{Name: "a", Runtime: "command", Command: []string{"no-such-program", "x"}}, []host.Missing{
			{Need: "no-such-program", App: "a", Advice: "Install no-such-program, or give the path of an executable file."}}},
		{"any command", pretend(full, ""), experiment.Plan{}, experiment.App{Name: "a", Runtime: "command"}, []host.Missing{
			{Need: "a command", App: "a", Advice: "Give the app a command to run."}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := tc.host.Check(t.Context(), tc.plan, []experiment.App{tc.app})
			if err != nil || !slices.Equal(got, tc.want) {
				t.Errorf("missing %+v, %v\nwant    %+v", got, err, tc.want)
			}
		})
	}
}

// A port that somebody listens on is missing, with who does, until it is free.
func TestCheckNamesAPortThatIsTaken(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	apps := []experiment.App{{Name: "a", Runtime: "go", Port: port}}
	h := pretend(nil, "")
	got, err := h.Check(t.Context(), experiment.Plan{}, apps)
	if err != nil || len(got) != 1 || got[0].App != "a" || got[0].Need != fmt.Sprintf("port %d of 127.0.0.1", port) ||
		!strings.HasPrefix(got[0].Advice, fmt.Sprintf("Port %d is taken by pid %d (", port, os.Getpid())) {
		t.Errorf("missing %+v, %v", got, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := h.Check(t.Context(), experiment.Plan{}, apps); err != nil || len(got) != 0 {
		t.Errorf("missing %+v, %v once it is free", got, err)
	}
}

// The machines that test brink have all of it.
func TestThisMachineHasWhatItNeeds(t *testing.T) {
	got, err := New(Options{}).Check(t.Context(), experiment.Plan{CPUs: 1}, []experiment.App{
		{Name: "a", Runtime: "flask", WorkerClass: "gevent"}, {Name: "b", Runtime: "node"}, {Name: "c", Runtime: "go"},
		{Name: "u", Runtime: "asgi"},
		{Name: "d", Runtime: "command", Command: []string{"sh"}},
	})
	if err != nil || len(got) != 0 {
		t.Errorf("missing %+v, %v", got, err)
	}
}
