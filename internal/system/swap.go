package system

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// emptySwap brings everything back from an area.
func emptySwap(area string) error {
	if err := swapCall(unix.SYS_SWAPOFF, "swapoff", area); err != nil {
		return err
	}
	return SwapOn(area)
}

// SwapOn makes an area swap; the error is EBUSY when it is already.
func SwapOn(area string) error { return swapCall(unix.SYS_SWAPON, "swapon", area) }

func swapCall(trap uintptr, name, area string) error {
	path, err := unix.BytePtrFromString(area)
	if err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(trap, uintptr(unsafe.Pointer(path)), 0, 0); errno != 0 {
		return os.NewSyscallError(name, errno)
	}
	return nil
}
