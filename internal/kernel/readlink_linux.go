package kernel

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// readlinkat is unix.Readlinkat for a name that ends with NUL and lies in a
// buffer: a string would be allocated anew for each link. Links of proc are read
// without waiting for anything, so that Go's scheduler is not told.
func readlinkat(dir int, name, link []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_READLINKAT, uintptr(dir),
		uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&link[0])), uintptr(len(link)), 0, 0)
	return int(n), errno
}
