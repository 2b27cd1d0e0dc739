package agent

import (
	"fmt"

	"brink/internal/kernel"
	"brink/internal/system"
	"brink/internal/wire"
)

const (
	// swappedLeast is how much must have got to swap, in %: the kernel leaves
	// pages where they are that are on a CPU's own list.
	swappedLeast = 95
	// swappedKept is what may stay in memory of it, in MB, with the process.
	swappedKept = 16
)

// putOut starts the holder of what is in swap from the beginning. p.mu is held.
func (p *platform) putOut(mb int) (wire.Limit, error) {
	const name = "swapped"
	var err error
	if p.swapped, err = p.hold(name, system.Holding{MB: mb, Out: true}); err != nil {
		return wire.Limit{}, err
	}
	if p.cgroup != nil {
		// The kernel keeps what it wrote to swap until the memory is needed, and
		// MemAvailable does not count that; the limit has it dropped now.
		leaf, err := p.cgroup.Leaf(name)
		if err != nil {
			return wire.Limit{}, err
		}
		if err := leaf.Limit("memory.high", swappedKept); err != nil {
			return wire.Limit{}, err
		}
	}
	l := p.swapped.limit("share in swap", touched(mb, 0, 0), "anonymous memory of a process of brink's own, moved there by madvise")
	if got, err := p.swapped.inSwap(); err != nil {
		l.Applied, l.How = false, err.Error()
	} else if got < mb*swappedLeast/100 {
		l.Applied, l.How = false, fmt.Sprintf("the kernel moved %d MB there", got)
	}
	return l, nil
}

// inSwap reads how many MB of the process are in swap (VmSwap,
// proc_pid_status(5)).
func (h *holder) inSwap() (int, error) {
	proc, err := h.platform.agent.fs.OpenProcess(h.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	defer proc.Close()
	var status kernel.PIDStatus
	if err := proc.Status(&status); err != nil {
		return 0, err
	}
	return int(status.VmSwap.Value >> 20), nil
}
