// Package gauge reads, from outside, how busy the workers of listening servers
// are: which processes share a listening socket, how many of their workers hold
// a request, what waits in front of them and for how long. It reads /proc and
// asks the kernel for sockets. It attaches to nothing, sends nothing, and needs
// no rights beyond those of the server's user.
//
// What it cannot see is unknown, never 0. A gevent worker, a Node.js process or
// a Go server keeps its pool inside, where only it can count.
//
// # The servers of a machine
//
// With a [Config], [Gauge.Sample] finds the servers by itself, which looks
// through all processes now and then:
//
//	g, err := gauge.New(gauge.Config{})
//	snap, err := g.Sample(time.Now()) // once a second, say
//
// # The apps of an agent
//
// One gauge serves all apps that a program has started. Before each reading it
// is told which there are ([Gauge.Follow]), and afterwards asked about each by
// its place in that list ([Gauge.Load]):
//
//	g, err := gauge.New(gauge.Config{})
//	for each tick {
//		apps = append(apps[:0], gauge.App{PIDs: pids, Listen: addr, Args: argv}, ...)
//		g.Follow(apps)
//		if _, err := g.Sample(now); err != nil { ... } // then nothing is known
//		load := g.Load(i) // Workers, Busy, Idle, Queued and the accept queue
//	}
//
// It then looks at no other process, and allocates nothing while the lists stay
// as they are. Given the command line it takes no process's mmap lock, so that
// a process that is stuck in reclaim does not hold it up.
package gauge

import (
	"errors"
	"fmt"
	"os"
	"time"

	"brink/internal/kernel"
)

// Config says what to watch.
type Config struct {
	// Listen limits the servers to those that listen on one of these
	// addresses; empty means all.
	Listen []Address
	// PIDs limits the servers to those of these processes: the master, a
	// worker, or an ancestor of the master.
	PIDs []int
	// Detail looks at every connection in every reading, and at what each
	// worker waits on. Without it, connections are looked at as often as a
	// small share of the CPU allows, and where nothing else tells.
	Detail bool
	// Brief never looks at connections only to count them: Open is then known
	// where something else needed the look.
	Brief bool
	// Unowned goes on, after Follow, with sockets that were found before and whose
	// processes may not be looked at: they are of no app's.
	Unowned bool
}

// Gauge takes readings of the servers. It is not safe for concurrent use.
type Gauge struct {
	cfg     Config
	fs      *kernel.FS
	self    int
	page    uint64
	spaces  []*space
	servers []*server
	apps    []*followed // nil unless Follow was called
	kept    bool        // they are servers that were found before
	snap    Snapshot
	rescan  rescan
	programs
	// unclaimed are the listeners whose process has not been found, so that
	// looking for it again does not become a habit.
	unclaimed map[uint64]bool
	// unowned are those of them that were told of as servers before Follow: a
	// listing that misses one, as the kernel's may while others come and go, is not
	// its end.
	unowned  map[uint64]bool
	askWaits bool
}

// New opens what every reading needs. The error is [kernel.ErrUnavailable] on a
// machine without /proc.
func New(cfg Config) (*Gauge, error) {
	fs, err := kernel.Open("/")
	if err != nil {
		return nil, fmt.Errorf("watching servers: %w", err)
	}
	g := &Gauge{cfg: cfg, fs: fs, self: os.Getpid(), unclaimed: map[uint64]bool{}, unowned: map[uint64]bool{}, programs: programs{}}
	g.page = fs.PageSize().Bytes
	own, err := ownSpace(fs)
	if err != nil {
		fs.Close()
		return nil, fmt.Errorf("watching servers: %w", err)
	}
	g.spaces = append(g.spaces, own)
	return g, nil
}

// Close releases what the gauge holds.
func (g *Gauge) Close() error {
	for _, s := range g.servers {
		s.close()
	}
	err := g.fs.Close()
	for _, s := range g.spaces {
		err = errors.Join(err, s.close())
	}
	return err
}

// Sample takes a reading at the instant now, which is not before that of the
// reading before. The snapshot belongs to the gauge and is valid until the next
// call. A process, a server or a network namespace that ends
// meanwhile is no error.
func (g *Gauge) Sample(now time.Time) (*Snapshot, error) {
	for _, s := range g.spaces {
		if err := s.listen(g); err != nil && s.own {
			return nil, fmt.Errorf("listening sockets: %w", err)
		}
	}
	if g.rescan.due(now, g.listenersChanged(now), g.apps != nil) {
		if err := g.discover(now); err != nil {
			return nil, err
		}
	}
	var interval time.Duration
	if !g.snap.At.IsZero() {
		interval = max(now.Sub(g.snap.At), 0)
	}
	for _, s := range g.servers {
		s.look(g, interval)
	}
	for _, s := range g.spaces {
		s.connections(g, now)
	}
	for _, s := range g.servers {
		s.settle(g, interval)
	}
	g.askWaits = false
	g.dropEnded()
	g.fill(now, interval)
	return &g.snap, nil
}

// Listening returns the TCP sockets that listened in this process's own network
// namespace at the last reading; ok is false where that reading failed, or had to
// do without sock_diag, which alone has their limits. They are the gauge's and valid
// until the next reading.
func (g *Gauge) Listening() (sockets []kernel.ListenSocket, ok bool) {
	own := g.spaces[0]
	return own.tcp, own.diag != nil && own.fresh
}

// dropEnded forgets the servers that no longer listen or live, and the network
// namespaces that nobody is watched in: our socket in one keeps it alive.
func (g *Gauge) dropEnded() {
	kept := g.servers[:0]
	for _, s := range g.servers {
		if s.ended || s.unseen(g) && s.Kind.neverTells() && s.settled() {
			s.close()
			g.rescan.wanted = g.rescan.wanted || s.ended
			g.giveUp(s)
			continue
		}
		kept = append(kept, s)
	}
	clear(g.servers[len(kept):])
	g.servers = kept
	spaces := g.spaces[:0]
	for _, sp := range g.spaces {
		if !sp.own && !g.inhabited(sp) {
			_ = sp.close()
			continue
		}
		spaces = append(spaces, sp)
	}
	clear(g.spaces[len(spaces):])
	g.spaces = spaces
}

func (g *Gauge) inhabited(sp *space) bool {
	for _, s := range g.servers {
		if s.space == sp {
			return true
		}
	}
	return false
}

func (g *Gauge) fill(now time.Time, interval time.Duration) {
	g.snap.At, g.snap.Interval = now, interval
	g.snap.Servers = g.snap.Servers[:0]
	for _, s := range g.servers {
		if !s.unseen(g) {
			g.snap.Servers = append(g.snap.Servers, &s.Server)
		}
	}
}

// giveUp keeps the sockets of a server from being looked for again.
func (g *Gauge) giveUp(s *server) {
	for i := range s.Sockets {
		g.unclaimed[s.Sockets[i].Inode] = true
	}
}

// AskWaits makes the next reading look at the connections of the servers that
// hold some, and at what their busy workers wait on. It costs less than
// [Config].Detail.
func (g *Gauge) AskWaits() { g.askWaits = true }

// SetDetail switches [Config].Detail from the next reading on.
func (g *Gauge) SetDetail(on bool) { g.cfg.Detail = on }
