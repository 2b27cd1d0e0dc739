package upstream

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"brink/internal/clock"
)

// served is a Server on loopback, closed when the test ends.
func served(t *testing.T, o Options) (*Server, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := Serve(l, o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, l.Addr().String()
}

// get makes one request on a connection of its own.
func get(ctx context.Context, addr, path string) (status int, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, nil)
	if err != nil {
		return 0, "", err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what + " did not come")
		}
	}
}

// Time is the clock's: an answer comes when it has been moved by the delay, and
// not a nanosecond before.
func TestAnAnswerComesAfterItsDelay(t *testing.T) {
	fake := clock.NewFake(time.Unix(1, 0))
	s, addr := served(t, Options{Clock: fake})
	answered := make(chan string, 1)
	go func() {
		status, body, err := get(t.Context(), addr, "/delay?ms=250")
		answered <- fmt.Sprint(status, " ", body, err)
	}()
	fake.AwaitWaiters(1)
	fake.Advance(250*time.Millisecond - 1)
	if got := s.Counts(); got != (Counts{InFlight: 1, Peak: 1}) {
		t.Errorf("before its time: %+v", got)
	}
	select {
	case got := <-answered:
		t.Errorf("answered before its time: %s", got)
	default:
	}
	fake.Advance(1)
	if got, want := <-answered, "200 {\"delayed_ms\": 250}\n<nil>"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := s.Counts(); got != (Counts{Peak: 1, Served: 1}) {
		t.Errorf("afterwards: %+v", got)
	}
}

// A dependency with 4 slots that is asked for 10 answers of one second takes
// ceil(10 / 4) = 3 seconds, as any pool of 4 does.
func TestADependencyWithSlotsQueues(t *testing.T) {
	fake := clock.NewFake(time.Unix(1, 0))
	s, addr := served(t, Options{Clock: fake, Slots: 4})
	var asking sync.WaitGroup
	for range 10 {
		asking.Go(func() {
			if status, _, err := get(t.Context(), addr, "/delay?ms=1000"); status != http.StatusOK || err != nil {
				t.Error(status, err)
			}
		})
	}
	await(t, "10 in flight", func() bool { return s.Counts().InFlight == 10 })
	for round, want := range []int64{4, 8, 10} {
		waiting := min(4, 10-4*round)
		fake.AwaitWaiters(waiting)
		if got := s.Counts().Served; got != want-int64(waiting) {
			t.Errorf("before second %d %d were served, want %d", round+1, got, want-int64(waiting))
		}
		fake.Advance(time.Second)
		await(t, fmt.Sprint(want, " served"), func() bool { return s.Counts().Served == want })
	}
	asking.Wait()
	if got := s.Counts(); got != (Counts{Peak: 10, Served: 10}) {
		t.Errorf("afterwards: %+v", got)
	}
}

// Who has given up is not served and leaves its slot to the next.
func TestAClientThatLeavesIsAbandoned(t *testing.T) {
	fake := clock.NewFake(time.Unix(1, 0))
	s, addr := served(t, Options{Clock: fake, Slots: 1})
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		before := s.Counts().Abandoned
		go func() {
			_, _, err := get(ctx, addr, "/delay?ms=1000")
			left <- err
		}()
		fake.AwaitWaiters(1)
		cancel()
		if err := <-left; err == nil {
			t.Error("an answer came without its delay")
		}
		await(t, "the end of its request", func() bool { return s.Counts().Abandoned == before+1 })
	}
	if got := s.Counts(); got != (Counts{Peak: 1, Abandoned: 2}) {
		t.Errorf("afterwards: %+v", got)
	}
}

func TestRefusals(t *testing.T) {
	s, addr := served(t, Options{})
	const bounds = "{\"error\": \"ms must be a whole number from 0 to 3600000\"}\n"
	for path, want := range map[string]string{
		"/delay":              "400 " + bounds,
		"/delay?ms=":          "400 " + bounds,
		"/delay?ms=-1":        "400 " + bounds,
		"/delay?ms=1.5":       "400 " + bounds,
		"/delay?ms=3600001":   "400 " + bounds,
		"/delay?ms=%2B1":      "400 " + bounds,
		"/delay?ms=999999999": "400 " + bounds,
		"/":                   "404 {\"error\": \"unknown path\"}\n",
		"/delay/?ms=1":        "404 {\"error\": \"unknown path\"}\n",
		"/delay?ms=0":         "200 {\"delayed_ms\": 0}\n",
	} {
		status, body, err := get(t.Context(), addr, path)
		if got := fmt.Sprint(status, " ", body); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", path, got, err, want)
		}
	}
	resp, err := http.Post("http://"+addr+"/delay?ms=0", "text/plain", strings.NewReader("x"))
	if err != nil || resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
	if got := s.Counts(); got.Served != 1 {
		t.Errorf("%+v, want one served", got)
	}
}

// Close ends whatever waits, and nothing of the server is left.
func TestCloseLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	fake := clock.NewFake(time.Unix(1, 0))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := Serve(l, Options{Clock: fake, Slots: 2})
	idle, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	var asking sync.WaitGroup
	for range 5 {
		asking.Go(func() {
			if status, _, err := get(context.Background(), l.Addr().String(), "/delay?ms=3600000"); err == nil {
				t.Errorf("answered with %d", status)
			}
		})
	}
	await(t, "5 in flight", func() bool { return s.Counts().InFlight == 5 })
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	asking.Wait()
	if got := s.Counts(); got.InFlight != 0 || got.Abandoned != 5 {
		t.Errorf("%+v, want 5 abandoned", got)
	}
	await(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() <= before })
	if conn, err := net.Dial("tcp", l.Addr().String()); err == nil {
		conn.Close()
		t.Error("the port is still open")
	}
}

// A listener that fails is told by Close.
func TestAListenerThatFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	s := Serve(l, Options{})
	s.serving.Wait()
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "use of closed network connection") {
		t.Errorf("error %v", err)
	}
}
