package goapp

import (
	"fmt"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// listen opens a TCP listener whose accept queue is exactly backlog long
// (net.Listen always asks for net.core.somaxconn), and returns it with the
// address that it got. See listen(2).
func listen(bind netip.AddrPort, backlog int) (*os.File, netip.AddrPort, error) {
	fd, err := openListener(bind, backlog)
	if err != nil {
		return nil, netip.AddrPort{}, fmt.Errorf("cannot listen on %s: %w", bind, err)
	}
	// Not net's File, whose Fd, called by os/exec for every worker, would take
	// O_NONBLOCK away from the socket that the running workers share. And made
	// before the socket is non-blocking, or Go's poller would wake the master
	// for every connection.
	file := os.NewFile(uintptr(fd), "listener")
	if err := unix.SetNonblock(fd, true); err != nil {
		file.Close()
		return nil, netip.AddrPort{}, fmt.Errorf("cannot listen on %s: %w", bind, err)
	}
	bound, err := localAddr(fd)
	if err != nil {
		file.Close()
		return nil, netip.AddrPort{}, fmt.Errorf("cannot listen on %s: %w", bind, err)
	}
	return file, bound, nil
}

func openListener(bind netip.AddrPort, backlog int) (int, error) {
	family, addr := unix.AF_INET, unix.Sockaddr(nil)
	if bind.Addr().Is4() {
		addr = &unix.SockaddrInet4{Port: int(bind.Port()), Addr: bind.Addr().As4()}
	} else {
		family = unix.AF_INET6
		addr = &unix.SockaddrInet6{Port: int(bind.Port()), Addr: bind.Addr().As16()}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err == nil {
		err = unix.Bind(fd, addr)
	}
	if err == nil {
		err = unix.Listen(fd, backlog)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func localAddr(fd int) (netip.AddrPort, error) {
	addr, err := unix.Getsockname(fd)
	if err != nil {
		return netip.AddrPort{}, err
	}
	switch a := addr.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port)), nil
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port)), nil
	}
	return netip.AddrPort{}, fmt.Errorf("unexpected address %T", addr)
}
