package gauge

import (
	"slices"

	"golang.org/x/sys/unix"

	"brink/internal/kernel"
)

// proc is a process of a server.
type proc struct {
	p     *kernel.Process
	top   bool
	slept bool // it has not run since the reading before
	stat  kernel.PIDStat
	clock int64   // CPU time of all threads, ns
	cpu   float64 // of it since the reading before, s
	// sched is read where details are asked for, and where the number of open
	// files is not known; before is that of the reading before.
	sched, before kernel.SchedStat
	run, ready    Measure
	fds           []kernel.FD
	// open is how many files were open at the last reading, resting how many
	// are while the process holds no connection; 0 if that does not tell: a
	// process that blocks in accept(2) has a number reserved already.
	open, resting int64
	found         found
	scanned       bool // fds are of this reading, or nothing has run since
	epoll         bool
	// slot is the descriptor that the next accepted connection gets, or that
	// the present one has; -1 if that is not certain.
	slot     int
	listener int // a descriptor of one of the server's sockets
	socks    []sock
	wait     kernel.PIDSyscall
	rss      uint64
}

// sock is a socket of a process, and what is known of it.
type sock struct {
	fd    int
	inode uint64
	is    nature
	age   int  // readings since it was first seen
	doubt bool // it was unclassified before this reading
}

// found is what finding a process has told of its files. It holds, and so does
// the process's own stat, as long as the process has not run since.
type found struct {
	fds   []kernel.FD // nil if they have yet to be listed
	clock int64       // before they were
}

func (f *found) holds(q *proc) bool { return f.fds != nil && processClock(q.p.PID()) == f.clock }

type nature uint8

const (
	unclassified nature = iota
	accepted            // from one of the server's listeners
	another
)

// look reads what the process has done since the reading before.
func (q *proc) look(s *server, page uint64) error {
	if !q.found.holds(q) {
		q.found = found{}
	}
	ran, open, err := q.stirred(s)
	if err != nil {
		return err
	}
	if !ran && (q.stat.State == 0 || q.due(s)) {
		if err := q.readStat(page); err != nil {
			return err
		}
	}
	if q.slept = !ran && (open > 0 || q.stat.State != 'R'); q.slept {
		for i := range q.socks {
			q.socks[i].age++
		}
		return nil
	}
	if q.glance(s, open) {
		q.stat.State = 0 // it lives, and ran; what it does now was not read
		return nil
	}
	if err := q.readStat(page); err != nil {
		return err
	}
	return q.lookAtFiles(s)
}

// stirred reports whether the process has got a CPU, or has opened or closed a
// file, since the reading before, and how many files it has open. If it has
// not, they are what they were. Where the number of files is not known, the
// scheduler's count of a single thread tells.
func (q *proc) stirred(s *server) (ran bool, open int64, err error) {
	was := q.clock
	q.clock = processClock(q.p.PID())
	q.cpu = 0
	if was > 0 && q.clock > was {
		q.cpu = float64(q.clock-was) / 1e9
	}
	last := q.open
	open = q.count()
	q.open = open
	if open > 0 && !s.detail {
		q.sched, q.run, q.ready = kernel.SchedStat{}, Measure{}, Measure{}
		return !q.scanned || q.clock != was || open != last, open, nil
	}
	q.before = q.sched
	if err := q.p.SchedStat(&q.sched); err != nil {
		if gone(err) {
			return true, open, err
		}
		q.sched = kernel.SchedStat{}
	}
	q.run = seconds(since(q.before.RunNanos, q.sched.RunNanos))
	q.ready = seconds(since(q.before.WaitNanos, q.sched.WaitNanos))
	same := q.scanned && q.stat.Threads == 1 && open == last &&
		q.sched.Timeslices.Known && q.sched.Timeslices == q.before.Timeslices && q.sched.RunNanos == q.before.RunNanos
	return !same, open, nil
}

// count returns the number of open files: 0 if the process has ended or the
// kernel does not tell.
func (q *proc) count() int64 { return int64(q.p.FDCount().Value) }

// processClock returns the CPU time of all threads of a process, ended ones
// included, in ns; -1 if it has ended. It costs a tenth of reading a file of
// the process. The clock's number is made as clock_getcpuclockid(3) makes it.
func processClock(pid int) int64 {
	const cpuclockSched = 2
	var ts unix.Timespec
	if unix.ClockGettime(int32(^pid)<<3|cpuclockSched, &ts) != nil {
		return -1
	}
	return ts.Nano()
}

// readStat fails with kernel.ErrGone for a process that waits to be reaped.
func (q *proc) readStat(page uint64) error {
	if q.found.fds != nil {
		q.stat = q.p.LastStat() // it was read a moment ago
	} else if err := q.p.Stat(&q.stat); err != nil {
		return err
	}
	if q.stat.State == 'Z' || q.stat.State == 'X' {
		return kernel.ErrGone
	}
	q.rss = uint64(max(q.stat.RSSPages, 0)) * page
	return nil
}

// Each process is looked at in full once in so many readings: its files may
// have changed in ways that a glance does not see, and its memory even while it
// sleeps. Where the number of open files tells more, it is done more rarely.
const (
	thorough        = 15
	thoroughCounted = 60
)

// due reports whether this is the reading. The pid spreads them.
func (q *proc) due(s *server) bool {
	every := uint(thorough)
	if q.resting > 0 {
		every = thoroughCounted
	}
	return (s.readings+uint(q.p.PID()))%every == 0
}

// glance looks only at how many files are open, and where an accepted
// connection is bound to be: at the lowest descriptor that was free. It does
// for a process that serves one connection at a time and is known to open
// sockets for nothing else, and costs a twentieth of a listing. It reports
// whether that told enough.
func (q *proc) glance(s *server, open int64) bool {
	if s.rec.pool != onePerProcess || s.detail || !q.scanned || q.slot < 0 || q.due(s) {
		return false
	}
	trusted := s.trust.earned()
	if open > 0 && (trusted || !s.young && q.bare()) && (!s.waits || open == q.resting) {
		return q.glanceByCount(s, open)
	}
	if open > 0 || !trusted || s.waits || q.stat.Threads != 1 {
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
	q.holds(inode)
	return true
}

// bare reports whether the process has no socket but its listener and what it
// has accepted from it. Once it has started, its number of files can then stay
// the same while it takes in a connection only if it closes something else at
// the same time.
func (q *proc) bare() bool {
	return !slices.ContainsFunc(q.socks, func(k sock) bool { return k.is != accepted })
}

func (q *proc) glanceByCount(s *server, open int64) bool {
	resting := q.resting
	if open == resting {
		q.holds(0)
		return true
	}
	if open < resting {
		return false
	}
	inode, used, err := q.p.SocketAt(q.slot)
	if err != nil || used && (inode == 0 || s.socket(inode) != nil) || !used && resting > 0 {
		return false
	}
	q.holds(inode)
	return true
}

// holds takes what a glance has found: the socket where an accepted connection
// is bound to be, or 0.
func (q *proc) holds(inode uint64) {
	next := len(q.socks)
	for i := range q.socks[:next] {
		if k := q.socks[i]; k.is == another && k.inode != inode {
			k.age++
			q.socks = append(q.socks, k)
		}
	}
	if inode != 0 {
		q.socks = append(q.socks, q.known(kernel.FD{Number: q.slot, Inode: inode}, next))
	}
	q.socks = append(q.socks[:0], q.socks[next:]...)
}

// findSlot prepares the next glances after a listing.
func (q *proc) findSlot() {
	q.slot = q.p.LowestFreeFD()
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

func (q *proc) close() {
	_ = q.p.Close()
}

func seconds(nanos kernel.Num) Measure {
	return Measure{Value: float64(nanos.Value) / 1e9, Known: nanos.Known}
}

// lookAtFiles lists the sockets of a process whose pool is not inside: there,
// they tell nothing, and may be thousands.
func (q *proc) lookAtFiles(s *server) error {
	if s.rec.pool == inside && s.settled() {
		q.scanned = false
		q.socks = q.socks[:0]
		return nil
	}
	before := q.count()
	var err error
	if q.found.holds(q) {
		q.fds = q.found.fds
	} else {
		q.fds, err = q.p.FDs(q.fds[:0])
	}
	q.found, q.scanned = found{}, err == nil
	if err != nil {
		q.socks = q.socks[:0]
		if gone(err) {
			return err
		}
		return nil
	}
	q.epoll = false
	next := len(q.socks)
	listens := false
	for _, fd := range q.fds {
		if fd.Epoll {
			q.epoll = true
			continue
		}
		if s.socket(fd.Inode) != nil {
			q.listener, listens = fd.Number, true
			continue
		}
		q.socks = append(q.socks, q.known(fd, next))
	}
	q.socks = append(q.socks[:0], q.socks[next:]...)
	if !listens && s.Kind == PHPFPM && !q.top {
		return kernel.ErrGone // it was forked for another pool
	}
	q.findSlot()
	q.findResting(before)
	return nil
}

// findResting takes the number of open files before a listing; if it is another
// after it, the listing may be of neither.
func (q *proc) findResting(before int64) {
	q.open, q.resting = q.count(), 0
	if before == 0 || q.open != before || int64(q.p.FDsMet()) != before {
		return
	}
	q.resting = before
	for i := range q.socks {
		if q.socks[i].is != another {
			q.resting--
		}
	}
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

// identity reads what the process is recognised by, or takes it from whoever
// started it; nil if it has ended.
func (q *proc) identity(app *followed) *Identity {
	id := &Identity{Comm: q.stat.Comm, Threads: q.stat.Threads, Epoll: q.epoll}
	if app != nil {
		id.Args = app.Args
	}
	if len(id.Args) == 0 {
		args, err := q.p.Cmdline()
		if err != nil {
			return nil
		}
		id.Args = args
	}
	id.Exe, _ = q.p.Exe() // empty where we may not see it
	return id
}
