package kernel

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A connection waits until somebody accepts it, whatever address family it and
// its listener have; its client may close meanwhile, or have never been.
func TestTCPLookup(t *testing.T) {
	l, err := DialTCPLookup()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, c := range []struct{ name, network, listen, dial string }{
		{"IPv4", "tcp4", "127.0.0.1:0", "127.0.0.1"},
		{"IPv6", "tcp6", "[::1]:0", "::1"},
		{"IPv4 to a listener for both", "tcp", "[::]:0", "127.0.0.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			listener, err := net.Listen(c.network, c.listen)
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			_, port, err := net.SplitHostPort(listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			client, err := net.Dial("tcp", net.JoinHostPort(c.dial, port))
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			conn := QueuedConn{Local: addrPort(client.RemoteAddr()), Remote: addrPort(client.LocalAddr())}
			if !l.Waits(&conn) || conn.Closed || !conn.SinceDataMillis.Known {
				t.Errorf("a connection in the queue: %+v", conn)
			}
			time.Sleep(30 * time.Millisecond)
			if !l.Waits(&conn) || conn.SinceDataMillis.Value < 20 {
				t.Errorf("it has waited for %v ms, want 20 or more", conn.SinceDataMillis)
			}
			server, err := listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			if l.Waits(&conn) {
				t.Error("an accepted connection waits")
			}
			other := QueuedConn{Local: conn.Local, Remote: netip.AddrPortFrom(conn.Remote.Addr(), conn.Remote.Port()^1)}
			if l.Waits(&other) {
				t.Error("a connection that is none waits: the listener was taken for it")
			}
		})
	}
}

func addrPort(a net.Addr) netip.AddrPort {
	ap := a.(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// FuzzStillWaits takes any answer for a socket: whatever it is, nothing is read
// beyond it.
func FuzzStillWaits(f *testing.F) {
	body := make([]byte, diagSocketLen+8)
	body[0], body[1] = unix.AF_INET, tcpEstablished
	f.Add(body)
	f.Add(append(body[:diagSocketLen:diagSocketLen], 3, 0, 2, 0))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var c QueuedConn
		if stillWaits(b, &c) && (b[1] == tcpCloseWait) != c.Closed {
			t.Errorf("state %d: closed %v", b[1], c.Closed)
		}
	})
}
