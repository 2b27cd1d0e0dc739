package kernel

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// TCPLookup asks the kernel for single connections, each of which costs a
// thousandth of a walk through its table of all ([SockDiag.Connections]). It is
// of the network namespace in which it was dialled, and allocates nothing.
//
// https://man7.org/linux/man-pages/man7/sock_diag.7.html
type TCPLookup struct {
	fd  int
	seq uint32
	req [diagRequestLen]byte
	buf [4 << 10]byte
}

// DialTCPLookup opens a sock_diag socket.
func DialTCPLookup() (*TCPLookup, error) {
	fd, err := dialNetlink(unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, err
	}
	return &TCPLookup{fd: fd}, nil
}

// Close closes the socket. A nil TCPLookup has none.
func (l *TCPLookup) Close() error {
	if l == nil {
		return nil
	}
	return unix.Close(l.fd)
}

// Waits reports whether a connection still waits to be accepted, and reads its
// SinceDataMillis and Closed anew. If the kernel does not answer it does not
// wait.
func (l *TCPLookup) Waits(c *QueuedConn) bool {
	l.ask(c.Local, c.Remote)
	if _, err := unix.Write(l.fd, l.req[:]); err != nil {
		return false
	}
	for {
		// The kernel has answered before the write returned.
		n, err := readNetlink(l.fd, l.buf[:])
		if err != nil {
			return false
		}
		if body, ours := l.answer(l.buf[:n]); ours {
			return stillWaits(body, c)
		}
	}
}

func (l *TCPLookup) ask(local, remote netip.AddrPort) {
	l.seq++
	asked := diagRequest{family: unix.AF_INET6, states: 1<<tcpEstablished | 1<<tcpCloseWait, port: local.Port(), info: true}
	if local.Addr().Is4() {
		asked.family = unix.AF_INET
	}
	asked.put(&l.req, l.seq)
	native.PutUint16(l.req[6:], unix.NLM_F_REQUEST) // one, no dump
	q := l.req[unix.NLMSG_HDRLEN:]
	binary.BigEndian.PutUint16(q[10:], remote.Port())
	if local.Addr().Is4() {
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
func (l *TCPLookup) answer(b []byte) (body []byte, ours bool) {
	if len(b) < unix.NLMSG_HDRLEN || native.Uint32(b[8:]) != l.seq {
		return nil, false
	}
	size := int(native.Uint32(b))
	if native.Uint16(b[4:]) != unix.SOCK_DIAG_BY_FAMILY || size < unix.NLMSG_HDRLEN || size > len(b) {
		return nil, true
	}
	return b[unix.NLMSG_HDRLEN:size], true
}

// stillWaits understands an answer. Where there is no such connection, the
// kernel answers with the socket that listens there.
func stillWaits(body []byte, c *QueuedConn) bool {
	s, err := parseDiagSocket(body)
	if err != nil || s.inode != 0 || s.state != tcpEstablished && s.state != tcpCloseWait {
		return false
	}
	c.Closed, c.SinceDataMillis = s.state == tcpCloseWait, s.sinceData
	return true
}
