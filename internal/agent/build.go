package agent

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"time"

	"brink/internal/wire"
)

// buildScript is what a platform's build does to a Python app: a virtual
// environment, packages copied into it and byte-compiled, and an extension
// compiled from C, whose size the app's environment may set (BUILD_FUNCTIONS).
//
//go:embed build.py
var buildScript string

// buildLimit bounds a build.
const buildLimit = 30 * time.Minute

// build builds the app where it is deployed, before its first start, and makes
// it run on what was built. Its error is a *wire.Fault.
func (a *app) build() error {
	if a.spec.Runtime != "flask" && a.spec.Runtime != "asgi" {
		return &wire.Fault{Kind: wire.BadRequest, Text: fmt.Sprintf("runtime %s has nothing to build; flask and asgi have", a.spec.Runtime)}
	}
	venv := filepath.Join(a.launch.dir, "antenv") // App Service's name for it
	l := &launch{
		argv: []string{a.launch.argv[0], "-c", buildScript, a.launch.dir, venv},
		env:  a.launch.env,
		dir:  a.launch.dir,
	}
	p, err := a.exec(l)
	if err != nil {
		return &wire.Fault{Kind: wire.StartFailed, Text: "the build cannot be executed: " + err.Error()}
	}
	a.emit(wire.Event{Kind: wire.BuildStarted, AtNs: p.started.UnixNano(), Pid: p.pid})
	a.agent.register()
	reason := ""
	select {
	case <-p.exited:
	case <-a.ctx.Done():
		reason = "the build was stopped"
	case <-a.agent.clock.After(buildLimit):
		reason = fmt.Sprintf("the build did not end within %s", buildLimit)
	}
	a.killAll()
	<-p.exited
	p.drain(a.agent.clock, drainLimit)
	code, signal, text := outcome(p.state)
	a.emit(wire.Event{Kind: wire.BuildDone, Pid: p.pid, Code: code, Signal: signal, Detail: "after " + a.age(p)})
	if reason == "" && (code == nil || *code != 0) {
		reason = "the build " + text
		if last := p.tail.String(); last != "" {
			reason += "; its last lines: " + last
		}
	}
	if reason != "" {
		return &wire.Fault{Kind: wire.StartFailed, Text: reason}
	}
	a.launch.argv[0] = filepath.Join(venv, "bin", "python")
	return nil
}
