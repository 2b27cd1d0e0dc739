package traffic_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"brink/internal/clock"
	"brink/internal/traffic"
)

// The outcome is that of the errno (errno(3)) that the network's error wraps,
// however deeply; an error without one is unreachable, or a time-out if it says so.
func TestErrorsOfADialerBecomeOutcomes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want traffic.Outcome
	}{
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, traffic.OutcomeRefused},
		{fmt.Errorf("netstack: %w", syscall.ECONNREFUSED), traffic.OutcomeRefused},
		{fmt.Errorf("netstack: %w", syscall.ECONNRESET), traffic.OutcomeReset},
		{syscall.ECONNABORTED, traffic.OutcomeReset},
		{syscall.ETIMEDOUT, traffic.OutcomeTimeout},
		{os.ErrDeadlineExceeded, traffic.OutcomeTimeout},
		{syscall.EMFILE, traffic.OutcomeOutOfFiles},
		{syscall.EADDRNOTAVAIL, traffic.OutcomeOutOfPorts},
		{syscall.EHOSTUNREACH, traffic.OutcomeUnreachable},
		{syscall.ENETUNREACH, traffic.OutcomeUnreachable},
		{io.EOF, traffic.OutcomeAborted},
		{errors.New("the wire is cut"), traffic.OutcomeUnreachable},
	} {
		p := one(t, "app:80", nil, traffic.WithDial(func(context.Context, string) (net.Conn, error) { return nil, c.err }))
		if p.Outcome != c.want || p.Err == "" || p.Connected != 0 {
			t.Errorf("%v: %v, %q, connected at %d; want %v, never", c.err, p.Outcome, p.Err, p.Connected, c.want)
		}
	}
}

// A network whose connections fail with errors of its own around an errno, in
// a request on a new connection and in one on a kept one.
func TestErrorsOfADialersConnectionsBecomeOutcomes(t *testing.T) {
	for _, c := range []struct {
		errno syscall.Errno
		want  traffic.Outcome
	}{
		{syscall.ECONNRESET, traffic.OutcomeReset},
		{syscall.EPIPE, traffic.OutcomeReset},
		{syscall.ETIMEDOUT, traffic.OutcomeTimeout},
	} {
		dial := func(context.Context, string) (net.Conn, error) {
			return &breaking{errno: c.errno, left: 1, answers: make(chan struct{}, 1), closed: make(chan struct{})}, nil
		}
		var got []traffic.Outcome
		_, err := traffic.Run(t.Context(), clock.Real, traffic.Spec{
			Kind: traffic.KindSequential, Count: 2, Path: "/", Timeout: 20 * time.Second, Reuse: true,
		}, "app:80", func(p *traffic.Probe) { got = append(got, p.Outcome) }, traffic.WithDial(dial))
		if err != nil || len(got) != 2 || got[0] != traffic.OutcomeOK || got[1] != c.want {
			t.Errorf("%v: error %v, outcomes %v; want ok and %v", c.errno, err, got, c.want)
		}
	}
}

// breaking answers left requests; the write of the next one fails. When it is
// closed, a read ends as a userspace network may end it: as if by the server.
type breaking struct {
	net.Conn
	errno   syscall.Errno
	left    int
	answers chan struct{}
	closed  chan struct{}
}

func (b *breaking) Read(p []byte) (int, error) {
	select {
	case <-b.answers:
		return copy(p, echoed), nil
	case <-b.closed:
		return 0, io.EOF
	}
}

func (b *breaking) Write(p []byte) (int, error) {
	if b.left == 0 {
		return 0, fmt.Errorf("netstack: %w", b.errno)
	}
	b.left--
	b.answers <- struct{}{}
	return len(p), nil
}

func (b *breaking) Close() error {
	select {
	case <-b.closed:
	default:
		close(b.closed)
	}
	return nil
}

// Over both networks a server that holds each request for 20 ms is sent the
// same schedule; whatever the machine does, no instant is out of order and no
// request is faster than its hold.
func TestADialerKeepsTheScheduleOfTheKernel(t *testing.T) {
	const hold = 20 * time.Millisecond
	addr := listen(t, func(c *net.TCPConn) {
		time.Sleep(hold)
		say(echoed)(c)
	})
	due := map[string][]time.Duration{}
	for network, opts := range networks {
		var first int64
		s, err := traffic.Run(t.Context(), clock.Real, traffic.Spec{
			Kind: traffic.KindRate, Rate: 200, Arrivals: traffic.ArrivalsPoisson, Seed: 7, Count: 60, Path: "/", Timeout: 20 * time.Second,
		}, addr, func(p *traffic.Probe) {
			inOrder(t, p)
			if p.Outcome != traffic.OutcomeOK || p.Status != 200 || p.Connected == 0 || p.FirstByte == 0 || p.Latency() < hold {
				t.Errorf("%s: %+v", network, *p)
			}
			if p.Seq == 0 {
				first = p.Due
			}
			due[network] = append(due[network], time.Duration(p.Due-first))
		}, opts...)
		if err != nil || s.Count(traffic.OutcomeOK) != 60 {
			t.Errorf("%s: error %v, outcomes %v", network, err, s.Outcomes)
		}
	}
	if a, b := total(due["kernel"]), total(due["dialer"]); a != b {
		t.Errorf("the requests are due after %v in sum over the kernel, %v over the dialer", a, b)
	}
}

func total(all []time.Duration) (sum time.Duration) {
	for _, d := range all {
		sum += d
	}
	return sum
}

// secure serves HTTP/1.1 over TLS and returns the roots that vouch for it.
func secure(t *testing.T, h http.HandlerFunc) (addr string, roots *x509.CertPool) {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	roots = x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	return srv.Listener.Addr().String(), roots
}

func TestRequestsOverTLS(t *testing.T) {
	addr, roots := secure(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Proto, " ", r.Host)
	})
	for network, opts := range networks {
		for _, reuse := range []bool{false, true} {
			var reused int
			s, err := traffic.Run(t.Context(), clock.Real, traffic.Spec{
				Kind: traffic.KindSequential, Count: 5, Path: "/", Host: "example.com", Timeout: 20 * time.Second, Reuse: reuse,
			}, addr, func(p *traffic.Probe) {
				inOrder(t, p)
				if p.Outcome != traffic.OutcomeOK || p.Status != 200 {
					t.Errorf("%s: %v, status %d, %s", network, p.Outcome, p.Status, p.Err)
				}
				if p.Reused {
					reused++
				}
			}, append(opts, traffic.WithTLS(&tls.Config{RootCAs: roots, ServerName: "example.com"}))...)
			if err != nil || s.Count(traffic.OutcomeOK) != 5 || reuse != (reused == 4) {
				t.Errorf("%s: error %v, outcomes %v, %d on kept connections", network, err, s.Outcomes, reused)
			}
		}
	}
}

func TestTLSThatFailsIsAnOutcome(t *testing.T) {
	addr, _ := secure(t, func(http.ResponseWriter, *http.Request) {})
	stranger := traffic.WithTLS(&tls.Config{RootCAs: x509.NewCertPool(), ServerName: "example.com"})
	for _, c := range []struct {
		name, addr string
		want       traffic.Outcome
		err        string
	}{
		{"unknown authority", addr, traffic.OutcomeTLS, "certificate"},
		{"no TLS there", listen(t, say("HTTP/1.1 400 Bad Request\r\n\r\n")), traffic.OutcomeTLS, "TLS handshake"},
		{"closed in the handshake", listen(t, func(*net.TCPConn) {}), traffic.OutcomeAborted, "closed in the TLS handshake"},
		{"refused", closedPort(t), traffic.OutcomeRefused, "refused"},
		{"silent", listen(t, untilHangUp), traffic.OutcomeTimeout, "connected, but no TLS handshake after"},
	} {
		p := one(t, c.addr, func(s *traffic.Spec) {
			if c.want == traffic.OutcomeTimeout {
				impatient(s)
			}
		}, stranger)
		if p.Outcome != c.want || !strings.Contains(p.Err, c.err) || p.Connected != 0 {
			t.Errorf("%s: %v, %q, connected at %d; want %v, %q, never", c.name, p.Outcome, p.Err, p.Connected, c.want, c.err)
		}
	}
}
