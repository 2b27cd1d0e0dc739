//go:build linux

package evidence

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"brink/internal/kernel"
)

// smallFile reads a small file of this machine; name is below the root. Without
// os.File, which asks what kind of file it is and whether one can wait for it,
// a reading of the kernel takes half as many system calls.
func smallFile(name string) (string, error) {
	fd, err := ignoringEINTR(func() (int, error) { return unix.Open("/"+name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0) })
	if err != nil {
		return "", &os.PathError{Op: "open", Path: "/" + name, Err: err}
	}
	defer unix.Close(fd)
	const most = 256 << 10
	var piece [4 << 10]byte
	var all []byte
	for len(all) < most {
		n, err := ignoringEINTR(func() (int, error) { return unix.Read(fd, piece[:]) })
		if err != nil {
			return string(all), &os.PathError{Op: "read", Path: "/" + name, Err: err}
		}
		if n == 0 {
			break
		}
		all = append(all, piece[:n]...)
	}
	return string(all), nil
}

func ignoringEINTR(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// pageLock keeps the pages that this process touches in memory from when
// anything on this machine waits for memory. Locking them always would cost a
// tenth of all that a look at a machine costs.
type pageLock struct {
	pressure *kernel.Reader[kernel.PSI] // nil where the kernel does not account it
	waited   uint64                     // µs since boot, at the last look
	locked   bool
}

func (p *pageLock) open(fs *kernel.FS) { p.pressure, _ = fs.PSIReader(kernel.PSIMemory) }

// look locks the pages unless there is memory enough.
func (p *pageLock) look() {
	if p.locked || p.calm() {
		return
	}
	p.locked = true
	lockPages()
}

// calm says that nothing has waited for memory since the last look or, at the
// first, for a while. Where that cannot be told it is never so.
func (p *pageLock) calm() bool {
	var now kernel.PSI
	if p.pressure == nil || p.pressure.Read(&now) != nil || !now.Some.Known {
		return false
	}
	before := p.waited
	p.waited = now.Some.TotalMicros
	return now.Some.Avg10 == 0 && (before == 0 || before == p.waited)
}

// lockPages keeps the pages that this process touches in memory until it ends:
// letting go of them costs as much again. Where that may not be, or on a kernel
// before 4.4, which could only lock everything, nothing is locked.
//
// https://man7.org/linux/man-pages/man2/mlock.2.html
func lockPages() {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit) != nil {
		return
	}
	// A finite limit would make every later allocation fail that exceeds it,
	// and Go reserves more address space than usual limits allow.
	if limit.Cur == unix.RLIM_INFINITY || mayLock() {
		_ = unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT)
	}
}

// mayLock says that limits do not hold for this process (CAP_IPC_LOCK).
func mayLock() bool {
	text, err := smallFile("proc/self/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "CapEff:"); ok {
			caps, err := strconv.ParseUint(strings.TrimSpace(rest), 16, 64)
			return err == nil && caps&(1<<unix.CAP_IPC_LOCK) != 0
		}
	}
	return false
}

// kernelMessages returns the lines of the kernel's log that tell an event, and
// how many lines it has. Of a long log it is at most the first part.
//
// https://www.kernel.org/doc/html/latest/admin-guide/abi-testing.html (dev-kmsg)
func kernelMessages() (events []kernelMessage, lines int, err error) {
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("/dev/kmsg: %w", err)
	}
	defer unix.Close(fd)
	const mostRecords, longest = 20_000, 8 << 10
	record := make([]byte, longest)
	for range mostRecords {
		n, errno := readAtOnce(fd, record)
		switch {
		case errno == unix.EPIPE, errno == unix.EINTR: // overwritten meanwhile
			continue
		case errno == unix.EAGAIN, errno == 0 && n == 0:
			return events, lines, nil
		case errno != 0:
			return nil, 0, fmt.Errorf("/dev/kmsg: %w", errno)
		}
		micros, text, ok := kmsgRecord(record[:n])
		if !ok {
			continue
		}
		if lines++; kernelEvent(text) {
			events = append(events, kernelMessage{lines, micros, string(text)})
		}
	}
	return events, lines, nil
}

// readAtOnce is unix.Read for what answers without waiting, so that Go's scheduler
// need not be told: the log takes a call for each record.
func readAtOnce(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return int(n), errno
}

// kmsgRecord takes a record "PRIORITY,SEQUENCE,µs,FLAGS;TEXT" apart. Records of
// others than the kernel are left out.
func kmsgRecord(record []byte) (micros uint64, text []byte, ok bool) {
	head, text, _ := bytes.Cut(record, []byte{';'})
	priority, rest, _ := bytes.Cut(head, []byte{','})
	_, rest, _ = bytes.Cut(rest, []byte{','})
	at, _, _ := bytes.Cut(rest, []byte{','})
	facility, err1 := strconv.ParseUint(string(priority), 10, 32)
	micros, err2 := strconv.ParseUint(string(at), 10, 64)
	if err1 != nil || err2 != nil || facility>>3 != 0 {
		return 0, nil, false
	}
	text, _, _ = bytes.Cut(text, []byte{'\n'})
	return micros, text, true
}
