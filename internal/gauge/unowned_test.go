package gauge

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brink/internal/servertest"
)

// unownedSocket listens at a socket that no process has: its descriptor is on its
// way to one (unix(7), SCM_RIGHTS). Root cannot be kept from looking otherwise.
func unownedSocket(t *testing.T) *net.TCPAddr {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	file, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(pair[0]); unix.Close(pair[1]) })
	if err := unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(int(file.Fd())), nil, 0); err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().(*net.TCPAddr)
	l.Close()
	file.Close()
	return addr
}

// What waits at a socket whose processes cannot be seen grows older from reading
// to reading, also once the gauge follows certain apps.
func TestUnownedSocketsAreFollowedToo(t *testing.T) {
	t.Parallel()
	addr := unownedSocket(t)
	conn, err := net.DialTCP("tcp", nil, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("GET / HTTP/1.0\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	for _, unowned := range []bool{true, false} {
		g := watching(t, Config{Brief: true, Unowned: unowned})
		find := func() *Server {
			for _, s := range sample(t, g).Servers {
				if s.PID == 0 && s.Sockets[0].Local.Port() == addr.AddrPort().Port() {
					return s
				}
			}
			return nil
		}
		servertest.Eventually(t, "the socket is found", func() bool {
			s := find()
			return s != nil && s.Sockets[0].Queue == 1 && s.Sockets[0].Oldest.Known
		})
		before := find().Sockets[0].Oldest.Value
		g.Follow(nil)
		g.rescan.wanted = true // as when a server ends just now
		time.Sleep(100 * time.Millisecond)
		if !unowned {
			if s := find(); s != nil {
				t.Errorf("without Unowned it is told of still: %+v", s)
			}
			continue
		}
		servertest.Eventually(t, "the request is 100 ms older", func() bool {
			s := find() // a single listing of the kernel's may miss it
			return s != nil && s.Sockets[0].Oldest.Known && s.Sockets[0].Oldest.Value >= before+0.1
		})
	}
}
