package watch

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"brink/internal/kernel"
)

// rescan decides when all processes are looked through for listening sockets.
type rescan struct {
	wanted bool
	at     time.Time
	spent  time.Duration
}

const (
	// Without a new listener there is little to find: a network namespace, or
	// a process that was given the sockets of another.
	rescanEvery = 5 * time.Second
	rescanLeast = 2 * time.Minute
	// rescanShare bounds what looking through thousands of processes costs.
	rescanShare = 20_000
	// rescanSoonest bounds it while listeners come and go.
	rescanSoonest = 20
)

func (r *rescan) due(now time.Time, changed bool) bool {
	since := now.Sub(r.at)
	switch {
	case r.at.IsZero():
		return true
	case r.wanted || changed:
		return since >= rescanSoonest*r.spent
	}
	return since >= min(max(rescanEvery, rescanShare*r.spent), rescanLeast)
}

// listenersChanged reports whether a socket listens that no server was found
// for, or looked for in vain.
func (w *Watcher) listenersChanged() bool {
	for _, sp := range w.spaces {
		for i := range sp.sockets {
			l := &sp.sockets[i]
			if w.wants(l.Local) && !w.unclaimed[l.Inode] && !w.claimed(l.Inode) {
				return true
			}
		}
	}
	return false
}

func (w *Watcher) claimed(inode uint64) bool {
	for _, s := range w.servers {
		if s.socket(inode) != nil {
			return true
		}
	}
	return false
}

// holder is a process that has a listening socket open.
type holder struct {
	p      *kernel.Process
	ppid   int
	space  *space
	inodes []uint64
	top    int // index of the topmost holder that shares a socket with it
}

// discover looks through all processes.
func (w *Watcher) discover(now time.Time) error {
	began := time.Now()
	pids, err := w.fs.PIDs()
	if err != nil {
		return err
	}
	slices.Sort(pids)
	scan := scan{w: w, parents: make(map[int]int, len(pids))}
	for _, pid := range pids {
		scan.look(pid)
	}
	scan.group()
	w.adopt(&scan)
	w.rescan = rescan{at: now, spent: time.Since(began)}
	return nil
}

// scan is one pass through all processes.
type scan struct {
	w       *Watcher
	parents map[int]int
	holders []holder
	fds     []kernel.FD
}

func (c *scan) look(pid int) {
	p, err := c.w.fs.OpenProcess(pid)
	if err != nil {
		return
	}
	h, err := c.holderOf(p)
	if err != nil || len(h.inodes) == 0 {
		p.Close()
		return
	}
	c.holders = append(c.holders, h)
}

func (c *scan) holderOf(p *kernel.Process) (h holder, err error) {
	var stat kernel.PIDStat
	if err := p.Stat(&stat); err != nil {
		return h, err
	}
	c.parents[p.PID()] = stat.PPID
	h = holder{p: p, ppid: stat.PPID}
	// The init system opens sockets for services that it starts later; this
	// process is of interest only to those who ask for it.
	isInit := p.PID() == 1 && (stat.Comm == "systemd" || stat.Comm == "init")
	if isInit || p.PID() == c.w.self && !slices.Contains(c.w.cfg.PIDs, p.PID()) {
		return h, nil
	}
	if c.fds, err = p.FDs(c.fds[:0]); err != nil {
		return h, err
	}
	if h.space, err = c.space(p); err != nil {
		return h, err
	}
	for _, fd := range c.fds {
		if l := h.space.listener(fd.Inode); fd.Inode != 0 && l != nil && c.w.wants(l.Local) {
			h.inodes = append(h.inodes, fd.Inode)
		}
	}
	return h, nil
}

// space finds the network namespace of a process, or enters it.
func (c *scan) space(p *kernel.Process) (*space, error) {
	id, err := p.NetNS()
	if errors.Is(err, kernel.ErrUnavailable) {
		return c.w.spaces[0], nil // a kernel with one namespace
	}
	if err != nil {
		return nil, err
	}
	for _, sp := range c.w.spaces {
		if sp.id == id {
			return sp, nil
		}
	}
	sp := enter(c.w.fs, id, p.PID())
	if err := sp.listen(c.w.fs); err != nil { // it has ended; there may be others in the namespace
		_ = sp.close()
		return nil, err
	}
	c.w.spaces = append(c.w.spaces, sp)
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
func (w *Watcher) adopt(c *scan) {
	var found []*server
	for i := range c.holders {
		h := &c.holders[i]
		if h.top != i {
			continue
		}
		if s := w.serverOf(c, i); s != nil {
			found = append(found, s)
		}
	}
	for i := range c.holders {
		if h := &c.holders[i]; h.p != nil {
			h.p.Close()
		}
	}
	for _, s := range w.servers {
		if !slices.Contains(found, s) {
			s.close()
		}
	}
	w.servers = append(found, w.orphans(found)...)
	slices.SortStableFunc(w.servers, func(a, b *server) int {
		return cmp.Or(a.Sockets[0].Local.Compare(b.Sockets[0].Local), cmp.Compare(a.PID, b.PID))
	})
}

// serverOf is the server of the holder at index top, nil if it was not asked
// for.
func (w *Watcher) serverOf(c *scan, top int) *server {
	h := &c.holders[top]
	if !w.asked(c, top) {
		return nil
	}
	var s *server
	for _, known := range w.servers {
		if known.PID == h.p.PID() && known.StartTicks == h.p.StartTicks() {
			s = known
		}
	}
	if s == nil {
		s = newServer(h.space)
	}
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
func (w *Watcher) asked(c *scan, top int) bool {
	if len(w.cfg.PIDs) == 0 {
		return true
	}
	for i := range c.holders {
		if c.holders[i].top == top && slices.Contains(w.cfg.PIDs, c.holders[i].p.PID()) {
			return true
		}
	}
	pid := c.holders[top].p.PID()
	for range c.parents {
		if slices.Contains(w.cfg.PIDs, pid) {
			return true
		}
		pid = c.parents[pid]
	}
	return false
}

// orphans are the sockets that nobody could be found for: their processes
// belong to another user or pid namespace, or have just ended.
func (w *Watcher) orphans(found []*server) []*server {
	clear(w.unclaimed)
	if len(w.cfg.PIDs) > 0 {
		w.markUnclaimed(found, nil)
		return nil
	}
	var orphans []*server
	w.markUnclaimed(found, func(sp *space, l *kernel.ListenSocket) {
		s := newServer(sp)
		s.addSocket(l)
		s.Kind, s.Why = UnknownKind, "no process that may be looked at from here has the socket open"
		orphans = append(orphans, s)
	})
	return orphans
}

func (w *Watcher) markUnclaimed(found []*server, each func(*space, *kernel.ListenSocket)) {
	for _, sp := range w.spaces {
		for i := range sp.sockets {
			l := &sp.sockets[i]
			claimed := slices.ContainsFunc(found, func(s *server) bool { return s.socket(l.Inode) != nil })
			if claimed || !w.wants(l.Local) {
				continue
			}
			w.unclaimed[l.Inode] = true
			if each != nil && !w.isOwn(l.Inode) {
				each(sp, l)
			}
		}
	}
}

// isOwn reports whether a socket belongs to this process.
func (w *Watcher) isOwn(inode uint64) bool {
	self, err := w.fs.OpenProcess(w.self)
	if err != nil {
		return false
	}
	defer self.Close()
	fds, err := self.FDs(nil)
	return err == nil && slices.ContainsFunc(fds, func(fd kernel.FD) bool { return fd.Inode == inode })
}
