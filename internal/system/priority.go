package system

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// GoFirst gives all threads of this process a real-time priority, the lowest.
// On a machine without memory that does two things: what the process does is not
// put behind what the others wait for, and the kernel lets it have pages of the
// reserve that it refuses to everybody else, instead of having it wait until
// some were written to swap (gfp_to_alloc_flags in mm/page_alloc.c). Processes
// that it starts have it too, but for those that a thread starts which goes with
// the others.
//
// https://man7.org/linux/man-pages/man7/sched.7.html
func GoFirst() error {
	// Threads that begin meanwhile have the policy of the one that made them, so
	// that a second look finds the last that have the old one.
	for range 2 {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, t := range threads {
			tid, err := strconv.Atoi(t.Name())
			if err != nil {
				return err
			}
			if err := schedule(tid, unix.SCHED_RR, 1); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("real-time priority: %w", err)
			}
		}
	}
	return nil
}

// GoWithTheOthers undoes GoFirst for the calling thread and what it forks.
func GoWithTheOthers() error { return schedule(0, unix.SCHED_NORMAL, 0) }

// schedule is sched_setscheduler(2), which golang.org/x/sys/unix does not wrap.
func schedule(tid, policy, priority int) error {
	param := int32(priority)
	if _, _, errno := unix.Syscall(unix.SYS_SCHED_SETSCHEDULER, uintptr(tid), uintptr(policy), uintptr(unsafe.Pointer(&param))); errno != 0 {
		return errno
	}
	return nil
}
