package gauge

import (
	"cmp"
	"slices"
	"strings"

	"brink/internal/kernel"
)

// group is a set of sockets that the same processes serve, and these processes:
// what makes one server. Processes that share a socket are in one group, also
// where what has started them cannot be seen. A master whose children serve
// different sockets, as php-fpm's pools do, is in the group of each.
type group struct {
	app     *followed
	space   *space
	inodes  []uint64
	members []*holder // those that started others first
}

// groups forms them of all holders that were found.
func (c *scan) groups() []group {
	c.findTops()
	sets := c.joined()
	var list []group
	at := map[served]int{}
	for i := range c.holders {
		h := &c.holders[i]
		if h.undecided {
			continue // its server takes it in once it knows its place
		}
		for _, inode := range h.inodes {
			set := sets.of(served{h.app, inode})
			n, ok := at[set]
			if !ok {
				n = len(list)
				at[set] = n
				list = append(list, group{app: h.app, space: h.space})
			}
			list[n].add(h, inode)
		}
	}
	for _, gr := range list {
		slices.SortStableFunc(gr.members, func(a, b *holder) int { return cmp.Compare(b.heads(), a.heads()) })
	}
	return list
}

func (gr *group) add(h *holder, inode uint64) {
	if !slices.Contains(gr.inodes, inode) {
		gr.inodes = append(gr.inodes, inode)
	}
	if !slices.Contains(gr.members, h) {
		gr.members = append(gr.members, h)
	}
}

// started reports whether a member is the one that the others come from.
func (gr *group) started(h *holder) bool { return h.head || len(gr.members) == 1 }

// heads is 1 if others come from the process, 0 if none do.
func (h *holder) heads() int {
	if h.head {
		return 1
	}
	return 0
}

// findTops finds for each holder the topmost one above it that shares a socket.
func (c *scan) findTops() {
	at := make(map[int]int, len(c.holders))
	for i := range c.holders {
		h := &c.holders[i]
		h.pid, h.start = h.p.PID(), h.p.StartTicks()
		at[h.pid] = i
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
		c.holders[top].head = c.holders[top].head || top != i
	}
	for i := range c.holders {
		h := &c.holders[i]
		h.undecided = !h.head && h.between(&c.holders[h.top])
	}
}

func overlap(a, b []uint64) bool {
	return slices.ContainsFunc(a, func(inode uint64) bool { return slices.Contains(b, inode) })
}

// served is a socket, and the app whose processes have it.
type served struct {
	app   *followed
	inode uint64
}

// sets is a partition of the sockets: each leads to another of its set, or to
// itself if it stands for the set.
type sets map[served]served

func (s sets) of(k served) served {
	for s[k] != k {
		k = s[k]
	}
	return k
}

func (s sets) join(app *followed, inodes []uint64) {
	for _, inode := range inodes {
		s[s.of(served{app, inode})] = s.of(served{app, inodes[0]})
	}
}

// joined finds out which sockets are served together: those that one process
// serves, and those that have one address (SO_REUSEPORT).
func (c *scan) joined() sets {
	s := sets{}
	for _, h := range c.holders {
		for _, inode := range h.inodes {
			k := served{h.app, inode}
			s[k] = k
		}
	}
	byChildren := map[served]bool{}
	for i := range c.holders {
		h := &c.holders[i]
		if h.head || h.undecided || h.top == i && h.hasPools() {
			continue
		}
		s.join(h.app, h.inodes)
		for _, inode := range h.inodes {
			byChildren[served{h.app, inode}] = true
		}
	}
	for i := range c.holders {
		if h := &c.holders[i]; h.head {
			s.joinAddresses(h)
			if !h.hasPools() {
				s.joinRest(h, byChildren)
			}
		}
	}
	return s
}

func (s sets) joinAddresses(h *holder) {
	for i, inode := range h.inodes {
		l := h.space.listener(inode)
		for _, before := range h.inodes[:i] {
			if b := h.space.listener(before); l != nil && b != nil && l.Local == b.Local && l.path == b.path {
				s.join(h.app, []uint64{before, inode})
			}
		}
	}
}

// joinRest joins the sockets that only the process at the head has. They belong
// to its children's, unless these serve different ones.
func (s sets) joinRest(h *holder, byChildren map[served]bool) {
	var rest, one []uint64
	sole := true
	for _, inode := range h.inodes {
		switch k := (served{h.app, inode}); {
		case !byChildren[k]:
			rest = append(rest, inode)
		case one == nil:
			one = []uint64{inode}
		default:
			sole = sole && s.of(k) == s.of(served{h.app, one[0]})
		}
	}
	if sole {
		rest = append(rest, one...)
	}
	s.join(h.app, rest)
}

// hasPools reports whether each of a process's sockets has workers of its own,
// at times none: php-fpm's pools.
func (h *holder) hasPools() bool { return strings.HasPrefix(h.p.LastStat().Comm, "php-fpm") }

// between reports whether a process has just been forked for one of several
// pools, and still holds the sockets of the others.
func (h *holder) between(top *holder) bool {
	if !top.head || !top.hasPools() {
		return false
	}
	n := 0
	for _, inode := range h.inodes {
		if slices.Contains(top.inodes, inode) {
			n++
		}
	}
	return n > 1
}

// adopt makes servers of the groups, keeping what is known of those that were
// there before.
func (g *Gauge) adopt(c *scan) {
	var found []*server
	for _, gr := range c.groups() {
		if !g.asked(c, &gr) {
			continue
		}
		if s := g.serverOf(c, &gr, found); s != nil {
			found = append(found, s)
		}
	}
	for i := range c.holders {
		if h := &c.holders[i]; !h.taken {
			_ = h.p.Close()
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

// serverOf is nil if the processes have ended meanwhile.
func (g *Gauge) serverOf(c *scan, gr *group, found []*server) *server {
	s := g.knownServer(gr, found)
	if s == nil {
		s = newServer(gr.space)
	}
	s.app = gr.app
	if !gr.space.own {
		gr.space.pid = gr.members[0].pid // it lasts as long as there is something to read
	}
	s.Sockets = slices.DeleteFunc(s.Sockets, func(k Socket) bool { return !slices.Contains(gr.inodes, k.Inode) })
	for _, inode := range gr.inodes {
		s.addSocket(gr.space.listener(inode))
	}
	for i := range c.holders {
		if h := &c.holders[i]; !slices.Contains(gr.members, h) && !h.undecided {
			s.forget(h.pid, h.start)
		}
	}
	for _, h := range gr.members {
		q := s.process(h.pid, h.start)
		if q == nil {
			p, files := c.take(h)
			if p == nil {
				continue
			}
			q = s.addProcess(p, files)
		}
		q.top = gr.started(h)
	}
	if len(s.procs) == 0 {
		return nil
	}
	s.identify()
	s.recognitions = 0
	return s
}

// knownServer is the one that the group was at the reading before, nil if it is
// new: some of its processes served some of its sockets.
func (g *Gauge) knownServer(gr *group, found []*server) *server {
	for _, s := range g.servers {
		same := slices.ContainsFunc(gr.inodes, func(inode uint64) bool { return s.socket(inode) != nil }) &&
			slices.ContainsFunc(gr.members, func(h *holder) bool { return s.process(h.pid, h.start) != nil })
		if same && !slices.Contains(found, s) {
			return s
		}
	}
	return nil
}

// take gives away the holder's process with its files, and opens it anew for
// those that come later; nil if it has ended.
func (c *scan) take(h *holder) (*kernel.Process, found) {
	if !h.taken {
		h.taken = true
		return h.p, h.files
	}
	p, err := c.g.fs.OpenProcess(h.pid)
	if err != nil {
		return nil, found{}
	}
	if p.StartTicks() != h.start {
		_ = p.Close()
		return nil, found{}
	}
	return p, found{}
}

// asked reports whether one of the processes asked for is in the group, or
// above it.
func (g *Gauge) asked(c *scan, gr *group) bool {
	if g.apps != nil || len(g.cfg.PIDs) == 0 {
		return true
	}
	for _, h := range gr.members {
		pid := h.pid
		for range len(c.parents) + 1 {
			if slices.Contains(g.cfg.PIDs, pid) {
				return true
			}
			pid = c.parents[pid]
		}
	}
	return false
}
