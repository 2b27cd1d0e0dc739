package cli

import (
	"context"
	"fmt"
	"slices"

	"brink/internal/experiment"
	"brink/internal/host"
	"brink/internal/host/local"
	"brink/internal/host/vm"
)

// chooseHost makes the host that was asked for. An experiment whose plan limits
// memory gets a virtual machine unless told otherwise: no other kind holds it.
func (a *app) chooseHost(kind string, d *experiment.Design) (host.Host, error) {
	if kind == "" {
		kind = "local"
		if slices.ContainsFunc(d.Steps, func(s experiment.Step) bool { return s.Plan.MemoryMB > 0 }) {
			kind = "vm"
		}
	}
	switch kind {
	case "local":
		return local.New(local.Options{Program: "brink " + Version}), nil
	case "vm":
		return vm.New(vm.Options{Program: "brink " + Version, Progress: func(line string) { a.say("%s", line) }}), nil
	}
	return nil, badInput(fmt.Errorf("--host %s: a host is local or vm", kind))
}

// accelerator says by what the host's CPUs are made: none for a host that is not
// virtual. It may boot a machine to find out.
func accelerator(ctx context.Context, h host.Host) (string, error) {
	machine, ok := h.(*vm.Host)
	if !ok {
		return "none", nil
	}
	kind, _, err := machine.Emulation(ctx)
	if err != nil {
		return "", broken(fmt.Errorf("the virtual machine: %w", err))
	}
	return string(kind), nil
}
