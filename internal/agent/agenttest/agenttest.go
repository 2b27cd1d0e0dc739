// Package agenttest runs real agents in tests: the test binary is started
// again as the agent, as brink starts itself.
package agenttest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"brink/internal/agent"
	"brink/internal/goapp"
	"brink/internal/system"
	"brink/internal/wire"
)

// GuestVariable is set in the environment of tests that run in brink's own guest
// (host/vm runs them there).
const GuestVariable = "BRINK_TEST_GUEST"

// InGuest tells whether this is brink's own guest, where nothing that the
// platform's part of an agent needs may be missing.
func InGuest() bool { return os.Getenv(GuestVariable) != "" }

// Main is for TestMain. It makes the test binary an agent, the built-in
// workload or one of its workers when it was started as such, and runs the
// tests otherwise. Further modes are started by their name.
func Main(m *testing.M, modes map[string]func(args []string) error) {
	goapp.RunIfWorker()
	all := map[string]func([]string) error{"agent": runAgent, "app": runApp, "hold": runHold}
	for name, mode := range modes {
		all[name] = mode
	}
	if len(os.Args) > 1 {
		if mode, ok := all[os.Args[1]]; ok {
			if err := mode(os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(3)
			}
			os.Exit(0)
		}
	}
	os.Exit(run(m))
}

// run runs the tests with a registry of their own.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "brink-test-")
	if err == nil {
		err = os.Setenv("XDG_RUNTIME_DIR", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	return m.Run()
}

func runAgent(args []string) error {
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	dir := flags.String("dir", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return agent.Run(context.Background(), *dir, "brink test")
}

func runHold(args []string) error { return system.Hold(context.Background(), args, os.Stdout) }

func runApp(args []string) error {
	cfg, err := goapp.FromEnv(os.Getenv)
	if err != nil {
		return err
	}
	flags := flag.NewFlagSet("app", flag.ContinueOnError)
	flags.StringVar(&cfg.Bind, "bind", cfg.Bind, "")
	flags.IntVar(&cfg.Workers, "workers", cfg.Workers, "")
	flags.IntVar(&cfg.Backlog, "backlog", cfg.Backlog, "")
	flags.DurationVar(&cfg.Timeout, "timeout", cfg.Timeout, "")
	flags.DurationVar(&cfg.KeepAlive, "keep-alive", cfg.KeepAlive, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return goapp.Main(context.Background(), cfg, os.Stderr)
}

// Seen is an observer that keeps everything that an agent says.
type Seen struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every message
	events  []wire.Event
	logs    []wire.Log
	samples []wire.Sample
}

// NewSeen returns an empty observer.
func NewSeen() *Seen { return &Seen{changed: make(chan struct{})} }

func (s *Seen) add(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// Event keeps e.
func (s *Seen) Event(e wire.Event) { s.add(func() { s.events = append(s.events, e) }) }

// Log keeps l.
func (s *Seen) Log(l wire.Log) { s.add(func() { s.logs = append(s.logs, l) }) }

// Sample keeps a copy of x.
func (s *Seen) Sample(x *wire.Sample) { s.add(func() { s.samples = append(s.samples, *x) }) }

// Events returns the events so far of the given kinds, or of all.
func (s *Seen) Events(kinds ...wire.EventKind) []wire.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []wire.Event
	for _, e := range s.events {
		if len(kinds) == 0 {
			list = append(list, e)
		}
		for _, k := range kinds {
			if e.Kind == k {
				list = append(list, e)
			}
		}
	}
	return list
}

// Logs returns the log lines so far.
func (s *Seen) Logs() []wire.Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]wire.Log(nil), s.logs...)
}

// Samples returns the samples so far of one scope.
func (s *Seen) Samples(app string) []wire.Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []wire.Sample
	for _, x := range s.samples {
		if x.App == app {
			list = append(list, x)
		}
	}
	return list
}

// Await waits for ok, which is tried after every message, and fails the test
// when it does not come.
func (s *Seen) Await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.After(30 * time.Second)
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if ok() {
			return
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("%s did not come\nevents: %+v\nlogs: %+v", what, s.Events(), s.Logs())
		}
	}
}

// AwaitEvents waits for n events of a kind and returns them.
func (s *Seen) AwaitEvents(t *testing.T, kind wire.EventKind, n int) []wire.Event {
	t.Helper()
	s.Await(t, fmt.Sprintf("%d × %s", n, kind), func() bool { return len(s.Events(kind)) >= n })
	return s.Events(kind)
}
