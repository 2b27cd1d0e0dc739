package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pythonVersions prints the version of the interpreter and of each module of
// its arguments that it can import.
const pythonVersions = `import sys, importlib
print("python", sys.version.split()[0])
for name in sys.argv[1:]:
    try:
        module = importlib.import_module(name)
        print(name, getattr(module, "__version__", "unknown"))
    except ImportError:
        pass
`

// Python is an interpreter and the versions of what it was asked for and can
// import. The key python is its own.
type Python struct {
	Path     string
	Versions map[string]string
}

// Has tells whether the interpreter can import all of the modules.
func (p *Python) Has(modules ...string) bool {
	for _, m := range modules {
		if p.Versions[m] == "" {
			return false
		}
	}
	return true
}

// PythonModules are what the interpreter of an app must be able to import; none
// where its runtime is not Python.
func PythonModules(runtime, workerClass string) []string {
	switch {
	case runtime == "asgi":
		return []string{"uvicorn"}
	case runtime == "flask" && workerClass == "gevent":
		return []string{"flask", "gunicorn", "gevent"}
	case runtime == "flask":
		return []string{"flask", "gunicorn"}
	}
	return nil
}

// ErrNoInterpreter says that no program of the wanted name is there.
var ErrNoInterpreter = errors.New("no interpreter was found")

// FindPython returns the first python3 of PATH, and then of /usr/bin, that
// really can import all of the modules. Without one it returns the first
// python3 that works, or ErrNoInterpreter.
func FindPython(ctx context.Context, modules ...string) (*Python, error) {
	return findPython(ctx, runAlone, modules...)
}

func findPython(ctx context.Context, run runner, modules ...string) (*Python, error) {
	var first *Python
	for _, path := range candidates("python3") {
		out, err := run(ctx, path, append([]string{"-c", pythonVersions}, modules...)...)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			continue // not a working interpreter
		}
		p := &Python{Path: path, Versions: versions(out)}
		if p.Has(modules...) {
			return p, nil
		}
		if first == nil {
			first = p
		}
	}
	if first == nil {
		return nil, fmt.Errorf("python3: %w", ErrNoInterpreter)
	}
	return first, nil
}

func versions(out string) map[string]string {
	v := map[string]string{}
	for line := range strings.Lines(out) {
		if name, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			v[name] = version
		}
	}
	return v
}

// FindNode returns the first node of PATH or /usr/bin and its version, such
// as "20.1.0", or ErrNoInterpreter.
func FindNode(ctx context.Context) (path, version string, err error) {
	return findNode(ctx, runAlone)
}

func findNode(ctx context.Context, run runner) (path, version string, err error) {
	for _, path := range candidates("node", "nodejs") {
		out, err := run(ctx, path, "--version")
		if ctx.Err() != nil {
			return "", "", context.Cause(ctx)
		}
		if err == nil {
			return path, strings.TrimPrefix(strings.TrimSpace(out), "v"), nil
		}
	}
	return "", "", fmt.Errorf("node: %w", ErrNoInterpreter)
}

// candidates lists the executables of the names in PATH and in /usr/bin.
func candidates(names ...string) []string {
	var found []string
	seen := map[string]bool{}
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/bin") {
		for _, name := range names {
			path, err := exec.LookPath(filepath.Join(dir, name))
			if err != nil || !filepath.IsAbs(path) || seen[path] {
				continue
			}
			seen[path] = true
			found = append(found, path)
		}
	}
	return found
}

// runner runs a program to its end and returns its standard output.
type runner func(ctx context.Context, path string, args ...string) (string, error)

// runAlone is a runner for a process that is no agent.
func runAlone(ctx context.Context, path string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, path, args...).Output()
	return string(out), err
}

// run is the agent's runner: a helper that it starts must not be taken for an
// orphan of an app.
func (s *spawner) run(ctx context.Context, path string, args ...string) (string, error) {
	var out strings.Builder
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout = &out
	if err := s.start(cmd, 0); err != nil {
		return "", err
	}
	err := s.wait(cmd)
	return out.String(), err
}
