package frontend_test

import (
	"bufio"
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
)

func TestHeldRequestsGoOnWhenTheirAppIsUp(t *testing.T) {
	const n = 200
	f, addr := open(t, frontend.Options{})
	f.SetRoute("web", "", frontend.Starting)
	var served atomic.Int64
	up := app(t, func(http.ResponseWriter, *http.Request) { served.Add(1) })
	var clients sync.WaitGroup
	for range n {
		clients.Go(func() { expect(t, addr, "web", 200, "app", "") })
	}
	await(t, "200 requests to be held", func() bool { return f.Held() == n })
	f.SetRoute("web", "", frontend.Starting) // starting again lets nobody go
	if got := served.Load(); got != 0 || f.Held() != n {
		t.Errorf("%d served, %d held while it starts; want 0, %d", got, f.Held(), n)
	}
	f.SetRoute("web", up, frontend.Ready)
	clients.Wait()
	if served.Load() != n || f.Held() != 0 {
		t.Errorf("%d served, %d still held; want %d, 0", served.Load(), f.Held(), n)
	}
}

func TestHeldRequestsAreRefusedWhenTheirAppWillNotCome(t *testing.T) {
	for state, why := range map[frontend.State]string{frontend.GaveUp: "could not be started", frontend.Stopped: "does not run"} {
		f, addr := open(t, frontend.Options{})
		f.SetRoute("web", "", frontend.Starting)
		var client sync.WaitGroup
		client.Go(func() { expect(t, addr, "web", 503, "frontend", why) })
		await(t, "the request to be held", func() bool { return f.Held() == 1 })
		f.SetRoute("web", "", state)
		client.Wait()
		expect(t, addr, "web", 503, "frontend", why) // and later ones are not held
	}
}

// The limit counts from each request's arrival, and starts of the app in
// between do not prolong it. Time is the test's.
func TestHoldEndsAtItsLimit(t *testing.T) {
	clk := clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	f, addr := open(t, frontend.Options{Clock: clk})
	f.SetRoute("web", "", frontend.Starting)
	first, second := make(chan answer, 1), make(chan answer, 1)
	ask := func(to chan answer) {
		a, err := get(context.Background(), addr, "web", "/")
		if err != nil {
			t.Error(err)
		}
		to <- a
	}
	go ask(first)
	clk.AwaitWaiters(1)
	clk.Advance(100 * time.Second)
	go ask(second)
	clk.AwaitWaiters(2)
	f.SetRoute("web", "", frontend.Starting)
	clk.Advance(130*time.Second - 1)
	select {
	case a := <-first:
		t.Fatalf("answered %d before 230 s", a.status)
	case <-time.After(20 * time.Millisecond):
	}
	clk.Advance(1)
	if a := <-first; a.status != 503 || a.by != "frontend" || !strings.Contains(a.body, "web was not up within 3m50s") {
		t.Errorf("after 230 s: %+v, want 503", a)
	}
	await(t, "one request to be left", func() bool { return f.Held() == 1 })
	clk.Advance(100 * time.Second)
	if a := <-second; a.status != 503 {
		t.Errorf("after 230 s of its own: %+v, want 503", a)
	}
}

// The time in which a request was held counts for its answer too.
func TestAnswerThatDoesNotBeginInTimeIs504(t *testing.T) {
	clk := clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	f, addr := open(t, frontend.Options{Clock: clk})
	f.SetRoute("web", "", frontend.Starting)
	got := make(chan answer, 1)
	go func() {
		a, err := get(context.Background(), addr, "web", "/")
		if err != nil {
			t.Error(err)
		}
		got <- a
	}()
	clk.AwaitWaiters(1)
	clk.Advance(200 * time.Second)
	reached, left := make(chan struct{}), make(chan struct{})
	f.SetRoute("web", raw(t, func(c *net.TCPConn) {
		close(reached)
		_, _ = c.Read(make([]byte, 1)) // until the front end hangs up
		close(left)
	}), frontend.Ready)
	<-reached
	clk.AwaitWaiters(1)
	clk.Advance(40*time.Second - 1)
	select {
	case a := <-got:
		t.Fatalf("answered %d before 240 s", a.status)
	case <-time.After(20 * time.Millisecond):
	}
	clk.Advance(1)
	if a := <-got; a.status != 504 || a.by != "frontend" {
		t.Errorf("after 240 s: %+v, want 504", a)
	}
	<-left
}

// An answer that has begun may take as long as it likes.
func TestAnswerThatHasBegunHasNoLimit(t *testing.T) {
	clk := clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	f, addr := open(t, frontend.Options{Clock: clk})
	goOn := make(chan struct{})
	f.SetRoute("web", app(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "first ")
		w.(http.Flusher).Flush()
		<-goOn
		fmt.Fprint(w, "last")
	}), frontend.Ready)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 6)
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "first " { // and it is not kept back
		t.Fatalf("%q, %v; want the first piece", first, err)
	}
	clk.Advance(time.Hour)
	close(goOn)
	if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != "last" {
		t.Errorf("%q, %v; want the last piece", rest, err)
	}
}
