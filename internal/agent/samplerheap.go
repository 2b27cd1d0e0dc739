package agent

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"brink/internal/wire"
)

// heapVariable names a file in an app's environment in which the app tells
// what the kernel cannot see of its memory: one line of five whole numbers,
// the time in ms since 1970 and, in bytes, what process.memoryUsage() of
// Node.js calls heapUsed, heapTotal, external and arrayBuffers. The app writes
// it about once a second, each time from the start of the file in one write,
// so that nobody has to ask it.
const heapVariable = "BRINK_GAUGE_FILE"

// staleHeap is when numbers are too old to be called present.
const staleHeap = 5 * time.Second

// heapFile reads the file.
type heapFile struct {
	fd   int
	open bool
	buf  [256]byte
	iov  [1][]byte
}

// heapPath returns where the app writes, nothing if it does not.
func heapPath(env []string) string {
	for _, e := range env {
		if path, ok := strings.CutPrefix(e, heapVariable+"="); ok {
			return path
		}
	}
	return ""
}

func (h *heapFile) close() error {
	if !h.open {
		return nil
	}
	h.open = false
	return unix.Close(h.fd)
}

// read fills in the heap's numbers. A file whose page would have to be fetched
// from a disk is not waited for.
func (h *heapFile) read(path string, x *wire.Sample, now time.Time) {
	if !h.open {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return // the app has not begun to write
		}
		h.fd, h.open, h.iov[0] = fd, true, h.buf[:]
	}
	n, err := unix.Preadv2(h.fd, h.iov[:], 0, unix.RWF_NOWAIT)
	if errors.Is(err, unix.EOPNOTSUPP) {
		n, err = unix.Pread(h.fd, h.buf[:], 0)
	}
	if err != nil {
		return
	}
	v, ok := parseHeap(h.buf[:n])
	if !ok || now.UnixMilli()-v[0] > staleHeap.Milliseconds() {
		_ = h.close() // perhaps the app writes to a new file
		return
	}
	x.HeapUsed, x.HeapTotal, x.External, x.ArrayBuffers = v[1], v[2], v[3], v[4]
}

// parseHeap reads the line, if it is there as a whole.
func parseHeap(b []byte) (v [5]int64, ok bool) {
	line, _, whole := bytes.Cut(b, []byte{'\n'})
	if !whole {
		return v, false
	}
	for i := range v {
		line = bytes.TrimLeft(line, " ")
		field := line
		if end := bytes.IndexByte(line, ' '); end >= 0 {
			field = line[:end]
		}
		line = line[len(field):]
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil || n < 0 {
			return [5]int64{}, false
		}
		v[i] = n
	}
	return v, len(bytes.TrimLeft(line, " ")) == 0
}
