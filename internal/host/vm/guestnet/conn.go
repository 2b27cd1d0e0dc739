package guestnet

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
)

const network = "tcp"

// conn gives a connection of the stack the errors of a socket, and addresses
// that it keeps after a reset.
type conn struct {
	*gonet.TCPConn
	local, remote net.Addr
	closed        atomic.Bool
}

func newConn(c *gonet.TCPConn) *conn {
	return &conn{TCPConn: c, local: known(c.LocalAddr()), remote: known(c.RemoteAddr())}
}

// known is a, or an empty address where a reset came before it could be asked:
// servers use it without a look.
func known(a net.Addr) net.Addr {
	if a == nil {
		return &net.TCPAddr{}
	}
	return a
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	return n, c.explain("read", err)
}

func (c *conn) Write(b []byte) (int, error) {
	n, err := c.TCPConn.Write(b)
	return n, c.explain("write", err)
}

func (c *conn) CloseRead() error  { return c.explain("close", c.TCPConn.CloseRead()) }
func (c *conn) CloseWrite() error { return c.explain("close", c.TCPConn.CloseWrite()) }

func (c *conn) Close() error {
	if c.closed.Swap(true) {
		return c.explain("close", net.ErrClosed)
	}
	return c.TCPConn.Close()
}

// explain tells what an error of the stack is; io.EOF stays what it is.
func (c *conn) explain(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case c.closed.Load():
		err = net.ErrClosed
	case errors.Is(err, io.EOF):
		return err
	}
	return opError(op, c.local, c.remote, err)
}

// listener gives a listener of the stack the errors of a socket.
type listener struct {
	*gonet.TCPListener
	addr   net.Addr
	closed atomic.Bool
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.TCPListener.Accept()
	if l.closed.Load() {
		if err == nil {
			c.Close()
		}
		return nil, opError("accept", nil, l.addr, net.ErrClosed)
	}
	if err != nil {
		return nil, opError("accept", nil, l.addr, err)
	}
	return newConn(c.(*gonet.TCPConn)), nil
}

// Addr works after Close too, as a socket's does.
func (l *listener) Addr() net.Addr { return l.addr }

func (l *listener) Close() error {
	if l.closed.Swap(true) {
		return opError("close", nil, l.addr, net.ErrClosed)
	}
	l.Shutdown() // wakes a waiting Accept
	return l.TCPListener.Close()
}

// calls are the system calls that a socket's errors name.
var calls = map[string]string{"dial": "connect", "listen": "bind"}

func opError(op string, source, addr net.Addr, err error) error {
	e := &net.OpError{Op: op, Net: network, Source: source, Addr: addr, Err: err}
	var stacks *net.OpError
	if errors.As(err, &stacks) {
		e.Err = stacks.Err
	}
	if t, ok := e.Err.(net.Error); ok && t.Timeout() && (op == "read" || op == "write") {
		e.Err = os.ErrDeadlineExceeded
		return e
	}
	errno, ok := e.Err.(syscall.Errno)
	if !ok {
		errno = errnos[e.Err.Error()]
	}
	if errno != 0 {
		call := calls[op]
		if call == "" {
			call = op
		}
		e.Err = os.NewSyscallError(call, errno)
	}
	return e
}

// errnos are the errors of the stack, which come out of it as texts, with what
// connect(2), read(2) and write(2) return in the same case.
var errnos = map[string]syscall.Errno{
	(&tcpip.ErrConnectionRefused{}).String():    syscall.ECONNREFUSED,
	(&tcpip.ErrConnectionReset{}).String():      syscall.ECONNRESET,
	(&tcpip.ErrConnectionAborted{}).String():    syscall.ECONNABORTED,
	(&tcpip.ErrAborted{}).String():              syscall.ECONNABORTED,
	(&tcpip.ErrTimeout{}).String():              syscall.ETIMEDOUT,
	(&tcpip.ErrHostUnreachable{}).String():      syscall.EHOSTUNREACH,
	(&tcpip.ErrHostDown{}).String():             syscall.EHOSTUNREACH,
	(&tcpip.ErrNetworkUnreachable{}).String():   syscall.ENETUNREACH,
	(&tcpip.ErrClosedForSend{}).String():        syscall.EPIPE,
	(&tcpip.ErrInvalidEndpointState{}).String(): syscall.ENOTCONN,
	(&tcpip.ErrPortInUse{}).String():            syscall.EADDRINUSE,
	(&tcpip.ErrNoPortAvailable{}).String():      syscall.EADDRNOTAVAIL,
	(&tcpip.ErrBadLocalAddress{}).String():      syscall.EADDRNOTAVAIL,
	(&tcpip.ErrNoBufferSpace{}).String():        syscall.ENOBUFS,
}

func fullAddress(a netip.AddrPort) tcpip.FullAddress {
	return tcpip.FullAddress{NIC: nic, Addr: tcpip.AddrFrom4(a.Addr().As4()), Port: a.Port()}
}
