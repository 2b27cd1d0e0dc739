package kernel

import (
	"encoding/binary"
	"net/netip"
)

// Listener is a TCP socket that listens.
//
// https://man7.org/linux/man-pages/man2/listen.2.html
type Listener struct {
	Local   netip.AddrPort
	Queue   uint32 // Recv-Q: connections that wait to be accepted, at most Backlog + 1
	Backlog Num    // Send-Q: the limit; the text tables do not have it
	Inode   uint64
	UID     uint32
}

// QueuedConn is a connection that no process has accepted yet: it is
// established, but no file belongs to it. It counts towards the Queue of its
// listener. A client that resets its connection while it waits leaves the
// tables at once but keeps its place in the queue, so there can be fewer of
// these than Queue says.
type QueuedConn struct {
	Local, Remote netip.AddrPort // IPv4 in IPv6 is unwrapped
	Unread        uint32         // bytes of the request that have arrived
	// SinceDataMillis is how long ago the last data arrived, in ms; for a
	// client that sent its request at once, the time it has waited. Before any
	// data it counts from the connection's establishment. The text tables do
	// not have it.
	SinceDataMillis Num
	// Closed says that the client has closed its side (CLOSE_WAIT): it gave up,
	// or it is one of the few that half-close after sending a request.
	Closed bool
}

// ListenSocket is a [Listener] with what it had to turn away.
type ListenSocket struct {
	Listener
	// Drops counts what the socket has refused since it was opened: SYNs and
	// last ACKs that found the accept queue full, and what was dropped for
	// other reasons. It is this socket's share of ListenDrops in [Netstat].
	Drops Num
}

// Connection is an established TCP connection, or one whose client has closed
// its side.
type Connection struct {
	QueuedConn
	// Inode is that of the socket's file. It is 0 while nobody has accepted the
	// connection, and again when every process has closed it.
	Inode  uint64
	Unsent uint32 // bytes written that the peer has not acknowledged
	// SinceSentMillis is how long ago data was last sent, in ms and in the
	// kernel's ticks of 1/CONFIG_HZ s, as SinceDataMillis is. Before any data
	// it counts from the connection's establishment.
	SinceSentMillis Num
	// SegmentsIn and SegmentsOut count the segments with data in them, since
	// Linux 4.6.
	SegmentsIn, SegmentsOut Num
}

// Waiting reports whether the connection is in the accept queue.
func (c *Connection) Waiting() bool { return c.Inode == 0 }

// States of include/net/tcp_states.h.
const (
	tcpEstablished = 1
	tcpCloseWait   = 8
	tcpListen      = 10
)

// unreadBytes corrects the kernel's count of unread bytes, in which the FIN of
// a client that has closed counts as one.
func unreadBytes(state uint8, rqueue uint32) uint32 {
	if state == tcpCloseWait && rqueue > 0 {
		return rqueue - 1
	}
	return rqueue
}

// diagSocket is an inet_diag_msg and what of its attributes is wanted, or a row
// of the text tables.
type diagSocket struct {
	state          uint8
	local, remote  netip.AddrPort
	rqueue, wqueue uint32
	uid, inode     uint32
	sinceData      Num // ms
}

func (s *diagSocket) listener() Listener {
	return Listener{
		Local:   s.local,
		Queue:   s.rqueue,
		Backlog: Num{uint64(s.wqueue), true},
		Inode:   uint64(s.inode),
		UID:     s.uid,
	}
}

func (s *diagSocket) queued() QueuedConn {
	return QueuedConn{
		Local:           s.local,
		Remote:          s.remote,
		Unread:          unreadBytes(s.state, s.rqueue),
		SinceDataMillis: s.sinceData,
		Closed:          s.state == tcpCloseWait,
	}
}

var native = binary.NativeEndian
