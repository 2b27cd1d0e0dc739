package agent

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
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
// the same run: without a cgroup for each app, with one, and with one where the
// memory of all has changed since the sample before. Their processes have run in
// each case, and all is read but what tells that nothing happened to the machine.
// They take turns, so that what slows this machine down slows all of them, and
// the median of the turns counts. The agent looks at its apps' processes ten
// times a second whether or not it samples; what that costs is told by itself.
func BenchmarkAgainstNodeExporter(b *testing.B) {
	node := startNodeExporter(b)
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
	sample := func(in *system.Group, grown bool) float64 {
		for _, p := range apps {
			p.cgroup.Store(in)
		}
		return cost(b, threadCPU, func() error {
			s.stir(grown)
			a.observer.last = a.clock.Now() // as if watch had looked
			return s.tick(a.observer.last)
		})
	}
	look := func() error {
		a.observer.look(a.clock.Now())
		return nil
	}
	group := quietGroup(b)
	var turns [8][]float64
	for b.Loop() {
		for range 11 {
			scrape := cost(b, node.cpu, node.scrape)
			plain := sample(nil, false)
			if x := s.samples[7]; x.App != "app7" || x.Workers != 1 || x.RSS <= 0 {
				b.Errorf("the sample is not full: %+v", x)
			}
			full := sample(group, false)
			if x := s.samples[7]; x.CgCPUNs < 0 {
				b.Errorf("the cgroup is not read: %+v", x)
			}
			grown := sample(group, true)
			for i, v := range [...]float64{
				scrape, plain, full, grown, cost(b, threadCPU, look), plain / scrape, full / scrape, grown / scrape,
			} {
				turns[i] = append(turns[i], v)
			}
		}
	}
	for i, unit := range [...]string{
		"cpu-ns/scrape", "cpu-ns/sample", "cpu-ns/sample-with-cgroups", "cpu-ns/sample-with-cgroups-grown", "cpu-ns/look",
		"of-a-scrape", "of-a-scrape-with-cgroups", "of-a-scrape-with-cgroups-grown",
	} {
		b.ReportMetric(median(turns[i]), unit)
		if strings.HasPrefix(unit, "of-a-scrape") && median(turns[i]) > mostOfAScrape {
			b.Errorf("a sample costs %.3f %s, at most %.1f is allowed", median(turns[i]), unit, mostOfAScrape)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// stir makes it look as if every process had run since the last sample and, if
// that is asked for, every cgroup had got memory.
func (s *sampler) stir(grown bool) {
	for _, g := range s.signals {
		if grown {
			g.mem.Current.Value++
		}
		for _, m := range g.app.tree.members {
			m.rest.cpu = 0
		}
		for i := range g.waited {
			g.waited[i].cpu = 0
		}
	}
}

// quietGroup is a cgroup for standIn's purpose whose memory does not change by
// itself. It holds a process that has memory and waits. Only where v1 has the
// controllers is there one for the making.
func quietGroup(b *testing.B) *system.Group {
	b.Helper()
	path := "/brink-bench-" + strconv.Itoa(os.Getpid())
	join := ""
	for _, hierarchy := range []string{"memory", "cpu", "cpuacct"} {
		dir := filepath.Join("/sys/fs/cgroup", hierarchy, path)
		if err := os.Mkdir(dir, 0o755); err != nil {
			b.Logf("the cgroup of this process stands in, whose memory changes: %v", err)
			return standIn(b)
		}
		b.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				b.Error(err)
			}
		})
		join += "echo $$ >" + dir + "/cgroup.procs && "
	}
	cmd := exec.Command("sh", "-c", join+`exec /usr/bin/python3 -c 'kept = bytes(range(256)) * 2**17; print(flush=True); input()'`)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close() // ends it
		_ = cmd.Wait()
	})
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		b.Fatal(err)
	}
	return &system.Group{Path: path}
}

func median(turns []float64) float64 {
	slices.Sort(turns)
	return turns[len(turns)/2]
}

// cost is the CPU time that f takes of a clock, in ns, once its buffers have
// grown.
func cost(b *testing.B, clock func() int64, f func() error) float64 {
	b.Helper()
	const warm, times = 10, 60
	var before int64
	for i := range warm + times {
		if i == warm {
			before = clock()
		}
		if err := f(); err != nil {
			b.Fatal(err)
		}
	}
	return float64(clock()-before) / times
}

// threadCPU is the CPU time of this thread in ns.
func threadCPU() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}

// nodeExporter is prometheus-node-exporter with three collectors.
type nodeExporter struct {
	pid int
	url string
}

func startNodeExporter(b *testing.B) *nodeExporter {
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
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	n := &nodeExporter{pid: cmd.Process.Pid, url: fmt.Sprintf("http://%s/metrics", addr)}
	for deadline := time.Now().Add(10 * time.Second); n.scrape() != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatal(n.scrape())
		}
	}
	return n
}

// cpu is the CPU time that the exporter has used, in ns.
func (n *nodeExporter) cpu() int64 { return processCPU(n.pid) }

func (n *nodeExporter) scrape() error {
	resp, err := http.Get(n.url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if bytes, err := io.Copy(io.Discard, resp.Body); err != nil || bytes < 5000 {
		return fmt.Errorf("scrape of %d bytes: %w", bytes, err)
	}
	return nil
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
