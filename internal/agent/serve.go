// Package agent is the part of brink that runs on a host: it starts and
// supervises apps, samples the kernel, and tells a lab over a wire. It knows
// of no experiment and keeps no record.
//
// An agent owns its process: it makes it a child subreaper and takes every
// child that it did not start for an orphan of one of its apps.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"brink/internal/clock"
	"brink/internal/kernel"
	"brink/internal/system"
	"brink/internal/wire"
)

// Options say how an agent works.
type Options struct {
	// Dir is the run directory: made if need be, used for everything that the
	// apps put on disk, and removed at the end.
	Dir string
	// Registry is the directory in which the agent registers what it runs,
	// for Sweep; RegistryDir gives the usual one.
	Registry string
	Clock    clock.Clock
	// Program names this program and its version in the hello.
	Program string
	// BuiltIn is the command line of the built-in workload, to which its flags
	// are appended: brink's own executable and "app".
	BuiltIn []string
	// Hold is the command line of the program that is Hold: brink's own
	// executable and "hold".
	Hold []string
	// Alone says that the machine carries nothing but the agent's plan, so that
	// the agent may go before everything else on it.
	Alone bool
	// Tell receives a line, now and then, about an end that takes long. Nil means
	// nobody wants to know.
	Tell io.Writer
}

// farewellLimit is how long the agent's last messages may take to a lab: one
// that does not read, or a channel that has to get memory from a machine that
// has none.
const farewellLimit = 10 * time.Second

type agent struct {
	opts     Options
	clock    clock.Clock
	fs       *kernel.FS
	conn     *wire.Conn
	out      *outbox
	spawn    *spawner
	observer *observer
	registry *registry
	sampling *sampling
	platform *platform
	oom      *oomWatch
	ports    *ports

	mu    sync.Mutex
	apps  []*app // replaced, never changed in place
	count int
}

// Serve answers a lab until it asks for Shutdown, closes the connection or ctx
// ends. Then it stops all apps and removes the run directory; when it returns,
// no process that it started is left, or the error says which. The program is the
// agent's alone: it is left with one CPU at a time for Go's goroutines.
func Serve(ctx context.Context, conn io.ReadWriteCloser, opts Options) error {
	defer conn.Close()
	// What an agent does is short. More threads at once would only wake each other.
	runtime.GOMAXPROCS(1)
	a, err := newAgent(conn, opts)
	if err != nil {
		return err
	}
	release := context.AfterFunc(ctx, func() { conn.Close() })
	_, err = a.conn.Handshake(wire.Hello{Program: opts.Program, Capabilities: append(a.capabilities(), a.platformCapabilities()...)})
	release()
	if err != nil {
		return errors.Join(err, a.close())
	}
	a.out = newOutbox(a.conn)
	watching, stopWatching := context.WithCancel(context.Background())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		a.observer.watch(watching, a.clock)
	}()

	last, err := a.answer(ctx)
	end := beginEnd(a.clock, opts.Tell)
	end.waits("the last sample")
	a.endSampling(conn)
	a.platform.stop()
	stopErr := a.stopApps(end)
	end.waits("the last look at the apps")
	stopWatching()
	<-watched
	end.waits("the platform's share and what the agent holds")
	closeErr := a.close()
	end.waits("the lab, which reads what is left")
	defer end.done()
	if last != nil {
		a.respond(*last, nil, errors.Join(stopErr, closeErr))
	}
	a.out.close()
	select {
	case <-a.out.done:
	case <-a.clock.After(farewellLimit):
	}
	return errors.Join(err, stopErr, closeErr)
}

func newAgent(conn io.ReadWriter, opts Options) (a *agent, err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("becoming a subreaper: %w", err)
	}
	if opts.Alone {
		if err := system.GoFirst(); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	a = &agent{opts: opts, clock: opts.Clock, conn: wire.NewConn(conn)}
	if a.fs, err = kernel.Open("/"); err != nil {
		return nil, err
	}
	if a.registry, err = openRegistry(a.fs, opts.Registry, opts.Dir); err != nil {
		return nil, err
	}
	if a.observer, err = newObserver(a); err != nil {
		return nil, errors.Join(err, a.registry.close())
	}
	a.sampling = &sampling{agent: a}
	a.spawn = newSpawner()
	a.ports = newPorts()
	a.oom = watchOOM(a.fs, kernelLog)
	a.platform = newPlatform(a, strings.TrimSuffix("brink-"+filepath.Base(a.registry.path), ".json"))
	a.registry.owns(a.platform.cgroup)
	return a, nil
}

// close releases what newAgent made. No app may run any more.
func (a *agent) close() error {
	err := errors.Join(a.platform.close(), a.oom.close())
	a.spawn.close()
	err = errors.Join(err, a.observer.close())
	// Apps that leave their files unreadable are nothing that a lab can mend.
	if rmErr := os.RemoveAll(a.opts.Dir); rmErr != nil {
		err = errors.Join(err, fmt.Errorf("run directory: %w", rmErr))
	}
	return errors.Join(err, a.registry.close(), a.fs.Close())
}

// answer handles requests until the connection or ctx ends, or until a
// Shutdown, which it returns.
func (a *agent) answer(ctx context.Context) (*wire.Request, error) {
	type received struct {
		m   wire.Message
		at  time.Time
		err error
	}
	messages := make(chan received)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			m, err := a.conn.Receive()
			select {
			case messages <- received{m, a.clock.Now(), err}:
			case <-done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil, nil
		case r := <-messages:
			if errors.Is(r.err, io.EOF) {
				return nil, nil // the lab is gone, which is how a cut-off run ends
			}
			if r.err != nil {
				return nil, r.err
			}
			req, ok := r.m.(wire.Request)
			if !ok {
				return nil, fmt.Errorf("the lab sent a %T, which only an agent sends", r.m)
			}
			if req.Method == wire.Shutdown {
				return &req, nil
			}
			a.handle(req, r.at)
		}
	}
}

// handle does what a request asks for; what may take long does not hold up the
// next one.
func (a *agent) handle(req wire.Request, at time.Time) {
	switch req.Method {
	case wire.Deploy:
		var spec wire.App
		if a.parse(req, &spec) {
			a.deploy(req, spec)
		}
	case wire.Prepare:
		var plan wire.Plan
		if a.parse(req, &plan) {
			go func() {
				limits, err := a.platform.prepare(plan)
				a.respond(req, limits, err)
			}()
		}
	case wire.Inflate:
		var in wire.Inflation
		if a.parse(req, &in) {
			go func() { a.respond(req, nil, a.platform.inflate(in)) }()
		}
	case wire.Deflate:
		go func() {
			a.platform.deflate()
			a.respond(req, nil, nil)
		}()
	case wire.SwapIn:
		go func() { a.respond(req, nil, a.platform.swapIn()) }()
	case wire.Speed:
		go func() {
			took, err := system.Speed()
			a.respond(req, wire.Pace{Ns: int64(took)}, err)
		}()
	case wire.StopApp:
		var who wire.AppName
		if a.parse(req, &who) {
			go func() { a.respond(req, nil, a.stopApp(who.Name)) }()
		}
	case wire.StartSampling:
		var s wire.Sampling
		if a.parse(req, &s) {
			a.respond(req, nil, a.sampling.start(time.Duration(s.EveryNs)))
		}
	case wire.StopSampling:
		go func() {
			a.sampling.stop()
			a.respond(req, nil, nil)
		}()
	case wire.Environment:
		go func() { a.respond(req, facts(context.Background(), a.fs, a.spawn.run), nil) }()
	case wire.ClockProbe:
		// Past the outbox: what waits there would be taken for distance.
		go func() {
			body, err := json.Marshal(wire.ClockReading{ReceivedNs: at.UnixNano(), AnsweredNs: a.clock.Now().UnixNano()})
			if err == nil {
				// A lab that is gone needs no answer.
				_ = a.conn.Send(wire.Response{ID: req.ID, Body: body})
			}
		}()
	default:
		a.respond(req, nil, &wire.Fault{Kind: wire.BadRequest, Text: fmt.Sprintf("the agent knows no method %q", req.Method)})
	}
}

func (a *agent) parse(req wire.Request, into any) bool {
	if err := json.Unmarshal(req.Body, into); err != nil {
		a.respond(req, nil, &wire.Fault{Kind: wire.BadRequest, Text: fmt.Sprintf("%s: its body is malformed: %s", req.Method, err)})
		return false
	}
	return true
}

func (a *agent) respond(req wire.Request, body any, err error) {
	r := wire.Response{ID: req.ID}
	if err == nil && body != nil {
		r.Body, err = json.Marshal(body)
	}
	if err != nil {
		if !errors.As(err, &r.Fault) {
			r.Fault = &wire.Fault{Kind: wire.Internal, Text: err.Error()}
		}
	}
	a.out.put(r)
}

// deploy starts an app and responds when it is up or has failed.
func (a *agent) deploy(req wire.Request, spec wire.App) {
	p, dir, err := a.enlist(spec)
	if err != nil {
		a.respond(req, nil, err)
		return
	}
	go p.run(dir)
	go func() {
		err := <-p.up
		a.respond(req, p.endpoint, err)
	}()
}

func (a *agent) enlist(spec wire.App) (*app, string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if spec.Name == "" {
		return nil, "", &wire.Fault{Kind: wire.BadRequest, Text: "an app needs a name"}
	}
	if a.find(spec.Name) != nil {
		return nil, "", &wire.Fault{Kind: wire.BadRequest, Text: fmt.Sprintf("app %s has been deployed already", spec.Name)}
	}
	policy, err := policyOf(spec)
	if err != nil {
		return nil, "", &wire.Fault{Kind: wire.BadRequest, Text: err.Error()}
	}
	a.count++
	p := a.newApp(spec, policy, strconv.Itoa(a.count))
	a.apps = append(slices.Clone(a.apps), p)
	return p, filepath.Join(a.opts.Dir, "app"+strconv.Itoa(a.count)), nil
}

func (a *agent) find(name string) *app {
	for _, p := range a.apps {
		if p.spec.Name == name {
			return p
		}
	}
	return nil
}

// list returns the apps; the caller must not change it.
func (a *agent) list() []*app {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.apps
}

func (a *agent) stopApp(name string) error {
	a.mu.Lock()
	p := a.find(name)
	a.mu.Unlock()
	if p == nil {
		return &wire.Fault{Kind: wire.BadRequest, Text: fmt.Sprintf("there is no app %q", name)}
	}
	p.stop(errStopped)
	<-p.gone
	return p.leftErr
}

// register writes down what runs, for Sweep.
func (a *agent) register() {
	var ids []identity
	apps := a.list()
	for _, p := range apps {
		ids = append(ids, p.tree.identities()...)
	}
	ids = append(ids, a.platform.tree.identities()...)
	a.registry.write(ids)
}
