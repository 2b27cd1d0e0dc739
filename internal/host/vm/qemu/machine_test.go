package qemu

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What QEMU 7.2 takes, as its manual page and a machine that booted have it.
func TestAMachinePrintsItsArguments(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	args, files := Machine{
		Accelerator: TCG, MemoryKB: 1971200, CPUs: 1, Kernel: "/k", CommandLine: "console=ttyS0 quiet",
		Devices: []Device{
			Console{},
			Drive{Serial: "root", Path: "/a,b", Snapshot: true},
			Drive{Serial: "swap", File: f},
			Drive{Serial: "boot", File: f, ReadOnly: true},
			Port{Name: "agent", Socket: "/s,1"},
			Control{Socket: "/s,3"},
			Network{Socket: "/s,2", MAC: "52:54:00:00:00:01"},
		},
	}.command()
	want := []string{
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
		"-machine", "q35", "-accel", "tcg,thread=multi,tb-size=512", "-cpu", "max", "-m", "1971200K", "-smp", "1,maxcpus=2",
		"-kernel", "/k", "-append", "console=ttyS0 quiet",
		"-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console",
		"-drive", "id=root,if=none,format=raw,cache=writeback,werror=report,rerror=report,file=/a,,b,snapshot=on",
		"-device", "nvme,drive=root,serial=root",
		"-drive", "id=swap,if=none,format=raw,cache=writeback,werror=report,rerror=report,file=/proc/self/fd/3",
		"-device", "nvme,drive=swap,serial=swap",
		"-drive", "id=boot,if=none,format=raw,cache=writeback,werror=report,rerror=report,file=/proc/self/fd/4,readonly=on",
		"-device", "nvme,drive=boot,serial=boot",
		"-device", "virtio-serial-pci", "-chardev", "socket,id=agent,path=/s,,1", "-device", "virtserialport,chardev=agent,name=agent",
		"-chardev", "socket,id=control,path=/s,,3", "-mon", "chardev=control,mode=control",
		"-netdev", "stream,id=net,server=off,addr.type=unix,addr.path=/s,,2", "-device", "virtio-net-pci,netdev=net,mac=52:54:00:00:00:01",
	}
	if !slices.Equal(args, want) {
		t.Errorf("arguments\n%q\nwant\n%q", args, want)
	}
	if !slices.Equal(files, []*os.File{f, f}) {
		t.Errorf("%d files are inherited, want two", len(files))
	}
}

func TestWhatQEMUCannotDoIsSaidInItsOwnWords(t *testing.T) {
	p, err := Machine{Accelerator: TCG, MemoryKB: 128 << 10, CPUs: 1, Kernel: "/no/such/kernel"}.Start(t.TempDir(), new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "QEMU said: could not open kernel file '/no/such/kernel'") {
		t.Errorf("error %v", err)
	}
	p.Kill() // of what is gone is no error
}

func TestWithoutQEMU(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if p, err := (Machine{}).Start(t.TempDir(), new(bytes.Buffer)); !errors.Is(err, ErrMissing) {
		t.Errorf("%v, %v; want ErrMissing", p, err)
	}
	if err := Fit(t.Context()); !errors.Is(err, ErrMissing) {
		t.Errorf("%v, want ErrMissing", err)
	}
}

// The first lines are what QEMU 6.2 of Ubuntu 22.04, 7.2 of Debian 12 and 10.0 of
// Debian 13 print.
func TestAQEMUThatIsTooOldIsRefused(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	program := filepath.Join(dir, Program)
	for said, want := range map[string]string{
		"echo 'QEMU emulator version 6.2.0 (Debian 1:6.2+dfsg-2ubuntu6)'":    program + " is version 6.2",
		"echo 'QEMU emulator version 7.2.19 (Debian 1:7.2+dfsg-7+deb12u16)'": "",
		"echo 'QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2+deb13u1)'": "",
		"echo 'another emulator'": "",
		"exit 1":                  "",
	} {
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+said+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := Fit(t.Context()); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", said, err, want)
		}
	}
}
