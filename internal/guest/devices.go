package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// drive returns the device of the NVMe drive with the given serial number, or
// nothing. The kernel probes drives side by side, so their names tell nothing.
func drive(serial string) (string, error) {
	files, err := filepath.Glob("/sys/class/nvme/nvme*/serial")
	if err != nil {
		return "", err
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(string(b)) == serial {
			return "/dev/" + filepath.Base(filepath.Dir(file)) + "n1", nil
		}
	}
	return "", nil
}

// portLimit is how long a port may take to appear and to be connected.
const portLimit = 10 * time.Second

// openPort opens the virtio-serial port of the given name once the other side
// is there; before that, reading it would mean the end of the stream.
func openPort(name string) (*os.File, error) {
	deadline := uptime() + portLimit
	for {
		f, err := tryPort(name)
		if err != nil || f != nil {
			return f, err
		}
		if uptime() > deadline {
			return nil, fmt.Errorf("the port %q to the lab was not connected within %s", name, portLimit)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func tryPort(name string) (*os.File, error) {
	files, err := filepath.Glob("/sys/class/virtio-ports/*/name")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil || strings.TrimSpace(string(b)) != name {
			continue
		}
		return openConnected("/dev/" + filepath.Base(filepath.Dir(file)))
	}
	return nil, nil
}

// openConnected opens a port's device, or returns nil while nobody is on the
// other side, which poll(2) reports as a hang-up.
func openConnected(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil // the device comes just after its name
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	if _, err := unix.Poll(poll, 0); err != nil || poll[0].Revents&unix.POLLHUP != 0 {
		return nil, unix.Close(fd)
	}
	return os.NewFile(uintptr(fd), path), nil
}
