package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"brink/internal/experiment"
	"brink/internal/upstream"
	"brink/internal/wire"
)

// upstreamVariable tells an app where its slow dependency is.
const upstreamVariable = "BRINK_UPSTREAM"

// asksUpstream tells whether any traffic of the unit makes apps wait for the
// slow dependency.
func (u unit) asksUpstream() bool {
	return slices.ContainsFunc(u.parts, func(p part) bool {
		return slices.ContainsFunc(p.step.Traffic, func(t experiment.Traffic) bool {
			path, _, _ := strings.Cut(t.Path, "?")
			return path == "/upstream"
		})
	})
}

// serveUpstream serves the slow dependency where the plan's apps can reach it.
func (l *lab) serveUpstream(ctx context.Context, d *deployment) error {
	listener, addr, err := d.session.Listen(ctx)
	if err != nil {
		return fmt.Errorf("the slow dependency of /upstream: %w", err)
	}
	d.dependency = upstream.Serve(listener, upstream.Options{Clock: l.Clock})
	d.address = "http://" + addr
	return nil
}

// noteUpstream writes down what the dependency has seen since the plan was set up,
// as a line of a log that belongs to no app.
func (l *lab) noteUpstream(d *deployment) {
	if d.dependency == nil {
		return
	}
	c := d.dependency.Counts()
	d.observer.Log(wire.Log{
		AtNs: l.Clock.Now().UnixNano(), Stream: "upstream",
		Line: fmt.Sprintf("[INFO] served=%d abandoned=%d in_flight=%d peak=%d", c.Served, c.Abandoned, c.InFlight, c.Peak),
	})
}

// withDependency is the app with the dependency's address in its environment.
// An app that names one of its own keeps it.
func (l *lab) withDependency(d *deployment, app experiment.App) experiment.App {
	if d.dependency == nil {
		return app
	}
	if own, ok := app.Env[upstreamVariable]; ok {
		l.tracker.problem(fmt.Sprintf("app %s sets %s=%s itself, so that its /upstream asks there and not the dependency that brink serves", app.Name, upstreamVariable, own))
		return app
	}
	env := maps.Clone(app.Env)
	if env == nil {
		env = map[string]string{}
	}
	env[upstreamVariable] = d.address
	app.Env = env
	return app
}
