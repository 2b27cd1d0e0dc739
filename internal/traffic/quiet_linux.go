package traffic

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// quietConn reads and writes a connection of the kernel with raw system calls.
//
// An ordinary Read announces itself to the Go scheduler as something that may
// block. In a process that is idle between requests the announcement wakes the
// runtime's monitor thread, which then looks around for a while and sleeps
// again: at a few thousand requests per second that is most of what a request
// costs. The sockets do not block, so nothing needs to be announced.
type quietConn struct {
	net.Conn
	raw     syscall.RawConn
	in, out transfer
	read    func(fd uintptr) bool // bound once, not at every call
	write   func(fd uintptr) bool
}

// transfer is a read or a write under way.
type transfer struct {
	buf   []byte
	n     int
	errno syscall.Errno
}

// quiet wraps a connection if it is one of the kernel's. At most one goroutine
// at a time may read from it, and one write.
func quiet(c net.Conn) net.Conn {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return c
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return c
	}
	q := &quietConn{Conn: c, raw: raw}
	q.read = func(fd uintptr) bool { return q.in.try(unix.SYS_READ, fd) }
	q.write = func(fd uintptr) bool { return q.out.try(unix.SYS_WRITE, fd) }
	return q
}

// try makes the system call and reports whether it did not have to wait.
func (t *transfer) try(call, fd uintptr) bool {
	for {
		n, _, errno := unix.RawSyscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(t.buf))), uintptr(len(t.buf)))
		switch errno {
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			return false
		case 0:
			t.n = int(n)
		}
		t.errno = errno
		return true
	}
}

// err is what became of the transfer, as an error of the given call.
func (t *transfer) err(call string) error {
	if t.errno != 0 {
		return os.NewSyscallError(call, t.errno)
	}
	return nil
}

func (q *quietConn) Read(p []byte) (int, error) {
	q.in = transfer{buf: p}
	if err := q.raw.Read(q.read); err != nil {
		return 0, err
	}
	if q.in.n == 0 && q.in.errno == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return q.in.n, q.in.err("read")
}

func (q *quietConn) Write(p []byte) (int, error) {
	written := 0
	for written < len(p) {
		q.out = transfer{buf: p[written:]}
		if err := q.raw.Write(q.write); err != nil {
			return written, err
		}
		if err := q.out.err("write"); err != nil {
			return written, err
		}
		written += q.out.n
	}
	return written, nil
}
