package vm

import (
	"net/netip"

	"brink/internal/experiment"
	"brink/internal/guest"
	"brink/internal/host"
	"brink/internal/host/vm/guestnet"
	"brink/internal/wire"
)

// python is the interpreter of the image's packages.
const python = "/usr/bin/python3"

// wireApp is the app as the agent needs it. The guest's CPUs are the plan's, so
// that none need be kept from it.
func wireApp(app experiment.App, plan experiment.Plan, node string) wire.App {
	spec := host.WireApp(app, plan, netip.MustParseAddr(guestnet.GuestAddr))
	// Looking for an interpreter means starting it, which takes seconds here.
	switch app.Runtime {
	case "flask", "asgi":
		spec.Interpreter = python
	case "node":
		spec.Interpreter = node
	}
	return spec
}

// wirePlan is the plan as the agent needs it: the machine is all of it.
func wirePlan(plan experiment.Plan) wire.Plan {
	p := host.WirePlan(plan)
	p.CPUs, p.MemoryMB, p.Whole = cpus(plan), memoryMB(plan), true
	if p.Share.CacheMB > 0 {
		p.Share.CacheDir = guest.CacheDir
	}
	return p
}
