package agent

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brink/internal/clock"
	"brink/internal/system"
)

// BenchmarkTick is one sample of the plan and of two apps of three processes.
func BenchmarkTick(b *testing.B) {
	a := inProcess(b)
	deployHere(b, a, flask("one"))
	deployHere(b, a, flask("two"))
	s, err := newSampler(a)
	if err != nil {
		b.Fatal(err)
	}
	defer s.close()
	b.ReportAllocs()
	for b.Loop() {
		if err := s.tick(clock.Real.Now()); err != nil {
			b.Fatal(err)
		}
	}
}

// mostOfAScrape is what a full sample with eight apps may cost, as a share of a
// scrape of the node exporter with three collectors.
const mostOfAScrape = 0.2

// BenchmarkAgainstNodeExporter compares the CPU that a full sample with eight
// apps takes, the gauge included, with that of a scrape of
// prometheus-node-exporter that collects meminfo, vmstat and pressure only, in
// the same run, with a cgroup for each app and without. The agent looks at its
// apps' processes ten times a second whether or not it samples; what that costs
// is told by itself.
func BenchmarkAgainstNodeExporter(b *testing.B) {
	scrape := scrapeCost(b)
	a := inProcess(b)
	var apps []*app
	for i := range 8 {
		spec := flask("app" + strconv.Itoa(i))
		spec.Workers = 1
		apps = append(apps, deployHere(b, a, spec))
	}
	s, err := newSampler(a)
	if err != nil {
		b.Fatal(err)
	}
	defer s.close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	sample := func() time.Duration {
		return cost(b, func() error {
			a.observer.last = a.clock.Now() // as if watch had looked
			return s.tick(a.observer.last)
		})
	}
	plain := sample()
	if x := s.samples[7]; x.App != "app7" || x.Workers != 1 || x.RSS <= 0 {
		b.Errorf("the sample is not full: %+v", x)
	}
	group := standIn(b)
	for _, p := range apps {
		p.cgroup.CompareAndSwap(nil, group)
	}
	for b.Loop() {
		full := sample()
		look := cost(b, func() error {
			a.observer.look(a.clock.Now())
			return nil
		})
		b.ReportMetric(float64(scrape.Nanoseconds()), "cpu-ns/scrape")
		b.ReportMetric(float64(plain.Nanoseconds()), "cpu-ns/sample")
		b.ReportMetric(float64(full.Nanoseconds()), "cpu-ns/sample-with-cgroups")
		b.ReportMetric(float64(look.Nanoseconds()), "cpu-ns/look")
		ratio := float64(plain) / float64(scrape)
		b.ReportMetric(ratio, "of-a-scrape")
		b.ReportMetric(float64(full)/float64(scrape), "of-a-scrape-with-cgroups")
		if x := s.samples[7]; x.CgCPUNs < 0 {
			b.Errorf("the cgroup is not read: %+v", x)
		}
		if ratio > mostOfAScrape {
			b.Errorf("a sample costs %.3f of a scrape, at most %.1f is allowed", ratio, mostOfAScrape)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// cost is the CPU time that this thread spends on f, once its buffers have
// grown.
func cost(b *testing.B, f func() error) time.Duration {
	b.Helper()
	const warm, times = 20, 300
	var before time.Duration
	for i := range warm + times {
		if i == warm {
			before = threadCPU(b)
		}
		if err := f(); err != nil {
			b.Fatal(err)
		}
	}
	return (threadCPU(b) - before) / times
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
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(bin, "--web.listen-address", addr, "--collector.disable-defaults",
		"--collector.meminfo", "--collector.vmstat", "--collector.pressure")
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	url := fmt.Sprintf("http://%s/metrics", addr)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if resp, err := http.Get(url); err == nil {
			resp.Body.Close()
			break
		} else if time.Now().After(deadline) {
			b.Fatal(err)
		}
	}
	const warm, scrapes = 20, 300
	for range warm {
		scrapeOnce(b, url)
	}
	before := processCPU(cmd.Process.Pid)
	for range scrapes {
		scrapeOnce(b, url)
	}
	return time.Duration(processCPU(cmd.Process.Pid)-before) / scrapes
}

func scrapeOnce(b *testing.B, url string) {
	b.Helper()
	resp, err := http.Get(url)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n < 5000 {
		b.Fatalf("scrape of %d bytes: %v", n, err)
	}
}

// standIn is a cgroup that takes the place of an app's own: reading it costs
// the same. Of v1 it is the root, which every hierarchy has, of v2 that of this
// process.
func standIn(t testing.TB) *system.Group {
	t.Helper()
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	if path, unified := strings.CutPrefix(strings.TrimSpace(string(text)), "0::"); unified {
		return &system.Group{Path: path}
	}
	return &system.Group{Path: "/"}
}
