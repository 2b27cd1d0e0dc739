package gauge

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"

	"brink/internal/kernel"
)

// lookup asks the kernel for single connections, each of which costs a
// thousandth of a walk through its table of all. It is of the network namespace
// in which it was dialled, and allocates nothing.
//
// https://man7.org/linux/man-pages/man7/sock_diag.7.html
type lookup struct {
	fd  int
	seq uint32
	req [lookupRequest]byte
	buf [4 << 10]byte
}

// Sizes, offsets and numbers of include/uapi/linux/inet_diag.h, and states of
// include/net/tcp_states.h.
const (
	lookupRequest = unix.NLMSG_HDRLEN + 56 // inet_diag_req_v2
	diagSocket    = 72                     // inet_diag_msg
	diagInode     = 68
	diagInfo      = 2 // INET_DIAG_INFO: a tcp_info follows
	stateOpen     = 1
	stateClosed   = 8 // by the client: CLOSE_WAIT

	lastDataReceived = int(unsafe.Offsetof(unix.TCPInfo{}.Last_data_recv))
)

func dialLookup() (*lookup, error) {
	fd, err := dialDiag()
	if err != nil {
		return nil, err
	}
	return &lookup{fd: fd}, nil
}

func (l *lookup) close() error {
	if l == nil {
		return nil
	}
	return unix.Close(l.fd)
}

// waits reports whether a connection still waits to be accepted, and takes its
// age and whether its client has closed anew.
func (l *lookup) waits(c *kernel.QueuedConn) bool {
	l.ask(c.Local, c.Remote)
	if _, err := unix.Write(l.fd, l.req[:]); err != nil {
		return false
	}
	for {
		// The kernel has answered before the write returned.
		n, err := unix.Read(l.fd, l.buf[:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return false
		}
		if body, ours := l.answer(l.buf[:n]); ours {
			return waiting(body, c)
		}
	}
}

func (l *lookup) ask(local, remote netip.AddrPort) {
	l.seq++
	b := l.req[:]
	clear(b)
	native.PutUint32(b[0:], lookupRequest)
	native.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
	native.PutUint16(b[6:], unix.NLM_F_REQUEST)
	native.PutUint32(b[8:], l.seq)
	q := b[unix.NLMSG_HDRLEN:]
	q[0], q[1], q[2] = unix.AF_INET6, unix.IPPROTO_TCP, 1<<(diagInfo-1)
	native.PutUint32(q[4:], 1<<stateOpen|1<<stateClosed)
	binary.BigEndian.PutUint16(q[8:], local.Port())
	binary.BigEndian.PutUint16(q[10:], remote.Port())
	if local.Addr().Is4() {
		q[0] = unix.AF_INET
		from, to := local.Addr().As4(), remote.Addr().As4()
		copy(q[12:], from[:])
		copy(q[28:], to[:])
	} else {
		from, to := local.Addr().As16(), remote.Addr().As16()
		copy(q[12:], from[:])
		copy(q[28:], to[:])
	}
	native.PutUint64(q[48:], ^uint64(0)) // INET_DIAG_NOCOOKIE
}

// answer returns the body of the message; ours says that it is the answer to
// the last question. An error has no body.
func (l *lookup) answer(b []byte) (body []byte, ours bool) {
	if len(b) < unix.NLMSG_HDRLEN || native.Uint32(b[8:]) != l.seq {
		return nil, false
	}
	size := int(native.Uint32(b))
	if native.Uint16(b[4:]) != unix.SOCK_DIAG_BY_FAMILY || size < unix.NLMSG_HDRLEN || size > len(b) {
		return nil, true
	}
	return b[unix.NLMSG_HDRLEN:size], true
}

// waiting understands an answer. Where there is no such connection, the kernel
// answers with the socket that listens there.
func waiting(body []byte, c *kernel.QueuedConn) bool {
	if len(body) < diagSocket {
		return false
	}
	state := body[1]
	if native.Uint32(body[diagInode:]) != 0 || state != stateOpen && state != stateClosed {
		return false
	}
	c.Closed, c.SinceDataMillis = state == stateClosed, kernel.Num{}
	for attrs := body[diagSocket:]; len(attrs) >= unix.SizeofNlAttr; {
		size, kind := int(native.Uint16(attrs)), native.Uint16(attrs[2:])
		if size < unix.SizeofNlAttr || size > len(attrs) {
			return false
		}
		if info := attrs[unix.SizeofNlAttr:size]; kind == diagInfo && len(info) >= lastDataReceived+4 {
			c.SinceDataMillis = known(uint64(native.Uint32(info[lastDataReceived:])))
		}
		attrs = attrs[min(nlAlign(size), len(attrs)):]
	}
	return true
}
