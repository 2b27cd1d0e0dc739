package frontend_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"brink/internal/frontend"
)

func TestClientsThatLeaveAreSeenByTheApp(t *testing.T) {
	f, addr := open(t, frontend.Options{})
	arrived, left := make(chan struct{}), make(chan struct{})
	f.SetRoute("web", app(t, func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
		close(left)
	}), frontend.Ready)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := get(ctx, addr, "web", "/")
		ended <- err
	}()
	<-arrived
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the client ends with %v", err)
	}
	select {
	case <-left:
	case <-time.After(patience):
		t.Error("the app was not told")
	}
}

func TestClientsThatLeaveAreNotHeldAnyLonger(t *testing.T) {
	f, addr := open(t, frontend.Options{})
	f.SetRoute("web", "", frontend.Starting)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := get(ctx, addr, "web", "/")
		ended <- err
	}()
	await(t, "the request to be held", func() bool { return f.Held() == 1 })
	cancel()
	<-ended
	await(t, "nothing to be held", func() bool { return f.Held() == 0 })
}

// An app whose accept queue is full lets nobody connect; a client that leaves
// ends the attempt.
func TestClientsThatLeaveEndTheAttemptToConnect(t *testing.T) {
	dialling, ended := make(chan struct{}), make(chan struct{})
	f, addr := open(t, frontend.Options{Dial: func(ctx context.Context, _ string) (net.Conn, error) {
		close(dialling)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}})
	f.SetRoute("web", "app:80", frontend.Ready)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _ = get(ctx, addr, "web", "/") }()
	<-dialling
	cancel()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("it still tries to connect")
	}
}

// open checks that nothing is left; here there is something to be ended.
func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	f, addr := open(t, frontend.Options{})
	arrived := make(chan struct{})
	f.SetRoute("slow", app(t, func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	}), frontend.Ready)
	f.SetRoute("starting", "", frontend.Starting)
	var clients sync.WaitGroup
	for _, host := range []string{"slow", "starting"} {
		clients.Go(func() {
			if a, err := get(t.Context(), addr, host, "/"); err == nil {
				t.Errorf("%s: answered %d after the end", host, a.status)
			}
		})
	}
	idle, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	<-arrived
	await(t, "the other to be held", func() bool { return f.Held() == 1 })
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	clients.Wait()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Serve(l); err != nil {
		t.Errorf("serving after the end: %v, want nothing to happen", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is left open: %v", err)
	}
}
