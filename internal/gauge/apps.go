package gauge

import (
	"net/netip"
	"slices"

	"brink/internal/kernel"
)

// App is what a program knows of a server that it has started.
type App struct {
	// PIDs are its processes, in any order. One that has ended is stepped over.
	PIDs []int
	// Listen is where it serves; the zero AddrPort stands for all TCP sockets
	// that its processes listen on, and for the Unix sockets that were known
	// before.
	Listen netip.AddrPort
	// Args is its command line. Without it the kernel is asked, which takes the
	// process's mmap lock.
	Args []string
}

// Load is what the workers of an app do, all its servers taken together. What
// cannot be told, since it is inside a process or since nothing listens yet,
// is unknown.
type Load struct {
	Workers, Busy, Idle, Queued kernel.Num // as in Server
	// Of the accept queues: connections in them, their limits in sum, those
	// whose client has closed, and the time that the oldest has waited, in ms,
	// 0 if there is none.
	Waiting, Limit, Abandoned, OldestMillis kernel.Num
}

// followed is an App that the gauge looks at.
type followed struct {
	App
	listen Address
}

// Follow makes the gauge look at these apps, and at nothing else but for what
// [Config.Unowned] keeps. It is cheap and allocates nothing while they stay the
// same. Where the servers that the gauge has found by itself are these apps, it
// goes on with them.
func (g *Gauge) Follow(apps []App) {
	first := g.apps == nil
	if first {
		g.apps = []*followed{}
	}
	changed := len(apps) < len(g.apps)
	g.apps = slices.Delete(g.apps, min(len(apps), len(g.apps)), len(g.apps))
	for i := range apps {
		switch a := &apps[i]; {
		case i == len(g.apps):
			g.apps = append(g.apps, follow(a))
		case g.apps[i].is(a):
			continue
		case g.apps[i].was(a):
			g.apps[i].PIDs = append(g.apps[i].PIDs[:0], a.PIDs...)
		default: // another in its place
			g.apps[i] = follow(a)
		}
		changed = true
	}
	if first && g.keep() {
		g.kept = true
		return
	}
	g.kept = g.kept && !changed
	g.rescan.wanted = g.rescan.wanted || changed
}

// keep goes on with the servers that belong to the apps, and reports whether
// these are all that there is to the apps. The last search has looked at every
// process, unless it was told to look at certain ones.
func (g *Gauge) keep() bool {
	if g.rescan.at.IsZero() || g.rescan.wanted || len(g.cfg.Listen) > 0 || len(g.cfg.PIDs) > 0 {
		return false
	}
	owner := make(map[*server]*followed, len(g.servers))
	for _, f := range g.apps {
		for _, pid := range f.PIDs {
			found := false
			for _, s := range g.servers { // one for each pool of a php-fpm
				if !s.has(pid) {
					continue
				}
				if owner[s] != nil && owner[s] != f || !f.wantsAll(s) {
					return false
				}
				owner[s], found = f, true
			}
			if !found {
				return false
			}
		}
	}
	kept := g.servers[:0]
	for _, s := range g.servers {
		if s.app = owner[s]; s.app == nil && !(g.cfg.Unowned && s.unowned()) {
			s.close()
			continue
		}
		kept = append(kept, s)
	}
	clear(g.servers[len(kept):])
	g.servers = kept
	clear(g.unclaimed)
	g.markUnclaimed(kept, nil)
	return true
}

func (s *server) has(pid int) bool {
	return slices.ContainsFunc(s.procs, func(q *proc) bool { return q.p.PID() == pid })
}

// wantsAll reports whether the app serves at all sockets of a server.
func (f *followed) wantsAll(s *server) bool {
	return !slices.ContainsFunc(s.Sockets, func(k Socket) bool {
		return f.Listen.IsValid() && (k.Path != "" || !f.listen.matches(k.Local))
	})
}

func follow(a *App) *followed {
	f := &followed{App: *a, listen: Address{Addr: a.Listen.Addr().Unmap(), Port: a.Listen.Port()}}
	f.PIDs, f.Args = slices.Clone(a.PIDs), slices.Clone(a.Args)
	return f
}

// is reports whether nothing has changed, was whether only some of the
// processes have.
func (f *followed) is(a *App) bool {
	return slices.Equal(f.PIDs, a.PIDs) && f.Listen == a.Listen && slices.Equal(f.Args, a.Args)
}

func (f *followed) was(a *App) bool {
	return f.Listen == a.Listen && slices.Equal(f.Args, a.Args) &&
		slices.ContainsFunc(a.PIDs, func(pid int) bool { return slices.Contains(f.PIDs, pid) })
}

// wants reports whether a socket is one of those where the app serves.
func (f *followed) wants(l *listener) bool {
	return !f.Listen.IsValid() || f.listen.matches(l.Local)
}

// Load returns what the last reading told of the app at place i of those given
// to [Gauge.Follow].
func (g *Gauge) Load(i int) Load {
	var l Load
	found := false
	for _, s := range g.servers {
		if s.app != g.apps[i] {
			continue
		}
		if !found {
			found = true
			zero := known(0)
			l = Load{zero, zero, zero, zero, zero, zero, zero, zero}
		}
		l.add(&s.Server)
	}
	return l
}

func (l *Load) add(s *Server) {
	l.Workers, l.Busy = l.Workers.Plus(s.Workers), l.Busy.Plus(s.Busy)
	l.Idle, l.Queued = l.Idle.Plus(s.Idle), l.Queued.Plus(s.Queued)
	for i := range s.Sockets {
		k := &s.Sockets[i]
		l.Waiting = l.Waiting.Plus(known(uint64(k.Queue)))
		l.Limit, l.Abandoned = l.Limit.Plus(k.Limit), l.Abandoned.Plus(k.Abandoned)
		switch {
		case k.Queue == 0:
		case !k.Oldest.Known:
			l.OldestMillis = kernel.Num{}
		case l.OldestMillis.Known:
			l.OldestMillis.Value = max(l.OldestMillis.Value, uint64(1000*k.Oldest.Value))
		}
	}
}
