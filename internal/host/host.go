// Package host is the interface between a lab and the machine that carries a
// plan. Kinds of host live in packages below it; lab knows none of them.
package host

import (
	"context"
	"net"
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
	// (a *StartError) or ctx is done. The same app is never deployed twice;
	// different apps may be deployed at the same time.
	Deploy(ctx context.Context, app experiment.App) (Endpoint, error)
	// Listen opens a listener in this process that the plan's apps reach at
	// addr (host:port). It ends with the session, if it was not closed before.
	Listen(ctx context.Context) (l net.Listener, addr string, err error)
	// Dial returns how the addresses of apps are reached from outside the plan,
	// or nil where they are on this machine's own network.
	Dial() Dialer
	// Close stops all apps and takes the plan down; the observer hears nothing
	// after it. The error says what could not be taken down, or that the plan
	// had broken while it was in use. It is safe to call twice.
	Close() error
}

// Dialer opens a connection to an address, given as host:port. Its errors wrap
// the syscall.Errno that the kernel would have given, such as ECONNREFUSED.
type Dialer = func(ctx context.Context, addr string) (net.Conn, error)

// Presser is a Session that can put memory pressure on its plan beside the
// apps, with memory that belongs to neither them nor the platform.
type Presser interface {
	// Inflate fills mb units of 2^20 bytes and then touches all of them every
	// interval (0: never again) until Deflate. It returns once they were filled.
	Inflate(ctx context.Context, mb int, every time.Duration) error
	// Deflate gives the memory back. It does nothing when there is none.
	Deflate(ctx context.Context) error
	// SwapIn brings everything that is in swap back into memory, so that a
	// later phase finds the plan as an earlier one did.
	SwapIn(ctx context.Context) error
}

// Pressable is a Host that knows whether its sessions are Pressers. A host
// that does not implement it has none.
type Pressable interface {
	CanPress() bool
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
