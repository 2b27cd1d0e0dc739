package gauge

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"brink/internal/kernel"
)

// unixSockets asks the kernel for the Unix sockets of the network namespace in
// which it was dialled. It keeps its buffers; asking again allocates nothing.
//
// https://man7.org/linux/man-pages/man7/sock_diag.7.html
type unixSockets struct {
	fd  int
	seq uint32
	req [unixRequest]byte
	buf []byte
	// entry is what each hands out.
	entry unixEntry
}

// Sizes, offsets and numbers of include/uapi/linux/unix_diag.h.
const (
	unixRequest  = unix.NLMSG_HDRLEN + 24 // unix_diag_req
	unixSocket   = 16                     // unix_diag_msg
	unixState    = 2
	unixInode    = 4
	unixName     = 0 // UNIX_DIAG_NAME
	unixQueue    = 4 // UNIX_DIAG_RQLEN: of a listener, what waits and its limit
	showName     = 1 << 0
	showQueue    = 1 << 4
	stateListens = 10
)

func dialUnixSockets() (*unixSockets, error) {
	fd, err := dialDiag()
	if err != nil {
		return nil, err
	}
	return &unixSockets{fd: fd, buf: make([]byte, 64<<10)}, nil
}

func (u *unixSockets) close() error {
	if u == nil {
		return nil
	}
	return unix.Close(u.fd)
}

// unixEntry is one socket. Its name and queue are nil where they were not asked
// for or there are none; they are valid until the next is read.
type unixEntry struct {
	inode       uint64
	name, queue []byte
}

// each calls f for the sockets in a state that have a name in the file system.
func (u *unixSockets) each(state uint, show uint32, f func(*unixEntry)) error {
	u.seq++
	b := u.req[:]
	clear(b)
	native.PutUint32(b[0:], unixRequest)
	native.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
	native.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	native.PutUint32(b[8:], u.seq)
	q := b[unix.NLMSG_HDRLEN:]
	q[0] = unix.AF_UNIX
	native.PutUint32(q[4:], 1<<state)
	native.PutUint32(q[12:], show)
	if _, err := unix.Write(u.fd, b); err != nil {
		return os.NewSyscallError("unix_diag: write", err)
	}
	for {
		n, err := unix.Read(u.fd, u.buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return os.NewSyscallError("unix_diag: read", err)
		}
		if done, err := u.messages(u.buf[:n], uint8(state), f); done || err != nil {
			return err
		}
	}
}

var errUnixForm = errors.New("unix_diag: a message is not in the form of linux/unix_diag.h")

func (u *unixSockets) messages(b []byte, state uint8, f func(*unixEntry)) (done bool, err error) {
	for len(b) > 0 {
		if len(b) < unix.NLMSG_HDRLEN {
			return false, errUnixForm
		}
		size := int(native.Uint32(b))
		if size < unix.NLMSG_HDRLEN || size > len(b) {
			return false, errUnixForm
		}
		kind, seq, body := native.Uint16(b[4:]), native.Uint32(b[8:]), b[unix.NLMSG_HDRLEN:size]
		b = b[min(nlAlign(size), len(b)):]
		switch {
		case seq != u.seq: // of a dump that was given up
		case kind == unix.NLMSG_DONE:
			return true, nil
		case kind == unix.NLMSG_ERROR:
			return true, fmt.Errorf("unix_diag: %w", kernel.ErrUnavailable)
		case kind == unix.SOCK_DIAG_BY_FAMILY:
			e := &u.entry
			if *e = (unixEntry{}); !e.parse(body, state) {
				return false, errUnixForm
			}
			if len(e.name) > 0 && e.name[0] != 0 { // not an abstract one
				f(e)
			}
		}
	}
	return false, nil
}

// parse reports whether the message has the right form; one in another state is
// left without a name.
func (e *unixEntry) parse(body []byte, state uint8) bool {
	if len(body) < unixSocket {
		return false
	}
	e.inode = uint64(native.Uint32(body[unixInode:]))
	if body[unixState] != state {
		return true
	}
	for attrs := body[unixSocket:]; len(attrs) >= unix.SizeofNlAttr; {
		size, kind := int(native.Uint16(attrs)), native.Uint16(attrs[2:])
		if size < unix.SizeofNlAttr || size > len(attrs) {
			return false
		}
		switch value := attrs[unix.SizeofNlAttr:size]; kind {
		case unixName:
			e.name = bytes.TrimRight(value, "\x00")
		case unixQueue:
			e.queue = value
		}
		attrs = attrs[min(nlAlign(size), len(attrs)):]
	}
	return true
}

// waiting returns how many connections wait for a listener, and its limit.
func (e *unixEntry) waiting() (queue uint32, limit kernel.Num) {
	if len(e.queue) < 8 {
		return 0, kernel.Num{}
	}
	return native.Uint32(e.queue), known(uint64(native.Uint32(e.queue[4:])))
}

func nlAlign(n int) int { return (n + unix.NLMSG_ALIGNTO - 1) &^ (unix.NLMSG_ALIGNTO - 1) }

var native = binary.NativeEndian

// dialDiag opens a sock_diag socket. Its answers are there when a request has
// been written, so reading never waits.
func dialDiag() (fd int, err error) {
	fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return -1, err
	}
	if err := unix.Connect(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
