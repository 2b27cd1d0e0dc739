package vm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"brink/internal/clock"
	"brink/internal/guest"
	"brink/internal/host/vm/qemu"
)

// acceleration is what was chosen, and why it is not KVM where it is not.
type acceleration struct {
	qemu.Accelerator
	Why string
}

// trialLimit is many times what a guest takes to its init under KVM. Where KVM
// answers but cannot run a guest, the guest hangs for ever.
const trialLimit = 15 * time.Second

// kvmDevice is the kernel's interface.
const kvmDevice = "/dev/kvm"

// acceleration chooses KVM only after a guest has really booted under it. The
// outcome holds until this machine is booted again.
func (h *Host) acceleration(ctx context.Context) (acceleration, error) {
	return h.accel.get(func() (acceleration, error) {
		if h.opts.Accelerator != "" {
			return acceleration{h.opts.Accelerator, "it was asked for"}, nil
		}
		f, err := os.OpenFile(kvmDevice, os.O_RDWR, 0)
		if err != nil {
			return acceleration{qemu.TCG, fmt.Sprintf("KVM cannot be used: %s", cause(err))}, nil
		}
		f.Close()
		return h.rememberedTrial(ctx)
	})
}

// trial is the outcome of a trial boot, as it is kept.
type trial struct {
	Boot  string `json:"boot_id"`
	Works bool   `json:"works"`
	Why   string `json:"why,omitempty"`
}

func (t trial) acceleration() acceleration {
	if t.Works {
		return acceleration{qemu.KVM, "a trial boot proved that it works"}
	}
	return acceleration{qemu.TCG, "KVM is there, but " + t.Why}
}

func (h *Host) rememberedTrial(ctx context.Context) (acceleration, error) {
	dir, err := h.diskDir()
	if err != nil {
		return acceleration{}, err
	}
	file := filepath.Join(dir, "kvm.json")
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return acceleration{}, fmt.Errorf("this machine's boot: %w", err)
	}
	now := trial{Boot: strings.TrimSpace(string(boot))}
	var last trial
	if b, err := os.ReadFile(file); err == nil && json.Unmarshal(b, &last) == nil && last.Boot == now.Boot {
		return last.acceleration(), nil
	}
	h.opts.Progress("trying KVM")
	if now.Works, now.Why, err = h.tryKVM(ctx); err != nil {
		return acceleration{}, err
	}
	b, err := json.Marshal(now)
	if err == nil {
		err = os.WriteFile(file, b, 0o644)
	}
	return now.acceleration(), err
}

// tryKVM boots a guest that powers off as soon as its init has begun.
func (h *Host) tryKVM(ctx context.Context) (works bool, why string, err error) {
	img, err := h.theImage(ctx)
	if err != nil {
		return false, "", err
	}
	brink, err := h.brinkDrive(ctx)
	if err != nil {
		return false, "", err
	}
	dir, err := h.diskDir()
	if err != nil {
		return false, "", err
	}
	c := new(console)
	p, err := qemu.Machine{
		Accelerator: qemu.KVM, MemoryKB: 256 << 10, CPUs: 1, Kernel: img.KernelPath(),
		CommandLine: commandLine + " " + guest.TrialParam,
		Devices:     []qemu.Device{qemu.Console{}, bootDrive(brink)},
	}.Start(dir, c)
	if err != nil {
		return false, "", err
	}
	defer p.Kill()
	select {
	case <-p.Done():
	case <-clock.Real.After(trialLimit):
		return false, fmt.Sprintf("a guest under it did not boot within %s", trialLimit), nil
	case <-ctx.Done():
		return false, "", context.Cause(ctx)
	}
	switch err := p.Err(); {
	case err != nil:
		return false, fmt.Sprintf("QEMU cannot use it: %s", err), nil
	case !c.has():
		return false, "a guest under it ended before its init", nil
	}
	return true, "", nil
}

// cause is the innermost error, without the names of calls.
func cause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
