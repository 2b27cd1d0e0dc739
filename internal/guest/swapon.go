package guest

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// swapon is the system call, which golang.org/x/sys/unix does not wrap.
func swapon(path *byte) error {
	if _, _, errno := unix.Syscall(unix.SYS_SWAPON, uintptr(unsafe.Pointer(path)), 0, 0); errno != 0 {
		return errno
	}
	return nil
}
