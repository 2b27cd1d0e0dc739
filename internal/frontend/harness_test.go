package frontend_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"brink/internal/clock"
	"brink/internal/frontend"
)

// patience bounds the waits for what must happen.
const patience = 20 * time.Second

// open serves a front end on a loopback port. At the end of the test it must
// close without leaving anything behind.
func open(t *testing.T, o frontend.Options) (*frontend.FrontEnd, string) {
	t.Helper()
	before := runtime.NumGoroutine()
	if o.Clock == nil {
		o.Clock = clock.Real
	}
	f := frontend.New(o)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- f.Serve(l) }()
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
		await(t, "its goroutines to end", func() bool { return runtime.NumGoroutine() <= before })
	})
	return f, l.Addr().String()
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("waited in vain for %s\n%s", what, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// app serves HTTP on a loopback port.
func app(t *testing.T, h http.HandlerFunc) (addr string) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.Listener.Addr().String()
}

// raw serves each connection with handle, once a request has come, and closes it.
func raw(t *testing.T, handle func(*net.TCPConn)) (addr string) {
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

type answer struct {
	status int
	by     string
	body   string
	header http.Header
}

// get asks for a path of a host at addr, over a connection of its own.
func get(ctx context.Context, addr, host, path string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+addr+path, nil)
	if err != nil {
		return answer{}, err
	}
	req.Host, req.Close = host, true
	resp, err := (&http.Transport{}).RoundTrip(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header.Get("X-Brink-Front"), string(body), resp.Header}, err
}

func expect(t *testing.T, addr, host string, status int, by, body string) {
	t.Helper()
	got, err := get(t.Context(), addr, host, "/")
	if err != nil || got.status != status || got.by != by || !strings.Contains(got.body, body) {
		t.Errorf("%s: %d by %q, %q, error %v; want %d by %q, %q", host, got.status, got.by, got.body, err, status, by, body)
	}
}
