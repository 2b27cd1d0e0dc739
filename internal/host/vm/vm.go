// Package vm is the host that is a virtual machine: each plan is a machine of
// its own under QEMU, with a Linux kernel, memory, swap and CPUs that nothing
// else uses, made afresh for each session and thrown away after it. brink runs
// in it as the first process and as the agent. No part of it needs root, a port
// or a device of this machine.
package vm

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"brink/internal/experiment"
	"brink/internal/host"
	"brink/internal/host/vm/image"
	"brink/internal/host/vm/qemu"
)

// Options adapt the host; the zero value is right for brink itself.
type Options struct {
	// Program names this program and its version to the agent.
	Program string
	// Brink is the path of the brink that runs in the guest; by default this
	// program. It must be linked statically.
	Brink string
	// Cache is brink's cache directory, by default the user's. Images are kept
	// in it, and so is what guests write while they run.
	Cache string
	// Mirror is where an image that is missing is built from; by default the
	// machine's own package sources.
	Mirror string
	// Accelerator is used without a trial. By default KVM is, where a trial
	// proves that it works, and TCG everywhere else.
	Accelerator qemu.Accelerator
	// Progress hears in one line what takes long, from any goroutine; nil hears
	// nothing.
	Progress func(string)
}

// Host makes virtual machines. It is safe for concurrent use, and machines do
// not meet, but they share the real one.
type Host struct {
	opts Options
	// silence is how long a guest may be silent.
	silence time.Duration

	// Each is found out once, when it is first needed.
	image found[*image.Image]
	drive found[*os.File]
	accel found[acceleration]
	known found[*knowledge]
}

// found is something that is found out once; a failure is tried again.
type found[T any] struct {
	mu    sync.Mutex
	done  bool
	value T
}

func (f *found[T]) get(find func() (T, error)) (T, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.done {
		v, err := find()
		if err != nil {
			return v, err
		}
		f.value, f.done = v, true
	}
	return f.value, nil
}

var (
	_ host.Host      = (*Host)(nil)
	_ host.Pressable = (*Host)(nil)
)

// New returns a host of virtual machines.
func New(opts Options) *Host {
	if opts.Progress == nil {
		opts.Progress = func(string) {}
	}
	return &Host{opts: opts, silence: silenceLimit}
}

// Kind is "vm".
func (*Host) Kind() string { return "vm" }

// CanPress is true: the machine is the plan's alone.
func (*Host) CanPress() bool { return true }

// Environment describes the guest and the software in it as they are, and how
// the guest is made. It boots one unless one was booted before.
func (h *Host) Environment(ctx context.Context) ([]host.Fact, error) {
	k, err := h.learn(ctx)
	if err != nil {
		return nil, err
	}
	return k.facts, nil
}

// Emulation says by what the guests' CPUs are made, and how many times longer a
// fixed amount of work takes there than on this machine. It boots a guest
// unless one was booted before.
func (h *Host) Emulation(ctx context.Context) (qemu.Accelerator, float64, error) {
	k, err := h.learn(ctx)
	if err != nil {
		return "", 0, err
	}
	return k.accelerator, k.slower, nil
}

// cache is the cache directory.
func (h *Host) cache() (string, error) {
	if h.opts.Cache != "" {
		return h.opts.Cache, nil
	}
	return image.CacheDir()
}

// theImage returns the image, which it builds if need be.
func (h *Host) theImage(ctx context.Context) (*image.Image, error) {
	return h.image.get(func() (*image.Image, error) {
		cache, err := h.cache()
		if err != nil {
			return nil, err
		}
		i, err := image.Find(cache)
		if errors.Is(err, image.ErrNone) {
			h.opts.Progress("building the image for virtual machines, once; it takes about a minute")
			return image.Build(ctx, image.Options{Cache: cache, Mirror: h.opts.Mirror, Progress: h.opts.Progress})
		}
		return i, err
	})
}

// cpus is how many CPUs a plan's machine has.
func cpus(plan experiment.Plan) int { return max(plan.CPUs, 1) }

// defaultMB is the memory of a plan that does not limit it: a machine must have
// some size.
const defaultMB = 2048

func memoryMB(plan experiment.Plan) int {
	if plan.MemoryMB == 0 {
		return defaultMB
	}
	return plan.MemoryMB
}
