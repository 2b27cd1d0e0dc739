package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"brink/internal/system"
)

type mount struct {
	kind, at string
	flags    uintptr
	data     string
}

func (m mount) mount() error {
	if err := unix.Mount(m.kind, m.at, m.kind, m.flags, m.data); err != nil {
		return fmt.Errorf("mount %s at %s: %w", m.kind, m.at, err)
	}
	return nil
}

const plain = unix.MS_NOSUID | unix.MS_NOEXEC | unix.MS_NODEV

// mountFirst mounts what it takes to find the root drive.
func mountFirst() error {
	for _, m := range []mount{
		{"proc", "/proc", plain, ""},
		{"sysfs", "/sys", plain, ""},
	} {
		if err := m.mount(); err != nil {
			return err
		}
	}
	// The kernel may have mounted it already.
	if err := (mount{"devtmpfs", "/dev", unix.MS_NOSUID, ""}).mount(); err != nil && !errors.Is(err, unix.EBUSY) {
		return err
	}
	return nil
}

// switchRoot makes the root drive the root and keeps the first one at Home.
func switchRoot() error {
	device, err := drive(RootDrive)
	if err != nil {
		return err
	}
	if device == "" {
		return fmt.Errorf("there is no drive with serial number %q", RootDrive)
	}
	const root = "/root"
	if err := unix.Mount(device, root, "ext4", unix.MS_NOATIME, ""); err != nil {
		return fmt.Errorf("mount the root drive %s: %w", device, err)
	}
	for _, at := range []string{"/sys", "/proc", "/dev"} {
		if err := unix.Mount(at, root+at, "", unix.MS_MOVE, ""); err != nil {
			return fmt.Errorf("move %s to the root: %w", at, err)
		}
	}
	if err := unix.PivotRoot(root, root+Home); err != nil {
		return fmt.Errorf("pivot to the root drive: %w", err)
	}
	return os.Chdir("/")
}

// mountRest mounts what apps and the agent use. Only tracing may be missing:
// what reads it says so.
func mountRest() error {
	for _, dir := range []string{"/dev/pts", "/dev/shm"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for _, m := range []mount{
		{"devpts", "/dev/pts", unix.MS_NOSUID | unix.MS_NOEXEC, "gid=5,mode=620,ptmxmode=666"},
		{"tmpfs", "/dev/shm", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
		{"tmpfs", "/run", unix.MS_NOSUID | unix.MS_NODEV, "mode=755"},
		{"cgroup2", "/sys/fs/cgroup", plain, ""},
	} {
		if err := m.mount(); err != nil {
			return err
		}
	}
	_ = mount{"tracefs", "/sys/kernel/tracing", plain, ""}.mount()
	return nil
}

// useDrives turns on swap and mounts the cache drive, where there are such.
func useDrives() error {
	swap, err := drive(SwapDrive)
	if err != nil {
		return err
	}
	if swap != "" {
		if err := boundQueue(swap); err != nil {
			return err
		}
		if err := system.SwapOn(swap); err != nil {
			return fmt.Errorf("turn on swap on %s: %w", swap, err)
		}
	}
	cache, err := drive(CacheDrive)
	if err != nil || cache == "" {
		return err
	}
	if err := unix.Mount(cache, CacheDir, "ext4", unix.MS_NOATIME, ""); err != nil {
		return fmt.Errorf("mount the cache drive %s: %w", cache, err)
	}
	return nil
}

// boundQueue bounds what is under way at a drive at once to 4 MB. Without a
// bound kswapd hands a drive a thousand writes of half a megabyte: at 12 MB/s 40 s
// of work, behind which every page that is needed waits, while nothing is free to
// be allocated. No storage that a cloud offers takes on so much.
// https://docs.kernel.org/block/queue-sysfs.html
func boundQueue(drive string) error {
	for file, value := range map[string]string{"nr_requests": "32", "max_sectors_kb": "128"} {
		path := filepath.Join("/sys/block", filepath.Base(drive), "queue", file)
		if err := os.WriteFile(path, []byte(value), 0); err != nil {
			return fmt.Errorf("bound the swap drive's queue: %w", err)
		}
	}
	return nil
}

// setSysctls turns on the accounting of delays, which is off by default
// (https://www.kernel.org/doc/html/latest/accounting/delay-accounting.html),
// and gives the machine a name.
func setSysctls() error {
	const file = "/proc/sys/kernel/task_delayacct"
	if err := os.WriteFile(file, []byte(strconv.Itoa(1)), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return unix.Sethostname([]byte("plan"))
}
