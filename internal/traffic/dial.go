package traffic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
)

// Dialer opens a connection to an address, given as host:port. It must return
// soon after ctx ends, and closing its connection must end a Read and a Write
// under way. What decides the Outcome is the syscall.Errno that an error of the
// dialer or of its connection wraps (errors.Is): ECONNREFUSED, ECONNRESET,
// ETIMEDOUT and so on. A network that has errors of its own must wrap one of
// these.
type Dialer func(ctx context.Context, addr string) (net.Conn, error)

// Lookup returns addr (host:port) with the host's IP address in the place of its
// name. IPv4 is preferred, as an app that listens on 0.0.0.0 or 127.0.0.1 is the
// usual case. An error wraps net.DNSError where the name was not found.
func Lookup(ctx context.Context, addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" {
		return "", fmt.Errorf("traffic: address is %q, want host:port", addr)
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return addr, nil
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return "", fmt.Errorf("traffic: look up %q: %w", host, err)
	}
	best := slices.IndexFunc(ips, func(ip netip.Addr) bool { return ip.Unmap().Is4() })
	return net.JoinHostPort(ips[max(best, 0)].Unmap().String(), port), nil
}

// systemDialer returns a dialer over the machine's network. A name is looked up
// once, before the traffic starts.
func systemDialer(ctx context.Context, addr string) (Dialer, error) {
	addr, err := Lookup(ctx, addr)
	if err != nil {
		return nil, err
	}
	// TCP keep-alive probes would never come into play on connections this
	// short and cost four system calls each.
	d := &net.Dialer{KeepAlive: -1}
	return func(ctx context.Context, _ string) (net.Conn, error) {
		return d.DialContext(ctx, "tcp", addr)
	}, nil
}

// MostConnections is how many connections a run has at once unless its Spec says
// otherwise: DefaultConnections, or what this process may still open less some
// room for its other files.
func MostConnections() int {
	return max(1, min(DefaultConnections, spareFiles()))
}

// otherFiles is how many more files than its connections a process may come to
// need.
const otherFiles = 64

// spareFiles is how many connections the limit of open files leaves.
func spareFiles() int {
	limit := fileLimit()
	if limit < 0 {
		return math.MaxInt
	}
	return limit - openFiles() - otherFiles
}

// Room returns nil if n requests can be under way at once, each of which takes so
// many files of this process (each at least 1: its connection), and otherwise says
// in a sentence why not and what to do.
func Room(n, each int) error {
	spare := max(1, spareFiles())
	if n <= spare/each || n <= 1 {
		return nil
	}
	return fmt.Errorf("%d requests at once need %d open files, and ulimit -n, which is %d, leaves room for %d: send fewer at once, or allow %d open files as root",
		n, n*each, fileLimit(), spare, n*each+openFiles()+otherFiles)
}

// fileLimit is the number of files that this process may have open (ulimit -n),
// -1 when the system does not say. Go has raised it to the hard limit when the
// process started.
func fileLimit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return -1
	}
	return int(min(uint64(limit.Cur), 1<<30))
}

func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

// classify turns the error that ended a request into its outcome and a few
// words that say why.
func classify(err error) (Outcome, string) {
	var garbage garbageError
	handshake := errors.As(err, new(handshakeError))
	switch {
	case errors.Is(err, errEndless):
		return OutcomeEndless, err.Error()
	case errors.As(err, &garbage):
		return OutcomeAborted, err.Error()
	case errors.Is(err, io.ErrUnexpectedEOF):
		return OutcomeAborted, "closed in the middle of the answer"
	case errors.Is(err, errEmpty):
		return OutcomeAborted, err.Error()
	case errors.Is(err, io.EOF) && handshake:
		return OutcomeAborted, "closed in the TLS handshake"
	case errors.Is(err, io.EOF): // of a dialer: an answer's end is no error
		return OutcomeAborted, "closed before the connection stood"
	case errors.Is(err, syscall.ECONNREFUSED):
		return OutcomeRefused, "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED):
		return OutcomeReset, "connection reset by peer"
	case errors.Is(err, syscall.ETIMEDOUT):
		return OutcomeTimeout, "the network gave the connection up"
	case errors.Is(err, syscall.EMFILE):
		return OutcomeOutOfFiles, fmt.Sprintf("out of file descriptors: ulimit -n is %d", fileLimit())
	case errors.Is(err, syscall.ENFILE):
		return OutcomeOutOfFiles, "out of file descriptors: the system's table of open files is full"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return OutcomeOutOfPorts, "out of local ports: all of net.ipv4.ip_local_port_range is taken for this address"
	}
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() {
		return OutcomeTimeout, shorten(err.Error())
	}
	if handshake {
		return OutcomeTLS, shorten(err.Error())
	}
	return OutcomeUnreachable, shorten(err.Error())
}

func shorten(s string) string {
	const most = 120
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
