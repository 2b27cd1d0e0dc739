package system

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// LockMemory keeps what this process has touched, and will touch, in memory: an
// agent whose own pages must come back from swap cannot say what the others
// wait for. Pages that are never touched cost nothing. The processes that it
// starts are not locked.
//
// https://man7.org/linux/man-pages/man2/mlock.2.html
var LockMemory = sync.OnceValue(func() error {
	if err := mayLock(); err != nil {
		return err
	}
	if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT); err != nil {
		return fmt.Errorf("mlockall: %w", err)
	}
	return nil
})

// mayLock tells why this process may not lock its memory. A limit that it has
// not reached yet would make every later allocation fail that exceeds it, and
// Go reserves more address space than any usual limit allows.
func mayLock() error {
	if HasCapability(unix.CAP_IPC_LOCK) {
		return nil
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
		return fmt.Errorf("the limit of locked memory: %w", err)
	}
	if limit.Cur != unix.RLIM_INFINITY {
		return fmt.Errorf("this user may lock %d KiB (RLIMIT_MEMLOCK), which is not enough", limit.Cur>>10)
	}
	return nil
}

// MemoryFact says whether the agent's memory is locked while it samples.
func MemoryFact() string {
	if err := mayLock(); err != nil {
		return "not locked: " + err.Error()
	}
	return "locked as it is touched"
}

// HasCapability tells whether this process has one of the first 32 capabilities
// (capabilities(7)), given as its number.
func HasCapability(number int) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData // the numbers above 31 are in the second
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&(1<<number) != 0
}
