// Package guestnet is the network between this process and one virtual
// machine: brink itself is the other end of the guest's wire, with a TCP/IP
// stack of its own. The guest's kernel accepts, refuses and drops, as it would
// for a client on a real network, and neither a host port nor root is needed.
//
// QEMU joins by
//
//	-netdev stream,id=n,server=off,addr.type=unix,addr.path=PATH
//	-device virtio-net-pci,netdev=n,mac=GuestMAC
//
// and sends each Ethernet frame with its length before it, 4 bytes big-endian
// (https://www.qemu.org/docs/master/system/invocation.html, -netdev stream).
// Networks know nothing of each other: all guests may have the same address.
package guestnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"

	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
)

// The two ends of the wire, the same in every network.
const (
	GuestAddr   = "10.0.2.15"
	GatewayAddr = "10.0.2.2"
	PrefixLen   = 24
	GuestMAC    = "52:54:00:62:72:0f"
	GatewayMAC  = "52:54:00:62:72:02"
)

// ErrHungUp is how a network ends when the virtual machine does.
var ErrHungUp = errors.New("the virtual machine closed its end of the network")

// errClosed is how a network ends when it is closed.
var errClosed = errors.New("the network was closed")

// Network is one guest's wire and this side's stack. Its methods may be called
// from several goroutines.
type Network struct {
	node *node
	// ctx ends with the wire; its cause says why.
	ctx    context.Context
	cancel context.CancelCauseFunc
	socket *net.UnixListener
	joined chan struct{}
	closed sync.Once
	run    sync.WaitGroup
}

// Listen makes the unix socket that the virtual machine connects to, once.
// Before it has, nothing answers on the network; when it hangs up, everything
// on the network ends.
func Listen(path string) (*Network, error) {
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if errors.Is(err, syscall.EINVAL) {
		return nil, fmt.Errorf("the guest's network: the path %s is too long for a socket (%d bytes, 107 at most)", path, len(path))
	}
	if err != nil {
		return nil, fmt.Errorf("the guest's network: %w", err)
	}
	node, err := newNode(GatewayAddr, GatewayMAC)
	if err != nil {
		return nil, errors.Join(err, socket.Close())
	}
	n := &Network{node: node, socket: socket, joined: make(chan struct{})}
	n.ctx, n.cancel = context.WithCancelCause(context.Background())
	n.run.Go(n.serve)
	return n, nil
}

// serve carries frames from the virtual machine's arrival to the wire's end.
func (n *Network) serve() {
	conn, err := n.socket.AcceptUnix()
	n.socket.Close() // and removes the file: there is one guest
	if err == nil {
		close(n.joined)
		err = n.node.carry(n.ctx, conn)
	}
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			err = ErrHungUp
		}
	}
	n.cancel(err)
	n.node.abort()
}

// Joined is closed when the virtual machine has connected.
func (n *Network) Joined() <-chan struct{} { return n.joined }

// Done is closed when the wire has ended; Err says why.
func (n *Network) Done() <-chan struct{} { return n.ctx.Done() }

// Err is nil while the wire is whole. It is ErrHungUp when the virtual machine
// ended it.
func (n *Network) Err() error {
	if n.ctx.Err() == nil {
		return nil
	}
	return context.Cause(n.ctx)
}

// Dial connects to addr, an IPv4 address and port such as GuestAddr:8000.
// Errors are *net.OpError with the errno that a socket would give:
// ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH; ENETDOWN after the wire's end.
func (n *Network) Dial(ctx context.Context, addr string) (net.Conn, error) {
	to, err := netip.ParseAddrPort(addr)
	if err != nil || !to.Addr().Is4() {
		return nil, &net.OpError{Op: "dial", Net: network, Err: &net.AddrError{Err: "it is not an IPv4 address and a port", Addr: addr}}
	}
	fail := func(err error) (net.Conn, error) {
		return nil, opError("dial", nil, net.TCPAddrFromAddrPort(to), err)
	}
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	dialing, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)()
	// On failure c is a nil *gonet.TCPConn, which must not become a net.Conn.
	c, err := gonet.DialContextTCP(dialing, n.node.stack, fullAddress(to), ipv4.ProtocolNumber)
	switch {
	case n.ctx.Err() != nil:
		if err == nil {
			c.Close()
		}
		return fail(syscall.ENETDOWN)
	case ctx.Err() != nil && err != nil:
		return fail(ctx.Err())
	case err != nil:
		return fail(err)
	}
	return newConn(c), nil
}

// Listen listens on a port of GatewayAddr, where the guest can connect; port 0
// chooses one.
func (n *Network) Listen(port uint16) (net.Listener, error) {
	at := netip.AddrPortFrom(netip.MustParseAddr(GatewayAddr), port)
	if n.ctx.Err() != nil {
		return nil, opError("listen", nil, net.TCPAddrFromAddrPort(at), syscall.ENETDOWN)
	}
	l, err := gonet.ListenTCP(n.node.stack, fullAddress(at), ipv4.ProtocolNumber)
	if err != nil {
		return nil, opError("listen", nil, net.TCPAddrFromAddrPort(at), err)
	}
	return &listener{TCPListener: l, addr: l.Addr()}, nil
}

// Close ends the wire and every connection and listener on it, and removes
// the socket. It returns when nothing of the network is left.
func (n *Network) Close() {
	n.closed.Do(func() {
		n.cancel(errClosed)
		n.socket.Close()
		n.run.Wait()
		n.node.destroy()
	})
}
