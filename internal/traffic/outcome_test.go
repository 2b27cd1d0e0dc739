package traffic_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"brink/internal/clock"
	"brink/internal/traffic"
)

// listen serves every connection on a loopback port with handle, which is called
// once the first bytes of a request have come, and closes it afterwards.
func listen(t *testing.T, handle func(c *net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer c.Close()
				if _, err := c.Read(make([]byte, 4096)); err == nil {
					handle(c.(*net.TCPConn))
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	return l.Addr().String()
}

func say(s string) func(*net.TCPConn) {
	return func(c *net.TCPConn) { fmt.Fprint(c, s) }
}

// untilHangUp waits for the client to close the connection.
func untilHangUp(c *net.TCPConn) { _, _ = c.Read(make([]byte, 1)) }

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	return l.Addr().String()
}

// one sends a single request and returns its probe.
func one(t *testing.T, addr string, change func(*traffic.Spec), opts ...traffic.Option) traffic.Probe {
	t.Helper()
	spec := traffic.Spec{Kind: traffic.KindBatch, Count: 1, Path: "/", Timeout: 20 * time.Second}
	if change != nil {
		change(&spec)
	}
	var got traffic.Probe
	s, err := traffic.Run(t.Context(), clock.Real, spec, addr, func(p *traffic.Probe) { got = *p }, opts...)
	if err != nil {
		t.Fatal(err)
	}
	if s.Scheduled != 1 || s.Count(got.Outcome) != 1 {
		t.Errorf("the summary counts %d requests, outcomes %v", s.Scheduled, s.Outcomes)
	}
	return got
}

func impatient(s *traffic.Spec) { s.Timeout = 100 * time.Millisecond }

// networks are the ways to the same server: the kernel's sockets as they are,
// and a dialer whose connections do not show that they are the kernel's.
var networks = map[string][]traffic.Option{
	"kernel": nil,
	"dialer": {traffic.WithDial(dialVeiled)},
}

// veiled has the methods of a net.Conn and no others.
type veiled struct{ net.Conn }

func dialVeiled(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("a network of its own: %w", err)
	}
	return veiled{c}, nil
}

// Each outcome is brought about for real, over loopback, and is the same over
// either network.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		name   string
		server func(*net.TCPConn) // nil: nobody listens
		change func(*traffic.Spec)
		want   traffic.Outcome
		status int
		err    string
	}{
		{"ok", say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), nil, traffic.OutcomeOK, 200, ""},
		{"redirect", say("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"), nil, traffic.OutcomeOK, 302, ""},
		{"until closed", say("HTTP/1.0 200 OK\r\n\r\nas long as it lasts"), nil, traffic.OutcomeOK, 200, ""},
		{"not found", say("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), nil, traffic.OutcomeHTTP4xx, 404, ""},
		{"unavailable", say("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"), nil, traffic.OutcomeHTTP5xx, 503, ""},
		{"refused", nil, nil, traffic.OutcomeRefused, 0, "connection refused"},
		{"reset", func(c *net.TCPConn) { c.SetLinger(0) }, nil, traffic.OutcomeReset, 0, "connection reset by peer"},
		{"reset in the body", func(c *net.TCPConn) {
			say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhe")(c)
			time.Sleep(20 * time.Millisecond) // lets the client read before the reset discards it
			c.SetLinger(0)
		}, nil, traffic.OutcomeReset, 200, "connection reset by peer"},
		{"empty", func(*net.TCPConn) {}, nil, traffic.OutcomeAborted, 0, "closed without an answer"},
		{"half a head", say("HTTP/1.1 200 OK\r\nContent-"), nil, traffic.OutcomeAborted, 200, "closed in the middle of the answer"},
		{"half a body", say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhe"), nil, traffic.OutcomeAborted, 200, "closed in the middle of the answer"},
		{"garbage", say("220 smtp.test ESMTP\r\n"), nil, traffic.OutcomeAborted, 0, "not HTTP: the answer starts with \"220 smtp.test ESMTP\""},
		{"silent", untilHangUp, impatient, traffic.OutcomeTimeout, 0, "no answer after"},
		{"stops in the body", func(c *net.TCPConn) {
			say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhe")(c)
			untilHangUp(c)
		}, impatient, traffic.OutcomeTimeout, 200, "answer incomplete after"},
		{"endless head", func(c *net.TCPConn) {
			say("HTTP/1.1 200 OK\r\n")(c)
			forever(c, "X-Filler: 0123456789\r\n")
		}, nil, traffic.OutcomeEndless, 200, "the head of the answer is longer than 64 KiB"},
		{"endless body", func(c *net.TCPConn) {
			say("HTTP/1.1 200 OK\r\n\r\n")(c)
			forever(c, "0123456789")
		}, impatient, traffic.OutcomeTimeout, 200, "answer incomplete after"},
		{"endless dribble", func(c *net.TCPConn) {
			say("HTTP/1.1 200 OK\r\n\r\n")(c)
			for {
				if _, err := fmt.Fprint(c, "x"); err != nil {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		}, impatient, traffic.OutcomeTimeout, 200, "answer incomplete after"},
	} {
		for network, opts := range networks {
			for _, reuse := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/reuse=%v", c.name, network, reuse), func(t *testing.T) {
					t.Parallel()
					addr := closedPort(t)
					if c.server != nil {
						addr = listen(t, c.server)
					}
					p := one(t, addr, func(s *traffic.Spec) {
						s.Reuse = reuse
						if c.change != nil {
							c.change(s)
						}
					}, opts...)
					if p.Outcome != c.want || p.Status != c.status || !strings.HasPrefix(p.Err, c.err) || (c.err == "") != (p.Err == "") {
						t.Errorf("%v, status %d, %q; want %v, %d, %q", p.Outcome, p.Status, p.Err, c.want, c.status, c.err)
					}
					inOrder(t, &p)
				})
			}
		}
	}
}

// forever writes until the client hangs up.
func forever(c *net.TCPConn, s string) {
	block := bytes.Repeat([]byte(s), 1000)
	for {
		if _, err := c.Write(block); err != nil {
			return
		}
	}
}

// inOrder checks that what happened to a request happened in its natural order.
func inOrder(t *testing.T, p *traffic.Probe) {
	t.Helper()
	last := p.Due
	for _, at := range []int64{p.Sent, p.Connected, p.FirstByte, p.Done} {
		if at == 0 {
			continue
		}
		if at < last {
			t.Errorf("due %d, sent %d, connected %d, first byte %d, done %d: out of order", p.Due, p.Sent, p.Connected, p.FirstByte, p.Done)
		}
		last = at
	}
	if p.Due == 0 || p.Sent == 0 || p.Done == 0 || (p.FirstByte != 0) != (p.Bytes != 0) {
		t.Errorf("incomplete: %+v", *p)
	}
}

func TestProbeSaysWhoServedIt(t *testing.T) {
	raw := "HTTP/1.1 200 OK\r\nX-Brink-Pid: 4711\r\nX-Brink-Served-Ns: 1234\r\nContent-Length: 3\r\n\r\nabc"
	p := one(t, listen(t, say(raw)), nil)
	if p.Pid != 4711 || p.ServedNs != 1234 || p.Bytes != int64(len(raw)) {
		t.Errorf("pid %d, served %d ns, %d bytes; want 4711, 1234, %d", p.Pid, p.ServedNs, p.Bytes, len(raw))
	}
	p = one(t, listen(t, say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")), nil)
	if p.Pid != 0 || p.ServedNs != -1 || p.By != traffic.ByUnknown {
		t.Errorf("unknown: pid %d, served %d ns, by %q; want 0, -1, nobody", p.Pid, p.ServedNs, p.By)
	}
}

func TestProbeSaysWhichSideOfTheFrontEndAnswered(t *testing.T) {
	for header, want := range map[string]traffic.Answerer{
		"app": traffic.ByApp, "frontend": traffic.ByFrontEnd, "somebody": traffic.ByUnknown,
	} {
		raw := "HTTP/1.1 503 Service Unavailable\r\nx-brink-front: " + header + "\r\nContent-Length: 0\r\n\r\n"
		if p := one(t, listen(t, say(raw)), nil); p.By != want {
			t.Errorf("%s: answered by %q, want %q", header, p.By, want)
		}
	}
}

// An answer of any size is one, whether it says its length or not, and is counted
// to the byte. 100 MiB are an ordinary download.
func TestLargeAnswer(t *testing.T) {
	const size = 100 << 20
	for _, head := range []string{
		fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", size),
		"HTTP/1.0 200 OK\r\n\r\n",
	} {
		p := one(t, listen(t, func(c *net.TCPConn) {
			say(head)(c)
			block := make([]byte, 1<<20)
			for range size / len(block) {
				if _, err := c.Write(block); err != nil {
					return
				}
			}
		}), nil)
		if p.Outcome != traffic.OutcomeOK || p.Bytes != int64(len(head)+size) {
			t.Errorf("%q: %v %q with %d bytes, want ok with %d", head, p.Outcome, p.Err, p.Bytes, len(head)+size)
		}
	}
}

// counting serves requests on kept connections, and counts both.
func counting(t *testing.T, perConnection int) (addr string, connections *atomic.Int64) {
	t.Helper()
	connections = new(atomic.Int64)
	return listen(t, func(c *net.TCPConn) {
		connections.Add(1)
		for i := range perConnection {
			if i > 0 {
				if _, err := c.Read(make([]byte, 4096)); err != nil {
					return
				}
			}
			say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")(c)
		}
	}), connections
}

func TestConnectionReuseIsWhatWasAsked(t *testing.T) {
	for _, c := range []struct {
		network             string
		reuse               bool
		connections, reused int64
	}{{"kernel", true, 1, 9}, {"kernel", false, 10, 0}, {"dialer", true, 1, 9}, {"dialer", false, 10, 0}} {
		addr, connections := counting(t, 1000)
		var reused int64
		s, err := traffic.Run(t.Context(), clock.Real, traffic.Spec{
			Kind: traffic.KindSequential, Count: 10, Path: "/", Timeout: 20 * time.Second, Reuse: c.reuse,
		}, addr, func(p *traffic.Probe) {
			if p.Reused {
				reused++
			}
			if p.Reused != (p.Connected == 0) {
				t.Errorf("reused %v, but connected at %d", p.Reused, p.Connected)
			}
		}, networks[c.network]...)
		if err != nil || s.Count(traffic.OutcomeOK) != 10 {
			t.Errorf("error %v, outcomes %v", err, s.Outcomes)
		}
		if connections.Load() != c.connections || reused != c.reused {
			t.Errorf("%s, reuse %v: %d connections, %d requests on kept ones; want %d, %d", c.network, c.reuse, connections.Load(), reused, c.connections, c.reused)
		}
	}
}

// A server that closes a kept connection while it is idle is not an error: the
// next request opens another one.
func TestIdleConnectionThatWasClosedIsReplaced(t *testing.T) {
	addr, connections := counting(t, 1)
	s, err := traffic.Run(t.Context(), clock.Real, traffic.Spec{
		Kind: traffic.KindSteady, Every: 200 * time.Millisecond, Count: 5, Path: "/", Timeout: 20 * time.Second, Reuse: true,
	}, addr, func(p *traffic.Probe) {
		if p.Outcome != traffic.OutcomeOK || p.Reused {
			t.Errorf("request %d: %v %s, reused %v", p.Seq, p.Outcome, p.Err, p.Reused)
		}
	})
	if err != nil || s.Count(traffic.OutcomeOK) != 5 || connections.Load() != 5 {
		t.Errorf("error %v, %d ok over %d connections; want 5 over 5", err, s.Count(traffic.OutcomeOK), connections.Load())
	}
}

func TestCancellingARealRunLeavesNothingBehind(t *testing.T) {
	for network, opts := range networks {
		t.Run(network, func(t *testing.T) {
			addr := listen(t, untilHangUp) // the clean-up waits for each of its connections to be closed
			before := runtime.NumGoroutine()
			ctx, cancel := context.WithCancel(t.Context())
			var probes int
			time.AfterFunc(200*time.Millisecond, cancel)
			s, err := traffic.Run(ctx, clock.Real, traffic.Spec{
				Kind: traffic.KindBatch, Count: 50, Path: "/", Timeout: time.Hour,
			}, addr, func(p *traffic.Probe) {
				probes++
				if p.Outcome != traffic.OutcomeCanceled {
					t.Errorf("request %d: %v", p.Seq, p.Outcome)
				}
			}, opts...)
			if err == nil || probes != 50 || s.Count(traffic.OutcomeCanceled) != 50 {
				t.Errorf("error %v, %d probes, %d canceled; want 50 canceled", err, probes, s.Count(traffic.OutcomeCanceled))
			}
			noMoreThan(t, before)
		})
	}
}

// noMoreThan waits for the goroutines of a run and of its server to be gone.
func noMoreThan(t *testing.T, before int) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%d goroutines, %d before the run", runtime.NumGoroutine(), before)
		}
	}
}

func TestNamesAreLookedUpOnce(t *testing.T) {
	_, port, _ := net.SplitHostPort(listen(t, say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")))
	if p := one(t, "localhost:"+port, nil); p.Outcome != traffic.OutcomeOK {
		t.Errorf("localhost: %v %s", p.Outcome, p.Err)
	}
}
