package vm

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"brink/internal/agent"
	"brink/internal/host"
	"brink/internal/host/vm/qemu"
	"brink/internal/system"
	"brink/internal/wire"
)

// knowledge is what a first guest tells.
type knowledge struct {
	accelerator qemu.Accelerator
	// slower is how many times longer a fixed amount of work takes in the guest
	// than on this machine: the fact "speed factor".
	slower float64
	facts  []host.Fact
}

// firstMB is the memory of the guest that is asked for facts.
const firstMB = 768

// ofAPlan are facts that each plan changes; its limits state them.
var ofAPlan = map[string]bool{"cpus": true, "CPUs allowed": true, "MemTotal": true, "SwapTotal": true}

// learn boots a guest to ask what is in it and how fast it is.
func (h *Host) learn(ctx context.Context) (*knowledge, error) {
	return h.known.get(func() (*knowledge, error) {
		h.opts.Progress("booting a guest to see what is in it and how fast it is")
		m, err := h.boot(ctx, size{cpus: 1, memoryMB: firstMB}, unheard{})
		if err != nil {
			return nil, err
		}
		k, err := h.question(ctx, m)
		if err != nil {
			return nil, errors.Join(m.explain(err), m.discard())
		}
		_ = m.client.Call(ctx, wire.Shutdown, nil, nil) // it is ended in any case
		return k, m.discard()
	})
}

func (h *Host) question(ctx context.Context, m *machine) (*knowledge, error) {
	accel, err := h.acceleration(ctx)
	if err != nil {
		return nil, err
	}
	k := &knowledge{accelerator: accel.Accelerator}
	var pace wire.Pace
	if err := m.client.Call(ctx, wire.Speed, nil, &pace); err != nil {
		return nil, err
	}
	here, err := system.Speed()
	if err != nil {
		return nil, err
	}
	k.slower = float64(pace.Ns) / float64(here)
	var inside []wire.Fact
	if err := m.client.Call(ctx, wire.Environment, nil, &inside); err != nil {
		return nil, err
	}
	img, err := h.theImage(ctx)
	if err != nil {
		return nil, err
	}
	count, _ := m.console.initAt()
	ahead, uncertainty := m.clock.offset()
	k.facts = []host.Fact{
		{Name: "accelerator", Value: fmt.Sprintf("%s (%s)", accel.Accelerator, accel.Why)},
		{Name: "speed factor", Value: strconv.FormatFloat(k.slower, 'g', 3, 64)},
		{Name: "QEMU", Value: qemuVersion(ctx)},
		{Name: "image", Value: fmt.Sprintf("%s, built %s", img.ID, img.Built.Format(time.DateOnly))},
		{Name: "Node.js of the image", Value: img.Node},
		{Name: "clock of the guest", Value: fmt.Sprintf("compared with this machine's every %s; ahead by %s, give or take %s, in a first guest; taken out of all times", watchEvery, ahead.Round(time.Microsecond), uncertainty.Round(time.Microsecond))},
		{Name: "boot", Value: fmt.Sprintf("init after %.1f s (%s since the kernel began), agent ready after %.1f s", m.init.Seconds(), count, m.took.Seconds())},
	}
	for _, f := range inside {
		if !ofAPlan[f.Name] {
			k.facts = append(k.facts, host.Fact(f))
		}
	}
	machine, err := agent.Facts(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range machine {
		switch f.Name {
		case "kernel", "distribution", "CPU model", "cpus", "MemTotal", "virtual machine":
			k.facts = append(k.facts, host.Fact{Name: "below the guest: " + f.Name, Value: f.Value})
		}
	}
	return k, nil
}

// qemuVersion is such as "QEMU emulator version 7.2.0 (Debian …)".
func qemuVersion(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, qemu.Program, "--version").Output()
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

// unheard is an observer of a guest that runs no app.
type unheard struct{}

func (unheard) Event(wire.Event)    {}
func (unheard) Log(wire.Log)        {}
func (unheard) Sample(*wire.Sample) {}
