package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"brink/internal/wire"
)

const (
	// An app that exits while it should run is started again after 1 s, 2 s,
	// 4 s; then the agent gives up.
	maxRestarts  = 3
	firstBackOff = time.Second
	// gracefulLimit is how long an app may take to stop when it is asked to.
	gracefulLimit = 3 * time.Second
	// killLimit is how long its processes may take to vanish when killed.
	killLimit = 10 * time.Second
	// drainLimit is how long the rest of a log may take once its writers are
	// gone.
	drainLimit = time.Second
	// defaultStartLimit applies when an App has no StartLimitNs.
	defaultStartLimit = 30 * time.Second
)

// app is one deployed app. One goroutine, run, leads it from start to stop.
type app struct {
	agent   *agent
	spec    wire.App
	launch  *launch
	addr    atomic.Pointer[netip.AddrPort]
	tree    *tree
	workers *workers
	health  *health
	// restarts counts all restarts of the deployment.
	restarts int

	// ctx ends when the app is to stop.
	ctx  context.Context
	stop context.CancelCauseFunc
	// up receives the outcome of the start, once.
	up chan error
	// endpoint is valid after a nil from up.
	endpoint wire.Endpoint
	// gone is closed when no process of the app is left; leftErr is valid then.
	gone    chan struct{}
	leftErr error
}

// errStopped is why an app's context ends.
var errStopped = errors.New("it was stopped")

func (a *agent) newApp(spec wire.App) *app {
	p := &app{agent: a, spec: spec, tree: newTree(a.fs), up: make(chan error, 1), gone: make(chan struct{})}
	p.ctx, p.stop = context.WithCancelCause(context.Background())
	p.workers = newWorkers(p.emit)
	return p
}

func (a *app) emit(e wire.Event) {
	e.App = a.spec.Name
	if e.AtNs == 0 {
		e.AtNs = a.agent.clock.Now().UnixNano()
	}
	a.agent.out.put(e)
}

// listens returns where the app listens; it is not valid before that is known.
func (a *app) listens() netip.AddrPort {
	if addr := a.addr.Load(); addr != nil {
		return *addr
	}
	return netip.AddrPort{}
}

func (a *app) startLimit() time.Duration {
	if a.spec.StartLimitNs > 0 {
		return time.Duration(a.spec.StartLimitNs)
	}
	return defaultStartLimit
}

// run starts the app and keeps it running until it is stopped.
func (a *app) run(dir string) {
	defer close(a.gone)
	p, err := a.deploy(dir)
	a.up <- err
	if err == nil {
		a.keep(p)
	}
}

// deploy brings the app up for the first time. It returns a *wire.Fault; then
// no process is left.
func (a *app) deploy(dir string) (*process, error) {
	addr, reason, err := claimPort(a.agent.fs, a.spec.Addr)
	if err != nil {
		return nil, &wire.Fault{Kind: wire.BadRequest, Text: err.Error()}
	}
	if reason != "" {
		return nil, &wire.Fault{Kind: wire.StartFailed, Text: reason}
	}
	a.addr.Store(&addr)
	a.health = newHealth(a.agent.clock, addr)
	if a.launch, err = a.agent.compose(a.ctx, a.spec, addr, filepath.Clean(dir)); err != nil {
		return nil, &wire.Fault{Kind: wire.BadRequest, Text: err.Error()}
	}
	a.emit(wire.Event{Kind: wire.Deployed, Detail: strings.Join(a.launch.argv, " ")})
	p, err := a.start(wire.Started, "")
	if err != nil {
		return nil, &wire.Fault{Kind: wire.StartFailed, Text: "it cannot be executed: " + err.Error()}
	}
	if err := checkAffinity(a.agent.fs, p.pid, a.spec.CPUs); err != nil {
		a.takeDown(p)
		return nil, err
	}
	if reason := a.awaitHealthy(p); reason != "" {
		return nil, &wire.Fault{Kind: wire.StartFailed, Text: reason}
	}
	a.awaitWorkers(p)
	a.endpoint = wire.Endpoint{Addr: addr.String(), Pid: p.pid}
	return p, nil
}

// awaitWorkers waits until every worker can serve. An app is healthy as soon as
// one of them answers, but traffic that meets half of the workers tests another
// configuration. Workers that never get ready are data: the wait is as long as
// the start limit and then over.
func (a *app) awaitWorkers(p *process) {
	if a.spec.Runtime != "flask" && a.spec.Runtime != "go" {
		return // these say when a worker is ready; others have one process or do not tell
	}
	const pause = 5 * time.Millisecond
	deadline := a.agent.clock.Now().Add(a.startLimit())
	for a.workers.ready() < a.spec.Workers && a.agent.clock.Now().Before(deadline) {
		select {
		case <-p.exited:
			return
		case <-a.ctx.Done():
			return
		case <-a.agent.clock.After(pause):
		}
	}
}

func (a *app) start(kind wire.EventKind, detail string) (*process, error) {
	p, err := a.launchProcess()
	if err != nil {
		return nil, err
	}
	a.emit(wire.Event{Kind: kind, AtNs: p.started.UnixNano(), Pid: p.pid, Detail: detail})
	a.agent.register()
	return p, nil
}

// awaitHealthy waits until a started process answers. The reason is empty
// then; otherwise it says what went wrong, and no process is left.
func (a *app) awaitHealthy(p *process) (reason string) {
	limit := a.startLimit()
	polling, cancel := withLimit(a.ctx, a.agent.clock, limit)
	defer cancel()
	type answer struct {
		pid int
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		pid, err := a.health.await(polling)
		answered <- answer{pid, err}
	}()
	select {
	case <-p.exited:
		return a.died(p)
	case r := <-answered:
		switch {
		case r.err == nil:
			if reason = a.impostor(r.pid); reason == "" {
				a.emit(wire.Event{Kind: wire.Healthy, Pid: p.pid, Detail: "after " + a.age(p)})
				return ""
			}
		case a.ctx.Err() != nil:
			reason = context.Cause(a.ctx).Error()
		default:
			reason = fmt.Sprintf("it did not answer /health within %s: it %s", limit, r.err)
			if last := p.tail.String(); last != "" {
				reason += "; its last lines: " + last
			}
		}
	}
	a.takeDown(p)
	a.emit(wire.Event{Kind: wire.Stopped, Pid: p.pid, Detail: reason})
	return reason
}

func (a *app) age(p *process) string {
	return a.agent.clock.Now().Sub(p.started).Round(time.Millisecond).String()
}

// died records that the first process ended by itself, ends what it left
// behind, as a container does with its first process, and says how it was.
func (a *app) died(p *process) (reason string) {
	age := a.age(p)
	code, signal, text := p.outcome()
	a.emit(wire.Event{Kind: wire.Exited, Pid: p.pid, Code: code, Signal: signal, Detail: "after " + age})
	a.killAll()
	a.finish(p)
	reason = fmt.Sprintf("it %s after %s", text, age)
	if last := p.tail.String(); last != "" {
		reason += "; its last lines: " + last
	}
	return reason
}

func (a *app) finish(p *process) {
	p.drain(a.agent.clock, drainLimit)
	a.workers.flush(a.agent.clock.Now().UnixNano())
}

// impostor says who answered in the app's place, or nothing. An app that names
// its pid is believed; of others the listening socket's owner is looked up.
func (a *app) impostor(pid int) string {
	a.tree.scan(true)
	if pid > 0 {
		if a.tree.has(pid) {
			return ""
		}
		return fmt.Sprintf("port %d is answered by pid %d (%s), which is not a process of the app", a.listens().Port(), pid, name(a.agent.fs, pid))
	}
	owners := listenerPids(a.agent.fs, a.listens())
	for _, owner := range owners {
		if a.tree.has(owner) {
			return ""
		}
	}
	if len(owners) == 0 {
		return "" // nobody that this user may look at
	}
	return fmt.Sprintf("port %d is answered by pid %d (%s), which is not a process of the app", a.listens().Port(), owners[0], name(a.agent.fs, owners[0]))
}

// keep restarts the app when it exits, until it is stopped or has exited too
// often.
func (a *app) keep(p *process) {
	for p != nil {
		select {
		case <-a.ctx.Done():
			a.takeDown(p)
			a.emit(wire.Event{Kind: wire.Stopped, Pid: p.pid})
			return
		case <-p.exited:
			a.died(p)
		}
		p = a.revive()
	}
}

// revive starts the app again until it is healthy. It returns nil when the
// app was stopped or may not be restarted any more.
func (a *app) revive() *process {
	for a.restarts < maxRestarts {
		if a.agent.clock.Sleep(a.ctx, firstBackOff<<a.restarts) != nil {
			a.emit(wire.Event{Kind: wire.Stopped})
			return nil
		}
		a.restarts++
		p, err := a.start(wire.Restarted, fmt.Sprintf("restart %d of %d", a.restarts, maxRestarts))
		if err != nil {
			a.emit(wire.Event{Kind: wire.Exited, Detail: "it cannot be executed: " + err.Error()})
			continue
		}
		if a.awaitHealthy(p) == "" {
			return p
		}
		if a.ctx.Err() != nil {
			return nil
		}
	}
	a.emit(wire.Event{Kind: wire.GaveUp, Detail: fmt.Sprintf("after %d restarts", a.restarts)})
	return nil
}
