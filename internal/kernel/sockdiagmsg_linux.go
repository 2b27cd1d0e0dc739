package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Sizes and offsets of include/uapi/linux/inet_diag.h.
const (
	diagRequestLen = unix.NLMSG_HDRLEN + 56 // inet_diag_req_v2
	diagSocketLen  = 72                     // inet_diag_msg
	diagInfo       = 2                      // INET_DIAG_INFO: a tcp_info follows

	lastDataRecv = int(unsafe.Offsetof(unix.TCPInfo{}.Last_data_recv))
)

// diagRequest asks for the TCP sockets of one address family.
type diagRequest struct {
	family uint8
	states uint32 // 1 << state
	port   uint16 // local port, 0 for all
	info   bool   // with tcp_info
}

func (r diagRequest) put(b *[diagRequestLen]byte, seq uint32) {
	clear(b[:])
	native.PutUint32(b[0:], diagRequestLen)
	native.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
	native.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	native.PutUint32(b[8:], seq)
	q := b[unix.NLMSG_HDRLEN:]
	q[0] = r.family
	q[1] = unix.IPPROTO_TCP
	if r.info {
		q[2] = 1 << (diagInfo - 1)
	}
	native.PutUint32(q[4:], r.states)
	binary.BigEndian.PutUint16(q[8:], r.port)
}

// diagMessages walks through the netlink messages of a dump.
type diagMessages struct {
	rest []byte
	seq  uint32 // messages of an earlier, abandoned dump are stepped over
}

var errDiagForm = errors.New("sock_diag: a message is not in the form of linux/inet_diag.h")

// next returns the body of the next message about a socket. It is nil when the
// buffer is used up; done says that the dump is complete.
func (m *diagMessages) next() (body []byte, done bool, err error) {
	for len(m.rest) > 0 {
		if len(m.rest) < unix.NLMSG_HDRLEN {
			return nil, false, errDiagForm
		}
		size := int(native.Uint32(m.rest))
		if size < unix.NLMSG_HDRLEN || size > len(m.rest) {
			return nil, false, errDiagForm
		}
		kind, seq := native.Uint16(m.rest[4:]), native.Uint32(m.rest[8:])
		body = m.rest[unix.NLMSG_HDRLEN:size]
		m.rest = m.rest[min(nlAlign(size), len(m.rest)):]
		if seq != m.seq {
			continue
		}
		switch kind {
		case unix.NLMSG_DONE, unix.NLMSG_ERROR:
			return nil, true, diagStatus(kind, body)
		case unix.SOCK_DIAG_BY_FAMILY, tcpDiagGetSock:
			return body, false, nil
		}
	}
	return nil, false, nil
}

// diagStatus reads the errno that ends a dump. DONE carries one too, since the
// request is only looked at when the dump has begun.
func diagStatus(kind uint16, body []byte) error {
	if len(body) < 4 {
		if kind == unix.NLMSG_DONE {
			return nil
		}
		return errDiagForm
	}
	if errno := int32(native.Uint32(body)); errno < 0 {
		return unix.Errno(-errno)
	}
	return nil
}

func nlAlign(n int) int { return (n + unix.NLMSG_ALIGNTO - 1) &^ (unix.NLMSG_ALIGNTO - 1) }

func parseDiagSocket(b []byte) (diagSocket, error) {
	if len(b) < diagSocketLen {
		return diagSocket{}, errDiagForm
	}
	local, ok := diagAddr(b[0], b[8:24])
	remote, _ := diagAddr(b[0], b[24:40])
	if !ok {
		return diagSocket{}, fmt.Errorf("sock_diag: a socket of address family %d", b[0])
	}
	s := diagSocket{
		state:  b[1],
		local:  netip.AddrPortFrom(local, binary.BigEndian.Uint16(b[4:])),
		remote: netip.AddrPortFrom(remote, binary.BigEndian.Uint16(b[6:])),
		rqueue: native.Uint32(b[56:]),
		wqueue: native.Uint32(b[60:]),
		uid:    native.Uint32(b[64:]),
		inode:  native.Uint32(b[68:]),
	}
	for attrs := b[diagSocketLen:]; len(attrs) >= unix.SizeofNlAttr; {
		size, kind := int(native.Uint16(attrs)), native.Uint16(attrs[2:])
		if size < unix.SizeofNlAttr || size > len(attrs) {
			return diagSocket{}, errDiagForm
		}
		if info := attrs[unix.SizeofNlAttr:size]; kind == diagInfo && len(info) >= lastDataRecv+4 {
			s.sinceData = Num{uint64(native.Uint32(info[lastDataRecv:])), true}
		}
		attrs = attrs[min(nlAlign(size), len(attrs)):]
	}
	return s, nil
}

func diagAddr(family uint8, b []byte) (netip.Addr, bool) {
	switch family {
	case unix.AF_INET:
		return netip.AddrFrom4([4]byte(b)), true
	case unix.AF_INET6:
		return netip.AddrFrom16([16]byte(b)).Unmap(), true
	}
	return netip.Addr{}, false
}
