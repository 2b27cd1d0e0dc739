package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"brink/internal/system"
	"brink/internal/wire"
)

const (
	// gracefulLimit is how long an app may take to stop when it is asked to.
	gracefulLimit = 3 * time.Second
	// killLimit is how long its processes may take to vanish when killed. Those
	// that wait for memory on a machine which has none end when they have got it.
	killLimit = time.Minute
	// drainLimit is how long the rest of a log may take once its writers are
	// gone.
	drainLimit = time.Second
)

// app is one deployed app. One goroutine, run, leads it from start to stop.
type app struct {
	agent  *agent
	spec   wire.App
	policy policy
	// number tells the app's directory and cgroup from others'.
	number  string
	launch  *launch
	addr    atomic.Pointer[netip.AddrPort]
	cgroup  atomic.Pointer[system.Group]
	tree    *tree
	workers *workers
	health  *health
	sidecar *holder
	// ooms counts the OOM kills of its cgroup that have been told.
	ooms atomic.Uint64
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

func (a *agent) newApp(spec wire.App, policy policy, number string) *app {
	p := &app{agent: a, spec: spec, policy: policy, number: number, tree: newTree(a.fs), up: make(chan error, 1), gone: make(chan struct{})}
	p.tree.ends = a.observer.ends
	p.ctx, p.stop = context.WithCancelCause(context.Background())
	p.workers = newWorkers(p.workerEvent)
	p.tree.wrapped = spec.Mode == wire.Container
	p.workers.tells = spec.Runtime == "flask" || spec.Runtime == "go"
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

// cgroupPath returns the path of the app's own cgroup in the hierarchy, such as
// "/brink-1/app1", or nothing where it has none.
func (a *app) cgroupPath() string {
	if c := a.cgroup.Load(); c != nil {
		return c.Path
	}
	return ""
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
	if err := a.prepare(filepath.Clean(dir)); err != nil {
		return nil, err
	}
	a.emit(wire.Event{Kind: wire.Deployed, Detail: strings.Join(a.launch.argv, " "), Addr: a.listens().String()})
	if a.spec.Build {
		if err := a.build(); err != nil {
			return nil, err
		}
	}
	p, err := a.start(wire.Started, "")
	if err != nil {
		return nil, &wire.Fault{Kind: wire.StartFailed, Text: "it cannot be executed: " + err.Error()}
	}
	if err := checkAffinity(a.agent.fs, p.pid, a.spec.CPUs); err != nil {
		a.takeDown(p)
		return nil, err
	}
	if reason := a.awaitHealthy(p); reason != "" {
		if p, reason = a.tryAgain(reason); p == nil {
			return nil, &wire.Fault{Kind: wire.StartFailed, Text: reason}
		}
	}
	a.awaitWorkers(p)
	a.endpoint = wire.Endpoint{Addr: a.listens().String(), Pid: p.pid}
	return p, nil
}

// prepare makes ready whatever the app's processes need. Its error is a
// *wire.Fault.
func (a *app) prepare(dir string) error {
	addr, reason, err := a.agent.ports.claim(a.agent.fs, a.spec.Addr)
	if err != nil {
		return &wire.Fault{Kind: wire.BadRequest, Text: err.Error()}
	}
	if reason != "" {
		return &wire.Fault{Kind: wire.StartFailed, Text: reason}
	}
	a.addr.Store(&addr)
	a.health = newHealth(a.agent.clock, addr, a.policy.ping)
	if err := a.checkMode(); err != nil {
		return &wire.Fault{Kind: wire.BadRequest, Text: err.Error()}
	}
	if a.launch, err = a.agent.compose(a.ctx, a.spec, addr, dir); err != nil {
		return &wire.Fault{Kind: wire.BadRequest, Text: err.Error()}
	}
	if err := a.confine(); err != nil {
		return &wire.Fault{Kind: wire.Internal, Text: err.Error()}
	}
	if a.spec.Mode == wire.Container {
		l := a.launch
		c, err := system.Contain(system.Command{Argv: l.argv, Env: l.env, Dir: l.dir}, a.agent.opts.Dir, a.number)
		if err != nil {
			return &wire.Fault{Kind: wire.Internal, Text: err.Error()}
		}
		a.launch = &launch{argv: c.Argv, env: c.Env, dir: c.Dir, serves: l.argv}
	}
	return nil
}

// checkMode refuses what the app's deploy mode cannot have here.
func (a *app) checkMode() error {
	switch a.spec.Mode {
	case "", wire.Zip:
		if a.spec.MemoryLimitMB != 0 {
			return errors.New("a memory limit needs deploy mode container; a zip has none of its own")
		}
	case wire.Container:
		if err := system.CanContain(); err != nil {
			return fmt.Errorf("no container can be deployed here: %w", err)
		}
		if a.spec.MemoryLimitMB != 0 && a.agent.platform.cgroup == nil {
			return fmt.Errorf("no memory limit can be applied to the container: %w", a.agent.platform.noCgroup)
		}
		if a.spec.Build {
			return errors.New("a container's image is built before it is deployed; build belongs to deploy mode zip")
		}
	default:
		return fmt.Errorf("deploy mode %q is not one of %s, %s", a.spec.Mode, wire.Zip, wire.Container)
	}
	if a.spec.MemoryLimitMB < 0 {
		return fmt.Errorf("a memory limit of %d MB is not possible", a.spec.MemoryLimitMB)
	}
	return nil
}

// confine makes the app's own cgroup, where there are cgroups.
func (a *app) confine() error {
	parent := a.agent.platform.cgroup
	if parent == nil {
		return nil
	}
	c, err := parent.Leaf("app" + a.number)
	if err != nil {
		return err
	}
	if a.spec.MemoryLimitMB > 0 {
		if err := c.Limit("memory.max", a.spec.MemoryLimitMB); err != nil {
			return err
		}
	}
	a.cgroup.Store(c)
	return nil
}

// tryAgain is what follows a first start that failed: restarts under a
// platform's policy, otherwise nothing.
func (a *app) tryAgain(reason string) (*process, string) {
	if !a.policy.patient || a.ctx.Err() != nil {
		return nil, reason
	}
	p, last := a.revive(reason)
	if p == nil && a.restarts > 0 {
		last = fmt.Sprintf("after %d restarts: %s", a.restarts, last)
	}
	return p, last
}

// awaitWorkers waits until every worker can serve. An app is healthy as soon as
// one of them answers, but traffic that meets half of the workers tests another
// configuration. Workers that never get ready are data: the wait is as long as
// the start limit and then over.
func (a *app) awaitWorkers(p *process) {
	if !a.workers.tells {
		return // one process, or one that does not say when its workers are ready
	}
	const pause = 5 * time.Millisecond
	deadline := a.agent.clock.Now().Add(a.policy.start)
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

// start starts the app, and its sidecar beside it.
func (a *app) start(kind wire.EventKind, detail string) (*process, error) {
	a.sidecar.end()
	var err error
	if a.sidecar, err = a.agent.platform.sidecar(a.number); err != nil {
		return nil, err
	}
	p, err := a.launchProcess()
	if err != nil {
		a.sidecar.end()
		return nil, err
	}
	a.emit(wire.Event{Kind: kind, AtNs: p.started.UnixNano(), Pid: p.pid, Detail: detail})
	a.agent.register()
	return p, nil
}

// awaitHealthy waits until a started process answers. The reason is empty
// then; otherwise it says what went wrong, and no process is left.
func (a *app) awaitHealthy(p *process) (reason string) {
	kills := a.ooms.Load()
	polling, cancel := withLimit(a.ctx, a.agent.clock, a.policy.start)
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
				a.emit(wire.Event{Kind: wire.Healthy, Pid: p.pid, Detail: "after " + a.age(p) + a.workers.summary()})
				return ""
			}
		case a.ctx.Err() != nil:
			reason = context.Cause(a.ctx).Error()
		default:
			reason = unanswered(a.policy.start, r.err, a.ooms.Load()-kills, p.tail.String())
		}
	}
	a.takeDown(p)
	a.emit(wire.Event{Kind: wire.Stopped, Pid: p.pid, Detail: reason})
	return reason
}

// unanswered says why an app missed its start limit. Of workers that the OOM
// killer ends, their master only says that they got a signal.
func unanswered(limit time.Duration, err error, kills uint64, last string) string {
	reason := fmt.Sprintf("it did not answer /health within %s: it %s", limit, err)
	if kills > 0 {
		reason += fmt.Sprintf("; meanwhile the OOM killer ended %d of its processes", kills)
	}
	if last != "" {
		reason += "; its last lines: " + last
	}
	return reason
}

func (a *app) age(p *process) string {
	return a.agent.clock.Now().Sub(p.started).Round(time.Millisecond).String()
}

// died records that the first process ended by itself, ends what it left
// behind, as a container does with its first process, and says how it was.
func (a *app) died(p *process) (reason string) {
	age := a.age(p)
	code, signal, text := a.outcome(p.state)
	if signal == int(unix.SIGKILL) {
		if why := a.awaitOOMKill(a.tree.first()); why != "" {
			a.emit(wire.Event{Kind: wire.OOMKilled, Pid: p.pid, Signal: signal, Detail: why})
			text += " by the OOM killer"
		}
	}
	a.emit(wire.Event{Kind: wire.Exited, Pid: p.pid, Code: code, Signal: signal, Detail: a.bootFailure(code) + "after " + age + a.workers.summary()})
	a.killAll()
	a.finish(p)
	reason = fmt.Sprintf("it %s after %s", text, age)
	if last := p.tail.String(); last != "" {
		reason += "; its last lines: " + last
	}
	return reason
}

// outcome is how the app's first process ended. crun ends as the process in
// its container did, with 128 and the number of a signal.
func (a *app) outcome(state *os.ProcessState) (code *int, signal int, text string) {
	code, signal, text = outcome(state)
	if a.spec.Mode == wire.Container && code != nil && *code > 128 {
		s := syscall.Signal(*code - 128)
		return nil, int(s), fmt.Sprintf("was ended by signal %d (%s)", s, s)
	}
	return code, signal, text
}

// bootFailure tells the exit code with which gunicorn and uvicorn say that the
// app could not be loaded: WORKER_BOOT_ERROR in gunicorn/arbiter.py and
// STARTUP_FAILURE in uvicorn/main.py are both 3.
func (a *app) bootFailure(code *int) string {
	if code != nil && *code == 3 && (a.spec.Runtime == "flask" || a.spec.Runtime == "asgi") {
		return "failed boot, "
	}
	return ""
}

func (a *app) finish(p *process) {
	a.sidecar.end()
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
