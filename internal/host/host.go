// Package host is the interface between a lab and the machine that carries a
// plan. Kinds of host live in packages below it; lab knows none of them.
package host

import (
	"context"
	"time"

	"brink/internal/experiment"
	"brink/internal/wire"
)

// Host is one machine that can carry plans, one at a time.
type Host interface {
	// Kind is the host's kind: local, vm.
	Kind() string
	// Check compares what the apps and the plan need with what the host has.
	// It changes nothing and returns one Missing for each need that it cannot
	// meet.
	Check(ctx context.Context, plan experiment.Plan, apps []experiment.App) ([]Missing, error)
	// Environment describes the machine and its software as it is: kernel,
	// CPUs, memory, versions of interpreters and servers.
	Environment(ctx context.Context) ([]Fact, error)
	// Open sets up the plan afresh. Everything that happens on it from then on
	// goes to the observer, whose methods may be called from any goroutine.
	Open(ctx context.Context, plan experiment.Plan, every time.Duration, o Observer) (Session, error)
}

// Session is a plan that has been set up. Nothing survives Close.
type Session interface {
	// Limits says what was applied of the plan and what could not be.
	Limits() []Limit
	// Deploy starts an app and returns once it answers /health, it has failed
	// (a *StartError) or ctx is done. The same app is never deployed twice.
	Deploy(ctx context.Context, app experiment.App) (Endpoint, error)
	// Close stops all apps and takes the plan down; the observer hears nothing
	// after it. The error says what could not be taken down, or that the plan
	// had broken while it was in use. It is safe to call twice.
	Close() error
}

// Observer receives what the host sees, as it happens.
type Observer interface {
	Event(wire.Event)
	Log(wire.Log)
	// Sample must not keep s.
	Sample(s *wire.Sample)
}

// Missing is a requirement that the host does not meet.
type Missing struct {
	// Need is what is missing, such as "gunicorn".
	Need string
	// App names the app that needs it, empty for the plan.
	App string
	// Advice is one sentence that says how to get it.
	Advice string
	// Substitute is the runtime that can take the app's place, or empty.
	Substitute string
}

// Fact is one line of the environment.
type Fact struct{ Name, Value string }

// Limit is one part of the plan and whether it holds on this host.
type Limit struct {
	Name    string
	Wanted  string
	Applied bool
	// How says by what means it is applied, or why it is not.
	How string
}

// Endpoint is where an app answers.
type Endpoint struct {
	Addr string
	// Pid is the app's first process.
	Pid int
}

// StartError says that an app did not become healthy. It is data about the
// app, not a fault of the run.
type StartError struct {
	App    string
	Reason string
}

func (e *StartError) Error() string { return "app " + e.App + " did not start: " + e.Reason }
