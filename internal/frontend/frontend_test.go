package frontend_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"brink/internal/clock"
	"brink/internal/frontend"
	"brink/internal/traffic"
)

func TestRequestsAreRoutedByHostName(t *testing.T) {
	f, addr := open(t, frontend.Options{})
	for _, name := range []string{"web-1", "web-2"} {
		f.SetRoute(name, app(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, name, " as ", r.Host) }), frontend.Ready)
	}
	for host, want := range map[string]string{
		"web-1":                   "web-1 as web-1",
		"web-2":                   "web-2 as web-2",
		"web-1.brink.internal":    "web-1 as web-1.brink.internal",
		"WEB-2.Brink.Internal.":   "web-2 as WEB-2.Brink.Internal.",
		"web-1.brink.internal:80": "web-1 as web-1.brink.internal:80",
	} {
		expect(t, addr, host, 200, "app", want)
	}
	for _, host := range []string{"web-3", "web-1.example.com", "127.0.0.1", "brink.internal"} {
		expect(t, addr, host, 404, "frontend", "no app is called "+host)
	}
}

// What an app gets is what the client sent, and the other way round, but for
// what belongs to one connection (RFC 9110, section 7.6.1) and the names that
// the front end adds.
func TestRequestsAndAnswersArePassedOnAsTheyAre(t *testing.T) {
	f, addr := open(t, frontend.Options{})
	f.SetRoute("web", app(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("X-Brink-Front", "liar")
		w.Header().Set("Keep-Alive", "timeout=5") // of this connection
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintln(w, r.Method, r.RequestURI, r.UserAgent(), r.Header["Accept-Encoding"], r.Header["X-Theirs"], r.Header.Get("X-Forwarded-For"), string(body))
	}), frontend.Ready)
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+addr+"/a%2Fb?x=1;y&z", strings.NewReader("a body"))
	if err != nil {
		t.Fatal(err)
	}
	req.Host, req.Close = "web", true
	req.Header = http.Header{"User-Agent": {""}, "Connection": {"X-Theirs"}, "X-Theirs": {"of that connection"}, "Accept-Encoding": {"br"}}
	resp, err := (&http.Transport{DisableCompression: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if want := "POST /a%2Fb?x=1;y&z  [br] [] 127.0.0.1 a body\n"; resp.StatusCode != 418 || string(body) != want {
		t.Errorf("%d %q, want 418 %q", resp.StatusCode, body, want)
	}
	if h := resp.Header; h.Get("Content-Encoding") != "gzip" || h.Get("X-Brink-Front") != "app" || h.Get("Keep-Alive") != "" {
		t.Errorf("the answer's head is %v", h)
	}
}

func TestAppsThatFailAre502(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for name, at := range map[string]string{
		"refused":     closed.Addr().String(),
		"reset":       raw(t, func(c *net.TCPConn) { _ = c.SetLinger(0) }),
		"empty":       raw(t, func(*net.TCPConn) {}),
		"half a head": raw(t, func(c *net.TCPConn) { fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-") }),
		"garbage":     raw(t, func(c *net.TCPConn) { fmt.Fprint(c, "220 smtp.test ESMTP\r\n") }),
		"endless head": raw(t, func(c *net.TCPConn) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\n")
			for {
				if _, err := fmt.Fprint(c, "X-Filler: 0123456789\r\n"); err != nil {
					return
				}
			}
		}),
	} {
		f, addr := open(t, frontend.Options{})
		f.SetRoute("web", at, frontend.Ready)
		t.Run(name, func(t *testing.T) { expect(t, addr, "web", 502, "frontend", "web broke the connection") })
	}
}

// A request is sent once: what an app did not answer is not asked again.
func TestNothingIsRetried(t *testing.T) {
	var requests atomic.Int64
	f, addr := open(t, frontend.Options{})
	f.SetRoute("web", raw(t, func(*net.TCPConn) { requests.Add(1) }), frontend.Ready)
	for range 5 {
		expect(t, addr, "web", 502, "frontend", "")
	}
	if requests.Load() != 5 {
		t.Errorf("the app got %d requests, want 5", requests.Load())
	}
}

func TestAnswerThatBreaksOffBreaksOffForTheClientToo(t *testing.T) {
	f, addr := open(t, frontend.Options{})
	f.SetRoute("web", raw(t, func(c *net.TCPConn) {
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhe")
	}), frontend.Ready)
	got, err := get(t.Context(), addr, "web", "/")
	if err == nil || got.status != 200 {
		t.Errorf("status %d, error %v; want 200 and an error in the body", got.status, err)
	}
}

func TestAppsAreReachedByTheDialer(t *testing.T) {
	at := app(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "over it") })
	var asked atomic.Value
	f, addr := open(t, frontend.Options{Dial: func(ctx context.Context, addr string) (net.Conn, error) {
		asked.Store(addr)
		var d net.Dialer
		return d.DialContext(ctx, "tcp", at)
	}})
	f.SetRoute("web", "10.0.0.2:8001", frontend.Ready)
	expect(t, addr, "web", 200, "app", "over it")
	if asked.Load() != "10.0.0.2:8001" {
		t.Errorf("dialled %v, want 10.0.0.2:8001", asked.Load())
	}
}

// Routes change while requests come: each is answered by an app or refused, and
// the race detector has nothing to say.
func TestRoutesChangeWhileRequestsCome(t *testing.T) {
	f, addr := open(t, frontend.Options{})
	up := app(t, func(http.ResponseWriter, *http.Request) {})
	f.SetRoute("web", up, frontend.Ready)
	done := make(chan struct{})
	var changing sync.WaitGroup
	changing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				f.SetRoute("web", up, frontend.Ready)
				return
			case <-time.After(time.Millisecond):
				f.SetRoute("web", up, frontend.State(i%4))
			}
		}
	})
	s, err := traffic.Run(t.Context(), clock.Real, traffic.Spec{
		Kind: traffic.KindRate, Rate: 500, Count: 300, Path: "/", Host: "web", Timeout: patience,
	}, addr, func(p *traffic.Probe) {
		fine := p.Status == 200 && p.By == traffic.ByApp || p.Status == 503 && p.By == traffic.ByFrontEnd
		if !fine {
			t.Errorf("%v, status %d by %q: %s", p.Outcome, p.Status, p.By, p.Err)
		}
	})
	close(done)
	changing.Wait()
	if err != nil || s.Sent != 300 {
		t.Errorf("error %v, %d sent", err, s.Sent)
	}
}

func TestStatesHaveNames(t *testing.T) {
	want := []string{"starting", "ready", "stopped", "gave-up", "unknown"}
	for i, name := range want {
		if got := frontend.State(i).String(); got != name {
			t.Errorf("state %d is %q, want %q", i, got, name)
		}
	}
}
