// Package watch looks at the servers that listen on this machine, from outside:
// which processes share a listening socket, how many of their workers hold a
// request, what waits in front of them and for how long. It reads /proc and
// asks the kernel for sockets. It attaches to nothing, sends nothing, and needs
// no rights beyond those of the server's user.
//
// What it cannot see is unknown, never 0. A gevent worker, a Node.js process or
// a Go server keeps its pool inside, where only it can count.
package watch

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
}

// Watcher takes readings of the servers. It is not safe for concurrent use.
type Watcher struct {
	cfg     Config
	fs      *kernel.FS
	self    int
	page    uint64
	spaces  []*space
	servers []*server
	snap    Snapshot
	rescan  rescan
	// unclaimed are the listeners whose process has not been found, so that
	// looking for it again does not become a habit.
	unclaimed map[uint64]bool
}

// New opens what every reading needs. The error is [kernel.ErrUnavailable] on a
// machine without /proc.
func New(cfg Config) (*Watcher, error) {
	fs, err := kernel.Open("/")
	if err != nil {
		return nil, fmt.Errorf("watching servers: %w", err)
	}
	w := &Watcher{cfg: cfg, fs: fs, self: os.Getpid(), unclaimed: map[uint64]bool{}}
	w.page = fs.PageSize().Bytes
	own, err := ownSpace(fs)
	if err != nil {
		fs.Close()
		return nil, fmt.Errorf("watching servers: %w", err)
	}
	w.spaces = append(w.spaces, own)
	return w, nil
}

// Close releases what the watcher holds.
func (w *Watcher) Close() error {
	for _, s := range w.servers {
		s.close()
	}
	err := w.fs.Close()
	for _, s := range w.spaces {
		err = errors.Join(err, s.close())
	}
	return err
}

// Sample takes a reading at the instant now, which is not before that of the
// reading before. The snapshot belongs to the watcher and is valid
// until the next call. A process, a server or a network namespace that ends
// meanwhile is no error.
func (w *Watcher) Sample(now time.Time) (*Snapshot, error) {
	for _, s := range w.spaces {
		if err := s.listen(w.fs); err != nil && s.own {
			return nil, fmt.Errorf("listening sockets: %w", err)
		}
	}
	if w.rescan.due(now, w.listenersChanged()) {
		if err := w.discover(now); err != nil {
			return nil, err
		}
	}
	var interval time.Duration
	if !w.snap.At.IsZero() {
		interval = max(now.Sub(w.snap.At), 0)
	}
	for _, s := range w.servers {
		s.look(w, interval)
	}
	for _, s := range w.spaces {
		s.connections(w, now)
	}
	for _, s := range w.servers {
		s.settle(w, interval)
	}
	w.dropEnded()
	w.fill(now, interval)
	return &w.snap, nil
}

// dropEnded forgets the servers that no longer listen or live, and the network
// namespaces that nobody is watched in: our socket in one keeps it alive.
func (w *Watcher) dropEnded() {
	kept := w.servers[:0]
	for _, s := range w.servers {
		if s.ended {
			s.close()
			w.rescan.wanted = true
			continue
		}
		kept = append(kept, s)
	}
	clear(w.servers[len(kept):])
	w.servers = kept
	spaces := w.spaces[:0]
	for _, sp := range w.spaces {
		if !sp.own && !w.inhabited(sp) {
			_ = sp.close()
			continue
		}
		spaces = append(spaces, sp)
	}
	clear(w.spaces[len(spaces):])
	w.spaces = spaces
}

func (w *Watcher) inhabited(sp *space) bool {
	for _, s := range w.servers {
		if s.space == sp {
			return true
		}
	}
	return false
}

func (w *Watcher) fill(now time.Time, interval time.Duration) {
	w.snap.At, w.snap.Interval = now, interval
	w.snap.Servers = w.snap.Servers[:0]
	for _, s := range w.servers {
		w.snap.Servers = append(w.snap.Servers, &s.Server)
	}
}

// SetDetail switches [Config].Detail from the next reading on.
func (w *Watcher) SetDetail(on bool) { w.cfg.Detail = on }
