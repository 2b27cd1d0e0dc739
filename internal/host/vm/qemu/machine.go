// Package qemu starts virtual machines.
package qemu

import (
	"fmt"
	"os"
	"strconv"
)

// Program is QEMU's command.
const Program = "qemu-system-x86_64"

// Accelerator is how a machine's CPUs are made.
type Accelerator string

// The accelerators: the processor's own virtualisation, and translation of the
// guest's code by QEMU.
const (
	KVM Accelerator = "kvm"
	TCG Accelerator = "tcg"
)

// translationMB bounds the memory in which TCG keeps translated code.
const translationMB = 512

// OverheadMB is about what QEMU needs beside the guest's memory.
const OverheadMB = translationMB + 150

// Machine is a virtual machine that boots a kernel without firmware settings,
// initial RAM disk or any device that is not listed.
type Machine struct {
	Accelerator Accelerator
	// MemoryKB is the size of the machine's RAM in units of 2^10 bytes, which is
	// more than the guest's kernel reports as MemTotal.
	MemoryKB int
	CPUs     int
	Kernel   string
	// CommandLine is the kernel's.
	CommandLine string
	Devices     []Device
}

// processors is one more place than CPUs. TCG leaves a guest's memory barriers
// and locked instructions out where there can be only one CPU, although its
// devices run beside it: then a guest that rings a drive's shadow doorbell (NVMe,
// virtio) may miss that it must wake the drive, and every request to it hangs.
func (m Machine) processors() string { return fmt.Sprintf("%d,maxcpus=%d", m.CPUs, m.CPUs+1) }

// command returns QEMU's arguments and the files that it inherits, from file
// descriptor 3 on.
func (m Machine) command() (args []string, files []*os.File) {
	accel, cpu := "kvm", "host"
	if m.Accelerator != KVM {
		accel, cpu = fmt.Sprintf("tcg,thread=multi,tb-size=%d", translationMB), "max"
	}
	args = []string{
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
		"-machine", "q35", "-accel", accel, "-cpu", cpu,
		"-m", strconv.Itoa(m.MemoryKB) + "K", "-smp", m.processors(),
		"-kernel", m.Kernel, "-append", m.CommandLine,
	}
	inherit := func(f *os.File) string {
		files = append(files, f)
		return fmt.Sprintf("/proc/self/fd/%d", len(files)+2)
	}
	for _, d := range m.Devices {
		args = append(args, d.args(inherit)...)
	}
	return args, files
}
