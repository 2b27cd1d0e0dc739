package goapp

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"brink/internal/clock"
	"brink/internal/upstream"
)

// slow starts a slow dependency and returns what BRINK_UPSTREAM says of it.
func slow(t *testing.T) string {
	t.Helper()
	url, _ := slowOn(t, upstream.Options{})
	return url
}

func slowOn(t *testing.T, o upstream.Options) (string, *upstream.Server) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := upstream.Serve(l, o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String(), s
}

// broken is a dependency that does with each connection what f does.
func broken(t *testing.T, f func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 4096))
				f(conn)
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// A dependency that fails is a bad gateway, with one sentence that says why,
// and the app goes on.
func TestAnUpstreamThatFails(t *testing.T) {
	t.Parallel()
	const unset = "BRINK_UPSTREAM is not set: it names the slow dependency, such as http://127.0.0.1:9000"
	cases := []struct{ name, url, want string }{
		{"unset", "", unset},
		{"no URL", "db:5432", `BRINK_UPSTREAM must be http://host:port, not "db:5432"`},
		{"https", "https://127.0.0.1:1", `BRINK_UPSTREAM must be http://host:port, not "https://127.0.0.1:1"`},
		{"refused", "http://127.0.0.1:" + freePort(t), "the upstream failed: "},
		{"hangs up", broken(t, func(net.Conn) {}), "the upstream failed: "},
		{"500", broken(t, func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		}), "the upstream failed: it answered with status 500"},
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for _, c := range cases {
				s := start(t, kind, launch{env: []string{"BRINK_UPSTREAM=" + c.url}})
				a := s.get(t, "/upstream?ms=1")
				checkSigned(t, a)
				sentence, _ := a.body["error"].(string)
				exact := c.want != "the upstream failed: "
				if a.status != http.StatusBadGateway || !strings.HasPrefix(sentence, c.want) || exact && sentence != c.want {
					t.Errorf("%s: got %d %v, want 502 and %q", c.name, a.status, a.body, c.want)
				}
				if !exact && len(sentence) == len(c.want) {
					t.Errorf("%s: %q does not say why", c.name, sentence)
				}
				if a := s.get(t, "/ping"); a.status != http.StatusOK {
					t.Errorf("%s: afterwards /ping says %d", c.name, a.status)
				}
			}
		})
	}
}

// While the dependency is slow, a worker server serves nobody else; an event
// loop does, and asks for all of them at once.
func TestWaitingForTheUpstreamOccupiesAWorker(t *testing.T) {
	t.Parallel()
	const requests = 3
	for kind, peak := range map[string]int{"flask": 1, "go": 1, "asgi": requests, "node": requests} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			fake := clock.NewFake(time.Unix(1, 0))
			url, dependency := slowOn(t, upstream.Options{Clock: fake})
			s := start(t, kind, launch{env: []string{"BRINK_UPSTREAM=" + url}})
			var conns []net.Conn
			for range requests {
				conns = append(conns, s.dial(t, "/upstream?ms=5000"))
			}
			for served := 0; served < requests; served += peak {
				fake.AwaitWaiters(peak)
				fake.Advance(5 * time.Second)
			}
			for _, conn := range conns {
				if a := mustReceive(t, conn); a.status != http.StatusOK || a.body["upstream_ms"] != 5000.0 {
					t.Errorf("got %d %v", a.status, a.body)
				}
			}
			if got := dependency.Counts(); got.Peak != peak || got.Served != requests || got.Abandoned != 0 {
				t.Errorf("the dependency saw %+v, want a peak of %d and %d served", got, peak, requests)
			}
		})
	}
}

// A worker that waits for the dependency looks like one that polls: it sleeps
// on a socket with a time-out. wchan names what a process sleeps in (proc(5));
// 0 is what a user without rights reads.
func TestAFlaskWorkerPollsItsUpstream(t *testing.T) {
	fake := clock.NewFake(time.Unix(1, 0))
	url, _ := slowOn(t, upstream.Options{Clock: fake})
	s := start(t, "flask", launch{env: []string{"BRINK_UPSTREAM=" + url}})
	pid := s.get(t, "/ping").pid
	conn := s.dial(t, "/upstream?ms=1000")
	fake.AwaitWaiters(1)
	where := ""
	polls := eventually(func() bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", pid))
		where = string(text)
		return err == nil && (strings.Contains(where, "poll") || where == "0")
	})
	if !polls {
		t.Errorf("the worker sleeps in %q, want a poll", where)
	}
	fake.Advance(time.Second)
	mustReceive(t, conn)
}
