package kernel

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Ends tells of the ends of processes, at a cost that does not grow with their
// number: it waits on their descriptors instead of reading their files.
//
// https://man7.org/linux/man-pages/man2/pidfd_open.2.html
type Ends struct {
	epoll  int
	events []unix.EpollEvent
}

// NewEnds returns one that knows of no process.
func NewEnds() (*Ends, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	return &Ends{epoll: fd, events: make([]unix.EpollEvent, 16)}, nil
}

// Watch adds a process until it is closed. The error is [ErrUnavailable] before
// 5.3 and in a captured tree, and [ErrGone] when the process has been reaped.
func (e *Ends) Watch(p *Process) error {
	if !p.fs.live {
		return fmt.Errorf("%s: %w: not in a captured tree", p.prefix, ErrUnavailable)
	}
	fd, err := unix.PidfdOpen(p.pid, 0)
	switch {
	case errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("pidfd_open: %w: %w", ErrUnavailable, err)
	case err != nil:
		return explain("pidfd_open", err)
	}
	// The number may have been another's by now.
	if err := p.Stat(&p.last); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	if err := unix.EpollCtl(e.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET}); err != nil {
		return errors.Join(fmt.Errorf("epoll: %w", err), unix.Close(fd))
	}
	p.end = &ending{e, fd}
	return nil
}

// ending is a process as [Ends] watches it.
type ending struct {
	by    *Ends
	pidfd int
}

// close takes the process out first: a fork that has not reached its exec yet may
// hold the descriptor too.
func (e *ending) close() error {
	if e == nil {
		return nil
	}
	err := unix.EpollCtl(e.by.epoll, unix.EPOLL_CTL_DEL, e.pidfd, nil)
	if errors.Is(err, unix.EBADF) {
		err = nil // the watch has been closed
	}
	return errors.Join(err, unix.Close(e.pidfd))
}

// Any tells whether a process has ended since it was last asked, reaped or not.
// It does not wait, so that Go's scheduler need not be told of the call.
func (e *Ends) Any() (bool, error) {
	ended := false
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(e.epoll), uintptr(unsafe.Pointer(&e.events[0])), uintptr(len(e.events)), 0, 0, 0)
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return ended, fmt.Errorf("epoll: %w", errno)
		}
		ended = ended || n > 0
		if int(n) < len(e.events) {
			return ended, nil
		}
	}
}

// Close forgets all processes. A nil Ends has none.
func (e *Ends) Close() error {
	if e == nil {
		return nil
	}
	fd := e.epoll
	e.epoll = -1
	return unix.Close(fd)
}
