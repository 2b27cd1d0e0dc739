package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// UnixDiag asks the kernel for the Unix sockets of the network namespace in
// which it was dialled. It keeps its buffers; asking again allocates nothing.
//
// https://man7.org/linux/man-pages/man7/sock_diag.7.html
type UnixDiag struct {
	fd  int
	seq uint32
	req [unixRequestLen]byte
	buf []byte
	// socket is what is handed out.
	socket UnixSocket
}

// UnixSocket is a Unix socket that has a name in the file system.
type UnixSocket struct {
	Inode uint64
	// Path is valid until the next socket is read. An accepted connection has
	// that of its listener.
	Path []byte
	// Queue is how many connections wait for a listener, and Backlog the limit.
	Queue   uint32
	Backlog Num
}

// Sizes, offsets and numbers of include/uapi/linux/unix_diag.h. The states are
// those of TCP.
const (
	unixRequestLen = unix.NLMSG_HDRLEN + 24 // unix_diag_req
	unixSocketLen  = 16                     // unix_diag_msg
	unixState      = 2
	unixInode      = 4
	unixName       = 0 // UNIX_DIAG_NAME
	unixQueue      = 4 // UNIX_DIAG_RQLEN: of a listener, what waits and its limit
	showName       = 1 << 0
	showQueue      = 1 << 4
)

// DialUnixDiag opens a sock_diag socket.
func DialUnixDiag() (*UnixDiag, error) {
	fd, err := dialNetlink(unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, err
	}
	return &UnixDiag{fd: fd, buf: make([]byte, 64<<10)}, nil
}

// Close closes the socket. A nil UnixDiag has none.
func (u *UnixDiag) Close() error {
	if u == nil {
		return nil
	}
	return unix.Close(u.fd)
}

// Listening calls f for the sockets that listen. The error is [ErrUnavailable]
// where the kernel has no unix_diag.
func (u *UnixDiag) Listening(f func(*UnixSocket)) error {
	return u.each(tcpListen, showName|showQueue, f)
}

// Connected calls f for the connections, of which those that were accepted have
// a name. The error is that of Listening.
func (u *UnixDiag) Connected(f func(*UnixSocket)) error {
	return u.each(tcpEstablished, showName, f)
}

func (u *UnixDiag) each(state uint8, show uint32, f func(*UnixSocket)) error {
	u.seq++
	b := u.req[:]
	clear(b)
	native.PutUint32(b[0:], unixRequestLen)
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
		n, err := readNetlink(u.fd, u.buf)
		if err != nil {
			return os.NewSyscallError("unix_diag: read", err)
		}
		if done, err := u.messages(u.buf[:n], state, f); done || err != nil {
			return err
		}
	}
}

var errUnixForm = errors.New("unix_diag: a message is not in the form of linux/unix_diag.h")

func (u *UnixDiag) messages(b []byte, state uint8, f func(*UnixSocket)) (done bool, err error) {
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
			return true, fmt.Errorf("unix_diag: %w", ErrUnavailable)
		case kind == unix.SOCK_DIAG_BY_FAMILY:
			s := &u.socket
			if *s = (UnixSocket{}); !s.parse(body, state) {
				return false, errUnixForm
			}
			if len(s.Path) > 0 && s.Path[0] != 0 { // not an abstract one
				f(s)
			}
		}
	}
	return false, nil
}

// parse reports whether the message has the right form; one in another state is
// left without a name.
func (s *UnixSocket) parse(body []byte, state uint8) bool {
	if len(body) < unixSocketLen {
		return false
	}
	s.Inode = uint64(native.Uint32(body[unixInode:]))
	if body[unixState] != state {
		return true
	}
	for attrs := body[unixSocketLen:]; len(attrs) >= unix.SizeofNlAttr; {
		size, kind := int(native.Uint16(attrs)), native.Uint16(attrs[2:])
		if size < unix.SizeofNlAttr || size > len(attrs) {
			return false
		}
		switch value := attrs[unix.SizeofNlAttr:size]; {
		case kind == unixName:
			s.Path = bytes.TrimRight(value, "\x00")
		case kind == unixQueue && len(value) >= 8:
			s.Queue, s.Backlog = native.Uint32(value), Num{uint64(native.Uint32(value[4:])), true}
		}
		attrs = attrs[min(nlAlign(size), len(attrs)):]
	}
	return true
}
