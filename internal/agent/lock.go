package agent

import (
	"fmt"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// lockMemory keeps what this process has touched, and will touch, in memory: an
// agent whose own pages must come back from swap cannot say what the others
// wait for. Pages that are never touched cost nothing. The processes that it
// starts are not locked.
//
// https://man7.org/linux/man-pages/man2/mlock.2.html
var lockMemory = sync.OnceValue(func() error {
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
	caps, err := strconv.ParseUint(field("/proc/self/status", "CapEff", ":"), 16, 64)
	if err == nil && caps&(1<<unix.CAP_IPC_LOCK) != 0 {
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

// memoryFact says whether the agent's memory is locked while it samples.
func memoryFact() string {
	if err := mayLock(); err != nil {
		return "not locked: " + err.Error()
	}
	return "locked as it is touched"
}
