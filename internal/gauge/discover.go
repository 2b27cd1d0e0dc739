package gauge

import (
	"errors"
	"runtime"
	"slices"
	"sync"
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
// interest, as are all that are new where servers are followed that were found
// before: for them it is soon enough after a while.
func (g *Gauge) listenersChanged(now time.Time) bool {
	early := now.Sub(g.rescan.at) < rescanEvery
	if early && g.kept {
		return false
	}
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
	files  found // none if there are more than were looked at
	// What grouping finds out.
	pid   int
	start uint64
	top   int  // index of the topmost holder above it
	head  bool // it is that of others
	// undecided: forked a moment ago for one of several pools.
	undecided bool
	taken     bool // p belongs to a server
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
		pids, err := g.fs.UserPIDs()
		if err != nil {
			return err
		}
		slices.Sort(pids)
		for _, pid := range pids {
			scan.look(pid, nil)
		}
	}
	scan.lookFurther()
	g.adopt(&scan)
	g.rescan = rescan{at: now, spent: threadClock() - began}
	return nil
}

// scan is one pass through the processes.
type scan struct {
	g       *Gauge
	parents map[int]int
	holders []holder
	long    []held // processes with more files than were looked at
	fds     []kernel.FD
}

// held is a process, and whose it is.
type held struct {
	pid    int
	app    *followed
	holder int // its place among the holders, -1 if it is none so far
	seen   kernel.FDMark
}

const (
	// firstFDs are looked at in each process: servers open their listeners
	// early, and what comes later is mostly connections. A worker has what it
	// inherits under the number that it has in the master.
	firstFDs = 32
	// mostFDs is looked at if the process of a listener has not been found.
	mostFDs = 16 << 10
)

func (c *scan) look(pid int, app *followed) { c.lookAt(held{pid: pid, app: app, holder: -1}, firstFDs) }

// lookFurther looks through all files of the processes that have many, if that
// may find the process of a listener.
func (c *scan) lookFurther() {
	if len(c.long) == 0 || !c.misses() {
		return
	}
	for _, h := range c.long {
		c.lookAt(h, mostFDs)
	}
}

// misses reports whether a listener that is wanted belongs to nobody so far.
func (c *scan) misses() bool {
	for _, sp := range c.g.spaces {
		for i := range sp.sockets {
			l := &sp.sockets[i]
			holds := func(h holder) bool { return slices.Contains(h.inodes, l.Inode) }
			if c.g.wants(l) && !slices.ContainsFunc(c.holders, holds) {
				return true
			}
		}
	}
	return false
}

func (c *scan) lookAt(of held, most int) {
	p, err := c.g.fs.Approach(of.pid)
	if err != nil {
		return
	}
	h := holder{p: p, app: of.app}
	more, err := c.lookInto(&h, &of, most)
	switch {
	case err != nil || len(h.inodes) == 0:
		p.Close()
	case of.holder >= 0:
		c.holders[of.holder].p.Close()
		c.holders[of.holder] = h
	default:
		of.holder = len(c.holders)
		c.holders = append(c.holders, h)
	}
	if more && most == firstFDs {
		c.long = append(c.long, of)
	}
}

// lookInto looks at the lowest most files of a process; more says that it has
// others.
func (c *scan) lookInto(h *holder, of *held, most int) (more bool, err error) {
	asked := c.g.cfg.PIDs
	if len(asked) > 0 { // and one of them may be its parent
		if err := c.meet(h); err != nil {
			return false, err
		}
	}
	if h.p.PID() == c.g.self && !slices.Contains(asked, c.g.self) {
		return false, nil // of interest only to those who ask for it
	}
	clock := processClock(h.p.PID())
	more, all, err := c.list(h.p, of, most)
	if err != nil || !slices.ContainsFunc(c.fds, isSocket) {
		return more, err
	}
	if h.space, err = c.space(h.p); err != nil {
		return more, err
	}
	for _, fd := range c.fds {
		if l := h.space.listener(fd.Inode); isSocket(fd) && l != nil && c.wants(h.app, l) {
			h.inodes = append(h.inodes, fd.Inode)
		}
	}
	if len(h.inodes) == 0 {
		return more, nil
	}
	if all {
		h.files = found{slices.Clone(c.fds), clock}
	}
	if len(asked) > 0 {
		return more, nil
	}
	return more, c.meet(h)
}

// list lists the lowest most files of a process, without those that were looked at
// before in vain; all says that there are no others.
func (c *scan) list(p *kernel.Process, of *held, most int) (more, all bool, err error) {
	if most > firstFDs && of.holder < 0 {
		c.fds, err = p.FurtherFDs(of.seen, most, c.fds[:0])
		return false, false, err
	}
	c.fds, more, err = p.FirstFDs(most, c.fds[:0])
	of.seen = p.FDMark()
	return more, !more, err
}

// meet reads who the process is. The init system opens sockets for services
// that it starts later.
func (c *scan) meet(h *holder) error {
	if err := h.p.Meet(); err != nil {
		return err
	}
	stat := h.p.LastStat()
	h.ppid = stat.PPID
	c.parents[h.p.PID()] = stat.PPID
	if h.p.PID() == 1 && (stat.Comm == "systemd" || stat.Comm == "init") {
		return errInit
	}
	return nil
}

var errInit = errors.New("the init system serves nothing")

func isSocket(fd kernel.FD) bool { return fd.Inode != 0 }

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

// orphans are the sockets that nobody could be found for: their processes
// belong to another user or pid namespace, or have just ended.
func (g *Gauge) orphans(found []*server) []*server {
	clear(g.unclaimed)
	if g.apps == nil {
		clear(g.unowned)
	}
	if !g.showsOrphans() {
		g.markUnclaimed(found, nil)
		return nil
	}
	var orphans []*server
	own := sync.OnceValue(g.ownSockets)
	g.markUnclaimed(found, func(sp *space, l *listener) {
		if slices.Contains(own(), l.Inode) {
			return
		}
		s := g.orphan(l.Inode)
		if g.apps == nil {
			g.unowned[l.Inode] = true
		} else if !g.unowned[l.Inode] {
			return // it may be of a process that was not looked at
		}
		if s == nil {
			s = newServer(sp)
			s.addSocket(l)
		}
		s.Kind, s.Why = UnknownKind, "no process that may be looked at from here has the socket open"
		orphans = append(orphans, s)
	})
	return orphans
}

// ownSockets are those of this process, as far as they can be told.
func (g *Gauge) ownSockets() []uint64 {
	own, _ := g.fs.OwnSockets()
	return own
}

// orphan is one of the reading before.
func (g *Gauge) orphan(inode uint64) *server {
	for _, s := range g.servers {
		if s.unowned() && s.socket(inode) != nil {
			return s
		}
	}
	return nil
}

// unowned reports whether the server is a socket that nobody could be found for.
func (s *server) unowned() bool { return len(s.procs) == 0 && s.PID == 0 }

func (g *Gauge) markUnclaimed(found []*server, each func(*space, *listener)) {
	for _, sp := range g.spaces {
		for i := range sp.sockets {
			l := &sp.sockets[i]
			claimed := slices.ContainsFunc(found, func(s *server) bool { return s.socket(l.Inode) != nil })
			if claimed || !g.wants(l) {
				continue
			}
			g.unclaimed[l.Inode] = true
			if each != nil && l.path == "" {
				each(sp, l)
			}
		}
	}
}

// showsOrphans reports whether such sockets are told of: not if it was said
// whose are.
func (g *Gauge) showsOrphans() bool {
	return (g.apps == nil || g.cfg.Unowned) && len(g.cfg.PIDs) == 0
}
