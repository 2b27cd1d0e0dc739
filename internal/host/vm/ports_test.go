package vm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"brink/internal/host"
	"brink/internal/wire"
)

// oneByOne serves one connection at a time, behind an accept queue of 4. What
// asks for /hold is served until it closes.
const oneByOne = `
import http.server, os
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        if self.path == '/hold': self.rfile.read(1)
    def log_message(self, *args): pass
class Server(http.server.HTTPServer):
    request_queue_size = 4
Server((os.environ['BIND'], int(os.environ['PORT'])), Answer).serve_forever()
`

// Two machines at the same address do not meet, and what their ports do is the
// guests' kernels' doing: one on which nobody listens is refused, and one whose
// queue is full does not answer.
func TestPortsAreTheGuests(t *testing.T) {
	one, o := open(t, small, 100*time.Millisecond)
	two, _ := open(t, small, 0)
	app := shell("web", `exec /usr/bin/python3 -c "$PROGRAM"`)
	app.Port, app.Env = 8000, map[string]string{"PROGRAM": oneByOne}
	ep, err := one.Deploy(t.Context(), app)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := two.Dial()(t.Context(), ep.Addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the machine without the app: %v, %v; want it refused", c, err)
	}
	before := last(o.Samples(""))
	overflow(t, one.Dial(), ep.Addr)
	o.Await(t, "an empty queue", func() bool { return last(o.Samples("web")).QueueDepth == 0 })
	deepest := int64(0)
	for _, x := range o.Samples("web") {
		deepest = max(deepest, x.QueueDepth)
	}
	// Linux queues one more than listen(2) was told (sk_acceptq_is_full), and
	// counts each SYN that it drops.
	limit, overflows := last(o.Samples("web")).QueueLimit, last(o.Samples("")).Overflows-before.Overflows
	if deepest != 5 || limit != 4 || overflows < 11 {
		t.Errorf("the queue was at most %d deep of %d, with %d overflows; want 5 of 4, with 11 or more", deepest, limit, overflows)
	}
	_, err = two.Deploy(t.Context(), shell("dies", "echo no licence >&2; exit 3"))
	var start *host.StartError
	if !errors.As(err, &start) || !strings.Contains(start.Reason, "no licence") {
		t.Errorf("error %v, want a StartError with the last line", err)
	}
}

func last(samples []wire.Sample) wire.Sample {
	if len(samples) == 0 {
		return wire.Sample{}
	}
	return samples[len(samples)-1]
}

// overflow opens 16 connections to an app that is busy: the queue takes 5, the
// other 11 come in when their SYN is sent again, which is a second later at the
// earliest (RFC 6298, section 2).
func overflow(t *testing.T, dial host.Dialer, addr string) {
	t.Helper()
	const all, fit = 16, 5
	busy, err := dial(t.Context(), addr)
	if err == nil {
		_, err = io.WriteString(busy, "GET /hold HTTP/1.0\r\n\r\n")
	}
	if err == nil {
		_, err = bufio.NewReader(busy).ReadString('\n') // it is served now
	}
	if err != nil {
		t.Fatal(err)
	}
	type outcome struct {
		connect time.Duration
		status  string
		err     error
	}
	outcomes := make(chan outcome, all)
	atOnce := 0
	for range all {
		connected := make(chan struct{})
		go func() {
			var x outcome
			x.connect, x.status, x.err = ask(t.Context(), dial, addr, connected)
			outcomes <- x
		}()
		select {
		case <-connected:
			atOnce++
		case <-time.After(100 * time.Millisecond): // far more than the others take
		}
	}
	busy.Close()
	late := 0
	for range all {
		x := <-outcomes
		if x.err != nil || !strings.HasPrefix(x.status, "HTTP/1.0 200") {
			t.Errorf("%q, %v; want 200 in the end", x.status, x.err)
		}
		if x.connect >= time.Second {
			late++
		}
	}
	if atOnce != fit || late != all-fit {
		t.Errorf("%d connected at once and %d after a second or later, want %d and %d", atOnce, late, fit, all-fit)
	}
}

func ask(ctx context.Context, dial host.Dialer, addr string, connected chan<- struct{}) (took time.Duration, status string, err error) {
	begin := time.Now()
	c, err := dial(ctx, addr)
	took = time.Since(begin)
	if err != nil {
		return took, "", fmt.Errorf("connect: %w", err)
	}
	close(connected)
	defer c.Close()
	if _, err := io.WriteString(c, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		return took, "", err
	}
	status, err = bufio.NewReader(c).ReadString('\n')
	return took, status, err
}
