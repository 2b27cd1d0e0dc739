package watch

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

	"golang.org/x/sys/unix"

	"brink/internal/kernel"
)

// BenchmarkAgainstNodeExporter compares the CPU that a reading of 64 workers
// takes at 1 Hz, looking for processes and connections included, with that of
// a scrape of prometheus-node-exporter's default collectors, in the same run.
func BenchmarkAgainstNodeExporter(b *testing.B) {
	scrape := scrapeCost(b)
	p := gunicornWith(b, "", "-w", "64")
	grown(b, watching(b, onPort(p.port)), 65)
	b.Run("idle", func(b *testing.B) { compareCost(b, scrape, p, func() {}) })
	b.Run("all ran", func(b *testing.B) {
		compareCost(b, scrape, p, func() { ask(p, 192, "?0") })
	})
	hold(b, 32, p.url("?1000"))
	eventually(b, "32 hold", func() bool { return only(b, watching(b, onPort(p.port))).Busy == num(32) })
	b.Run("32 busy", func(b *testing.B) { compareCost(b, scrape, p, func() {}) })
	b.Run("32 busy and 10000 connections", func(b *testing.B) {
		manyConnections(b, 5000) // each has two ends here
		compareCost(b, scrape, p, func() {})
	})
	hold(b, 32+8, p.url("?1000"))
	eventually(b, "8 wait", func() bool { return only(b, watching(b, onPort(p.port))).Queued == num(8) })
	b.Run("64 busy and 8 waiting", func(b *testing.B) { compareCost(b, scrape, p, func() {}) })
}

func compareCost(b *testing.B, scrape time.Duration, p *process, between func()) {
	w := watching(b, onPort(p.port))
	now := time.Now()
	for range 15 { // trust is earned, buffers grow
		between()
		now = now.Add(time.Second)
		if _, err := w.Sample(now); err != nil {
			b.Fatal(err)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var spent time.Duration
	looked := 0
	for b.Loop() {
		between()
		now = now.Add(time.Second) // the watcher's idea of time sets its pace
		before := threadCPU(b)
		if _, err := w.Sample(now); err != nil {
			b.Fatal(err)
		}
		spent += threadCPU(b) - before
		if w.servers[0].looked {
			looked++
		}
	}
	each := spent / time.Duration(b.N)
	b.ReportMetric(float64(each.Nanoseconds()), "cpu-ns/reading")
	b.ReportMetric(float64(scrape.Nanoseconds()), "cpu-ns/scrape")
	b.ReportMetric(float64(each)/float64(scrape), "of-a-scrape")
	b.ReportMetric(float64(looked)/float64(b.N), "looks/reading")
	b.ReportMetric(0, "ns/op")
}

func threadCPU(b *testing.B) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		b.Fatal(err)
	}
	return time.Duration(ts.Nano())
}

// scrapeCost is the CPU time of one scrape of the node exporter.
func scrapeCost(b *testing.B) time.Duration {
	b.Helper()
	bin, err := exec.LookPath("prometheus-node-exporter")
	if err != nil {
		b.Fatalf("the Debian package prometheus-node-exporter is needed: %v", err)
	}
	port := freePort(b)
	p := launch(b, port, nil, nil, bin, "--web.listen-address", fmt.Sprintf("127.0.0.1:%d", port))
	const warm, scrapes = 5, 100
	for range warm {
		scrapeOnce(b, p)
	}
	before := processCPU(b, p)
	for range scrapes {
		scrapeOnce(b, p)
	}
	return (processCPU(b, p) - before) / scrapes
}

func scrapeOnce(b *testing.B, p *process) {
	b.Helper()
	resp, err := http.Get(p.url("metrics"))
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n < 10_000 {
		b.Fatalf("scrape of %d bytes: %v", n, err)
	}
}

func processCPU(b *testing.B, p *process) time.Duration {
	b.Helper()
	fs, err := kernel.Open("/")
	if err != nil {
		b.Fatal(err)
	}
	defer fs.Close()
	proc, err := fs.OpenProcess(p.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	defer proc.Close()
	var stat kernel.PIDStat
	if err := proc.Stat(&stat); err != nil {
		b.Fatal(err)
	}
	return time.Duration(stat.UserTicks+stat.SysTicks) * time.Second / kernel.UserHz
}

// ask sends n requests at once.
func ask(p *process, n int, query string) {
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if resp, err := client.Get(p.url(query)); err == nil {
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
