package servertest

import (
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Upstream answers after a while and knows how many requests are with it.
type Upstream struct {
	*httptest.Server
	InFlight atomic.Int64
}

// NewUpstream starts one that answers "done" after hold.
func NewUpstream(t testing.TB, hold time.Duration) *Upstream {
	t.Helper()
	u := &Upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.InFlight.Add(1)
		defer u.InFlight.Add(-1)
		select {
		case <-time.After(hold):
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, "done")
	}))
	t.Cleanup(func() {
		u.CloseClientConnections()
		u.Close()
	})
	return u
}

// Pool is a kind of server whose workers hold one request each, four of them,
// and wait for an upstream.
type Pool struct {
	Name    string
	Workers int
	Start   func(t testing.TB, upstream string) *Process
	// Request sends one and waits for the answer.
	Request func(p *Process) error
	// Tells says that the app itself knows how many of its workers serve
	// ([BusyInApp]).
	Tells bool
}

// The pools of the servers that the distribution has.
var (
	GunicornSync = Pool{"gunicorn sync", 4, func(t testing.TB, up string) *Process {
		return Gunicorn(t, up, "-w", "4")
	}, Get, true}
	GunicornGthread = Pool{"gunicorn gthread", 4, func(t testing.TB, up string) *Process {
		return Gunicorn(t, up, "-w", "2", "--threads", "2", "-k", "gthread")
	}, Get, true}
	UWSGIProcesses = Pool{"uwsgi", 4, func(t testing.TB, up string) *Process {
		return UWSGI(t, up, "--processes", "4")
	}, Get, true}
	UWSGIThreads = Pool{"uwsgi threads", 4, func(t testing.TB, up string) *Process {
		return UWSGI(t, up, "--processes", "2", "--threads", "2")
	}, Get, true}
	PHPFPM        = Pool{"php-fpm", 4, startPHP, askPHP, false}
	ApachePrefork = Pool{"Apache prefork", 4, startApachePrefork, Get, false}
	ApacheEvent   = Pool{"Apache event", 4, startApacheEvent, Get, false}
)

// Pools are all of them.
func Pools() []Pool {
	return []Pool{GunicornSync, GunicornGthread, UWSGIProcesses, UWSGIThreads, PHPFPM, ApachePrefork, ApacheEvent}
}

// Drive sends requests at random (a Poisson process), as many as make the
// utilisation of workers that a request holds for so long. For 1 it keeps twice
// as many under way as there are workers, so that no worker is without one while
// a client takes its time. stop returns when all are answered.
func (k *Pool) Drive(p *Process, utilisation float64, hold time.Duration) (stop func()) {
	if utilisation >= 1 {
		return Keep(2*k.Workers, func() { _ = k.Request(p) })
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	rate := utilisation * float64(k.Workers) / hold.Seconds()
	wg.Go(func() {
		random := rand.New(rand.NewPCG(seedOf(k.Name), uint64(100*utilisation)))
		for {
			gap := time.Duration(random.ExpFloat64() / rate * float64(time.Second))
			select {
			case <-done:
				return
			case <-time.After(gap):
				wg.Go(func() { k.ask(p) })
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// Keep keeps n requests under way, each followed by another. stop returns when
// all are answered.
func Keep(n int, request func()) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					request()
				}
			}
		})
	}
	return func() { close(done); wg.Wait() }
}

// seedOf makes pools that are driven at once have arrivals of their own.
func seedOf(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // it never fails
	return h.Sum64()
}

// ask sends a request, and counts those under way.
func (k *Pool) ask(p *Process) {
	p.Asking.Add(1)
	defer p.Asking.Add(-1)
	_ = k.Request(p)
}
