package gauge

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"brink/internal/kernel"
)

// listener is a socket that listens.
type listener struct {
	kernel.ListenSocket
	path string // of a Unix socket, whose Local is the zero AddrPort
}

// space is a network namespace with servers in it.
type space struct {
	id  uint64
	own bool
	// diag is nil where we may not enter the namespace; the text tables of pid,
	// a process in it, take its place.
	diag *kernel.SockDiag
	pid  int
	// lookup is nil where single connections cannot be asked for.
	lookup  *kernel.TCPLookup
	unix    *kernel.UnixDiag // nil where we may not see Unix sockets
	sockets []listener
	tcp     []kernel.ListenSocket // of the last reading
	fresh   bool                  // which succeeded
	paths   map[uint64]string     // of the Unix sockets among them
	// accepted are the Unix sockets that come from listeners of servers whose
	// connections were looked at.
	accepted map[uint64]bool
	looking  []*server
	// The callbacks of unix, made once.
	seeListener, seeAccepted func(*kernel.UnixSocket)
	ports                    []uint16 // scratch
	conns                    []kernel.Connection
	byInode                  map[uint64]int // into conns
	opens                    passiveOpens
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
	sp.lookup, _ = kernel.DialTCPLookup() // without it, all are looked at
	sp.unix, _ = kernel.DialUnixDiag()
	sp.paths, sp.accepted = map[uint64]string{}, map[uint64]bool{}
	sp.seeListener, sp.seeAccepted = sp.addUnixListener, sp.addAccepted
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
	err := errors.Join(sp.lookup.Close(), sp.unix.Close())
	if sp.diag == nil {
		return err
	}
	return errors.Join(err, sp.diag.Close())
}

// listen reads the listening sockets.
func (sp *space) listen(g *Gauge) error {
	sp.sockets = sp.sockets[:0]
	err := sp.listenTCP(g.fs)
	if sp.fresh = err == nil; err != nil {
		return err
	}
	for i := range sp.tcp {
		sp.sockets = append(sp.sockets, listener{ListenSocket: sp.tcp[i]})
	}
	if sp.unix == nil || !g.wantsUnix() {
		return nil
	}
	if len(sp.paths) > 2*len(sp.sockets)+mostPaths {
		clear(sp.paths) // most are of sockets that are gone
	}
	err = sp.unix.Listening(sp.seeListener)
	if errors.Is(err, kernel.ErrUnavailable) {
		_ = sp.unix.Close()
		sp.unix = nil
		return nil
	}
	return err
}

// mostPaths is how many names of Unix sockets are kept without a question.
const mostPaths = 1000

func (sp *space) listenTCP(fs *kernel.FS) error {
	var err error
	sp.tcp = sp.tcp[:0]
	if sp.diag != nil {
		sp.tcp, err = sp.diag.ListenSockets(sp.tcp)
		if !errors.Is(err, kernel.ErrUnavailable) {
			return err
		}
		_ = sp.diag.Close()
		sp.diag = nil
	}
	list, err := fs.Listeners(sp.pid)
	for _, l := range list {
		sp.tcp = append(sp.tcp, kernel.ListenSocket{Listener: l})
	}
	return err
}

func (sp *space) addUnixListener(u *kernel.UnixSocket) {
	path, ok := sp.paths[u.Inode]
	if !ok || path != string(u.Path) {
		path = string(u.Path)
		sp.paths[u.Inode] = path
	}
	l := listener{path: path}
	l.Inode, l.Queue, l.Backlog = u.Inode, u.Queue, u.Backlog
	sp.sockets = append(sp.sockets, l)
}

func (sp *space) listener(inode uint64) *listener {
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
	aged            // how old those are that wait
	unsure          // a socket may have been taken for what it is not
	needed          // nothing else tells what is asked
)

// share is the part of the time that looking may take, as 1/share. Experience
// makes that of aged and unsure smaller, by half for each of halvings.
var share = [...]time.Duration{routine: 10_000, aged: 500, unsure: 200, needed: 10}

func (sp *space) mayLook(s *server, now time.Time, brief bool) bool {
	u := s.urgency(now)
	if u == routine && brief {
		return false
	}
	least := share[u] * sp.spent
	switch u {
	case never:
		return false
	case aged:
		least <<= s.waiters.halvings
	case unsure:
		least <<= s.trust.halvings()
	}
	return sp.at.IsZero() || now.Sub(sp.at) >= least
}

// connections looks at the connections of those servers that need it.
func (sp *space) connections(g *Gauge, now time.Time) {
	sp.conns, sp.ports, sp.looking = sp.conns[:0], sp.ports[:0], sp.looking[:0]
	clear(sp.byInode)
	clear(sp.accepted)
	onUnix := false
	for _, s := range g.servers {
		if s.space != sp {
			continue
		}
		if s.looked = g.cfg.Detail || s.waits && s.holds() || sp.mayLook(s, now, g.cfg.Brief); !s.looked {
			continue
		}
		sp.looking = append(sp.looking, s)
		for i := range s.Sockets {
			k := &s.Sockets[i]
			if onUnix = onUnix || k.Path != ""; k.Path == "" && !slices.Contains(sp.ports, k.Local.Port()) {
				sp.ports = append(sp.ports, k.Local.Port())
			}
		}
	}
	var err error
	if len(sp.ports) > 0 || g.cfg.Detail {
		err = sp.lookAtTCP(g, now)
	}
	if onUnix && sp.unix != nil {
		err = errors.Join(err, sp.unix.Connected(sp.seeAccepted))
	}
	if err != nil {
		sp.conns = sp.conns[:0]
	}
	for i := range sp.conns {
		if inode := sp.conns[i].Inode; inode != 0 {
			sp.byInode[inode] = i
		}
	}
	for _, s := range sp.looking {
		s.looked = err == nil
		s.waiters.find(s, now)
	}
}

func (sp *space) lookAtTCP(g *Gauge, now time.Time) error {
	ports := sp.ports
	if g.cfg.Detail || g.askWaits {
		ports = nil // the peers that workers wait on are on other ports
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := threadClock()
	err := sp.readConnections(g.fs, ports)
	sp.spent, sp.at = threadClock()-began, now
	return err
}

func (sp *space) addAccepted(u *kernel.UnixSocket) {
	for _, s := range sp.looking {
		for i := range s.Sockets {
			if path := s.Sockets[i].Path; path != "" && path == string(u.Path) {
				sp.accepted[u.Inode] = true
				return
			}
		}
	}
}

// threadClock is the CPU time of the present thread: a look that waits for a
// CPU costs no more.
func threadClock() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
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
