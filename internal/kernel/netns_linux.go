package kernel

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// DialSockDiagOf opens a sock_diag socket in the network namespace of a
// process. It needs CAP_SYS_ADMIN. The socket stays in that namespace, and
// keeps it alive until it is closed.
//
// https://man7.org/linux/man-pages/man2/setns.2.html
func (f *FS) DialSockDiagOf(pid int) (*SockDiag, error) {
	name := "proc/" + strconv.Itoa(pid) + "/ns/net"
	if !f.live {
		return nil, fmt.Errorf("%s: %w: not in a captured tree", name, ErrUnavailable)
	}
	ns, err := os.Open("/" + name) // a link that leads out of the root
	if err != nil {
		return nil, gone(explain(name, err))
	}
	defer ns.Close()
	var diag *SockDiag
	err = onThrowawayThread(func() error {
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("%s: setns: %w", name, err)
		}
		diag, err = DialSockDiag()
		return err
	})
	return diag, err
}

// onThrowawayThread runs f on a thread that ends with it: leaving a namespace
// again could fail. The process's main thread would not end, but be kept, and
// with it what /proc/PID says of the whole process.
func onThrowawayThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			done <- f() // and never unlocked
			return
		}
		// While this holds the main thread, others get another.
		done <- onThrowawayThread(f)
		runtime.UnlockOSThread()
	}()
	return <-done
}

// NetstatOf reads /proc/PID/net/netstat and snmp: those of the process's
// network namespace. The error is [ErrGone] when the process has ended.
func (f *FS) NetstatOf(pid int) (*Reader[Netstat], error) {
	dir := "proc/" + strconv.Itoa(pid) + "/net/"
	r, err := newReader(f.at, "",
		part[Netstat]{name: dir + "netstat", parse: parseNetstat},
		part[Netstat]{name: dir + "snmp", parse: parseNetstat},
	)
	if err != nil && errors.Is(err, ErrUnavailable) {
		return nil, gone(err)
	}
	return r, err
}
