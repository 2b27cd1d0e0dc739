package kernel

import (
	"errors"

	"golang.org/x/sys/unix"
)

// dialNetlink opens a socket to a part of the kernel that answers at once: what
// it says is there when a request has been written, so that reading never waits,
// and Go's poller, which each answer would wake, need not know of the socket.
func dialNetlink(protocol int) (fd int, err error) {
	fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
	if err != nil {
		return -1, err
	}
	if err := unix.Connect(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func readNetlink(fd int, b []byte) (int, error) {
	for {
		n, err := unix.Read(fd, b)
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
