package gauge

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"
)

const upstreamHold = 200 * time.Millisecond

// contender is a server whose workers wait for the upstream, and how a request
// reaches it.
type contender struct {
	name    string
	workers int
	start   func(t *testing.T, upstream string) *process
	kind    Kind
	// request sends one and waits for the answer.
	request func(p *process) error
	// tells says that the app itself knows how many of its workers serve;
	// otherwise it is between what the upstream and what the clients have under
	// way.
	tells bool
}

// ask sends a request, and counts those under way.
func (c *contender) ask(p *process) {
	p.asking.Add(1)
	defer p.asking.Add(-1)
	_ = c.request(p)
}

// config watches the server.
func (p *process) config() Config {
	if p.port == 0 {
		return Config{Listen: []Address{{Path: socketOf(p)}}}
	}
	return onPort(p.port)
}

func get(p *process) error {
	resp, err := client.Get(p.url(""))
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func getByUnixSocket(p *process) error {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socketOf(p))
	}
	own := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}, Timeout: patience}
	resp, err := own.Get("http://localhost/")
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

var contenders = []contender{
	{"gunicorn sync", 4, func(t *testing.T, up string) *process { return gunicornWith(t, up, "-w", "4") }, GunicornSync, get, true},
	{"gunicorn gthread", 4, func(t *testing.T, up string) *process {
		return gunicornWith(t, up, "-w", "2", "--threads", "2", "-k", "gthread")
	}, GunicornGthread, get, true},
	{"gunicorn at a Unix socket", 4, func(t *testing.T, up string) *process { return gunicornOnUnixSocket(t, up, "-w", "4") },
		GunicornSync, getByUnixSocket, true},
	{"uwsgi", 4, startUWSGI, UWSGI, get, true},
	{"uwsgi threads", 4, startUWSGIThreads, UWSGI, get, true},
	{"php-fpm", 4, startPHP, PHPFPM, askPHP, false},
	{"Apache prefork", 4, startApachePrefork, ApachePrefork, get, false},
	{"Apache event", 4, startApacheEvent, ApacheEvent, get, false},
}

// The number of busy workers is within one of the truth, which the app
// or the upstream that it waits for knows, in at least 95 % of the readings.
func TestBusyIsTheTruth(t *testing.T) {
	// All at once, however few tests may run in parallel: they mostly wait.
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, c := range contenders {
		wg.Go(func() { c.compete(t) })
	}
}

func (c contender) compete(t *testing.T) {
	t.Run(c.name, func(t *testing.T) {
		up := newUpstream(t, upstreamHold)
		p := c.start(t, up.URL)
		inside, outside := up.inFlight.Load, func() int64 { return min(p.asking.Load(), int64(c.workers)) }
		if c.tells {
			inside = func() int64 { return busyInApp(t, p) }
			outside = inside
		}
		eventually(t, "it answers", func() bool { return c.request(p) == nil })
		g := watching(t, p.config())
		eventually(t, "its workers are known", func() bool {
			s := sample(t, g)
			return len(s.Servers) == 1 && s.Servers[0].Kind == c.kind && s.Servers[0].Workers == num(uint64(c.workers))
		})
		g = watching(t, p.config()) // whose time is the machine's
		for _, utilisation := range []float64{0.2, 0.5, 0.8, 1} {
			t.Run(strconv.FormatFloat(utilisation, 'f', 1, 64), func(t *testing.T) {
				stop := drive(c, p, utilisation)
				defer stop()
				compareWithTruth(t, g, inside, outside)
			})
		}
	})
}

// drive sends requests at random, as many as make the utilisation. For 1 it
// keeps twice as many under way as there are workers, so that no worker is
// without one while a client takes its time.
func drive(c contender, p *process, utilisation float64) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	if utilisation == 1 {
		for range 2 * c.workers {
			wg.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
						_ = c.request(p)
					}
				}
			})
		}
	} else {
		rate := utilisation * float64(c.workers) / upstreamHold.Seconds()
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(100*utilisation)))
			for {
				gap := time.Duration(random.ExpFloat64() / rate * float64(time.Second))
				select {
				case <-done:
					return
				case <-time.After(gap):
					wg.Go(func() { c.ask(p) })
				}
			}
		})
	}
	return func() { close(done); wg.Wait() }
}

func compareWithTruth(t *testing.T, g *Gauge, inside, outside func() int64) {
	const readings = 40
	time.Sleep(2 * upstreamHold)
	right, told, sum, truth := 0, 0, int64(0), int64(0)
	for range readings {
		before, most := inside(), outside()
		snap, err := g.Sample(time.Now())
		if err != nil || len(snap.Servers) != 1 {
			t.Fatalf("%d servers, want 1: %v", len(snap.Servers), err)
		}
		s := snap.Servers[0]
		after := inside()
		most = max(most, before, after, outside())
		if s.Busy.Known {
			told++
			busy := int64(s.Busy.Value)
			sum, truth = sum+busy, truth+(before+after)/2
			if busy >= min(before, after)-1 && busy <= most+1 {
				right++
			}
		}
		time.Sleep(75 * time.Millisecond)
	}
	t.Logf("%d of %d readings within one, %d told; mean busy %.2f, truth %.2f", right, readings, told,
		float64(sum)/float64(told), float64(truth)/float64(told))
	if told < readings*9/10 {
		t.Errorf("busy was unknown in %d of %d readings", readings-told, readings)
	}
	if right*100 < told*95 {
		t.Errorf("%d of %d readings of busy were within one worker of the truth, want 95 %%", right, told)
	}
}
