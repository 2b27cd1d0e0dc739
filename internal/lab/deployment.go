package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"brink/internal/experiment"
	"brink/internal/host"
	"brink/internal/record"
	"brink/internal/upstream"
	"brink/internal/wire"
)

// How a step starts its apps; otherwise one after another, each once the one
// before it is up or has failed.
const (
	together  = "together"
	staggered = "staggered"
)

// deployment is one freshly set-up plan and what runs on it. Apps may come up
// at any time, also while traffic runs.
type deployment struct {
	session    host.Session
	observer   *observer
	dependency *upstream.Server // nil when no step of the unit needs it
	address    string           // of the dependency
	starting   sync.WaitGroup

	mu    sync.Mutex
	front *front // nil without one
	apps  map[string]*deployed
	// broken is the first fault of the host while an app started.
	broken error
}

// deployed is one app of a deployment. Its outcome is valid once it is settled.
type deployed struct {
	id      int64
	settled chan struct{}
	addr    string
	// failed says why the app did not start, empty where it did.
	failed string
}

func (l *lab) newDeployment() *deployment {
	d := &deployment{apps: map[string]*deployed{}}
	d.observer = newObserver(l.Record, &l.tracker, d.event)
	return d
}

// event hands on what the front end must know.
func (d *deployment) event(e wire.Event) {
	if f := d.frontEnd(); f != nil {
		f.event(e)
	}
}

func (d *deployment) frontEnd() *front {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.front
}

func (d *deployment) find(name string) *deployed {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.apps[name]
}

// err is the first fault of the host while an app started.
func (d *deployment) err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.broken
}

// serves tells whether any app is up.
func (d *deployment) serves() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.apps {
		if a.up() {
			return true
		}
	}
	return false
}

func (a *deployed) up() bool {
	select {
	case <-a.settled:
		return a.failed == "" && a.addr != ""
	default:
		return false
	}
}

// reasons joins why the step's apps are not up.
func (d *deployment) reasons(s *experiment.Step) string {
	var all []string
	for _, app := range s.Apps {
		a := d.find(app.Name)
		select {
		case <-a.settled:
			all = append(all, a.failed)
		default:
			all = append(all, fmt.Sprintf("app %s was not up %s after the last deployment", app.Name, s.Observe))
		}
	}
	return strings.Join(all, "; ")
}

// deploy starts what the step adds to the plan, in the way that it says, and
// waits for its apps. Those that are not up when the wait is over go on
// starting until ctx ends.
func (l *lab) deploy(ctx context.Context, d *deployment, step *experiment.Step, rep *record.Repetition) error {
	var before *deployed
	for _, app := range step.Apps {
		if d.find(app.Name) != nil {
			continue // an earlier rung or phase began it
		}
		if before != nil && !l.turn(ctx, step, before) || ctx.Err() != nil {
			return d.err()
		}
		if err := d.err(); err != nil {
			return err
		}
		var err error
		if before, err = l.begin(ctx, d, app, rep); err != nil {
			return err
		}
	}
	return l.awaitAll(ctx, d, step)
}

// turn waits until it is the next app's turn to be started, after one that was
// started before.
func (l *lab) turn(ctx context.Context, step *experiment.Step, before *deployed) bool {
	switch step.Start {
	case together:
		return true
	case staggered:
		return l.Clock.Sleep(ctx, time.Duration(step.Stagger)) == nil
	}
	return await(ctx, before, nil)
}

// awaitAll waits until every app of the step is up or has failed, for as long
// as the step observes them.
func (l *lab) awaitAll(ctx context.Context, d *deployment, step *experiment.Step) error {
	var enough <-chan time.Time
	if step.Observe > 0 {
		timer := l.Clock.NewTimer(time.Duration(step.Observe))
		defer timer.Stop()
		enough = timer.C()
	}
	for _, app := range step.Apps {
		if !await(ctx, d.find(app.Name), enough) {
			break
		}
	}
	return d.err()
}

// await tells whether the app was settled before it was enough.
func await(ctx context.Context, a *deployed, enough <-chan time.Time) bool {
	select {
	case <-a.settled:
		return true
	case <-enough:
	case <-ctx.Done():
	}
	return false
}

// begin starts an app and returns at once.
func (l *lab) begin(ctx context.Context, d *deployment, app experiment.App, rep *record.Repetition) (*deployed, error) {
	text, err := json.Marshal(app)
	if err != nil {
		return nil, fmt.Errorf("app %s: %w", app.Name, err)
	}
	a := &deployed{settled: make(chan struct{})}
	a.id, err = l.Record.AddApp(record.App{
		RepetitionID: rep.ID, Name: app.Name, Runtime: app.Runtime, Server: app.Server(),
		Workers: app.Workers, JSON: string(text),
	})
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.apps[app.Name] = a
	d.mu.Unlock()
	if d.front != nil {
		d.front.begin(app.Name)
	}
	d.starting.Go(func() {
		at, err := d.session.Deploy(ctx, l.withDependency(d, app))
		d.settle(ctx, app.Name, a, at, err)
		if a.failed != "" {
			l.tracker.problem(a.failed)
		} else if a.addr != "" {
			d.keep(l.Record.SetAppAddr(a.id, a.addr))
		}
	})
	return a, nil
}

// settle takes down how the start of an app ended. One that was called off
// neither came up nor failed.
func (d *deployment) settle(ctx context.Context, name string, a *deployed, at host.Endpoint, err error) {
	defer close(a.settled)
	var start *host.StartError
	switch {
	case err == nil:
		a.addr = at.Addr
	case errors.As(err, &start):
		a.failed = start.Error()
	case ctx.Err() == nil:
		d.keep(fmt.Errorf("deploy %s: %w", name, err))
	}
	if f := d.frontEnd(); f != nil {
		f.settle(name, a.addr, a.failed != "")
	}
}

// keep keeps the first fault.
func (d *deployment) keep(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken == nil {
		d.broken = err
	}
}
