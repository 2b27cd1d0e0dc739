package agent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

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
		if onErr := swapOn(area); onErr != nil && !errors.Is(onErr, unix.EBUSY) {
			return fmt.Errorf("emptying swap %s: %w, and the swap is lost: %w", area, err, onErr)
		}
		return &wire.Fault{Kind: wire.NoRoom, Text: fmt.Sprintf("swap %s could not be emptied: %s %s", area, err, strings.TrimSpace(said.String()))}
	}
	return nil
}

// emptySwap is what the process of refresh does.
func emptySwap(area string) error {
	if err := swapCall(unix.SYS_SWAPOFF, "swapoff", area); err != nil {
		return err
	}
	return swapOn(area)
}

// swapOn makes an area swap; the error is EBUSY when it is already.
func swapOn(area string) error { return swapCall(unix.SYS_SWAPON, "swapon", area) }

func swapCall(trap uintptr, name, area string) error {
	path, err := unix.BytePtrFromString(area)
	if err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(trap, uintptr(unsafe.Pointer(path)), 0, 0); errno != 0 {
		return os.NewSyscallError(name, errno)
	}
	return nil
}
