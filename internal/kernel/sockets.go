package kernel

import "net/netip"

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
