package guestnet

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
)

// guest is a second stack in the place of the virtual machine.
type guest struct {
	*node
	wire net.Conn
	hang func()
}

func socketPath(t *testing.T) string {
	dir, err := os.MkdirTemp("", "guestnet") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "net.sock")
}

// pair returns a network and its guest.
func pair(t *testing.T) (*Network, *guest) {
	t.Helper()
	path := socketPath(t)
	n, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n, join(t, n, path)
}

func join(t *testing.T, n *Network, path string) *guest {
	t.Helper()
	wire, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	<-n.Joined()
	far, err := newNode(GuestAddr, GuestMAC)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = far.carry(ctx, wire)
	}()
	g := &guest{node: far, wire: wire}
	g.hang = sync.OnceFunc(func() {
		cancel()
		<-done
		far.destroy()
	})
	t.Cleanup(g.hang)
	return g
}

func at(addr string, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(addr), port)
}

// listen listens inside the guest and hands each connection to serve.
func (g *guest) listen(t *testing.T, port uint16, serve func(net.Conn)) {
	t.Helper()
	l, err := gonet.ListenTCP(g.stack, fullAddress(at(GuestAddr, port)), ipv4.ProtocolNumber)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
}

func echo(c net.Conn) {
	defer c.Close()
	_, _ = io.Copy(c, c)
}

func dial(t *testing.T, n *Network, port uint16) net.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c, err := n.Dial(ctx, at(GuestAddr, port).String())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// wantErrno checks for the error that a kernel socket gives, down to its type.
func wantErrno(t *testing.T, err error, op string, want syscall.Errno) {
	t.Helper()
	var e *net.OpError
	if !errors.Is(err, want) || !errors.As(err, &e) || e.Op != op || e.Net != "tcp" || e.Addr == nil {
		t.Errorf("error %#v (%v), want *net.OpError of %s with %s", err, err, op, want)
	}
}

func TestTheGuestIsReached(t *testing.T) {
	n, g := pair(t)
	g.listen(t, 80, echo)
	c := dial(t, n, 80)
	defer c.Close()
	if got, want := c.RemoteAddr().String(), "10.0.2.15:80"; got != want {
		t.Errorf("remote address %s, want %s", got, want)
	}
	if host, _, _ := net.SplitHostPort(c.LocalAddr().String()); host != "10.0.2.2" {
		t.Errorf("local address %s, want 10.0.2.2", host)
	}
	// More than all the buffers between the two ends, so that windows close.
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	go func() {
		_, _ = c.Write(sent)
		_ = c.(interface{ CloseWrite() error }).CloseWrite()
	}()
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("echo of %d bytes: %d bytes, %v", len(sent), len(got), err)
	}
}

func TestAClosedPortIsRefused(t *testing.T) {
	n, _ := pair(t)
	c, err := n.Dial(t.Context(), at(GuestAddr, 81).String())
	wantErrno(t, err, "dial", syscall.ECONNREFUSED)
	if c != nil {
		t.Errorf("a connection %#v beside the error", c)
	}
}

func TestNobodyAtTheAddress(t *testing.T) {
	n, _ := pair(t)
	_, err := n.Dial(t.Context(), "10.0.2.99:80")
	wantErrno(t, err, "dial", syscall.EHOSTUNREACH)
	_, err = n.Dial(t.Context(), "192.0.2.1:80")
	wantErrno(t, err, "dial", syscall.ENETUNREACH)
}

func TestAResetIsAReset(t *testing.T) {
	n, g := pair(t)
	// Closing with unread bytes makes TCP answer with RST (RFC 2525, 2.17).
	g.listen(t, 80, func(c net.Conn) {
		b := make([]byte, 1)
		_, _ = c.Read(b)
		c.Close()
	})
	c := dial(t, n, 80)
	defer c.Close()
	if _, err := c.Write([]byte("more than one byte")); err != nil {
		t.Fatal(err)
	}
	_, err := io.ReadAll(c)
	wantErrno(t, err, "read", syscall.ECONNRESET)
}

func TestTheGuestReachesAListener(t *testing.T) {
	n, g := pair(t)
	l, err := n.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	to, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil || to.Addr().String() != GatewayAddr || to.Port() == 0 {
		t.Fatalf("it listens on %s", l.Addr())
	}
	go func() {
		c, err := l.Accept()
		if err == nil {
			echo(c)
		}
	}()
	c, err := gonet.DialTCP(g.stack, fullAddress(to), ipv4.ProtocolNumber)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.Write([]byte("hello"))
	_ = c.CloseWrite()
	if got, err := io.ReadAll(c); err != nil || string(got) != "hello" {
		t.Errorf("echo %q, %v", got, err)
	}
	c.Close()
	_, err = n.Listen(to.Port())
	wantErrno(t, err, "listen", syscall.EADDRINUSE)

	accepted := make(chan error, 1)
	go func() { _, err := l.Accept(); accepted <- err }()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("a waiting Accept returns %v, want net.ErrClosed", err)
	}
}

func TestDeadlinesAndContexts(t *testing.T) {
	n, g := pair(t)
	g.listen(t, 80, func(net.Conn) {})
	c := dial(t, n, 80)
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	_, err := c.Read(make([]byte, 1))
	var timeout net.Error
	if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("read after the deadline: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = n.Dial(ctx, "10.0.2.99:80")
	if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("dial after its deadline: %v", err)
	}
	cancel()
	if _, err := n.Dial(ctx, "10.0.2.99:80"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("dial with a context that has ended: %v", err)
	}
	for _, addr := range []string{"guest:80", "[::1]:80", "10.0.2.15"} {
		if _, err := n.Dial(t.Context(), addr); err == nil || !strings.Contains(err.Error(), addr) {
			t.Errorf("dial %s: %v", addr, err)
		}
	}
}

func TestAClosedConnection(t *testing.T) {
	n, g := pair(t)
	g.listen(t, 80, func(net.Conn) {})
	c := dial(t, n, 80)
	read := make(chan error, 1)
	go func() { _, err := c.Read(make([]byte, 1)); read <- err }()
	time.Sleep(10 * time.Millisecond)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-read; !errors.Is(err, net.ErrClosed) {
		t.Errorf("a waiting Read returns %v, want net.ErrClosed", err)
	}
	if _, err := c.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Write after Close: %v", err)
	}
	if err := c.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the second Close: %v", err)
	}
}

func TestTwoNetworksDoNotMeet(t *testing.T) {
	n1, g1 := pair(t)
	n2, g2 := pair(t)
	say := func(text string) func(net.Conn) {
		return func(c net.Conn) { _, _ = io.WriteString(c, text); c.Close() }
	}
	g1.listen(t, 80, say("one"))
	g2.listen(t, 80, say("two"))
	g2.listen(t, 90, say("two"))
	for n, want := range map[*Network]string{n1: "one", n2: "two"} {
		if got, err := io.ReadAll(dial(t, n, 80)); err != nil || string(got) != want {
			t.Errorf("answer %q, %v, want %q", got, err, want)
		}
	}
	_, err := n1.Dial(t.Context(), at(GuestAddr, 90).String())
	wantErrno(t, err, "dial", syscall.ECONNREFUSED)
}

// settle waits until no more goroutines run than before.
func settle(t *testing.T, before int) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			b := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, before %d:\n%s", runtime.NumGoroutine(), before, b[:runtime.Stack(b, true)])
		}
	}
}

func TestCloseWithTrafficInFlightLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	path := socketPath(t)
	n, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	g := join(t, n, path)
	g.listen(t, 80, echo)
	l, err := n.Listen(9000)
	if err != nil {
		t.Fatal(err)
	}
	var inFlight sync.WaitGroup
	inFlight.Go(func() { _, _ = l.Accept() })
	inFlight.Go(func() { _, _ = n.Dial(context.Background(), "10.0.2.99:80") })
	for range 8 {
		c := dial(t, n, 80)
		inFlight.Go(func() { _, _ = io.Copy(c, endless{}) })
		inFlight.Go(func() { _, _ = io.Copy(io.Discard, c) })
	}
	half := dial(t, n, 80)
	_ = half.(*conn).CloseWrite()
	n.Close()
	n.Close()
	inFlight.Wait() // nobody waits for a closed network
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
	_, err = n.Dial(t.Context(), at(GuestAddr, 80).String())
	wantErrno(t, err, "dial", syscall.ENETDOWN)
	_, err = n.Listen(9001)
	wantErrno(t, err, "listen", syscall.ENETDOWN)
	g.hang()
	settle(t, before)
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

func TestCloseBeforeAnybodyJoined(t *testing.T) {
	before := runtime.NumGoroutine()
	path := socketPath(t)
	n, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	n.Close()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
	settle(t, before)
}

func TestTheGuestHangsUp(t *testing.T) {
	n, g := pair(t)
	g.listen(t, 80, func(net.Conn) {})
	c := dial(t, n, 80)
	if n.Err() != nil {
		t.Errorf("error %v while the wire is whole", n.Err())
	}
	g.wire.Close()
	<-n.Done()
	if !errors.Is(n.Err(), ErrHungUp) {
		t.Errorf("error %v, want ErrHungUp", n.Err())
	}
	_, err := c.Read(make([]byte, 1))
	wantErrno(t, err, "read", syscall.ECONNABORTED)
	_, err = n.Dial(t.Context(), at(GuestAddr, 80).String())
	wantErrno(t, err, "dial", syscall.ENETDOWN)
}

func TestOneGuestOnly(t *testing.T) {
	path := socketPath(t)
	n, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	join(t, n, path)
	for limit := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		c, err := net.Dial("unix", path)
		if err != nil {
			break
		}
		c.Close()
		if time.Now().After(limit) {
			t.Fatal("a second guest may connect")
		}
	}
}

func TestBadFramesEndTheNetwork(t *testing.T) {
	for _, size := range []uint32{0, 13, 1 << 20, 1<<32 - 1} {
		path := socketPath(t)
		n, err := Listen(path)
		if err != nil {
			t.Fatal(err)
		}
		wire, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = wire.Write(binary.BigEndian.AppendUint32(nil, size))
		<-n.Done()
		if err := n.Err(); err == nil || !strings.Contains(err.Error(), "announced a frame of") {
			t.Errorf("size %d: error %v", size, err)
		}
		wire.Close()
		n.Close()
	}
}

// The framing is QEMU's: a length of 4 bytes, big-endian, and the frame. The
// question is an ARP request written by hand (RFC 826).
func TestFramesAreQEMUs(t *testing.T) {
	path := socketPath(t)
	n, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	wire, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer wire.Close()
	guestMAC, gatewayMAC := []byte{0x52, 0x54, 0, 0x62, 0x72, 0x0f}, []byte{0x52, 0x54, 0, 0x62, 0x72, 0x02}
	frame := func(to, from []byte, op byte, fromIP, toIP, target []byte) []byte {
		return bytes.Join([][]byte{{0, 0, 0, 42}, to, from, {8, 6, 0, 1, 8, 0, 6, 4, 0, op}, from, fromIP, target, toIP}, nil)
	}
	guestIP, gatewayIP := []byte{10, 0, 2, 15}, []byte{10, 0, 2, 2}
	question := frame(bytes.Repeat([]byte{0xff}, 6), guestMAC, 1, guestIP, gatewayIP, make([]byte, 6))
	want := frame(guestMAC, gatewayMAC, 2, gatewayIP, guestIP, guestMAC)
	if _, err := wire.Write(question); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(wire, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("answer % x\nwant   % x", got, want)
	}
}

// An IP packet fills a frame of QEMU's, and no more: Ethernet's MTU.
func TestTheMTUIsEthernets(t *testing.T) {
	n, _ := pair(t)
	if got := n.node.stack.NICInfo()[nic].MTU; got != 1500 {
		t.Errorf("MTU %d, want 1500", got)
	}
	if header.EthernetMinimumSize != ethernetHeader {
		t.Errorf("an Ethernet header has %d bytes", header.EthernetMinimumSize)
	}
}

func TestAPathThatIsTooLong(t *testing.T) {
	_, err := Listen("/tmp/" + strings.Repeat("x", 120))
	if err == nil || !strings.Contains(err.Error(), "too long for a socket") {
		t.Errorf("error %v", err)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte{0, 0, 0, 14, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14})
	f.Add([]byte{0, 0, 0, 1, 0})
	f.Add(append([]byte{0, 0, 0, 42}, bytes.Repeat([]byte{0xff}, 42)...))
	n, err := newNode(GatewayAddr, GatewayMAC)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(n.destroy)
	f.Fuzz(func(t *testing.T, input []byte) {
		if err := n.receive(bytes.NewReader(input)); err == nil {
			t.Error("receive returns without an error")
		}
		n.link.Drain()
	})
}
