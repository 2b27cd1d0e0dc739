package kernel

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Sizes and offsets of include/uapi/linux: inet_diag.h, sock_diag.h, tcp.h.
const (
	diagRequestV1Len = unix.NLMSG_HDRLEN + 60 // inet_diag_req
	diagMemory       = 7                      // INET_DIAG_SKMEMINFO: nine numbers follow
	diagBytecode     = 1                      // INET_DIAG_REQ_BYTECODE
	diagSportEqual   = 11                     // INET_DIAG_BC_S_EQ, since Linux 4.17
	diagJump         = 1                      // INET_DIAG_BC_JMP
	skMemoryDrops    = 8 * 4                  // SK_MEMINFO_DROPS
	tcpDiagGetSock   = 18                     // TCPDIAG_GETSOCK

	lastDataSent = int(unsafe.Offsetof(unix.TCPInfo{}.Last_data_sent))
	dataSegsIn   = int(unsafe.Offsetof(unix.TCPInfo{}.Data_segs_in))
	dataSegsOut  = int(unsafe.Offsetof(unix.TCPInfo{}.Data_segs_out))

	// filterPort is the bytecode for one port: compare, port, jump to the end.
	filterPort      = 12
	mostPorts       = 64
	diagRequestMost = diagRequestV1Len + unix.SizeofNlAttr + mostPorts*filterPort
)

// ListenSockets appends the listening TCP sockets, of both address families, to
// dst. The error is [ErrUnavailable] where the kernel has no tcp_diag.
func (d *SockDiag) ListenSockets(dst []ListenSocket) ([]ListenSocket, error) {
	if err := d.askAll(1<<tcpListen, diagMemory, nil); err != nil {
		return dst, err
	}
	for {
		s, body, err := d.nextOfAll()
		if err != nil || body == nil {
			return dst, err
		}
		if s.state == tcpListen {
			l := ListenSocket{Listener: s.listener()}
			if memory := diagAttr(body, diagMemory); len(memory) >= skMemoryDrops+4 {
				l.Drops = Num{uint64(native.Uint32(memory[skMemoryDrops:])), true}
			}
			dst = append(dst, l)
		}
	}
}

// Connections appends to dst the connections to the given local ports, accepted
// or not; no ports, or more than 64, stand for all. The kernel walks its whole
// table of connections once, which grows with the machine's memory, and hands
// out only what matches.
func (d *SockDiag) Connections(ports []uint16, dst []Connection) ([]Connection, error) {
	if len(ports) > mostPorts {
		ports = nil
	}
	if err := d.askAll(1<<tcpEstablished|1<<tcpCloseWait, diagInfo, ports); err != nil {
		return dst, err
	}
	for {
		s, body, err := d.nextOfAll()
		if err != nil || body == nil {
			return dst, err
		}
		if s.state != tcpEstablished && s.state != tcpCloseWait {
			continue
		}
		c := Connection{QueuedConn: s.queued(), Inode: uint64(s.inode), Unsent: s.wqueue}
		info := diagAttr(body, diagInfo)
		c.SinceSentMillis = infoNum(info, lastDataSent)
		c.SegmentsIn, c.SegmentsOut = infoNum(info, dataSegsIn), infoNum(info, dataSegsOut)
		dst = append(dst, c)
	}
}

func infoNum(info []byte, at int) Num {
	if len(info) < at+4 {
		return Num{}
	}
	return Num{uint64(native.Uint32(info[at:])), true}
}

// askAll sends a request of the first version of the protocol, which, unlike
// the second, answers for both address families in one walk.
func (d *SockDiag) askAll(states uint32, extension uint8, ports []uint16) error {
	d.msgs.rest = nil
	d.msgs.seq++
	size := diagRequestV1Len
	if len(ports) > 1 {
		size += unix.SizeofNlAttr + len(ports)*filterPort
	}
	d.req = d.req[:size]
	clear(d.req)
	native.PutUint32(d.req[0:], uint32(size))
	native.PutUint16(d.req[4:], tcpDiagGetSock)
	native.PutUint16(d.req[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	native.PutUint32(d.req[8:], d.msgs.seq)
	q := d.req[unix.NLMSG_HDRLEN:]
	q[3] = 1 << (extension - 1)
	native.PutUint32(q[52:], states)
	switch len(ports) {
	case 0:
	case 1:
		binary.BigEndian.PutUint16(q[4:], ports[0])
	default:
		putPorts(d.req[diagRequestV1Len:], ports)
	}
	return d.ask()
}

// putPorts writes a filter that accepts any of the ports. An instruction says
// how far to go on for yes and no; to land right behind the last accepts, four
// bytes further rejects.
func putPorts(b []byte, ports []uint16) {
	native.PutUint16(b, uint16(len(b)))
	native.PutUint16(b[2:], diagBytecode)
	b = b[unix.SizeofNlAttr:]
	for i, port := range ports {
		left := len(b)
		no := filterPort
		if i == len(ports)-1 {
			no += 4
		}
		b[0], b[1] = diagSportEqual, 8
		native.PutUint16(b[2:], uint16(no))
		native.PutUint16(b[6:], port)
		b[8], b[9] = diagJump, 4
		native.PutUint16(b[10:], uint16(left-8))
		b = b[filterPort:]
	}
}

// nextOfAll returns the next socket of the dump and its message, which is nil
// at the end.
func (d *SockDiag) nextOfAll() (s diagSocket, body []byte, err error) {
	for {
		body, done, err := d.msgs.next()
		switch {
		case err != nil:
			return s, nil, diagError(unix.AF_UNSPEC, err)
		case done:
			return s, nil, nil
		case body != nil:
			s, err = parseDiagSocket(body)
			return s, body, err
		}
		if err := d.receive(); err != nil {
			return s, nil, err
		}
	}
}

// diagAttr finds an attribute of a message that parseDiagSocket has accepted.
func diagAttr(body []byte, wanted uint16) []byte {
	for attrs := body[diagSocketLen:]; len(attrs) >= unix.SizeofNlAttr; {
		size, kind := int(native.Uint16(attrs)), native.Uint16(attrs[2:])
		if size < unix.SizeofNlAttr || size > len(attrs) {
			return nil
		}
		if kind == wanted {
			return attrs[unix.SizeofNlAttr:size]
		}
		attrs = attrs[min(nlAlign(size), len(attrs)):]
	}
	return nil
}
