package kernel

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// reading is something that is sampled many times a second.
type reading struct {
	name string
	take func() error
}

func readerOf[T any](t testing.TB, name string, r *Reader[T], err error) reading {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	t.Cleanup(func() { r.Close() })
	var dst T
	return reading{name, func() error { return r.Read(&dst) }}
}

func ofFile[T any](t testing.TB, name string) func(*Reader[T], error) reading {
	return func(r *Reader[T], err error) reading {
		t.Helper()
		return readerOf(t, name, r, err)
	}
}

// readings returns every reading of the sampling path: of this machine, and of
// the cgroup versions that this machine does not have.
func readings(t testing.TB) []reading {
	t.Helper()
	here, v1, v2 := live(t), open(t, "testdata/linux-3.10"), open(t, "testdata/linux-6.6")
	recent := open(t, "testdata/linux-6.18")
	p := must[*Process](t)(here.OpenProcess(os.Getpid()))
	t.Cleanup(func() { p.Close() })
	master := must[*Process](t)(v1.OpenProcess(812))
	t.Cleanup(func() { master.Close() })
	var (
		stat   PIDStat
		status PIDStatus
		sched  SchedStat
		statm  PIDStatm
		kids   []int
	)
	c1, c2 := must[*Cgroup](t)(v1.CgroupOf(812)), must[*Cgroup](t)(v2.CgroupOf(301))
	all := []reading{
		ofFile[Meminfo](t, "meminfo")(here.MeminfoReader()),
		ofFile[Vmstat](t, "vmstat")(here.VmstatReader()),
		ofFile[Vmstat](t, "vmstat usage")(here.VmstatUsageReader()),
		ofFile[Stat](t, "stat")(here.StatReader()),
		ofFile[Diskstats](t, "diskstats")(here.DiskstatsReader()),
		ofFile[Swaps](t, "swaps")(recent.SwapsReader()),
		ofFile[Loadavg](t, "loadavg")(here.LoadavgReader()),
		ofFile[Forks](t, "forks")(here.ForksReader()),
		ofFile[Netstat](t, "netstat")(here.NetstatReader()),
		ofFile[PSI](t, "pressure")(v2.PSIReader(PSICPU)),
		ofFile[CgroupMemory](t, "cgroup v1 memory")(c1.MemoryReader()),
		ofFile[CgroupCPU](t, "cgroup v1 cpu")(c1.CPUReader()),
		ofFile[CgroupMemory](t, "cgroup v2 memory")(c2.MemoryReader()),
		ofFile[CgroupCPU](t, "cgroup v2 cpu")(c2.CPUReader()),
		ofFile[CgroupMemory](t, "cgroup v1 memory usage")(c1.MemoryUsageReader()),
		ofFile[CgroupMemory](t, "cgroup v2 memory usage")(c2.MemoryUsageReader()),
		ofFile[CgroupMemory](t, "cgroup v1 memory kinds")(c1.MemoryKindsReader()),
		ofFile[CgroupMemory](t, "cgroup v2 memory kinds")(c2.MemoryKindsReader()),
		ofFile[CgroupMemory](t, "cgroup v1 memory events")(c1.MemoryEventsReader()),
		ofFile[CgroupMemory](t, "cgroup v2 memory events")(c2.MemoryEventsReader()),
		ofFile[CgroupCPU](t, "cgroup v1 cpu usage")(c1.CPUUsageReader()),
		ofFile[CgroupCPU](t, "cgroup v2 cpu usage")(c2.CPUUsageReader()),
		ofFile[CgroupPIDs](t, "cgroup pids")(c2.PIDsReader()),
		ofFile[PSI](t, "cgroup pressure")(c2.PSIReader(PSIMemory)),
		{"pid stat", func() error { return p.Stat(&stat) }},
		{"pid status", func() error { return p.Status(&status) }},
		{"pid statm", func() error { return p.Statm(&statm) }},
		{"pid schedstat", func() error { return p.SchedStat(&sched) }},
		{"children of one thread", func() (err error) { kids, err = master.Children(kids[:0]); return err }},
	}
	if r, err := here.PSIReader(PSIMemory); err == nil {
		if one := readerOf(t, "pressure here", r, nil); one.take() == nil {
			all = append(all, one)
		}
	}
	if stats, err := here.TaskStats(); err == nil {
		t.Cleanup(func() { stats.Close() })
		var d Delays
		if stats.Delays(os.Getpid(), &d) == nil {
			all = append(all, reading{"delays", func() error { return stats.Delays(os.Getpid(), &d) }})
		}
	}
	if k, err := here.Kswapd(); err == nil {
		t.Cleanup(func() { k.Close() })
		all = append(all, reading{"kswapd", func() error { _, err := k.Ticks(); return err }})
	}
	return append(all, socketReadings(t)...)
}

func socketReadings(t testing.TB) []reading {
	t.Helper()
	d := diag(t)
	fd := must[int](t)(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Listen(fd, 4); err != nil {
		t.Fatal(err)
	}
	var listeners []Listener
	var queued []QueuedConn
	return []reading{
		{"listeners", func() (err error) { listeners, err = d.Listeners(listeners[:0]); return err }},
		{"queued", func() (err error) { queued, err = d.Queued(0, queued[:0]); return err }},
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, r := range readings(t) {
		var err error
		allocs := testing.AllocsPerRun(50, func() {
			if e := r.take(); e != nil {
				err = e
			}
		})
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
		if allocs != 0 {
			t.Errorf("%s: %v allocations per reading, want 0", r.name, allocs)
		}
	}
}

func BenchmarkReading(b *testing.B) {
	for _, r := range readings(b) {
		b.Run(r.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := r.take(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
