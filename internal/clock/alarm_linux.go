package clock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// NewAlarm returns an alarm over a timerfd (timerfd_create(2)). The runtime's
// network poller waits for it, so a waiting alarm holds no thread, and its
// expiry wakes exactly the goroutine that waits.
func (s system) NewAlarm(ctx context.Context) (Alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("clock: create a timer: %w", err)
	}
	a := &timerfd{ctx: ctx, clk: s, file: os.NewFile(uintptr(fd), "timerfd")}
	if a.raw, err = a.file.SyscallConn(); err != nil {
		a.file.Close()
		return nil, fmt.Errorf("clock: create a timer: %w", err)
	}
	a.poll = a.armThenReturn
	a.release = context.AfterFunc(ctx, func() {
		// The error could only say that the file is closed, when nobody waits.
		_ = a.file.SetReadDeadline(time.Unix(1, 0))
	})
	return a, nil
}

type timerfd struct {
	ctx     context.Context
	clk     Clock
	file    *os.File
	raw     syscall.RawConn
	poll    func(fd uintptr) bool // armThenReturn, bound once
	release func() bool

	next  unix.ItimerSpec
	armed bool // with next
	errno syscall.Errno
}

func (a *timerfd) Wait(at time.Time) error {
	for {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		d := at.Sub(a.clk.Now())
		if d <= 0 {
			return nil
		}
		a.next.Value, a.armed = unix.NsecToTimespec(d.Nanoseconds()), false
		err := a.raw.Read(a.poll)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue // set by the end of the context
		}
		if err == nil && a.errno != 0 {
			err = a.errno
		}
		if err != nil {
			return fmt.Errorf("clock: wait for a timer: %w", err)
		}
	}
}

// armThenReturn is called twice by the poller, before and after it waits for
// the timer's expiry, and reports whether there is nothing (more) to wait for.
// That the timer has expired need not be read from it: whether the instant has
// come is decided by the clock, and setting the timer again clears it.
//
// The system call is raw because it never blocks: announcing it to the scheduler
// would, in an idle process, wake the runtime's monitor thread, which costs more
// than the wait itself.
func (a *timerfd) armThenReturn(fd uintptr) bool {
	if a.armed {
		return true
	}
	_, _, a.errno = unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, fd, 0, uintptr(unsafe.Pointer(&a.next)), 0, 0, 0)
	a.armed = true
	return a.errno != 0
}

func (a *timerfd) Close() error {
	a.release()
	return a.file.Close()
}
