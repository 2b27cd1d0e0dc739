package qemu

import (
	"fmt"
	"os"
	"strings"
)

// Device is a part of a machine. It knows its own arguments
// (https://www.qemu.org/docs/master/system/invocation.html).
type Device interface {
	// args are the device's arguments. Files that QEMU must inherit are asked
	// for by a path.
	args(inherit func(*os.File) string) []string
}

// Drive is an NVMe drive over a raw image, which is File or at Path.
type Drive struct {
	// Serial is the drive's serial number in the guest, at most 20 bytes of
	// letters and digits, and its name in QEMU.
	Serial string
	Path   string
	// File is inherited, so that it may have been unlinked.
	File *os.File
	// Snapshot sends what the guest writes to a temporary file that no other
	// process can see. ReadOnly refuses it.
	Snapshot bool
	ReadOnly bool
}

func (d Drive) args(inherit func(*os.File) string) []string {
	path := d.Path
	if d.File != nil {
		path = inherit(d.File)
	}
	drive := option{"id", d.Serial}.String() + ",if=none,format=raw,cache=writeback,werror=report,rerror=report," + option{"file", path}.String()
	if d.Snapshot {
		drive += ",snapshot=on"
	}
	if d.ReadOnly {
		drive += ",readonly=on"
	}
	return []string{"-drive", drive, "-device", fmt.Sprintf("nvme,drive=%s,serial=%s", d.Serial, d.Serial)}
}

// Network is a card whose wire is a unix stream socket on which someone
// listens.
type Network struct {
	Socket string
	MAC    string
}

func (n Network) args(func(*os.File) string) []string {
	return []string{
		"-netdev", "stream,id=net,server=off,addr.type=unix," + option{"addr.path", n.Socket}.String(),
		"-device", "virtio-net-pci,netdev=net,mac=" + n.MAC,
	}
}

// Port is a virtio-serial port whose other end is a unix socket on which
// someone listens.
type Port struct {
	Name   string
	Socket string
}

func (p Port) args(func(*os.File) string) []string {
	return []string{
		"-device", "virtio-serial-pci",
		"-chardev", "socket,id=" + p.Name + "," + option{"path", p.Socket}.String(),
		"-device", "virtserialport,chardev=" + p.Name + ",name=" + p.Name,
	}
}

// Control has QEMU take commands (QMP) on a unix socket on which someone
// listens; see [NewMonitor].
type Control struct{ Socket string }

func (c Control) args(func(*os.File) string) []string {
	return []string{"-chardev", "socket,id=control," + option{"path", c.Socket}.String(), "-mon", "chardev=control,mode=control"}
}

// Console is a serial port whose output is QEMU's standard output.
type Console struct{}

func (Console) args(func(*os.File) string) []string {
	return []string{"-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"}
}

// option is NAME=VALUE, where a comma in the value must be doubled.
type option struct{ name, value string }

func (o option) String() string { return o.name + "=" + strings.ReplaceAll(o.value, ",", ",,") }
