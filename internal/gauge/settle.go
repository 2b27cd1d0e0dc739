package gauge

import (
	"net/netip"
	"time"

	"brink/internal/kernel"
)

// settle makes the figures of what was read.
func (s *server) settle(g *Gauge, interval time.Duration) {
	if s.ended {
		return
	}
	if s.looked {
		s.classify()
		s.settleQueues()
	} else {
		s.Open = kernel.Num{}
		if s.ranClean() {
			s.trust.seeIdle()
		}
	}
	var sum sum
	s.Processes = s.Processes[:0]
	for _, q := range s.procs {
		p := q.process(s)
		if !p.Master {
			sum.add(s, q, &p)
		}
		if !p.Master && (g.cfg.Detail || g.askWaits && p.State == Busy) {
			p.Wait = q.waitsOn(s)
		}
		s.Processes = append(s.Processes, p)
	}
	s.settleWorkers(&sum)
	s.settleCosts(interval)
	s.flow.add(s, interval)
}

// settleQueues takes the age of what waits from the connections.
func (s *server) settleQueues() {
	s.Open = known(0)
	for i := range s.Sockets {
		if k := &s.Sockets[i]; k.Path == "" {
			k.Oldest, k.Abandoned = Measure{}, known(0)
		} else {
			s.Open = kernel.Num{}
		}
	}
	for i := range s.space.conns {
		c := &s.space.conns[i]
		k := s.receiver(c.Local)
		switch {
		case k == nil:
		case !c.Waiting():
			s.Open.Value++
		default:
			k.seeWaiting(&c.QueuedConn)
		}
	}
}

func known(n uint64) kernel.Num { return kernel.Num{Value: n, Known: true} }

// receiver is the server's socket that connections to local come from: the one
// with that address before one for all addresses.
func (s *server) receiver(local netip.AddrPort) *Socket {
	var all *Socket
	for i := range s.Sockets {
		k := &s.Sockets[i]
		if k.Local == local {
			return k
		}
		if k.Local.Port() == local.Port() && k.Local.Addr().IsUnspecified() {
			all = k
		}
	}
	return all
}

// classify tells which sockets of the processes are accepted connections.
func (s *server) classify() {
	checked, left := false, false
	for _, q := range s.procs {
		unsure, found := false, false
		for i := range q.socks {
			k := &q.socks[i]
			k.doubt = k.is == unclassified
			if k.doubt {
				k.is = another
				if s.accepted(k.inode) {
					k.is = accepted
				}
			} else if k.is == accepted && !s.accepted(k.inode) {
				k.is = another // closed by us, not yet by the client
			}
			unsure, found = unsure || k.doubt, found || k.is == accepted
		}
		checked = checked || unsure
		left = left || unsure && !found && q.stillHasOne()
	}
	s.trust.learn(checked, left)
}

// accepted reports whether a socket is a connection to one of the server's.
func (s *server) accepted(inode uint64) bool {
	c := s.space.connection(inode)
	return c != nil && s.receiver(c.Local) != nil || s.space.accepted[inode]
}

// stillHasOne looks again whether the process really keeps a socket that is no
// accepted connection, or had just closed it.
func (q *proc) stillHasOne() bool {
	var err error
	if q.fds, err = q.p.FDs(q.fds[:0]); err != nil {
		return false
	}
	for _, fd := range q.fds {
		for i := range q.socks {
			if k := &q.socks[i]; fd.Inode == k.inode && k.doubt {
				q.scanned = false // where the next connection goes is not certain
				return true
			}
		}
	}
	return false
}

// trust is earned by a server whose processes have a new socket only while they
// serve a connection. One that leaves others open behind it, as a pool of
// connections to a database that does not hold does, has to be looked at each
// time.
type trust struct {
	agreed int
	// lost says that such a socket was found: from then on only looks count,
	// and no longer processes that were found without any.
	lost bool
}

const (
	enoughTrust = 10
	mostTrust   = 34
	// trustStep is how much more trust halves what is spent on checking it.
	trustStep = 4
)

func (t *trust) earned() bool { return t.agreed >= enoughTrust }

// halvings is how often what is spent on checking has been halved.
func (t *trust) halvings() int { return max(t.agreed-enoughTrust, 0) / trustStep }

// learn takes the result of a look: whether there was a new socket to check,
// and whether one was left behind.
func (t *trust) learn(checked, left bool) {
	switch {
	case left:
		*t = trust{lost: true}
	case checked && t.agreed < mostTrust:
		t.agreed++
	}
}

// seeIdle takes a reading in which processes that ran had no new socket.
func (t *trust) seeIdle() {
	if !t.lost && !t.earned() {
		t.agreed++
	}
}

// ranClean reports whether a process has run since the reading before and
// has no socket that could be an accepted connection.
func (s *server) ranClean() bool {
	for _, q := range s.procs {
		if s.serves(q) && !q.slept && q.scanned && q.hold() == 0 {
			return true
		}
	}
	return false
}

// process makes what is told of a process.
func (q *proc) process(s *server) Process {
	p := Process{
		PID: q.p.PID(), StartTicks: q.p.StartTicks(), Master: !s.serves(q),
		RunState: q.stat.State, Run: q.run, Ready: q.ready, RSSBytes: q.rss,
	}
	if p.Master || s.rec.pool == inside || !q.scanned {
		return p
	}
	load := q.load(s)
	if s.looked || load.unsure == 0 {
		p.Held = known(uint64(load.held))
	}
	if s.looked && !load.mute || load.unsure+load.held == 0 {
		p.Unread = known(load.unread)
	}
	switch s.rec.pool {
	case onePerProcess, threadPerConnection:
		p.Serving = p.Held
		if s.rec.pool == onePerProcess && load.unsure > 0 && load.held == 0 && s.trust.earned() {
			p.Held, p.Serving = known(1), known(1)
		}
	case threadPerRequest:
		if load.ambiguous == 0 && p.Unread.Known {
			p.Serving = known(uint64(load.open))
		}
		// A thread may leave a body unread while it serves; then nothing tells who
		// waits.
		if threads := s.rec.threads; threads.Known && load.untouched > 0 && uint64(load.open) >= threads.Value+uint64(load.untouched) {
			p.Oldest = load.oldest
		}
	}
	if p.Serving.Known {
		p.State = Idle
		if p.Serving.Value > 0 {
			p.State = Busy
		}
	} else if load.open > 0 {
		p.State = Busy
	}
	return p
}

// load is what a process has taken in.
type load struct {
	held      int // accepted connections
	unsure    int // sockets that may be such
	open      int // of held, those with a request that is not answered
	ambiguous int // of held, those that may have one
	unread    uint64
	untouched int     // of held, those with bytes that nobody has read
	oldest    Measure // and the age of the oldest such, in seconds
	mute      bool    // some of held do not tell what is unread
}

func (q *proc) load(s *server) load {
	var l load
	for i := range q.socks {
		switch k := &q.socks[i]; k.is {
		case unclassified:
			l.unsure++
		case accepted:
			l.held++
			if !s.looked {
				continue
			}
			c := s.space.connection(k.inode)
			if c == nil { // a Unix socket tells no more
				l.mute = true
				l.ambiguous++
				continue
			}
			l.unread += uint64(c.Unread)
			l.seeUntouched(c)
			switch answered(c) {
			case no:
				l.open++
			case perhaps:
				l.ambiguous++
			}
		}
	}
	return l
}

// seeUntouched takes in a connection if the process has not begun to read what
// came last.
func (l *load) seeUntouched(c *kernel.Connection) {
	if c.Unread == 0 {
		return
	}
	l.untouched++
	if age := float64(c.SinceDataMillis.Value) / 1000; c.SinceDataMillis.Known && age >= l.oldest.Value {
		l.oldest = Measure{age, true}
	}
}

type verdict uint8

const (
	perhaps verdict = iota
	no
	yes
)

// answered tells from the times and numbers of segments whether a connection's
// last request has been answered. Times are whole ticks of the kernel: if the
// last data went both ways within one, either may have been first. So may a
// connection on which nothing has come yet, since some servers give it a thread
// and some do not.
func answered(c *kernel.Connection) verdict {
	if c.Unread > 0 || c.Unsent > 0 {
		return no
	}
	if !c.SegmentsIn.Known || !c.SegmentsOut.Known || !c.SinceDataMillis.Known || !c.SinceSentMillis.Known || c.SegmentsIn.Value == 0 {
		return perhaps
	}
	switch received, sent := c.SinceDataMillis.Value, c.SinceSentMillis.Value; {
	case c.SegmentsOut.Value == 0, received < sent:
		return no
	case received > sent:
		return yes
	}
	return perhaps
}

// sum adds up the processes of a server.
type sum struct {
	processes     int
	busy, perhaps uint64
	inside        uint64 // requests that wait for a thread
	blind         bool   // some process could not be seen into
}

func (m *sum) add(s *server, q *proc, p *Process) {
	m.processes++
	threads := s.rec.threads
	if s.rec.pool == onePerProcess {
		threads = known(1)
	}
	if !q.scanned || s.rec.pool == inside {
		m.blind = true
		return
	}
	if p.Serving.Known {
		m.take(p.Serving.Value, threads)
		return
	}
	load := q.load(s)
	if !s.looked && load.unsure+load.held > 0 {
		m.blind = true
		return
	}
	m.perhaps += uint64(load.ambiguous)
	m.take(uint64(load.open), threads)
}

// take shares out requests to a process's threads; the others wait.
func (m *sum) take(requests uint64, threads kernel.Num) {
	if threads.Known && requests > threads.Value {
		m.inside += requests - threads.Value
		requests = threads.Value
	}
	m.busy += requests
}

func (s *server) settleWorkers(m *sum) {
	s.Workers, s.Busy, s.Idle, s.Queued = kernel.Num{}, kernel.Num{}, kernel.Num{}, kernel.Num{}
	s.BusyAtLeast = m.busy
	if s.rec.pool == inside {
		return
	}
	switch {
	case s.rec.pool == onePerProcess:
		s.Workers = known(uint64(m.processes))
	case s.rec.threads.Known:
		s.Workers = known(uint64(m.processes) * s.rec.threads.Value)
	}
	if m.blind {
		return
	}
	if m.perhaps <= 1 { // within one worker of the truth
		s.Busy = known(m.busy)
		if s.Workers.Known {
			s.Idle = known(s.Workers.Value - min(m.busy, s.Workers.Value))
		}
	}
	if m.perhaps > 0 || !s.Workers.Known && s.rec.pool == threadPerRequest {
		return
	}
	s.Queued = known(m.inside + s.queued())
}

func (s *server) settleCosts(interval time.Duration) {
	s.RSSBytes, s.CPU = 0, Measure{}
	var cpu float64
	for _, q := range s.procs {
		s.RSSBytes += q.rss
		cpu += q.cpu
	}
	if interval > 0 && len(s.procs) > 0 {
		s.CPU = Measure{cpu / interval.Seconds(), true}
	}
	s.Total.CPUSeconds += cpu
	if s.Workers.Known && s.Busy.Known {
		s.Total.WorkerSeconds += float64(s.Workers.Value) * interval.Seconds()
		s.Total.BusySeconds += float64(s.Busy.Value) * interval.Seconds()
	}
}
