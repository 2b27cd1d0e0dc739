// Package local is the host that is this machine: apps run under an agent, the
// plan's CPUs are applied by affinity, its memory and swap where this user may
// make cgroups, and what it cannot apply it says. Nothing of the machine's own
// set-up is changed.
package local

import (
	"context"
	"fmt"
	"os"
	"sync"

	"brink/internal/agent"
	"brink/internal/host"
	"brink/internal/system"
)

// Options adapt the host; the zero value is right for brink itself.
type Options struct {
	// Agent is the command line that runs agent.Run, to which "--dir" and the
	// run directory are appended; by default this program and "agent".
	Agent []string
	// Program names this program and its version to the agent.
	Program string
}

// Host is this machine. It is safe for concurrent use, but plans share the
// machine: open one at a time.
type Host struct {
	opts Options
	// containers is system.CanContain.
	containers func() error

	// What was found of interpreters is kept: every step asks for the same.
	mu     sync.Mutex
	python map[string]*agent.Python
	node   *string
}

var _ host.Host = (*Host)(nil)

// New returns the local host.
func New(opts Options) *Host {
	return &Host{opts: opts, containers: system.CanContain, python: map[string]*agent.Python{}}
}

// Kind is "local".
func (*Host) Kind() string { return "local" }

// Environment describes this machine and the software on it.
func (*Host) Environment(ctx context.Context) ([]host.Fact, error) {
	facts, err := agent.Facts(ctx)
	list := make([]host.Fact, len(facts))
	for i, f := range facts {
		list[i] = host.Fact(f)
	}
	return list, err
}

// command is the command line of an agent.
func (h *Host) command(dir string) ([]string, error) {
	argv := h.opts.Agent
	if len(argv) == 0 {
		exe, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("finding this program, to run as the agent: %w", err)
		}
		argv = []string{exe, "agent"}
	}
	return append(append([]string{}, argv...), "--dir", dir), nil
}
