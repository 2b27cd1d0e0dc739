package watch

import (
	"errors"
	"os"
	"slices"
	"time"

	"brink/internal/kernel"
)

// space is a network namespace with servers in it.
type space struct {
	id  uint64
	own bool
	// diag is nil where we may not enter the namespace; the text tables of pid,
	// a process in it, take its place.
	diag    *kernel.SockDiag
	pid     int
	sockets []kernel.ListenSocket
	ports   []uint16 // scratch
	conns   []kernel.Connection
	byInode map[uint64]int // into conns
	opens   passiveOpens
	// spent is what the last look at the connections cost, at is when it was.
	spent time.Duration
	at    time.Time
}

func ownSpace(fs *kernel.FS) (*space, error) {
	sp := &space{own: true, byInode: map[uint64]int{}}
	self, err := fs.OpenProcess(os.Getpid())
	if err != nil {
		return nil, err
	}
	defer self.Close()
	if sp.id, err = self.NetNS(); err != nil && !errors.Is(err, kernel.ErrUnavailable) {
		return nil, err
	}
	if sp.diag, err = kernel.DialSockDiag(); err != nil && !errors.Is(err, kernel.ErrUnavailable) {
		return nil, err
	}
	sp.opens.open = func() (*kernel.Reader[kernel.Netstat], error) { return fs.NetstatReader() }
	return sp, nil
}

// enter makes the space of another process.
func enter(fs *kernel.FS, id uint64, pid int) *space {
	sp := &space{id: id, pid: pid, byInode: map[uint64]int{}}
	if diag, err := fs.DialSockDiagOf(pid); err == nil {
		sp.diag = diag
	}
	sp.opens.open = func() (*kernel.Reader[kernel.Netstat], error) { return fs.NetstatOf(sp.pid) }
	return sp
}

func (sp *space) close() error {
	sp.opens.close()
	if sp.diag == nil {
		return nil
	}
	return sp.diag.Close()
}

// listen reads the listening sockets.
func (sp *space) listen(fs *kernel.FS) error {
	var err error
	sp.sockets = sp.sockets[:0]
	if sp.diag != nil {
		sp.sockets, err = sp.diag.ListenSockets(sp.sockets)
		if !errors.Is(err, kernel.ErrUnavailable) {
			return err
		}
		_ = sp.diag.Close()
		sp.diag = nil
	}
	list, err := fs.Listeners(sp.pid)
	for _, l := range list {
		sp.sockets = append(sp.sockets, kernel.ListenSocket{Listener: l})
	}
	return err
}

func (sp *space) listener(inode uint64) *kernel.ListenSocket {
	for i := range sp.sockets {
		if sp.sockets[i].Inode == inode {
			return &sp.sockets[i]
		}
	}
	return nil
}

// urgency says how much it may cost to look at a server's connections: the
// kernel walks its whole table for that, 1 to 10 ms, however few are asked for.
type urgency uint8

const (
	never   urgency = iota
	routine         // nothing hangs on it
	unsure          // a socket may have been taken for what it is not
	needed          // nothing else tells what is asked
)

// share is the part of the time that looking may take, as 1/share.
var share = [...]time.Duration{routine: 4000, unsure: 200, needed: 10}

func (sp *space) mayLook(u urgency, now time.Time) bool {
	return u != never && (sp.at.IsZero() || now.Sub(sp.at) >= share[u]*sp.spent)
}

// connections looks at the connections of those servers that need it.
func (sp *space) connections(w *Watcher, now time.Time) {
	sp.conns = sp.conns[:0]
	clear(sp.byInode)
	sp.ports = sp.ports[:0]
	for _, s := range w.servers {
		if s.space != sp {
			continue
		}
		s.looked = w.cfg.Detail || sp.mayLook(s.urgency(), now)
		for i := range s.Sockets {
			if port := s.Sockets[i].Local.Port(); s.looked && !slices.Contains(sp.ports, port) {
				sp.ports = append(sp.ports, port)
			}
		}
	}
	if len(sp.ports) == 0 {
		return
	}
	ports := sp.ports
	if w.cfg.Detail {
		ports = nil // the peers that workers wait on are on other ports
	}
	began := time.Now()
	err := sp.readConnections(w.fs, ports)
	// An interrupted look may cost much more than looking does.
	sp.spent = min(time.Since(began), max(2*sp.spent, time.Millisecond))
	sp.at = now
	if err != nil {
		sp.conns = sp.conns[:0]
		for _, s := range w.servers {
			s.looked = s.looked && s.space != sp
		}
	}
	for i := range sp.conns {
		if inode := sp.conns[i].Inode; inode != 0 {
			sp.byInode[inode] = i
		}
	}
}

func (sp *space) readConnections(fs *kernel.FS, ports []uint16) (err error) {
	if sp.diag != nil {
		sp.conns, err = sp.diag.Connections(ports, sp.conns)
		return err
	}
	sp.conns, err = fs.Connections(sp.pid, ports, sp.conns)
	return err
}

// connection finds an established connection by the inode of its socket.
func (sp *space) connection(inode uint64) *kernel.Connection {
	i, ok := sp.byInode[inode]
	if !ok {
		return nil
	}
	return &sp.conns[i]
}

// passiveOpens counts the connections that were established to a namespace's
// listeners.
type passiveOpens struct {
	open   func() (*kernel.Reader[kernel.Netstat], error)
	reader *kernel.Reader[kernel.Netstat]
	stat   kernel.Netstat
}

func (o *passiveOpens) read() kernel.Num {
	if o.reader == nil {
		r, err := o.open()
		if err != nil {
			return kernel.Num{}
		}
		o.reader = r
	}
	if o.reader.Read(&o.stat) != nil {
		o.close()
		return kernel.Num{}
	}
	return o.stat.PassiveOpens
}

func (o *passiveOpens) close() {
	_ = o.reader.Close()
	o.reader = nil
}
