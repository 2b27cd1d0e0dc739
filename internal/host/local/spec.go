package local

import (
	"fmt"
	"net/netip"

	"brink/internal/agent"
	"brink/internal/experiment"
	"brink/internal/host"
	"brink/internal/wire"
)

// loopback is where apps listen.
var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// wireApp is the app as the agent needs it: on loopback, with the plan's part of
// this machine's CPUs.
func wireApp(app experiment.App, plan experiment.Plan) wire.App {
	spec := host.WireApp(app, plan, loopback)
	spec.CPUs = plan.CPUs
	return spec
}

// limits says what of a plan holds here: what the agent has applied, and what a
// machine that is shared cannot have.
func limits(plan experiment.Plan, applied []wire.Limit) ([]host.Limit, error) {
	var list []host.Limit
	for _, l := range applied {
		if l.Name == "cpus" {
			_, all, err := agent.AllowedCPUs()
			if err != nil {
				return nil, err
			}
			l.How += fmt.Sprintf("; brink's traffic shares the machine and may run on all of its CPUs (%s)", all)
		}
		list = append(list, host.Limit(l))
	}
	const how = "the local host does not slow this machine's swap disk down"
	if plan.SwapIOPS > 0 {
		list = append(list, host.Limit{Name: "swap_iops", Wanted: fmt.Sprintf("%d operations/s", plan.SwapIOPS), How: how})
	}
	if plan.SwapMBs > 0 {
		list = append(list, host.Limit{Name: "swap_mb_s", Wanted: fmt.Sprintf("%g MB/s", plan.SwapMBs), How: how})
	}
	return list, nil
}
