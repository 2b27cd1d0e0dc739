package local

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strconv"
	"strings"

	"brink/internal/agent"
	"brink/internal/experiment"
	"brink/internal/host"
	"brink/internal/wire"
)

// oldestNode is the oldest major version of Node.js that runs the node app.
const oldestNode = 18

// Check compares what the apps and the plan need with this machine.
func (h *Host) Check(ctx context.Context, plan experiment.Plan, apps []experiment.App) ([]host.Missing, error) {
	var missing []host.Missing
	have, _, err := agent.AllowedCPUs()
	if err != nil {
		return nil, err
	}
	if plan.CPUs > have {
		missing = append(missing, host.Missing{
			Need:   fmt.Sprintf("%d CPUs", plan.CPUs),
			Advice: fmt.Sprintf("This machine lets brink use %d; run the step on a larger one or set fewer CPUs.", have),
		})
	}
	for _, app := range apps {
		m, err := h.checkApp(ctx, app)
		if err != nil {
			return nil, err
		}
		if m != nil {
			m.App = app.Name
			missing = append(missing, *m)
		}
	}
	return missing, nil
}

// checkApp returns what the app's deploy mode or its runtime lacks, or nil.
func (h *Host) checkApp(ctx context.Context, app experiment.App) (*host.Missing, error) {
	if app.Deploy == string(wire.Container) {
		if err := h.containers(); err != nil {
			return &host.Missing{Need: "a host that carries containers", Advice: fmt.Sprintf("This one does not: %s.", err)}, nil
		}
	}
	if m, err := checkPort(app); m != nil || err != nil {
		return m, err
	}
	switch app.Runtime {
	case "flask", "asgi":
		return h.checkPython(ctx, app)
	case "node":
		return h.checkNode(ctx)
	case "command":
		return checkCommand(app), nil
	}
	return nil, nil
}

// checkPort wants the app's port to be free, once what a killed run has left is
// gone.
func checkPort(app experiment.App) (*host.Missing, error) {
	if app.Port == 0 {
		return nil, nil
	}
	addr := netip.AddrPortFrom(loopback, uint16(app.Port)).String()
	reason, err := agent.Unavailable(addr)
	if err != nil || reason == "" {
		return nil, err
	}
	registry, err := agent.RegistryDir()
	if err != nil {
		return nil, err
	}
	if err := agent.Sweep(registry); err != nil {
		return nil, err
	}
	if reason, err = agent.Unavailable(addr); err != nil || reason == "" {
		return nil, err
	}
	return &host.Missing{
		Need:   fmt.Sprintf("port %d of %s", app.Port, loopback),
		Advice: fmt.Sprintf("%s; write another port, or 0 for a free one.", strings.ToUpper(reason[:1])+reason[1:]),
	}, nil
}

// packages are the Debian packages of what the Python apps need.
var packages = map[string]string{
	"python3": "python3", "flask": "python3-flask", "gunicorn": "gunicorn", "gevent": "python3-gevent",
	"uvicorn": "python3-uvicorn",
}

func (h *Host) checkPython(ctx context.Context, app experiment.App) (*host.Missing, error) {
	// The built-in server serves one request per worker, as gunicorn's sync
	// workers do; it can stand for no other class and for no event loop.
	substitute := ""
	if app.Runtime == "flask" && (app.WorkerClass == "" || app.WorkerClass == "sync") {
		substitute = "go"
	}
	need := agent.PythonModules(app.Runtime, app.WorkerClass)
	python, err := h.findPython(ctx, need)
	if err != nil {
		return nil, err
	}
	var lack []string
	if python == nil {
		lack = append([]string{"python3"}, need...)
	} else {
		for _, module := range need {
			if !python.Has(module) {
				lack = append(lack, module)
			}
		}
	}
	if len(lack) == 0 {
		return nil, nil
	}
	install := make([]string, len(lack))
	for i, l := range lack {
		install[i] = packages[l]
	}
	return &host.Missing{
		Need:       strings.Join(lack, ", "),
		Advice:     fmt.Sprintf("Install it with: apt-get install %s.", strings.Join(install, " ")),
		Substitute: substitute,
	}, nil
}

// interpreter returns the path of what Check would find for the app, or
// nothing where the agent must look, and say what it lacks.
func (h *Host) interpreter(ctx context.Context, app experiment.App) (string, error) {
	need := agent.PythonModules(app.Runtime, app.WorkerClass)
	if need == nil {
		return "", nil
	}
	python, err := h.findPython(ctx, need)
	if err != nil || python == nil || !python.Has(need...) {
		return "", err
	}
	return python.Path, nil
}

// findPython is agent.FindPython; nil means that there is no python3.
func (h *Host) findPython(ctx context.Context, need []string) (*agent.Python, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := strings.Join(need, " ")
	if p, ok := h.python[key]; ok {
		return p, nil
	}
	p, err := agent.FindPython(ctx, need...)
	if errors.Is(err, agent.ErrNoInterpreter) {
		p, err = nil, nil
	}
	if err == nil {
		h.python[key] = p
	}
	return p, err
}

func (h *Host) checkNode(ctx context.Context) (*host.Missing, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.node == nil {
		_, version, err := agent.FindNode(ctx)
		if err != nil && !errors.Is(err, agent.ErrNoInterpreter) {
			return nil, err
		}
		h.node = &version
	}
	major, _, _ := strings.Cut(*h.node, ".")
	n, err := strconv.Atoi(major)
	if err == nil && n >= oldestNode {
		return nil, nil
	}
	advice := "Install it with: apt-get install nodejs."
	if *h.node != "" {
		advice = fmt.Sprintf("Node.js %s is installed; put version %d or later on PATH.", *h.node, oldestNode)
	}
	return &host.Missing{Need: fmt.Sprintf("Node.js %d", oldestNode), Advice: advice}, nil
}

func checkCommand(app experiment.App) *host.Missing {
	if len(app.Command) == 0 {
		return &host.Missing{Need: "a command", Advice: "Give the app a command to run."}
	}
	if _, err := exec.LookPath(app.Command[0]); err != nil {
		return &host.Missing{Need: app.Command[0], Advice: fmt.Sprintf("Install %s, or give the path of an executable file.", app.Command[0])}
	}
	return nil
}
