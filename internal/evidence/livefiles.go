//go:build linux

package evidence

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// smallFile reads a small file of this machine; name is below the root.
func smallFile(name string) (string, error) {
	f, err := os.Open("/" + name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	const most = 256 << 10
	b, err := io.ReadAll(io.LimitReader(f, most))
	return string(b), err
}

// lockPages keeps the pages that this process touches in memory until it ends:
// letting go of them costs as much again. why says why not.
//
// https://man7.org/linux/man-pages/man2/mlock.2.html
func lockPages() (why string) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
		return err.Error()
	}
	// A finite limit would make every later allocation fail that exceeds it,
	// and Go reserves more address space than usual limits allow.
	if limit.Cur != unix.RLIM_INFINITY && !mayLock() {
		return fmt.Sprintf("this user may lock %d KiB", limit.Cur>>10)
	}
	if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT); err != nil {
		return err.Error()
	}
	return ""
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

// kernelMessages returns the kernel's log as dmesg shows it, at most its last
// part.
//
// https://www.kernel.org/doc/html/latest/admin-guide/abi-testing.html (dev-kmsg)
func kernelMessages() ([]string, error) {
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/kmsg: %w", err)
	}
	defer unix.Close(fd)
	const mostRecords, longest = 20_000, 8 << 10
	record := make([]byte, longest)
	var lines []string
	for range mostRecords {
		n, err := unix.Read(fd, record)
		switch {
		case errors.Is(err, unix.EPIPE), errors.Is(err, unix.EINTR): // overwritten meanwhile
			continue
		case errors.Is(err, unix.EAGAIN), err == nil && n == 0:
			return lines, nil
		case err != nil:
			return nil, fmt.Errorf("/dev/kmsg: %w", err)
		}
		if line, ok := kmsgRecord(record[:n]); ok {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// kmsgRecord makes a line of dmesg of a record "PRIORITY,SEQUENCE,µs,FLAGS;TEXT".
// Records of others than the kernel are left out.
func kmsgRecord(record []byte) (string, bool) {
	head, text, ok := bytes.Cut(record, []byte{';'})
	if !ok {
		return "", false
	}
	parts := strings.Split(string(head), ",")
	if len(parts) < 3 {
		return "", false
	}
	priority, err1 := strconv.ParseUint(parts[0], 10, 32)
	micros, err2 := strconv.ParseUint(parts[2], 10, 64)
	if err1 != nil || err2 != nil || priority>>3 != 0 {
		return "", false
	}
	text, _, _ = bytes.Cut(text, []byte{'\n'})
	return fmt.Sprintf("[%5d.%06d] %s", micros/1e6, micros%1e6, text), true
}
