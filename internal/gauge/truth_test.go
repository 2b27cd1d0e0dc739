package gauge

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"brink/internal/servertest"
)

const upstreamHold = 200 * time.Millisecond

// contender is a pool of workers that wait for the upstream, and what the gauge
// must take it for.
type contender struct {
	servertest.Pool
	kind Kind
}

// config watches the server.
func config(p *servertest.Process) Config {
	if p.Port == 0 {
		return Config{Listen: []Address{{Path: socketOf(p)}}}
	}
	return onPort(p.Port)
}

func getByUnixSocket(p *servertest.Process) error {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socketOf(p))
	}
	own := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}, Timeout: servertest.Patience}
	resp, err := own.Get("http://localhost/")
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// atUnixSocket is gunicorn as it stands behind nginx.
var atUnixSocket = servertest.Pool{
	Name: "gunicorn at a Unix socket", Workers: 4, Request: getByUnixSocket, Tells: true,
	Start: func(t testing.TB, up string) *servertest.Process { return gunicornOnUnixSocket(t, up, "-w", "4") },
}

var contenders = []contender{
	{servertest.GunicornSync, GunicornSync}, {servertest.GunicornGthread, GunicornGthread}, {atUnixSocket, GunicornSync},
	{servertest.UWSGIProcesses, UWSGI}, {servertest.UWSGIThreads, UWSGI}, {servertest.PHPFPM, PHPFPM},
	{servertest.ApachePrefork, ApachePrefork}, {servertest.ApacheEvent, ApacheEvent},
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
	t.Run(c.Name, func(t *testing.T) {
		up := servertest.NewUpstream(t, upstreamHold)
		p := c.Start(t, up.URL)
		inside, outside := up.InFlight.Load, func() int64 { return min(p.Asking.Load(), int64(c.Workers)) }
		if c.Tells {
			inside = func() int64 { return servertest.BusyInApp(t, p) }
			outside = inside
		}
		servertest.Eventually(t, "it answers", func() bool { return c.Request(p) == nil })
		g := watching(t, config(p))
		servertest.Eventually(t, "its workers are known", func() bool {
			s := sample(t, g)
			return len(s.Servers) == 1 && s.Servers[0].Kind == c.kind && s.Servers[0].Workers == num(uint64(c.Workers))
		})
		g = watching(t, config(p)) // whose time is the machine's
		for _, utilisation := range []float64{0.2, 0.5, 0.8, 1} {
			t.Run(strconv.FormatFloat(utilisation, 'f', 1, 64), func(t *testing.T) {
				stop := c.Drive(p, utilisation, upstreamHold)
				defer stop()
				compareWithTruth(t, g, inside, outside)
			})
		}
	})
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
