package agent

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"

	"brink/internal/system"
	"brink/internal/wire"
)

// swapIn brings everything back from swap, which takes the swap away and gives
// it back. Everything must fit into memory; the plan must be the machine.
func (p *platform) swapIn() error {
	plan := p.plan.Load()
	if plan == nil || !plan.Whole {
		return &wire.Fault{Kind: wire.BadRequest, Text: "the machine's swap is not the plan's alone, and is left alone"}
	}
	swaps, err := p.agent.fs.Swaps()
	if err != nil {
		return err
	}
	m, err := p.agent.fs.Meminfo()
	if err != nil {
		return err
	}
	if used := m.SwapTotal.Value - m.SwapFree.Value; used > m.MemAvailable.Value {
		return &wire.Fault{Kind: wire.NoRoom, Text: fmt.Sprintf("%d MB are swapped out and only %d MB of memory are available for them", used>>20, m.MemAvailable.Value>>20)}
	}
	for _, area := range swaps.Areas {
		if err := p.refresh(area.Name); err != nil {
			return err
		}
	}
	return nil
}

// refresh empties one area. A process of its own does it: the OOM killer's first
// choice is whoever takes swap away (swapoff(2) in mm/swapfile.c).
func (p *platform) refresh(area string) error {
	argv := append(append([]string{}, p.agent.opts.Hold...), "--empty-swap", area)
	cmd := exec.Command(argv[0], argv[1:]...)
	var said strings.Builder
	cmd.Stderr = &said
	if err := p.start(cmd, "swap"); err != nil {
		return fmt.Errorf("emptying swap: %w", err)
	}
	if err := p.agent.spawn.wait(cmd); err != nil {
		// Whatever became of it, the plan has its swap again.
		if onErr := system.SwapOn(area); onErr != nil && !errors.Is(onErr, unix.EBUSY) {
			return fmt.Errorf("emptying swap %s: %w, and the swap is lost: %w", area, err, onErr)
		}
		return &wire.Fault{Kind: wire.NoRoom, Text: fmt.Sprintf("swap %s could not be emptied: %s %s", area, err, strings.TrimSpace(said.String()))}
	}
	return nil
}
