package watch

import (
	"debug/buildinfo"

	"brink/internal/kernel"
)

// proc is a process of a server.
type proc struct {
	p     *kernel.Process
	top   bool
	slept bool // it has not run since the reading before
	stat  kernel.PIDStat
	sched kernel.SchedStat
	// Of the reading before.
	before     kernel.SchedStat
	ticks      uint64
	run, ready Measure // since then
	cpu        float64 // seconds on a CPU since then, of all threads
	seen       bool
	fds        []kernel.FD
	scanned    bool // fds are of this reading, or nothing has run since
	denied     bool // we may not see its files
	epoll      bool
	// slot is the descriptor that the next accepted connection gets, or that
	// the present one has; -1 if that is not certain. quick counts the readings
	// that looked there only.
	slot, quick int
	listener    int // a descriptor of one of the server's sockets
	socks       []sock
	wait        kernel.PIDSyscall
	rss         uint64
}

// sock is a socket of a process, and what is known of it.
type sock struct {
	fd    int
	inode uint64
	is    nature
	age   int  // readings since it was first seen
	doubt bool // it was unclassified before this reading
}

type nature uint8

const (
	unclassified nature = iota
	accepted            // from one of the server's listeners
	another
)

// look reads what the process has done since the reading before.
func (q *proc) look(s *server, page uint64) error {
	q.before = q.sched
	if err := q.p.SchedStat(&q.sched); err != nil {
		if gone(err) {
			return err
		}
		q.sched = kernel.SchedStat{}
	}
	q.run = seconds(since(q.before.RunNanos, q.sched.RunNanos))
	q.ready = seconds(since(q.before.WaitNanos, q.sched.WaitNanos))
	same := q.unchanged()
	if same && q.stat.State == 0 {
		if err := q.readStat(page); err != nil {
			return err
		}
	}
	if q.slept = same && q.stat.State != 'R'; q.slept {
		q.cpu = q.run.Value
		for i := range q.socks {
			q.socks[i].age++
		}
		return nil
	}
	if q.glance(s) {
		q.stat.State = 0 // it lives, and ran; what it does now was not read
		q.cpu = q.run.Value
		return nil
	}
	if err := q.readStat(page); err != nil {
		return err
	}
	q.account()
	return q.lookAtFiles(s)
}

// unchanged reports whether a process with one thread has not got a CPU since
// the reading before. If it does not run now, its files are what they were: the
// scheduler's count was read before them.
func (q *proc) unchanged() bool {
	return q.scanned && q.stat.Threads == 1 &&
		q.sched.Timeslices.Known && q.sched.Timeslices == q.before.Timeslices && q.sched.RunNanos == q.before.RunNanos
}

// readStat fails with kernel.ErrGone for a process that waits to be reaped.
func (q *proc) readStat(page uint64) error {
	if err := q.p.Stat(&q.stat); err != nil {
		return err
	}
	if q.stat.State == 'Z' || q.stat.State == 'X' {
		return kernel.ErrGone
	}
	q.rss = uint64(max(q.stat.RSSPages, 0)) * page
	return nil
}

// mostGlances is how often in a row a glance stands in for a listing.
const mostGlances = 15

// glance looks only where an accepted connection is bound to be: at the lowest
// descriptor that was free. It does for a process that serves one connection at
// a time and is known to open sockets for nothing else, and costs a twentieth of
// a listing. It reports whether that told enough.
func (q *proc) glance(s *server) bool {
	if s.rec.pool != onePerProcess || !s.trust.earned() || s.detail || !q.scanned || q.slot < 0 ||
		q.stat.Threads != 1 || q.quick >= mostGlances {
		return false
	}
	inode, used, err := q.p.SocketAt(q.slot)
	if err != nil || used && (inode == 0 || s.socket(inode) != nil) {
		return false
	}
	if !used { // nor does one that has ended have its listener
		if inode, _, err := q.p.SocketAt(q.listener); err != nil || s.socket(inode) == nil {
			return false
		}
	}
	q.quick++
	next := len(q.socks)
	for i := range q.socks[:next] {
		if k := q.socks[i]; k.is == another && k.inode != inode {
			k.age++
			q.socks = append(q.socks, k)
		}
	}
	if used {
		q.socks = append(q.socks, q.known(kernel.FD{Number: q.slot, Inode: inode}, next))
	}
	q.socks = append(q.socks[:0], q.socks[next:]...)
	return true
}

// findSlot prepares the next glances after a listing.
func (q *proc) findSlot() {
	q.quick, q.slot = 0, q.p.LowestFreeFD()
	for i := range q.socks {
		if q.socks[i].is == another {
			continue
		}
		// A lower number that has become free would be the next one's.
		if q.slot < q.socks[i].fd {
			q.slot = -1
		} else {
			q.slot = q.socks[i].fd
		}
		return
	}
}

func seconds(nanos kernel.Num) Measure {
	return Measure{Value: float64(nanos.Value) / 1e9, Known: nanos.Known}
}

// account counts CPU time: the scheduler's of a single thread, which is exact,
// or ticks.
func (q *proc) account() {
	ticks := q.stat.UserTicks + q.stat.SysTicks
	switch {
	case !q.seen || ticks < q.ticks:
		q.cpu = 0
	case q.stat.Threads == 1 && q.run.Known:
		q.cpu = q.run.Value
	default:
		q.cpu = float64(ticks-q.ticks) / kernel.UserHz
	}
	q.ticks, q.seen = ticks, true
}

// lookAtFiles lists the sockets of a process whose pool is not inside: there,
// they tell nothing, and may be thousands.
func (q *proc) lookAtFiles(s *server) error {
	if s.rec.pool == inside && s.recognitions >= mostRecognitions {
		q.scanned = false
		q.socks = q.socks[:0]
		return nil
	}
	fds, err := q.p.FDs(q.fds[:0])
	q.fds = fds
	q.denied, q.scanned = err != nil, err == nil
	if err != nil {
		q.socks = q.socks[:0]
		if gone(err) {
			return err
		}
		return nil
	}
	q.epoll = false
	next := len(q.socks)
	for _, fd := range q.fds {
		if fd.Epoll {
			q.epoll = true
			continue
		}
		if s.socket(fd.Inode) != nil {
			q.listener = fd.Number
			continue
		}
		q.socks = append(q.socks, q.known(fd, next))
	}
	q.socks = append(q.socks[:0], q.socks[next:]...)
	q.findSlot()
	return nil
}

// known carries over what is known of a socket among the first n.
func (q *proc) known(fd kernel.FD, n int) sock {
	for i := range q.socks[:n] {
		if k := q.socks[i]; k.inode == fd.Inode {
			k.fd = fd.Number
			k.age++
			return k
		}
	}
	return sock{fd: fd.Number, inode: fd.Inode}
}

// hold names the connection that a process serves, where it serves one at a
// time: the accepted one, or the first that may be. 0 if there is none.
func (q *proc) hold() uint64 {
	var first uint64
	for i := range q.socks {
		switch k := &q.socks[i]; {
		case k.is == accepted:
			return k.inode
		case k.is == unclassified && first == 0:
			first = k.inode
		}
	}
	return first
}

// urgency says how much hangs on a look at the process's connections.
func (q *proc) urgency(s *server) urgency {
	u := never
	for i := range q.socks {
		k := &q.socks[i]
		switch {
		case s.rec.pool != onePerProcess && k.is != another:
			return needed
		case k.is != unclassified:
		case !s.trust.earned():
			return needed
		case k.age > 0:
			u = max(u, unsure)
		default:
			u = max(u, routine)
		}
	}
	return u
}

// identity reads what the process is recognised by; nil if it has ended.
func (q *proc) identity() *Identity {
	args, err := q.p.Cmdline()
	if err != nil {
		return nil
	}
	id := &Identity{Comm: q.stat.Comm, Args: args, Threads: q.stat.Threads, Epoll: q.epoll}
	// Rights that are missing leave these unknown.
	id.Exe, _ = q.p.Exe()
	id.ThreadNames, _ = q.p.ThreadNames()
	if exe, err := q.p.OpenExe(); err == nil {
		if info, err := buildinfo.Read(exe); err == nil {
			id.GoPath = info.Path
		}
		exe.Close()
	}
	return id
}
