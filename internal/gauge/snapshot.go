package gauge

import (
	"net/netip"
	"time"

	"brink/internal/kernel"
)

// Measure is a figure that a reading may not be able to tell. The zero Measure
// is unknown.
type Measure struct {
	Value float64
	Known bool
}

// Snapshot is one reading.
type Snapshot struct {
	At       time.Time
	Interval time.Duration // since the reading before; 0 in the first
	Servers  []*Server     // by address
}

// Server is a tree of processes that share listening sockets.
type Server struct {
	Name string // of the app, as far as the command line tells
	Kind Kind
	Why  string // what the kind was recognised by
	// PID and StartTicks name the topmost process that holds the sockets; 0
	// where it could not be found.
	PID        int
	StartTicks uint64
	NetNS      uint64 // network namespace; 0 is ours
	Sockets    []Socket
	Processes  []Process

	// Workers is how many requests can be served at once, Busy how many of
	// them hold one, Idle the others. Queued is how many connections wait for
	// a worker, in accept queues and inside the server.
	Workers, Busy, Idle, Queued kernel.Num
	// BusyAtLeast is what is certain when Busy is not.
	BusyAtLeast uint64
	// Open is the number of connections that have been accepted; unknown in
	// readings that did not look at connections.
	Open kernel.Num

	CPU      Measure // CPUs in use since the reading before; 1 is one whole CPU
	RSSBytes uint64  // resident memory of all processes; shared pages count in each

	// Service is how long a worker holds a request, in seconds, and Rate how
	// many requests arrive per second: measured over about the last minute.
	Service, Rate Measure
	// ServiceError is the standard error of Service as a share of it, from 0 to
	// 0.15: what is less certain is unknown.
	ServiceError Measure

	// Totals since the gauge first saw the server, in seconds, of readings
	// in which the figure was known.
	Total Totals
}

// Totals are integrals over time.
type Totals struct {
	WorkerSeconds, BusySeconds float64
	CPUSeconds                 float64
}

// Socket is a listening socket.
type Socket struct {
	Local netip.AddrPort
	Path  string // of a Unix socket; Local is then the zero AddrPort
	Inode uint64
	Queue uint32     // connections that wait to be accepted
	Limit kernel.Num // the backlog; the queue can hold one more
	// Oldest is how long ago the last data of the longest waiting connection
	// came, in seconds: the time it has waited, for a client that sends its
	// request at once.
	Oldest Measure
	// Abandoned is how many connections in the queue have been closed by their
	// client.
	Abandoned kernel.Num
	// Drops is what the socket has turned away since the reading before, since
	// its queue was full or for other reasons; DropsTotal since it was opened.
	Drops, DropsTotal kernel.Num
	// QueueSeconds is the integral of Queue since the gauge first saw it.
	QueueSeconds float64
}

// Address is where the socket listens: ADDRESS:PORT or unix:PATH.
func (k *Socket) Address() string {
	if k.Path != "" {
		return unixPrefix + k.Path
	}
	return k.Local.String()
}

// State is what a process is doing with requests.
type State uint8

// The states of a process. Serving one says nothing of how many.
const (
	Unknown State = iota
	Idle
	Busy
)

// String returns the state in lower case.
func (s State) String() string {
	switch s {
	case Idle:
		return "idle"
	case Busy:
		return "busy"
	}
	return "unknown"
}

// Process is one process of a server.
type Process struct {
	PID        int
	StartTicks uint64
	Master     bool // holds the sockets for its children and serves nothing itself
	State      State
	RunState   byte // as in proc_pid_stat(5); 0 where it is not known
	// Held is the number of accepted connections, Serving how many of them
	// have a request that is not answered.
	Held, Serving kernel.Num
	// Unread is how many bytes of them the process has not read; unknown in
	// readings that did not look at connections.
	Unread kernel.Num
	// Oldest is how long the longest waiting request has waited inside for a
	// thread, in seconds, counted as [Socket.Oldest] is; unknown where none waits,
	// or which of the requests do.
	Oldest Measure
	// Run and Ready are the time on a CPU and the time waiting for one since
	// the reading before, of the main thread, in seconds.
	Run, Ready Measure
	RSSBytes   uint64
	Wait       Wait
}

// Wait is what the main thread of a process waits on.
type Wait struct {
	Call string // the system call; empty where it is not known
	// Peer is the other end of the connection that it waits on. Sure says that
	// the call names the connection; otherwise it is the only one that it can be.
	Peer netip.AddrPort
	Sure bool
}
