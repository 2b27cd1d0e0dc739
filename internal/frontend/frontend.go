// Package frontend is the plan's front end. It stands outside of the plan, takes
// the requests to all of its apps, and passes each on to the app that the Host
// header names. A request for an app that is starting is held until the app is
// up.
//
// What it answers itself follows Azure App Service, as far as Microsoft's
// documentation (learn.microsoft.com) says:
//
//   - 404: no app has that name. App Service says "Error 404 - Web app not found"
//     to a host name that leads to no app
//     (/azure/app-service/troubleshoot-domain-ssl-certificates).
//   - 503: the app was not up within Hold, has given up starting, or does not run.
//     On App Service a container that is not ready within
//     WEBSITES_CONTAINER_START_TIME_LIMIT, 230 s unless set, fails its start,
//     "which results in 503 errors" (/azure/app-service/reference-app-settings).
//   - 502: the app refused, reset or broke the connection before it had answered,
//     or what it said is not HTTP. App Service gives 502 and 503 for apps that
//     crash (/azure/app-service/troubleshoot-http-502-http-503).
//   - 504: the app took the request and had not begun to answer within Answer of
//     the request's arrival. App Service on Linux "returns a timeout to the client"
//     after about 240 s, time in which a request was held included
//     (/troubleshoot/azure/app-service, "Web request times out in App Service").
//     No status is documented; 504 is the one that RFC 9110, 15.6.5, has for it.
//
// App Service answers 403 for an app that its owner has stopped. In an experiment
// nobody does that: Stopped is what a crash leaves.
//
// When an answer has begun, a failure can only be passed on by breaking the
// client's connection too. Answers say by the header X-Brink-Front who gave them.
//
// The front end has no queue but the requests that it holds: each connection is
// accepted at once and each request has a goroutine, so that the queue that
// overflows is the app's own.
package frontend

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"brink/internal/clock"
)

// Who gave an answer, in the header of that name.
const (
	Header     = "X-Brink-Front"
	ByApp      = "app"
	ByFrontEnd = "frontend"
)

// Domain follows the name of an app in a Host header. It may be left out.
const Domain = ".brink.internal"

// The limits of App Service on Linux; see the package comment.
const (
	DefaultHold   = 230 * time.Second
	DefaultAnswer = 240 * time.Second
)

// maxHead bounds the head of an app's answer, in bytes.
const maxHead = 64 << 10

// State is how far an app has come.
type State uint8

// The states of an app. One that the platform is about to start again is
// Starting.
const (
	Starting State = iota // requests are held
	Ready                 // requests are passed on
	Stopped               // it does not run: 503
	GaveUp                // it will not be started any more: 503
)

// String is the state's name.
func (s State) String() string {
	if names := [...]string{"starting", "ready", "stopped", "gave-up"}; int(s) < len(names) {
		return names[s]
	}
	return "unknown"
}

// Options of a front end.
type Options struct {
	// Clock measures Hold and Answer. It is required.
	Clock clock.Clock
	// Dial opens connections to apps; nil means over the machine's network.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Hold is how long a request waits for an app that is starting, counted from
	// its arrival; 0 means DefaultHold.
	Hold time.Duration
	// Answer is how long after a request's arrival its answer must have begun; 0
	// means DefaultAnswer.
	Answer time.Duration
}

// FrontEnd routes requests to apps. Its methods may be called at any time from
// any goroutine.
type FrontEnd struct {
	clock        clock.Clock
	hold, answer time.Duration
	held         atomic.Int64

	proxy  *httputil.ReverseProxy
	server *http.Server
	end    context.CancelFunc // of all requests

	mu      sync.Mutex
	routes  map[string]route
	closed  bool
	serving sync.WaitGroup // calls of Serve
	conns   sync.WaitGroup // connections of clients
	calls   sync.WaitGroup // requests
}

// route leads to an app. It is replaced as a whole, and changed is closed then.
type route struct {
	app, addr string
	state     State
	changed   chan struct{}
}

// New returns a front end without routes.
func New(o Options) *FrontEnd {
	ctx, end := context.WithCancel(context.Background())
	f := &FrontEnd{clock: o.Clock, hold: o.Hold, answer: o.Answer, end: end, routes: map[string]route{}}
	if f.hold == 0 {
		f.hold = DefaultHold
	}
	if f.answer == 0 {
		f.answer = DefaultAnswer
	}
	f.proxy = newProxy(f.clock, f.answer, o.Dial)
	f.server = &http.Server{
		Handler:     http.HandlerFunc(f.serve),
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnState:   f.count,
		ErrorLog:    silent,
	}
	return f
}

// SetRoute says where an app is and how far it has come. Requests that are held
// for it go on at once if it is Ready now, and are answered if it does not run.
// The addr (host:port) matters only of a Ready app. Names are compared without
// regard to case.
func (f *FrontEnd) SetRoute(app, addr string, state State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := strings.ToLower(app)
	if old, ok := f.routes[key]; ok {
		close(old.changed)
	}
	f.routes[key] = route{app: app, addr: addr, state: state, changed: make(chan struct{})}
}

// Held is the number of requests that wait for their app to start.
func (f *FrontEnd) Held() int64 { return f.held.Load() }

// Serve takes connections from l, which it closes, until Close. The error is nil
// then. Where l listens decides who can reach the apps: use a loopback address.
func (f *FrontEnd) Serve(l net.Listener) error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return l.Close()
	}
	f.serving.Add(1)
	f.mu.Unlock()
	defer f.serving.Done()
	if err := f.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close ends everything, requests under way too, and returns when the last
// request has ended.
func (f *FrontEnd) Close() error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.end()
	err := f.server.Close()
	f.serving.Wait()
	f.conns.Wait()
	f.calls.Wait()
	return err
}

// count keeps conns. A connection that has changed protocols is no longer the
// server's, and its request stays in calls.
func (f *FrontEnd) count(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		f.conns.Add(1)
	case http.StateClosed, http.StateHijacked:
		f.conns.Done()
	}
}

func (f *FrontEnd) serve(w http.ResponseWriter, r *http.Request) {
	f.calls.Add(1)
	defer f.calls.Done()
	arrived := f.clock.Now()
	name := appName(r.Host)
	to, ok := f.route(name)
	if !ok {
		refuse(w, http.StatusNotFound, "no app is called "+name)
		return
	}
	if to.state == Starting {
		if to, ok = f.await(r.Context(), to, name); !ok {
			panic(http.ErrAbortHandler) // breaks the connection; to return would be to answer 200
		}
	}
	switch to.state {
	case Ready:
		pass := passage{addr: to.addr, app: to.app, arrived: arrived}
		f.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), passageKey{}, pass)))
	case Starting:
		refuse(w, http.StatusServiceUnavailable, to.app+" was not up within "+f.hold.String())
	case GaveUp:
		refuse(w, http.StatusServiceUnavailable, to.app+" could not be started")
	default:
		refuse(w, http.StatusServiceUnavailable, to.app+" does not run")
	}
}

// appName is the app that a Host header means.
func appName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.ToLower(strings.TrimSuffix(host, ".")), Domain)
}

func (f *FrontEnd) route(name string) (route, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.routes[name]
	return r, ok
}

// await holds a request until its app is not starting any more or its time is
// up. It reports false when the client has gone, or the front end is closed.
func (f *FrontEnd) await(ctx context.Context, r route, name string) (route, bool) {
	f.held.Add(1)
	defer f.held.Add(-1)
	limit := f.clock.NewTimer(f.hold)
	defer limit.Stop()
	for r.state == Starting {
		select {
		case <-r.changed:
			r, _ = f.route(name)
		case <-limit.C():
			return r, true
		case <-ctx.Done():
			return r, false
		}
	}
	return r, true
}

// refuse answers in the place of an app.
func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set(Header, ByFrontEnd)
	http.Error(w, why, status)
}
