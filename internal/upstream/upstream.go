// Package upstream is a slow dependency, such as a database or another
// service, that a lab serves to the apps under test: they wait for it on a real
// socket, as long as they ask to.
package upstream

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"brink/internal/clock"
)

const (
	// MaxDelay is the longest delay that may be asked for.
	MaxDelay = time.Hour
	// maxConnections bounds what is open at once; more wait in the accept queue.
	maxConnections = 4096
	maxHeaderBytes = 16 << 10
	// readLimit bounds how long a client may take to send its request.
	readLimit = 10 * time.Second
)

// Options adapt a Server; the zero value delays every request at once, by the
// machine's time.
type Options struct {
	Clock clock.Clock
	// Slots is how many requests are served at once, 0 for any number. The
	// others wait for a slot, first come first served, before their own time
	// begins: a dependency with a pool of its own queues.
	Slots int
}

// Counts are what a Server has seen so far.
type Counts struct {
	// InFlight requests have come and have not been answered, those that wait
	// for a slot included. Peak is the most that there ever were.
	InFlight, Peak int
	// Served requests were answered after their time; Abandoned ones had lost
	// their client by then.
	Served, Abandoned int64
}

// Server answers GET /delay?ms=N with 200 after N milliseconds, 0 to
// 3,600,000. Its methods may be called from any goroutine.
type Server struct {
	clock clock.Clock
	slots chan struct{} // nil without a limit
	http  *http.Server
	ended context.CancelFunc

	closing sync.Once
	serving sync.WaitGroup
	conns   sync.WaitGroup
	err     error // of Serve; valid when serving is over

	mu     sync.Mutex
	counts Counts
}

// Serve answers what comes to l until Close, which also closes l.
func Serve(l net.Listener, o Options) *Server {
	if o.Clock == nil {
		o.Clock = clock.Real
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{clock: o.Clock, ended: cancel}
	if o.Slots > 0 {
		s.slots = make(chan struct{}, o.Slots)
	}
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.answer),
		ReadHeaderTimeout: readLimit,
		IdleTimeout:       readLimit,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnState:         s.follow,
		ErrorLog:          log.New(quiet{}, "", 0),
	}
	s.serving.Go(func() {
		if err := s.http.Serve(netutil.LimitListener(l, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
			s.err = err
		}
	})
	return s
}

// quiet drops what net/http says about clients that misbehave: they are the
// apps under test, whose record is kept elsewhere.
type quiet struct{}

func (quiet) Write(p []byte) (int, error) { return len(p), nil }

// follow counts connections, so that Close can wait for them.
func (s *Server) follow(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.conns.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.conns.Done()
	}
}

// Close ends all requests and connections and returns when nothing of the
// server is left. The error is why it had stopped before, if it had. It may be
// called twice.
func (s *Server) Close() error {
	s.closing.Do(func() {
		s.ended()
		_ = s.http.Close() // of connections that nobody needs any more
		s.serving.Wait()
		s.conns.Wait()
	})
	return s.err
}

// Counts returns what has been seen so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	delay, no := parse(r)
	w.Header().Set("Content-Type", "application/json")
	if no != nil {
		w.WriteHeader(no.status)
		_, _ = fmt.Fprintf(w, "{\"error\": %q}\n", no.text)
		return
	}
	s.arrive()
	err := s.wait(r.Context(), delay)
	s.leave(err)
	if err != nil {
		panic(http.ErrAbortHandler) // closes the connection without an answer
	}
	_, _ = fmt.Fprintf(w, "{\"delayed_ms\": %d}\n", delay.Milliseconds())
}

// wait holds a slot for the delay.
func (s *Server) wait(ctx context.Context, delay time.Duration) error {
	if s.slots != nil {
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.clock.Sleep(ctx, delay)
}

func (s *Server) arrive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.InFlight++
	s.counts.Peak = max(s.counts.Peak, s.counts.InFlight)
}

func (s *Server) leave(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.InFlight--
	if err != nil {
		s.counts.Abandoned++
	} else {
		s.counts.Served++
	}
}

// refusal is an answer to a request that cannot be served.
type refusal struct {
	status int
	text   string
}

func parse(r *http.Request) (time.Duration, *refusal) {
	if r.URL.Path != "/delay" {
		return 0, &refusal{http.StatusNotFound, "unknown path"}
	}
	if r.Method != http.MethodGet {
		return 0, &refusal{http.StatusMethodNotAllowed, "only GET is answered"}
	}
	ms, err := strconv.ParseUint(r.URL.Query().Get("ms"), 10, 32)
	delay := time.Duration(ms) * time.Millisecond
	if err != nil || delay > MaxDelay {
		return 0, &refusal{http.StatusBadRequest, fmt.Sprintf("ms must be a whole number from 0 to %d", MaxDelay.Milliseconds())}
	}
	return delay, nil
}
