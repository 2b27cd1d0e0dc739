package agent

import (
	"fmt"
	"strconv"

	"brink/internal/kernel"
	"brink/internal/wire"
)

// tolerance is how far a machine's own size may be from the plan's, in per
// cent: the kernel keeps some of it for itself.
const tolerance = 3

// limits applies the plan's size, or compares it with the machine's where the
// machine is the plan.
func (p *platform) limits(plan wire.Plan) ([]wire.Limit, error) {
	if plan.Whole {
		return p.wholeMachine(plan)
	}
	var list []wire.Limit
	if plan.CPUs > 0 {
		cpus, err := PlanCPUs(plan.CPUs)
		if err != nil {
			return nil, &wire.Fault{Kind: wire.BadRequest, Text: err.Error()}
		}
		list = append(list, wire.Limit{
			Name: "cpus", Wanted: strconv.Itoa(plan.CPUs), Applied: true,
			How: "CPUs " + cpus + " by sched_setaffinity, for the apps and the platform's share",
		})
	}
	for _, l := range []struct {
		name, file string
		mb         int
	}{{"memory", "memory.max", plan.MemoryMB}, {"swap", "memory.swap.max", plan.SwapMB}} {
		if l.mb > 0 {
			list = append(list, p.limited(l.name, l.file, l.mb))
		}
	}
	return list, nil
}

// limited limits the agent's cgroup, where there is one.
func (p *platform) limited(name, file string, mb int) wire.Limit {
	limit := wire.Limit{Name: name, Wanted: strconv.Itoa(mb) + " MB"}
	if p.cgroup == nil {
		limit.How = fmt.Sprintf("no %s limit can be applied, what the machine has is shared: %s", name, p.noCgroup)
		return limit
	}
	if err := p.cgroup.Limit(file, mb); err != nil {
		limit.How = fmt.Sprintf("the kernel refused it: %s", err)
		return limit
	}
	limit.Applied = true
	limit.How = fmt.Sprintf("%s of cgroup %s, which holds the apps and the platform's share; the kernel's and other programs' memory is beside it", file, p.cgroup.Path)
	if m, err := p.agent.fs.Meminfo(); err == nil && name == "swap" && int64(m.SwapTotal.Value>>20) < int64(mb) {
		limit.Applied = false
		limit.How = fmt.Sprintf("the machine has %d MB of swap", m.SwapTotal.Value>>20)
	}
	return limit
}

// wholeMachine says how far the machine is the plan.
func (p *platform) wholeMachine(plan wire.Plan) ([]wire.Limit, error) {
	m, err := p.agent.fs.Meminfo()
	if err != nil {
		return nil, err
	}
	have, _, err := AllowedCPUs()
	if err != nil {
		return nil, err
	}
	var list []wire.Limit
	if plan.CPUs > 0 {
		list = append(list, wire.Limit{
			Name: "cpus", Wanted: strconv.Itoa(plan.CPUs), Applied: have == plan.CPUs,
			How: fmt.Sprintf("the machine itself has %d", have),
		})
	}
	if plan.MemoryMB > 0 {
		list = append(list, sized("memory", plan.MemoryMB, "MemTotal", m.MemTotal))
	}
	if plan.SwapMB > 0 {
		list = append(list, sized("swap", plan.SwapMB, "SwapTotal", m.SwapTotal))
	}
	return list, nil
}

func sized(name string, wanted int, what string, have kernel.Num) wire.Limit {
	mb := int(have.Value >> 20)
	off := mb - wanted
	if off < 0 {
		off = -off
	}
	return wire.Limit{
		Name: name, Wanted: strconv.Itoa(wanted) + " MB", Applied: have.Known && off*100 <= wanted*tolerance,
		How: fmt.Sprintf("the machine itself: its %s is %d MB", what, mb),
	}
}
