package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"brink/apps"
	"brink/internal/wire"
)

// launch is how an app is started: everything that exec needs.
type launch struct {
	argv []string
	env  []string
	dir  string
	// serves is the app's own command line where argv starts it by way of
	// something else, nil otherwise.
	serves []string
}

// pythonApp is the folder that has the entry points of both Python servers.
const pythonApp = "flask"

// inherited are the variables that an app takes from the agent. Everything
// else would let the machine's owner's settings (GUNICORN_CMD_ARGS,
// NODE_OPTIONS, GOMAXPROCS) into an experiment unseen.
var inherited = []string{"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH"}

// compose prepares dir and returns how spec is started on addr. The error is
// a *wire.Fault of kind BadRequest where spec asks for what its runtime cannot
// do.
func (a *agent) compose(ctx context.Context, spec wire.App, addr netip.AddrPort, dir string) (*launch, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	tmp := filepath.Join(a.opts.Dir, "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return nil, err
	}
	l := &launch{dir: dir}
	var err error
	switch spec.Runtime {
	case "flask":
		l.argv, err = a.gunicorn(ctx, spec, addr, dir)
	case "asgi":
		l.argv, err = a.uvicorn(ctx, spec, addr, dir)
	case "node":
		l.argv, err = a.node(ctx, spec, dir)
	case "go":
		l.argv, err = a.builtIn(spec, addr)
	case "command":
		l.argv, err = command(spec)
	default:
		err = fmt.Errorf("runtime %q is not one of flask, asgi, node, go, command", spec.Runtime)
	}
	if err != nil {
		return nil, err
	}
	l.env, err = environment(spec, addr, tmp)
	return l, err
}

func (a *agent) gunicorn(ctx context.Context, spec wire.App, addr netip.AddrPort, dir string) ([]string, error) {
	timeout, err := wholeSeconds("gunicorn's worker time-out", spec.TimeoutNs)
	if err != nil {
		return nil, err
	}
	keepAlive, err := wholeSeconds("gunicorn's keep-alive", spec.KeepAliveNs)
	if err != nil {
		return nil, err
	}
	python, err := a.pythonIn(ctx, spec, dir)
	if err != nil {
		return nil, err
	}
	argv := []string{
		python, "-m", "gunicorn",
		"--bind", addr.String(),
		"--workers", strconv.Itoa(spec.Workers),
		"--timeout", timeout,
		"--keep-alive", keepAlive,
	}
	argv = append(argv, optional("--worker-class", spec.WorkerClass)...)
	argv = append(argv, optional("--threads", positive(spec.Threads))...)
	argv = append(argv, optional("--backlog", positive(spec.Backlog))...)
	return append(argv, "app:app"), nil
}

// uvicorn is the command line of the ASGI entry point. What uvicorn would choose
// by what happens to be installed is said: two machines run the same server.
// It has no watchdog, so that the worker time-out means nothing to it.
func (a *agent) uvicorn(ctx context.Context, spec wire.App, addr netip.AddrPort, dir string) ([]string, error) {
	keepAlive, err := wholeSeconds("uvicorn's keep-alive", spec.KeepAliveNs)
	if err != nil {
		return nil, err
	}
	python, err := a.pythonIn(ctx, spec, dir)
	if err != nil {
		return nil, err
	}
	argv := []string{
		python, "-m", "uvicorn",
		"--host", addr.Addr().String(),
		"--port", strconv.Itoa(int(addr.Port())),
		"--workers", strconv.Itoa(spec.Workers),
		"--timeout-keep-alive", keepAlive,
		"--loop", "asyncio", "--http", "h11", "--lifespan", "on", "--no-access-log",
	}
	argv = append(argv, optional("--backlog", positive(spec.Backlog))...)
	return append(argv, "asgi:app"), nil
}

// pythonIn puts the Python app into dir and returns the interpreter for it.
func (a *agent) pythonIn(ctx context.Context, spec wire.App, dir string) (string, error) {
	if spec.Workers < 1 {
		return "", fmt.Errorf("%s needs at least 1 worker, not %d", spec.Runtime, spec.Workers)
	}
	python, err := a.python(ctx, spec)
	if err != nil {
		return "", err
	}
	return python, apps.Unpack(pythonApp, dir)
}

// python returns the interpreter for an app of the runtimes flask and asgi.
func (a *agent) python(ctx context.Context, spec wire.App) (string, error) {
	if spec.Interpreter != "" {
		return spec.Interpreter, nil
	}
	need := PythonModules(spec.Runtime, spec.WorkerClass)
	python, err := findPython(ctx, a.spawn.run, need...)
	if err != nil {
		return "", err
	}
	if !python.Has(need...) {
		return "", fmt.Errorf("no python3 can import %s", strings.Join(need, " and "))
	}
	return python.Path, nil
}

func (a *agent) node(ctx context.Context, spec wire.App, dir string) ([]string, error) {
	if spec.Workers > 1 {
		return nil, fmt.Errorf("the node app is one process; it cannot have %d workers", spec.Workers)
	}
	path := spec.Interpreter
	if path == "" {
		var err error
		if path, _, err = findNode(ctx, a.spawn.run); err != nil {
			return nil, err
		}
	}
	if err := apps.Unpack("node", dir); err != nil {
		return nil, err
	}
	return []string{path, "server.js"}, nil
}

// builtIn is the command line of brink's own workload.
func (a *agent) builtIn(spec wire.App, addr netip.AddrPort) ([]string, error) {
	argv := append(slices.Clone(a.opts.BuiltIn),
		"--bind", addr.String(),
		"--workers", strconv.Itoa(spec.Workers),
		"--timeout", time.Duration(spec.TimeoutNs).String(),
		"--keep-alive", time.Duration(spec.KeepAliveNs).String(),
	)
	return append(argv, optional("--backlog", positive(spec.Backlog))...), nil
}

func command(spec wire.App) ([]string, error) {
	if len(spec.Command) == 0 {
		return nil, errors.New("runtime command needs a command")
	}
	path, err := exec.LookPath(spec.Command[0])
	if err != nil {
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	return append([]string{path}, spec.Command[1:]...), nil
}

// optional is a flag and its value, or nothing when there is no value.
func optional(flag, value string) []string {
	if value == "" {
		return nil
	}
	return []string{flag, value}
}

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func wholeSeconds(what string, ns int64) (string, error) {
	d := time.Duration(ns)
	if d < 0 || d%time.Second != 0 {
		return "", fmt.Errorf("%s takes whole seconds, not %s", what, d)
	}
	return strconv.FormatInt(int64(d/time.Second), 10), nil
}

// environment is what the app finds in its environment; the app's own Env
// comes last and wins, but for the address, which the agent has promised.
func environment(spec wire.App, addr netip.AddrPort, tmp string) ([]string, error) {
	env := map[string]string{}
	for _, key := range inherited {
		if v, ok := os.LookupEnv(key); ok {
			env[key] = v
		}
	}
	env["TMPDIR"] = tmp
	env["PYTHONUNBUFFERED"] = "1"
	if spec.AllocMB > 0 {
		env["ALLOC_MB"] = strconv.Itoa(spec.AllocMB)
	}
	if spec.Runtime == "asgi" {
		env["WEB_CONCURRENCY"] = strconv.Itoa(spec.Workers) // how the app knows it
	}
	if spec.Runtime == "node" {
		if spec.Backlog > 0 {
			env["BACKLOG"] = strconv.Itoa(spec.Backlog)
		}
		secs, err := wholeSeconds("the node app's keep-alive", spec.KeepAliveNs)
		if err != nil {
			return nil, err
		}
		env["KEEP_ALIVE"] = secs
		env[heapVariable] = filepath.Join(tmp, spec.Name+".heap")
	}
	for key, v := range spec.Env {
		if key == "" || strings.ContainsAny(key, "=\x00") || strings.Contains(v, "\x00") {
			return nil, fmt.Errorf("environment variable %q cannot be set: a name has no = and no NUL, a value no NUL", key)
		}
		env[key] = v
	}
	env["BIND"] = addr.Addr().String()
	env["PORT"] = strconv.Itoa(int(addr.Port()))
	list := make([]string, 0, len(env))
	for key, v := range env {
		list = append(list, key+"="+v)
	}
	slices.Sort(list)
	return list, nil
}
