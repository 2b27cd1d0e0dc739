package gauge

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"brink/internal/kernel"
)

// A connection waits until somebody accepts it, whatever address family it and
// its listener have; its client may close meanwhile, or have never been.
func TestLookup(t *testing.T) {
	l, err := dialLookup()
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
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
			conn := kernel.QueuedConn{Local: addrPort(client.RemoteAddr()), Remote: addrPort(client.LocalAddr())}
			if !l.waits(&conn) || conn.Closed || !conn.SinceDataMillis.Known {
				t.Errorf("a connection in the queue: %+v", conn)
			}
			time.Sleep(30 * time.Millisecond)
			if !l.waits(&conn) || conn.SinceDataMillis.Value < 20 {
				t.Errorf("it has waited for %v ms, want 20 or more", conn.SinceDataMillis)
			}
			server, err := listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			if l.waits(&conn) {
				t.Error("an accepted connection waits")
			}
			other := kernel.QueuedConn{Local: conn.Local, Remote: netip.AddrPortFrom(conn.Remote.Addr(), conn.Remote.Port()^1)}
			if l.waits(&other) {
				t.Error("a connection that is none waits: the listener was taken for it")
			}
		})
	}
}

func addrPort(a net.Addr) netip.AddrPort {
	ap := a.(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// FuzzWaiting takes any answer for a socket: whatever it is, nothing is read
// beyond it.
func FuzzWaiting(f *testing.F) {
	body := make([]byte, diagSocket+8)
	body[1] = stateOpen
	f.Add(body)
	f.Add(append(body[:diagSocket:diagSocket], 3, 0, 2, 0))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var c kernel.QueuedConn
		if waiting(b, &c) && (b[1] == stateClosed) != c.Closed {
			t.Errorf("state %d: closed %v", b[1], c.Closed)
		}
	})
}
