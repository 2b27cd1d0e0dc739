package gauge

import (
	"cmp"
	"errors"
	"runtime"
	"slices"
	"time"

	"brink/internal/kernel"
)

// rescan decides when all processes are looked through for listening sockets.
type rescan struct {
	wanted bool
	at     time.Time
	spent  time.Duration // of CPU
}

const (
	// Without a new listener there is little to find: a network namespace, or
	// a process that was given the sockets of another.
	rescanEvery = 5 * time.Second
	rescanLeast = 4 * time.Minute
	// rescanShare bounds what looking through thousands of processes costs.
	rescanShare = 40_000
	// rescanSoonest bounds it while listeners come and go.
	rescanSoonest = 20
)

// due takes whether a listener has come, and whether others find out what else
// there is.
func (r *rescan) due(now time.Time, changed, told bool) bool {
	since := now.Sub(r.at)
	switch {
	case r.at.IsZero():
		return true
	case r.wanted || changed:
		return since >= rescanSoonest*r.spent
	case told:
		return false
	}
	return since >= min(max(rescanEvery, rescanShare*r.spent), rescanLeast)
}

// listenersChanged reports whether a socket listens that no server was found
// for, or looked for in vain. Unix sockets come and go much, and are mostly of no
// interest: for them it is soon enough after a while.
func (g *Gauge) listenersChanged(now time.Time) bool {
	early := now.Sub(g.rescan.at) < rescanEvery
	for _, sp := range g.spaces {
		for i := range sp.sockets {
			l := &sp.sockets[i]
			if (l.path == "" || !early) && g.wants(l) && !g.unclaimed[l.Inode] && !g.claimed(l.Inode) {
				return true
			}
		}
	}
	return false
}

func (g *Gauge) claimed(inode uint64) bool {
	for _, s := range g.servers {
		if s.socket(inode) != nil {
			return true
		}
	}
	return false
}

// holder is a process that has a listening socket open.
type holder struct {
	p      *kernel.Process
	app    *followed // nil if none are followed
	ppid   int
	space  *space
	inodes []uint64
	top    int // index of the topmost holder that shares a socket with it
}

// discover looks through all processes, or those of the apps that are followed.
func (g *Gauge) discover(now time.Time) error {
	runtime.LockOSThread() // for its clock
	defer runtime.UnlockOSThread()
	began := threadClock()
	scan := scan{g: g, parents: map[int]int{}}
	for _, app := range g.apps {
		for _, pid := range app.PIDs {
			scan.look(pid, app)
		}
	}
	if g.apps == nil {
		pids, err := g.fs.PIDs()
		if err != nil {
			return err
		}
		slices.Sort(pids)
		for _, pid := range pids {
			scan.look(pid, nil)
		}
	}
	scan.group()
	g.adopt(&scan)
	g.rescan = rescan{at: now, spent: threadClock() - began}
	return nil
}

// scan is one pass through the processes.
type scan struct {
	g       *Gauge
	parents map[int]int
	holders []holder
	fds     []kernel.FD
}

func (c *scan) look(pid int, app *followed) {
	p, err := c.g.fs.OpenProcess(pid)
	if err != nil {
		return
	}
	h, err := c.holderOf(p, app)
	if err != nil || len(h.inodes) == 0 {
		p.Close()
		return
	}
	c.holders = append(c.holders, h)
}

func (c *scan) holderOf(p *kernel.Process, app *followed) (h holder, err error) {
	var stat kernel.PIDStat
	if err := p.Stat(&stat); err != nil {
		return h, err
	}
	c.parents[p.PID()] = stat.PPID
	h = holder{p: p, app: app, ppid: stat.PPID}
	// The init system opens sockets for services that it starts later; this
	// process is of interest only to those who ask for it.
	isInit := p.PID() == 1 && (stat.Comm == "systemd" || stat.Comm == "init")
	if isInit || p.PID() == c.g.self && !slices.Contains(c.g.cfg.PIDs, p.PID()) {
		return h, nil
	}
	if c.fds, err = p.FDs(c.fds[:0]); err != nil {
		return h, err
	}
	if h.space, err = c.space(p); err != nil {
		return h, err
	}
	for _, fd := range c.fds {
		if l := h.space.listener(fd.Inode); fd.Inode != 0 && l != nil && c.wants(app, l) {
			h.inodes = append(h.inodes, fd.Inode)
		}
	}
	return h, nil
}

func (c *scan) wants(app *followed, l *listener) bool {
	if app != nil {
		return app.wants(l)
	}
	return c.g.wants(l)
}

// space finds the network namespace of a process, or enters it.
func (c *scan) space(p *kernel.Process) (*space, error) {
	id, err := p.NetNS()
	if errors.Is(err, kernel.ErrUnavailable) {
		return c.g.spaces[0], nil // a kernel with one namespace
	}
	if err != nil {
		return nil, err
	}
	for _, sp := range c.g.spaces {
		if sp.id == id {
			return sp, nil
		}
	}
	sp := enter(c.g.fs, id, p.PID())
	if err := sp.listen(c.g); err != nil { // it has ended; there may be others in the namespace
		_ = sp.close()
		return nil, err
	}
	c.g.spaces = append(c.g.spaces, sp)
	return sp, nil
}

// group finds for each holder the topmost one above it that shares a socket.
func (c *scan) group() {
	at := make(map[int]int, len(c.holders))
	for i := range c.holders {
		at[c.holders[i].p.PID()] = i
	}
	for i := range c.holders {
		top := i
		// A pid that was reused while we looked could make a circle.
		for range c.holders {
			up, ok := at[c.holders[top].ppid]
			if !ok || !overlap(c.holders[up].inodes, c.holders[i].inodes) {
				break
			}
			top = up
		}
		c.holders[i].top = top
	}
}

func overlap(a, b []uint64) bool {
	return slices.ContainsFunc(a, func(inode uint64) bool { return slices.Contains(b, inode) })
}

// adopt makes servers of the holders, keeping what is known of those that were
// there before.
func (g *Gauge) adopt(c *scan) {
	var found []*server
	for i := range c.holders {
		h := &c.holders[i]
		if h.top != i {
			continue
		}
		if s := g.serverOf(c, i); s != nil {
			found = append(found, s)
		}
	}
	for i := range c.holders {
		if h := &c.holders[i]; h.p != nil {
			h.p.Close()
		}
	}
	for _, s := range g.servers {
		if !slices.Contains(found, s) {
			s.close()
		}
	}
	g.servers = append(found, g.orphans(found)...)
	slices.SortStableFunc(g.servers, func(a, b *server) int {
		return cmp.Or(a.Sockets[0].Local.Compare(b.Sockets[0].Local), cmp.Compare(a.Sockets[0].Path, b.Sockets[0].Path), cmp.Compare(a.PID, b.PID))
	})
}

// serverOf is the server of the holder at index top, nil if it was not asked
// for.
func (g *Gauge) serverOf(c *scan, top int) *server {
	h := &c.holders[top]
	if !g.asked(c, top) {
		return nil
	}
	var s *server
	for _, known := range g.servers {
		if known.PID == h.p.PID() && known.StartTicks == h.p.StartTicks() {
			s = known
		}
	}
	if s == nil {
		s = newServer(h.space)
	}
	s.app = h.app
	if !h.space.own {
		h.space.pid = h.p.PID() // it lasts as long as there is something to read
	}
	for i := range c.holders {
		member := &c.holders[i]
		if member.top != top {
			continue
		}
		for _, inode := range member.inodes {
			s.addSocket(h.space.listener(inode))
		}
		if s.process(member.p.PID(), member.p.StartTicks()) == nil {
			s.addProcess(member.p, i == top)
			member.p = nil // the server's now
		}
	}
	s.recognitions = 0
	return s
}

// asked reports whether one of the processes asked for is in the tree of the
// server, or above it.
func (g *Gauge) asked(c *scan, top int) bool {
	if g.apps != nil || len(g.cfg.PIDs) == 0 {
		return true
	}
	for i := range c.holders {
		if c.holders[i].top == top && slices.Contains(g.cfg.PIDs, c.holders[i].p.PID()) {
			return true
		}
	}
	pid := c.holders[top].p.PID()
	for range c.parents {
		if slices.Contains(g.cfg.PIDs, pid) {
			return true
		}
		pid = c.parents[pid]
	}
	return false
}

// orphans are the sockets that nobody could be found for: their processes
// belong to another user or pid namespace, or have just ended.
func (g *Gauge) orphans(found []*server) []*server {
	clear(g.unclaimed)
	if g.apps != nil || len(g.cfg.PIDs) > 0 {
		g.markUnclaimed(found, nil)
		return nil
	}
	var orphans []*server
	g.markUnclaimed(found, func(sp *space, l *listener) {
		s := newServer(sp)
		s.addSocket(l)
		s.Kind, s.Why = UnknownKind, "no process that may be looked at from here has the socket open"
		orphans = append(orphans, s)
	})
	return orphans
}

func (g *Gauge) markUnclaimed(found []*server, each func(*space, *listener)) {
	for _, sp := range g.spaces {
		for i := range sp.sockets {
			l := &sp.sockets[i]
			claimed := slices.ContainsFunc(found, func(s *server) bool { return s.socket(l.Inode) != nil })
			if claimed || !g.wants(l) {
				continue
			}
			g.unclaimed[l.Inode] = true
			if each != nil && l.path == "" && !g.isOwn(l.Inode) {
				each(sp, l)
			}
		}
	}
}

// isOwn reports whether a socket belongs to this process.
func (g *Gauge) isOwn(inode uint64) bool {
	self, err := g.fs.OpenProcess(g.self)
	if err != nil {
		return false
	}
	defer self.Close()
	fds, err := self.FDs(nil)
	return err == nil && slices.ContainsFunc(fds, func(fd kernel.FD) bool { return fd.Inode == inode })
}
