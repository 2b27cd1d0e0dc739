package lab

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"brink/internal/experiment"
	"brink/internal/frontend"
	"brink/internal/host"
	"brink/internal/wire"
)

// front is the plan's front end and what it must know of the apps. Where an app
// answers comes from its deployment, how it is from its events; either may be
// first.
type front struct {
	end     *frontend.FrontEnd
	addr    string
	hold    time.Duration
	serving sync.WaitGroup
	err     error // of serving; valid when that is over

	mu   sync.Mutex
	apps map[string]*fronted
}

// fronted is one app behind a front end.
type fronted struct {
	addr  string // empty until it is known
	state frontend.State
}

// openFront puts a front end before the apps of a plan, on this machine's
// loopback interface.
func (l *lab) openFront(ctx context.Context, d *deployment, p experiment.Platform) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("the plan's front end: %w", err)
	}
	f := &front{
		end:  frontend.New(frontend.Options{Clock: l.Clock, Dial: d.session.Dial(), Hold: time.Duration(p.Hold)}),
		addr: listener.Addr().String(), hold: time.Duration(p.Hold), apps: map[string]*fronted{},
	}
	f.serving.Go(func() { f.err = f.end.Serve(listener) })
	d.mu.Lock()
	d.front = f
	d.mu.Unlock()
	return nil
}

// close ends the front end. The error says why it had stopped before, if it had.
func (f *front) close() error {
	err := f.end.Close()
	f.serving.Wait()
	if f.err != nil {
		err = fmt.Errorf("the plan's front end: %w", f.err)
	}
	return err
}

// limit says that the front end is there, as a part of the plan.
func (f *front) limit() host.Limit {
	return host.Limit{
		Name: "front end", Wanted: "requests held for " + f.hold.String(), Applied: true,
		How: "by brink itself, outside of the plan: it routes by the app's name in the Host header",
	}
}

// begin lets requests for an app wait for it.
func (f *front) begin(app string) { f.change(app, func(*fronted) {}) }

// settle takes down how the app's deployment ended.
func (f *front) settle(app, addr string, failed bool) {
	f.change(app, func(a *fronted) {
		if a.addr = addr; failed {
			a.state = frontend.GaveUp
		}
	})
}

// event takes down how an app is.
func (f *front) event(e wire.Event) {
	states := map[wire.EventKind]frontend.State{
		wire.Healthy: frontend.Ready, wire.Exited: frontend.Starting, wire.Restarted: frontend.Starting,
		wire.GaveUp: frontend.GaveUp, wire.Stopped: frontend.Stopped,
	}
	if state, tells := states[e.Kind]; tells {
		f.change(e.App, func(a *fronted) { a.state = state })
	}
}

func (f *front) change(app string, change func(*fronted)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.apps[app]
	if a == nil {
		a = new(fronted)
		f.apps[app] = a
	}
	change(a)
	state := a.state
	if state == frontend.Ready && a.addr == "" {
		state = frontend.Starting // where it is will be told in a moment
	}
	f.end.SetRoute(app, a.addr, state)
}
