// Package guest makes brink the first process of a virtual machine: it sets up
// what an init does (file systems, drivers, network, swap), hands the channel
// to the lab to an agent, and powers the machine off when the agent is done.
//
// The machine boots from a small drive that holds nothing but brink as /init.
// The drive with the distribution becomes the root; the small one stays
// mounted at Home, so that brink runs from disk and its pages can be evicted
// like any other's.
package guest

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// What a virtual machine and the one who makes it agree on.
const (
	// Init is brink's path on the drive that the machine boots from. The drive
	// also has the empty directories InitDirs.
	Init = "/init"
	// Home is where that drive is mounted later, a directory of the root.
	Home = "/brink"
	// Program is brink's path then.
	Program = Home + Init
	// CacheDir is where a drive with serial number CacheDrive is mounted.
	CacheDir = "/brink-cache"
	// ModuleList, a file of the root, names the kernel modules to load, one path
	// a line, each after those that it needs.
	ModuleList = "/lib/modules/brink"
	// AppDir is where apps' files go, on the root drive, and RunDir what need not
	// outlast the machine, in memory.
	AppDir = "/var/lib/brink"
	RunDir = "/run"
	// Port is the name of the virtio-serial port to the lab.
	Port = "agent"
)

// InitDirs are the directories on the drive that the machine boots from.
var InitDirs = []string{"/dev", "/proc", "/root", "/sys"}

// Serial numbers of the NVMe drives. Only the root must be there.
const (
	RootDrive  = "root"
	SwapDrive  = "swap"
	CacheDrive = "cache"
)

// Parameters on the kernel's command line.
const (
	// AddressParam is the machine's IPv4 address and prefix length.
	AddressParam = "brink.address"
	// TrialParam makes the machine say Alive and power off at once.
	TrialParam = "brink.trial"
)

// Alive and Failed begin lines on the console: Alive when init has begun, with
// the seconds since the kernel started, and Failed when it cannot go on, with
// the reason.
const (
	Alive  = "brink: init at "
	Failed = "brink: init failed: "
	// Served comes with the seconds at which the agent took over.
	Served = "brink: agent at "
	// DiskFull says that nothing more can be written to the root.
	DiskFull = "brink: the disk is full"
)

// Serve serves a lab on conn until it is done.
type Serve func(ctx context.Context, conn io.ReadWriteCloser) error

// RunIfInit never returns in a process that is a virtual machine's first. In
// any other it does nothing.
func RunIfInit(serve Serve) {
	if os.Getpid() != 1 || len(os.Args) == 0 || os.Args[0] != Init {
		return
	}
	fmt.Fprintf(os.Stderr, "%s%.3f s\n", Alive, uptime().Seconds())
	if err := run(serve); err != nil {
		fmt.Fprintf(os.Stderr, "%s%v\n", Failed, err)
	}
	powerOff()
}

func run(serve Serve) error {
	if err := mountFirst(); err != nil {
		return err
	}
	params, err := parameters("/proc/cmdline")
	if err != nil {
		return err
	}
	if _, trial := params[TrialParam]; trial {
		return nil
	}
	if err := switchRoot(); err != nil {
		return err
	}
	if err := mountRest(); err != nil {
		return err
	}
	if err := loadModules(ModuleList); err != nil {
		return err
	}
	if err := setSysctls(); err != nil {
		return err
	}
	if err := setUpNetwork(params[AddressParam]); err != nil {
		return err
	}
	if err := useDrives(); err != nil {
		return err
	}
	for name, value := range map[string]string{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8",
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	port, err := openPort(Port)
	if err != nil {
		return err
	}
	go watchDisk("/", os.Stderr)
	fmt.Fprintf(os.Stderr, "%s%.3f s\n", Served, uptime().Seconds())
	return serve(context.Background(), port)
}

// uptime is the time since the kernel started.
func uptime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// parameters reads a kernel command line.
func parameters(path string) (map[string]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	params := map[string]string{}
	for _, word := range strings.Fields(string(b)) {
		name, value, _ := strings.Cut(word, "=")
		params[name] = value
	}
	return params, nil
}

// powerOff ends the machine. Its drives are thrown away, so nothing is synced.
func powerOff() {
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	// The kernel cannot power off: a first process that ends makes it panic,
	// which ends the machine too.
	os.Exit(1)
}
