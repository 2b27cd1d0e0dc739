package kernel

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestTCPTables(t *testing.T) {
	f := open(t, "testdata/linux-3.10")
	listeners := must[[]Listener](t)(f.Listeners(0))
	want := []Listener{
		{Local: netip.MustParseAddrPort("127.0.0.1:8080"), Queue: 8, Inode: 15204, UID: 33},
		{Local: netip.MustParseAddrPort("[::]:80"), Queue: 2, Inode: 16001},
	}
	if !slices.Equal(listeners, want) {
		t.Errorf("listeners = %+v, want %+v", listeners, want)
	}
	queued := must[[]QueuedConn](t)(f.Queued(0, 0))
	wantConns := []QueuedConn{
		{Local: netip.MustParseAddrPort("127.0.0.1:8080"), Remote: netip.MustParseAddrPort("127.0.0.1:49153"), Unread: 0x4e},
		{Local: netip.MustParseAddrPort("127.0.0.1:8080"), Remote: netip.MustParseAddrPort("127.0.0.1:49154"), Unread: 0x4e, Closed: true},
		{Local: netip.MustParseAddrPort("127.0.0.1:80"), Remote: netip.MustParseAddrPort("127.0.0.2:54321"), Unread: 0x10},
	}
	if !slices.Equal(queued, wantConns) {
		t.Errorf("queued = %+v, want %+v", queued, wantConns)
	}
	one := must[[]QueuedConn](t)(f.Queued(0, 80))
	if !slices.Equal(one, wantConns[2:]) {
		t.Errorf("queued on 80 = %+v", one)
	}
}

func TestTCPTableBadRow(t *testing.T) {
	f, _ := tree(t, map[string]string{"proc/7/net/tcp": "heading\n" +
		" 0: 0100007F:1F90 00000000:0000 0A 00000000:00000008 00:00000000 00000000 33 0 15204 1\n" +
		" 1: 0100007F:1F90 00000000:0000 0A 00000000:0000\n" +
		" 2: 0100007F:1F91 00000000:0000 0A 00000000:00000003 00:00000000 00000000 33 0 15205 1\n"})
	list, err := f.Listeners(7)
	wantFieldError(t, err, "proc/7/net/tcp", 3, "socket")
	wantEqual(t, "listeners", len(list), 2)
}

// listener makes a listening socket with an exact backlog.
func listener(t *testing.T, family int, backlog int) (fd int, port uint16) {
	t.Helper()
	fd = must[int](t)(unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
	t.Cleanup(func() { unix.Close(fd) })
	var addr unix.Sockaddr = &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if family == unix.AF_INET6 {
		addr = &unix.SockaddrInet6{}
	}
	if err := errors.Join(unix.Bind(fd, addr), unix.Listen(fd, backlog)); err != nil {
		t.Fatal(err)
	}
	switch a := must[unix.Sockaddr](t)(unix.Getsockname(fd)).(type) {
	case *unix.SockaddrInet4:
		port = uint16(a.Port)
	case *unix.SockaddrInet6:
		port = uint16(a.Port)
	}
	return fd, port
}

func connect(t *testing.T, port uint16, send string) *net.TCPConn {
	t.Helper()
	c := must[net.Conn](t)(net.Dial("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port)))))
	t.Cleanup(func() { c.Close() })
	if _, err := c.Write([]byte(send)); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

func diag(t testing.TB) *SockDiag {
	t.Helper()
	d := must[*SockDiag](t)(DialSockDiag())
	t.Cleanup(func() { d.Close() })
	return d
}

func onPort(list []Listener, port uint16) (Listener, bool) {
	i := slices.IndexFunc(list, func(l Listener) bool { return l.Local.Port() == port })
	if i < 0 {
		return Listener{}, false
	}
	return list[i], true
}

// A backlog of N and M connections that nobody accepts: Recv-Q is M and Send-Q
// is N, for us, for ss(8) and for the text tables.
func TestAcceptQueue(t *testing.T) {
	for _, c := range []struct {
		name             string
		family           int
		backlog, waiting int
		local            string
	}{
		{"IPv4", unix.AF_INET, 7, 5, "127.0.0.1"},
		{"IPv4 empty", unix.AF_INET, 16, 0, "127.0.0.1"},
		{"IPv4 one above the backlog", unix.AF_INET, 3, 4, "127.0.0.1"},
		{"IPv6 with IPv4 clients", unix.AF_INET6, 9, 4, "::"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fd, port := listener(t, c.family, c.backlog)
			d := diag(t)
			for range c.waiting {
				connect(t, port, "hello")
			}
			var l Listener
			eventually(t, "the connections are queued", func() bool {
				l, _ = onPort(must[[]Listener](t)(d.Listeners(nil)), port)
				return l.Queue == uint32(c.waiting)
			})
			wantEqual(t, "Send-Q", l.Backlog, num(uint64(c.backlog)))
			wantEqual(t, "address", l.Local.Addr(), netip.MustParseAddr(c.local))
			wantEqual(t, "uid", l.UID, uint32(os.Getuid()))
			var st unix.Stat_t
			if err := unix.Fstat(fd, &st); err != nil {
				t.Fatal(err)
			}
			wantEqual(t, "inode", l.Inode, st.Ino)

			out := output(t, "ss", "-Hltn", "sport", "=", fmt.Sprint(port))
			ss := strings.Fields(out)
			wantEqual(t, "ss", fmt.Sprint(l.Queue, l.Backlog), ss[1]+" "+ss[2])

			text, _ := onPort(must[[]Listener](t)(live(t).Listeners(0)), port)
			l.Backlog = Num{}
			wantEqual(t, "text table", text, l)
			wantEqual(t, "queued", len(must[[]QueuedConn](t)(d.Queued(port, nil))), c.waiting)
		})
	}
}

func TestQueuedConnections(t *testing.T) {
	fd, port := listener(t, unix.AF_INET, 16)
	d := diag(t)
	waits := connect(t, port, "GET /\r\n")
	gaveUp := connect(t, port, "abc")
	silent := connect(t, port, "")
	gaveUp.Close()
	reset := connect(t, port, "xyz")
	if err := reset.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	reset.Close()

	find := func(list []QueuedConn, c *net.TCPConn) *QueuedConn {
		remote := c.LocalAddr().(*net.TCPAddr).AddrPort()
		for i := range list {
			if list[i].Remote == remote {
				return &list[i]
			}
		}
		return nil
	}
	remotes := map[string]*net.TCPConn{"waits": waits, "gave up": gaveUp, "silent": silent}
	var list []QueuedConn
	eventually(t, "three wait, one of them closed", func() bool {
		list = must[[]QueuedConn](t)(d.Queued(port, list[:0]))
		g := find(list, gaveUp)
		return len(list) == 3 && g != nil && g.Closed
	})
	for name, want := range map[string]QueuedConn{
		"waits":   {Unread: 7},
		"gave up": {Unread: 3, Closed: true},
		"silent":  {},
	} {
		got := find(list, remotes[name])
		if got == nil {
			t.Errorf("%s: not listed", name)
			continue
		}
		if got.Unread != want.Unread || got.Closed != want.Closed || !got.SinceDataMillis.Known {
			t.Errorf("%s: %+v, want unread %d closed %v", name, *got, want.Unread, want.Closed)
		}
	}
	// The reset one keeps its place in the queue.
	l, _ := onPort(must[[]Listener](t)(d.Listeners(nil)), port)
	wantEqual(t, "Recv-Q", l.Queue, 4)

	text := must[[]QueuedConn](t)(live(t).Queued(0, port))
	for _, got := range text {
		got.SinceDataMillis = list[0].SinceDataMillis
		i := slices.IndexFunc(list, func(q QueuedConn) bool { return q.Remote == got.Remote })
		if i < 0 || list[i].Unread != got.Unread || list[i].Closed != got.Closed || list[i].Local != got.Local {
			t.Errorf("the text table has %+v", got)
		}
	}
	wantEqual(t, "connections in the text table", len(text), 3)

	before := find(list, waits).SinceDataMillis.Value
	time.Sleep(150 * time.Millisecond)
	list = must[[]QueuedConn](t)(d.Queued(port, list[:0]))
	if after := find(list, waits).SinceDataMillis.Value; after < before+100 {
		t.Errorf("the age went from %d to %d ms within 150 ms", before, after)
	}

	conn := must2[int, unix.Sockaddr](t)(unix.Accept(fd))
	defer unix.Close(conn)
	list = must[[]QueuedConn](t)(d.Queued(port, list[:0]))
	if find(list, waits) != nil || len(list) != 2 {
		t.Errorf("after accepting the first: %+v", list)
	}
}

func must2[T, U any](t *testing.T) func(T, U, error) T {
	return func(v T, _ U, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestQueuedLeavesOtherPortsOut(t *testing.T) {
	_, a := listener(t, unix.AF_INET, 4)
	_, b := listener(t, unix.AF_INET, 4)
	connect(t, a, "x")
	connect(t, b, "y")
	d := diag(t)
	for _, port := range []uint16{a, b} {
		eventually(t, "one connection waits", func() bool {
			list := must[[]QueuedConn](t)(d.Queued(port, nil))
			return len(list) == 1 && list[0].Local.Port() == port
		})
	}
	all := must[[]QueuedConn](t)(d.Queued(0, nil))
	for _, port := range []uint16{a, b} {
		if !slices.ContainsFunc(all, func(q QueuedConn) bool { return q.Local.Port() == port }) {
			t.Errorf("port %d is not among all", port)
		}
	}
}

// More listeners than one netlink message holds.
func TestManyListeners(t *testing.T) {
	ports := map[uint16]bool{}
	for range 400 {
		_, port := listener(t, unix.AF_INET, 1)
		ports[port] = true
	}
	for _, l := range must[[]Listener](t)(diag(t).Listeners(nil)) {
		delete(ports, l.Local.Port())
	}
	wantEqual(t, "listeners that were missed", len(ports), 0)
}

func TestSockDiagAfterClose(t *testing.T) {
	d := must[*SockDiag](t)(DialSockDiag())
	d.Close()
	if _, err := d.Listeners(nil); err == nil {
		t.Error("a closed SockDiag answered")
	}
}

func TestSockDiagErrors(t *testing.T) {
	if err := diagError(unix.AF_INET, unix.ENOENT); !errors.Is(err, ErrUnavailable) {
		t.Errorf("no tcp_diag: %v", err)
	}
	if err := diagError(unix.AF_INET6, unix.ENOENT); err != nil {
		t.Errorf("no IPv6: %v", err)
	}
	if err := diagError(unix.AF_INET6, unix.EPERM); !errors.Is(err, unix.EPERM) {
		t.Errorf("EPERM: %v", err)
	}
}
