package kernel

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// One connection is accepted and answered, one accepted and not answered, one
// waits: seen by one port, by a filter of several ports, and without one.
func TestConnections(t *testing.T) {
	fd, port := listener(t, unix.AF_INET, 8)
	answered := connect(t, port, "GET")
	one := must[int](t)(accept(fd))
	defer unix.Close(one)
	time.Sleep(50 * time.Millisecond) // many ticks between request and answer
	must[int](t)(unix.Write(one, []byte("OK")))
	asked := connect(t, port, "POST")
	two := must[int](t)(accept(fd))
	defer unix.Close(two)
	waits := connect(t, port, "hello")
	gone := connect(t, port, "")
	gone.Close()

	d := diag(t)
	for _, ports := range [][]uint16{{port}, {1, port}, {port, 1}, {1, 2, port, 3}, nil} {
		var list []Connection
		find := func(c *net.TCPConn) *Connection {
			remote := c.LocalAddr().(*net.TCPAddr).AddrPort()
			i := slices.IndexFunc(list, func(x Connection) bool { return x.Remote == remote && x.Local.Port() == port })
			if i < 0 {
				return &Connection{}
			}
			return &list[i]
		}
		eventually(t, "all are there", func() bool {
			list = must[[]Connection](t)(d.Connections(ports, nil))
			return find(waits).Unread == 5 && find(asked).Unread == 4
		})
		for name, c := range map[string]struct {
			conn *net.TCPConn
			fd   int
		}{"answered": {answered, one}, "asked": {asked, two}} {
			var st unix.Stat_t
			if err := unix.Fstat(c.fd, &st); err != nil {
				t.Fatal(err)
			}
			wantEqual(t, name+" inode", find(c.conn).Inode, st.Ino)
		}
		a, b := find(answered), find(asked)
		wantEqual(t, "answered: segments", [2]Num{a.SegmentsIn, a.SegmentsOut}, [2]Num{num(1), num(1)})
		wantEqual(t, "asked: segments", [2]Num{b.SegmentsIn, b.SegmentsOut}, [2]Num{num(1), num(0)})
		if a.SinceSentMillis.Value >= a.SinceDataMillis.Value {
			t.Errorf("answered: sent %v ms ago, received %v ms ago", a.SinceSentMillis, a.SinceDataMillis)
		}
		if w := find(waits); !w.Waiting() || w.Closed {
			t.Errorf("waiting: %+v", w)
		}
		if g := find(gone); !g.Waiting() || !g.Closed || !g.Local.IsValid() {
			t.Errorf("given up: %+v", g)
		}
		others := slices.ContainsFunc(list, func(c Connection) bool { return c.Local.Port() != port })
		if others != (ports == nil) {
			t.Errorf("ports %v: others are there: %v", ports, others)
		}
	}
	text := must[[]Connection](t)(live(t).Connections(0, []uint16{port}, nil))
	wantEqual(t, "text tables", len(text), 4)
}

func accept(fd int) (int, error) {
	for {
		n, _, err := unix.Accept4(fd, unix.SOCK_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// The filter of many ports finds each of them, and no other.
func TestConnectionsOfManyPorts(t *testing.T) {
	var ports []uint16
	var last *net.TCPConn
	for range 40 {
		_, port := listener(t, unix.AF_INET, 4)
		last = connect(t, port, "x")
		ports = append(ports, port)
	}
	_, other := listener(t, unix.AF_INET6, 4)
	connect(t, other, "x")
	d := diag(t)
	list := must[[]Connection](t)(d.Connections(ports, nil))
	var found []uint16
	for _, c := range list {
		found = append(found, c.Local.Port())
	}
	slices.Sort(found)
	slices.Sort(ports)
	if !slices.Equal(found, ports) {
		t.Errorf("found ports %v, want %v", found, ports)
	}
	// IPv4 in IPv6, in the same walk.
	both := must[[]Connection](t)(d.Connections([]uint16{other, uint16(last.RemoteAddr().(*net.TCPAddr).Port)}, nil))
	wantEqual(t, "of both families", len(both), 2)
	for _, c := range both {
		wantEqual(t, "address", c.Local.Addr(), netip.MustParseAddr("127.0.0.1"))
	}
}

// A queue that is full turns connections away, and its socket counts them.
func TestListenSocketDrops(t *testing.T) {
	_, port := listener(t, unix.AF_INET, 1)
	d := diag(t)
	find := func() ListenSocket {
		list := must[[]ListenSocket](t)(d.ListenSockets(nil))
		i := slices.IndexFunc(list, func(l ListenSocket) bool { return l.Local.Port() == port })
		return list[i]
	}
	wantEqual(t, "before", find().Drops, num(0))
	old, ok := onPort(must[[]Listener](t)(d.Listeners(nil)), port)
	wantEqual(t, "the same as Listeners", ok && find().Listener == old, true)
	for range 4 {
		go func() {
			if c, err := net.DialTimeout("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))), time.Second); err == nil {
				defer c.Close()
				time.Sleep(2 * time.Second)
			}
		}()
	}
	eventually(t, "drops are counted", func() bool { l := find(); return l.Queue == 2 && l.Drops.Value > 0 })
}

func TestConnectionsAllocateNothing(t *testing.T) {
	_, port := listener(t, unix.AF_INET, 4)
	connect(t, port, "x")
	d := diag(t)
	conns, sockets := make([]Connection, 0, 64), make([]ListenSocket, 0, 256)
	ports := []uint16{port, 1}
	allocs := testing.AllocsPerRun(20, func() {
		conns, _ = d.Connections(ports, conns[:0])
		sockets, _ = d.ListenSockets(sockets[:0])
	})
	wantEqual(t, "allocations", allocs, 0)
}

// In another network namespace there are other sockets. A namespace that we own
// no rights in is refused.
func TestSockDiagOfNamespace(t *testing.T) {
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--net", "sleep", "300")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer end(cmd)
	f := live(t)
	own := must[*Process](t)(f.OpenProcess(os.Getpid()))
	defer own.Close()
	p := must[*Process](t)(f.OpenProcess(cmd.Process.Pid))
	defer p.Close()
	eventually(t, "it has a namespace of its own", func() bool {
		ns, err := p.NetNS()
		return err == nil && ns != must[uint64](t)(own.NetNS())
	})
	_, port := listener(t, unix.AF_INET, 4)
	d, err := f.DialSockDiagOf(cmd.Process.Pid)
	if os.Getuid() != 0 {
		if !errors.Is(err, unix.EPERM) {
			t.Errorf("without rights: %v", err)
		}
	} else {
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		before := must[uint64](t)(own.NetNS())
		for range 100 { // some of them from the main thread
			again := must[*SockDiag](t)(f.DialSockDiagOf(cmd.Process.Pid))
			again.Close()
			wantEqual(t, "our namespace", must[uint64](t)(own.NetNS()), before)
		}
		wantEqual(t, "listeners there", len(must[[]ListenSocket](t)(d.ListenSockets(nil))), 0)
	}
	here := must[[]ListenSocket](t)(diag(t).ListenSockets(nil))
	if !slices.ContainsFunc(here, func(l ListenSocket) bool { return l.Local.Port() == port }) {
		t.Error("our own namespace was left")
	}
	r := must[*Reader[Netstat]](t)(f.NetstatOf(cmd.Process.Pid))
	defer r.Close()
	var s Netstat
	if err := r.Read(&s); err != nil || s.PassiveOpens != num(0) {
		t.Errorf("passive opens there: %v, %v, want 0", s.PassiveOpens, err)
	}
	end(cmd)
	if _, err := f.DialSockDiagOf(cmd.Process.Pid); !errors.Is(err, ErrGone) {
		t.Errorf("of a dead process: %v, want ErrGone", err)
	}
}
