package gauge

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"brink/internal/kernel"
)

// server is a Server and what is kept from one reading to the next.
type server struct {
	Server
	rec    recognition
	app    *followed // whose it is; nil if none are followed
	space  *space
	procs  []*proc
	kids   []int // of the topmost process
	before []int // at the reading before
	others []int // children that do not share the sockets
	// looked says that this reading saw the server's connections.
	looked bool
	ended  bool
	detail bool // the reading is to tell all
	waits  bool // the reading is to tell what busy workers wait on
	// readings counts those of the server.
	readings uint
	// recognitions counts how often the kind was asked for since processes
	// were last looked through: a server that has just started takes shape
	// under our eyes.
	recognitions int
	young        bool // one of its processes has just started
	shape        shape
	trust        trust
	flow         flow
	waiters      waiters
}

// shape is what a recognition may hang on and what can change.
type shape struct {
	processes, threads int
	epoll              bool
}

const (
	// mostRecognitions is how often the shape of a young server is believed to
	// be still changing. Each takes the mmap lock of a process or two.
	mostRecognitions = 3
	// youth is how long a process is young.
	youth = 30 * time.Second
)

// settled reports whether the server is taken for what it is, as long as its
// shape stays.
func (s *server) settled() bool {
	return s.recognitions >= mostRecognitions || s.recognitions > 0 && !s.young
}

// isYoung reports whether a process has started lately.
func (s *server) isYoung() bool {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return true
	}
	start := time.Duration(0)
	for _, q := range s.procs {
		start = max(start, time.Duration(q.p.StartTicks())*(time.Second/kernel.UserHz))
	}
	return time.Duration(now.Nano())-start < youth
}

func newServer(sp *space) *server {
	s := &server{space: sp}
	if !sp.own {
		s.NetNS = sp.id
	}
	return s
}

func (s *server) close() {
	for _, q := range s.procs {
		q.close()
	}
	s.procs = nil
}

func (s *server) socket(inode uint64) *Socket {
	for i := range s.Sockets {
		if s.Sockets[i].Inode == inode {
			return &s.Sockets[i]
		}
	}
	return nil
}

func (s *server) addSocket(l *listener) {
	if l != nil && s.socket(l.Inode) == nil {
		s.Sockets = append(s.Sockets, Socket{Local: l.Local, Path: l.path, Inode: l.Inode, DropsTotal: l.Drops})
	}
}

func (s *server) process(pid int, start uint64) *proc {
	for _, q := range s.procs {
		if q.p.PID() == pid && q.p.StartTicks() == start {
			return q
		}
	}
	return nil
}

// addProcess takes in a process, and what is known of its files.
func (s *server) addProcess(p *kernel.Process, files found) *proc {
	q := &proc{p: p, found: files}
	s.procs = append(s.procs, q)
	return q
}

// forget leaves a process to another server.
func (s *server) forget(pid int, start uint64) {
	if q := s.process(pid, start); q != nil {
		q.close()
		s.procs = slices.DeleteFunc(s.procs, func(other *proc) bool { return other == q })
	}
}

// identify names the server by the process that started the others, or by the
// oldest of them where that cannot be seen.
func (s *server) identify() {
	slices.SortStableFunc(s.procs, func(a, b *proc) int { return cmp.Compare(b.tops(), a.tops()) })
	first := s.procs[0]
	for _, q := range s.procs {
		if !first.top && q.p.StartTicks() < first.p.StartTicks() {
			first = q
		}
	}
	s.PID, s.StartTicks = first.p.PID(), first.p.StartTicks()
}

// tops is 1 if others come from the process, 0 if none do.
func (q *proc) tops() int {
	if q.top {
		return 1
	}
	return 0
}

// forksUnseen reports whether new processes of the server may be none of the
// topmost one's own children.
func (s *server) forksUnseen() bool { return !s.procs[0].top || s.procs[0].stat.Threads > 1 }

// look reads the server's sockets and processes.
func (s *server) look(g *Gauge, interval time.Duration) {
	s.detail, s.waits = g.cfg.Detail, g.askWaits
	s.readings++
	s.lookAtSockets(interval)
	if len(s.Sockets) == 0 {
		s.ended = true
		return
	}
	if len(s.procs) == 0 {
		return // nobody could be found for the sockets
	}
	kept := s.procs[:0]
	unseen, beheaded := s.forksUnseen(), false
	for _, q := range s.procs {
		if err := q.look(s, g.page); gone(err) {
			q.close()
			// A new top is found by looking for it, and the new children of a
			// process with threads are, too.
			g.rescan.wanted = g.rescan.wanted || q.top || unseen
			beheaded = beheaded || q.top
			continue
		}
		kept = append(kept, q)
	}
	clear(s.procs[len(kept):])
	s.procs = kept
	s.ended = len(s.procs) == 0
	if !s.ended {
		if beheaded {
			s.identify()
		}
		s.lookForChildren(g)
		s.recognise(g)
	}
}

func gone(err error) bool {
	return errors.Is(err, kernel.ErrGone) || errors.Is(err, kernel.ErrReused)
}

func (s *server) lookAtSockets(interval time.Duration) {
	kept := s.Sockets[:0]
	for _, was := range s.Sockets {
		l := s.space.listener(was.Inode)
		if l == nil {
			continue
		}
		now := was
		now.Queue, now.Limit, now.DropsTotal = l.Queue, l.Backlog, l.Drops
		now.Oldest, now.Abandoned = Measure{}, kernel.Num{Known: l.Queue == 0}
		now.Drops = since(was.DropsTotal, l.Drops)
		now.QueueSeconds += float64(was.Queue+l.Queue) / 2 * interval.Seconds()
		kept = append(kept, now)
	}
	s.Sockets = kept
}

// since is the growth of a counter; unknown if one end is, or if it fell.
func since(before, now kernel.Num) kernel.Num {
	if !before.Known || !now.Known || now.Value < before.Value {
		return kernel.Num{}
	}
	return kernel.Num{Value: now.Value - before.Value, Known: true}
}

// lookForChildren takes in the children that the topmost process has forked.
func (s *server) lookForChildren(g *Gauge) {
	top := s.procs[0]
	if !top.top || top.stat.Threads > 1 || top.slept {
		return
	}
	s.kids, s.before = s.before, s.kids
	kids, err := top.p.Inherited(s.kids[:0]) // of its only thread: all
	s.kids = kids
	if err != nil || slices.Equal(kids, s.before) {
		return
	}
	s.forgetOthers()
	for _, pid := range s.kids {
		if !s.knows(pid) {
			s.tryChild(g, pid)
		}
	}
}

func (s *server) forgetOthers() {
	kept := s.others[:0]
	for _, pid := range s.others {
		for _, kid := range s.kids {
			if kid == pid {
				kept = append(kept, pid)
				break
			}
		}
	}
	s.others = kept
}

func (s *server) knows(pid int) bool {
	for _, other := range s.others {
		if other == pid {
			return true
		}
	}
	for _, q := range s.procs {
		if q.p.PID() == pid {
			return true
		}
	}
	return false
}

func (s *server) tryChild(g *Gauge, pid int) {
	p, err := g.fs.OpenProcess(pid)
	if err != nil {
		return
	}
	files := found{clock: processClock(pid)}
	files.fds, err = p.FDs(nil)
	if err == nil {
		for _, fd := range files.fds {
			if fd.Inode != 0 && s.socket(fd.Inode) != nil {
				s.recognitions = 0
				// If it has ended already, the next reading sees that.
				_ = s.addProcess(p, files).look(s, g.page)
				return
			}
		}
		s.others = append(s.others, pid)
	}
	_ = p.Close()
}

// recognise takes the server for what it is, as long as its shape changes.
func (s *server) recognise(g *Gauge) {
	one := s.procs[0]
	now := shape{processes: len(s.procs)}
	beside := 0
	for _, q := range s.procs {
		if !q.top {
			beside++
		}
		if one.top || q.stat.Threads > one.stat.Threads {
			one = q
		}
	}
	now.threads, now.epoll = one.stat.Threads, one.epoll
	if now == s.shape && s.settled() {
		return
	}
	s.young = s.isYoung()
	top := s.procs[0].identity(s.app)
	worker := top
	if one != s.procs[0] || !one.top { // what a master would tell, a worker does
		worker = one.identity(s.app)
	}
	if top == nil || worker == nil {
		return // it is ending
	}
	rec := recognise(top, worker, beside)
	if rec.kind == UnknownKind {
		s.procs[0].lookInside(g.programs, top)
		rec = recognise(top, worker, beside)
	}
	if rec.kind == PHPFPM && s.Kind == PHPFPM && beside == 0 {
		rec.name = s.Name // a pool's name is known to its workers alone
	}
	if rec.kind != s.rec.kind || rec.pool != s.rec.pool {
		s.trust, s.flow = trust{}, flow{}
	}
	s.shape, s.rec = now, rec
	s.recognitions++
	s.Kind, s.Why, s.Name = rec.kind, rec.why, rec.name
}

// urgency says how much hangs on a look at the server's connections.
func (s *server) urgency(now time.Time) urgency {
	most := never
	if !s.askWaiters(now) {
		if most = aged; s.app != nil {
			return needed
		}
	}
	if len(s.procs) == 0 || s.rec.pool == inside {
		return max(most, routine)
	}
	for _, q := range s.procs {
		most = max(most, q.urgency(s))
	}
	return most
}

// askWaiters reports whether all is known of the connections that wait.
func (s *server) askWaiters(now time.Time) (all bool) {
	if s.queued() == 0 {
		s.waiters.conns, s.waiters.fresh, s.waiters.halvings = s.waiters.conns[:0], false, 0
		return true
	}
	s.waiters.ask(s.space.lookup)
	all = true
	for i := range s.Sockets {
		// Of those that wait at a Unix socket, no age is known anywhere.
		if k := &s.Sockets[i]; k.Path == "" {
			all = s.waiters.settle(s, k, now) && all
		}
	}
	return all
}

// unseen reports whether the server is none to be told of: many programs have
// Unix sockets that serve no requests.
func (s *server) unseen(g *Gauge) bool {
	if s.rec.pool != inside || len(g.cfg.PIDs) > 0 {
		return false
	}
	for i := range s.Sockets {
		if s.Sockets[i].Path == "" || g.asksFor(s.Sockets[i].Path) {
			return false
		}
	}
	return true
}

// holds reports whether a process may hold a connection, or its queue one. Of a
// pool that is inside, what a process holds does not tell what it waits on.
func (s *server) holds() bool {
	return s.queued() > 0 || s.rec.pool != inside && slices.ContainsFunc(s.procs, func(q *proc) bool { return s.serves(q) && q.hold() != 0 })
}

// queued counts the connections in accept queues.
func (s *server) queued() (n uint64) {
	for i := range s.Sockets {
		n += uint64(s.Sockets[i].Queue)
	}
	return n
}

// serves reports whether a process takes requests.
func (s *server) serves(q *proc) bool {
	return !q.top || s.rec.topWorks || len(s.procs) == 1 && !s.rec.master
}
