package gauge

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"brink/internal/servertest"
)

// BenchmarkAgainstNodeExporter compares the CPU that a reading of 64 workers
// takes at 1 Hz, looking for processes and connections included, with that of
// a scrape of prometheus-node-exporter's default collectors, in turns. A tenth
// is promised; more only where within each interval all workers get another
// request and the queue other connections.
func BenchmarkAgainstNodeExporter(b *testing.B) {
	exporter := nodeExporter(b)
	p := servertest.Gunicorn(b, "", "-w", "64")
	grown(b, watching(b, onPort(p.Port)), 65)
	const tenth = 0.1
	nothing := func() {}
	b.Run("idle", func(b *testing.B) { compareCost(b, exporter, p, tenth, nothing) })
	b.Run("all ran", func(b *testing.B) { compareCost(b, exporter, p, tenth, func() { ask(p, 128, "?0") }) })
	servertest.Hold(b, 32, p.URL("?1000"))
	servertest.Eventually(b, "32 hold", func() bool { return only(b, watching(b, onPort(p.Port))).Busy == num(32) })
	b.Run("32 busy", func(b *testing.B) { compareCost(b, exporter, p, tenth, nothing) })
	b.Run("32 busy and 10000 connections", func(b *testing.B) {
		manyConnections(b, 5000) // each has two ends here
		compareCost(b, exporter, p, tenth, nothing)
	})
	servertest.Hold(b, 32+8, p.URL("?1000"))
	servertest.Eventually(b, "8 wait", func() bool { return only(b, watching(b, onPort(p.Port))).Queued == num(8) })
	b.Run("64 busy and 8 waiting", func(b *testing.B) { compareCost(b, exporter, p, tenth, nothing) })
	b.Run("moving queue", func(b *testing.B) {
		p := servertest.Gunicorn(b, "", "-w", "64")
		grown(b, watching(b, onPort(p.Port)), 65)
		defer servertest.Keep(64+16, func() { ask(p, 1, "?0.2") })()
		compareCost(b, exporter, p, 2*tenth, func() { time.Sleep(20 * time.Millisecond) })
	})
}

func compareCost(b *testing.B, exporter, p *servertest.Process, promised float64, between func()) {
	// Until trust has grown, a gauge spends more.
	const warm, readings = 200, 100
	g := watching(b, onPort(p.Port))
	now := time.Now()
	looked := 0
	read := func() time.Duration {
		between()
		now = now.Add(time.Second) // the gauge's idea of time sets its pace
		before := threadClock()
		if _, err := g.Sample(now); err != nil {
			b.Fatal(err)
		}
		if g.servers[0].looked {
			looked++
		}
		return threadClock() - before
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range warm {
		read()
	}
	var reading, scrape time.Duration
	looked = 0
	for b.Loop() {
		for range readings {
			reading += read()
			before := processClock(exporter.Process.Pid)
			scrapeOnce(b, exporter)
			scrape += time.Duration(processClock(exporter.Process.Pid) - before)
		}
	}
	n := float64(b.N * readings)
	ratio := float64(reading) / float64(scrape)
	b.ReportMetric(float64(reading.Nanoseconds())/n, "cpu-ns/reading")
	b.ReportMetric(float64(scrape.Nanoseconds())/n, "cpu-ns/scrape")
	b.ReportMetric(ratio, "of-a-scrape")
	b.ReportMetric(float64(looked)/n, "looks/reading")
	b.ReportMetric(0, "ns/op")
	if ratio > promised {
		b.Errorf("a reading costs %.3f of a scrape, promised %v", ratio, promised)
	}
}

// nodeExporter starts the exporter with its default collectors.
func nodeExporter(b *testing.B) *servertest.Process {
	b.Helper()
	bin, err := exec.LookPath("prometheus-node-exporter")
	if err != nil {
		b.Fatalf("the Debian package prometheus-node-exporter is needed: %v", err)
	}
	port := servertest.FreePort(b)
	p := servertest.Launch(b, port, nil, nil, bin, "--web.listen-address", fmt.Sprintf("127.0.0.1:%d", port))
	for range 5 {
		scrapeOnce(b, p)
	}
	return p
}

func scrapeOnce(b *testing.B, p *servertest.Process) {
	b.Helper()
	resp, err := http.Get(p.URL("metrics"))
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n < 10_000 {
		b.Fatalf("scrape of %d bytes: %v", n, err)
	}
}

// ask sends n requests at once.
func ask(p *servertest.Process, n int, query string) {
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if resp, err := servertest.Client.Get(p.URL(query)); err == nil {
				resp.Body.Close()
			}
		})
	}
	wg.Wait()
}

// manyConnections opens connections to a listener of this process.
func manyConnections(b testing.TB, n int) {
	b.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	for range n {
		c, err := net.Dial("tcp4", l.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		s, err := l.Accept()
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { c.Close(); s.Close() })
	}
}
