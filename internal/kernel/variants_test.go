package kernel

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What systems in the field write into meminfo. The forms were seen in bug
// reports and test data of other projects; the numbers here are our own.
func TestMeminfoInTheField(t *testing.T) {
	type want map[string]Num
	fields := func(m *Meminfo) want {
		return want{
			"MemTotal": m.MemTotal, "MemFree": m.MemFree, "MemAvailable": m.MemAvailable, "Shmem": m.Shmem,
			"SReclaimable": m.SReclaimable, "SwapTotal": m.SwapTotal, "SwapFree": m.SwapFree, "Slab": m.Slab,
			"SUnreclaim": m.SUnreclaim, "Active": m.Active, "Zswap": m.Zswap, "HugePagesTotal": m.HugePagesTotal,
			"CommittedAS": m.CommittedAS, "CommitLimit": m.CommitLimit, "Cached": m.Cached,
		}
	}
	for _, c := range []struct {
		name, text string
		want       want // what is not listed is unknown
		bad        bool
	}{
		{"2.6.18, with low memory apart", "MemTotal: 4043456 kB\nMemFree: 52100 kB\nCached: 2900000 kB\nHighTotal: 0 kB\nHighFree: 0 kB\nLowTotal: 4043456 kB\nLowFree: 52100 kB\nSwapTotal: 8 kB\nSwapFree: 8 kB\nSlab: 300 kB\nCommitLimit: 9 kB\nCommitted_AS: 5 kB\nHugePages_Total: 0\n",
			want{"MemTotal": kb(4043456), "MemFree": kb(52100), "Cached": kb(2900000), "SwapTotal": kb(8), "SwapFree": kb(8), "Slab": kb(300), "CommitLimit": kb(9), "CommittedAS": kb(5), "HugePagesTotal": num(0)}, false},
		{"OpenVZ", "MemTotal: 524288 kB\nMemFree: 100 kB\nCached: 200 kB\n",
			want{"MemTotal": kb(524288), "MemFree": kb(100), "Cached": kb(200)}, false},
		{"without huge pages, with those of shared memory", "MemTotal: 8 kB\nMemAvailable: 4 kB\nPercpu: 1 kB\nShmemHugePages: 0 kB\nDirectMap1G: 0 kB\n",
			want{"MemTotal": kb(8), "MemAvailable": kb(4)}, false},
		{"arm64 board", "MemTotal: 956000 kB\nMemAvailable: 600000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\nVmallocTotal: 135290290112 kB\nCmaTotal: 24576 kB\nCmaFree: 352 kB\n",
			want{"MemTotal": kb(956000), "MemAvailable": kb(600000), "SwapTotal": kb(0), "SwapFree": kb(0)}, false},
		{"6.x", "MemTotal: 8 kB\nZswap: 3 kB\nZswapped: 9 kB\nSecPageTables: 0 kB\nUnaccepted: 0 kB\nBalloon: 0 kB\n",
			want{"MemTotal": kb(8), "Zswap": kb(3)}, false},
		{"Android", "MemTotal: 8 kB\nShadowCallStack: 4 kB\nGpu:  77 kB\nION_heap: 12 kB\nZram: 1 kB\nMisc: 2 kB\nCommitLimit: 4 kB\nCommitted_AS: 803788664 kB\n",
			want{"MemTotal": kb(8), "CommitLimit": kb(4), "CommittedAS": kb(803788664)}, false},
		{"lxcfs, swap below 0", "MemTotal: 8 kB\nSwapTotal: 0 kB\nSwapFree: 18446744073709551488 kB\n",
			want{"MemTotal": kb(8), "SwapTotal": kb(0)}, true},
		{"lxcfs, numbers of container and host", "MemTotal: 100 kB\nMemFree: 50 kB\nMemAvailable: 50 kB\nActive: 900 kB\nSlab: 0 kB\nSUnreclaim: 777 kB\n",
			want{"MemTotal": kb(100), "MemFree": kb(50), "MemAvailable": kb(50), "Active": kb(900), "Slab": kb(0), "SUnreclaim": kb(777)}, false},
		{"the first lines only", "MemTotal: 100 kB\nMemFree: 50 kB\nMemAvailable: 60 kB\n",
			want{"MemTotal": kb(100), "MemFree": kb(50), "MemAvailable": kb(60)}, false},
		{"less available than free", "MemFree: 60 kB\nMemAvailable: 50 kB\n",
			want{"MemFree": kb(60), "MemAvailable": kb(50)}, false},
	} {
		var m Meminfo
		if err := parseMeminfo(&m, []byte(c.text)); (err != nil) != c.bad {
			t.Errorf("%s: %v", c.name, err)
		}
		for field, got := range fields(&m) {
			wantEqual(t, c.name+", "+field, got, c.want[field])
		}
	}
}

func TestMeminfoOfAMemoryNode(t *testing.T) {
	f, _ := tree(t, map[string]string{"sys/devices/system/node/node1/meminfo": "Node 1 MemTotal:       2097152 kB\nNode 1 MemFree:  1000 kB\nNode 1 Active(anon): 5 kB\nNode 1 HugePages_Total:     3\n"})
	m := must[Meminfo](t)(f.NodeMeminfo(1))
	wantEqual(t, "MemTotal", m.MemTotal, kb(2097152))
	wantEqual(t, "ActiveAnon", m.ActiveAnon, kb(5))
	wantEqual(t, "HugePagesTotal", m.HugePagesTotal, num(3))
	wantEqual(t, "SwapTotal", m.SwapTotal, Num{})
	if _, err := f.NodeMeminfo(0); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a node that is not there: %v", err)
	}
}

// A single unreadable reading, as has been seen of meminfo, is taken again.
func TestOneReadingOutOfRangeIsTakenAgain(t *testing.T) {
	bad := 0
	f := file{name: "proc/meminfo", buf: make([]byte, 64), pread: func(b []byte, at int64) (int, error) {
		if bad > 0 {
			bad--
			return 0, unix.ERANGE
		}
		return copy(b, "MemTotal: 8 kB\n"[at:]), nil
	}}
	bad = 1
	b, err := f.read()
	if err != nil || string(b) != "MemTotal: 8 kB\n" {
		t.Errorf("got %q, %v", b, err)
	}
	bad = 2
	if _, err := f.read(); !errors.Is(err, unix.ERANGE) {
		t.Errorf("twice in a row: %v", err)
	}
}

// A file of records comes in pieces, of which none but the last is empty; one
// of a single piece that just fills the buffer may go on.
func TestFilesAreReadToTheirEnd(t *testing.T) {
	text := strings.Repeat("line of a file\n", 400)
	for _, piece := range []int{1, 7, 1000, len(text)} {
		f := file{name: "proc/x", buf: make([]byte, 64), pread: func(b []byte, at int64) (int, error) {
			return copy(b[:min(len(b), piece)], text[at:]), nil
		}}
		if b, err := f.read(); err != nil || string(b) != text {
			t.Errorf("in pieces of %d: %d bytes of %d, %v", piece, len(b), len(text), err)
		}
	}
	calls := 0
	whole := file{name: "proc/x", single: true, buf: make([]byte, len(text)), pread: func(b []byte, at int64) (int, error) {
		calls++
		return copy(b, text[at:]), nil
	}}
	for want := 2; want > 0; want-- { // the buffer grows once
		calls = 0
		if b, err := whole.read(); err != nil || string(b) != text || calls != want {
			t.Errorf("in one piece: %d bytes of %d in %d reads, want %d; %v", len(b), len(text), calls, want, err)
		}
	}
}

// vmstat of 3.8, split by zone and by origin, without working sets; and one
// that a sandbox makes up.
func TestVmstatInTheField(t *testing.T) {
	var v Vmstat
	text := "pgsteal_kswapd_dma 0\npgsteal_kswapd_dma32 1000\npgsteal_kswapd_normal 200\npgsteal_direct_dma32 30\npgsteal_direct_movable 4\n" +
		"pgscan_kswapd_dma32 5000\npgscan_direct_dma32 60\npgscan_direct_throttle 0\nkswapd_skip_congestion_wait 4\nallocstall 73\npageoutrun 12\n"
	if err := parseVmstat(nil, &v, []byte(text)); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "pgsteal_kswapd", v.PgstealKswapd, num(1200))
	wantEqual(t, "pgsteal_direct", v.PgstealDirect, num(34))
	wantEqual(t, "allocstall", v.Allocstall, num(73))
	wantEqual(t, "of the zone normal", v.AllocstallNormal, Num{})
	wantEqual(t, "oom_kill", v.OOMKill, Num{})
	wantEqual(t, "working sets", v.WorkingsetActivate, Num{})

	v = Vmstat{}
	if err := parseVmstat(nil, &v, []byte("pgscan_kswapd 0\npgfault 5063\nnr_unstable 0\n")); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "made up", v.PgscanKswapd, num(0))
}

// Pressure files without psi=1 can be opened but not read.
func TestPressureThatIsSwitchedOffIsUnavailable(t *testing.T) {
	off := &file{name: "proc/pressure/memory", buf: make([]byte, 64), pread: func([]byte, int64) (int, error) { return 0, unix.EOPNOTSUPP }}
	r := Reader[PSI]{parts: []part[PSI]{{parse: parsePSI, file: off}}}
	p := PSI{Some: Stall{Known: true}}
	if err := r.Read(&p); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
	wantEqual(t, "pressure", p, PSI{})
}

func TestControllers(t *testing.T) {
	const text = "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t3\t40\t1\ncpuacct\t3\t40\t1\nmemory\t0\t52\t0\npids\t7\t44\tx\n"
	f, _ := tree(t, map[string]string{"proc/cgroups": text})
	c, err := f.Controllers()
	wantFieldError(t, err, "proc/cgroups", 5, "pids")
	wantEqual(t, "cpu", c.CPU, Controller{true, true, num(3), num(40)})
	wantEqual(t, "memory, switched off at boot", c.Memory, Controller{true, false, num(0), num(52)})
	wantEqual(t, "pids", c.PIDs, Controller{})
	wantEqual(t, "io, not built in", c.IO, Controller{})
}

// memory.stat of v1 without the optional lines, and events with a key that
// nobody knows yet.
func TestCgroupMemoryInTheField(t *testing.T) {
	f, _ := tree(t, map[string]string{
		"sys/fs/cgroup/memory/a/memory.stat":        "cache 1\nrss 2\ntotal_cache 30\ntotal_rss 40\nhierarchical_memory_limit 9223372036854771712\n",
		"sys/fs/cgroup/cpu/a/cpu.stat":              "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n",
		"sys/fs/cgroup/memory/a/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\n",
	})
	v1 := must[*Cgroup](t)(f.Cgroup("/a"))
	m := must[CgroupMemory](t)(once(v1.MemoryKindsReader()))
	wantEqual(t, "v1", m, CgroupMemory{Anon: num(40), File: num(30)})
	m = must[CgroupMemory](t)(once(v1.MemoryEventsReader()))
	wantEqual(t, "v1 events", m, CgroupMemory{UnderOOM: num(0)})
	excerpt, _ := tree(t, map[string]string{
		"sys/fs/cgroup/memory/a/memory.stat":           "cache 1\nrss 2\nswap 3\nworkingset_refault 4\n",
		"sys/fs/cgroup/memory/a/memory.usage_in_bytes": "5\n",
	})
	v1excerpt := must[*Cgroup](t)(excerpt.Cgroup("/a"))
	wantEqual(t, "v1 usage", must[CgroupMemory](t)(once(v1excerpt.MemoryUsageReader())), CgroupMemory{Current: num(5)})
	m = must[CgroupMemory](t)(once(v1excerpt.MemoryKindsReader()))
	wantEqual(t, "v1 without totals", m, CgroupMemory{
		File: num(1), Anon: num(2), SwapCurrent: num(3), RefaultFile: num(4), WithoutChildren: true,
	})
	cpu := must[CgroupCPU](t)(once(v1.CPUUsageReader()))
	wantEqual(t, "v1 cpu", cpu, CgroupCPU{Periods: num(0), Throttled: num(0), ThrottledMicros: num(0)})

	g, _ := tree(t, map[string]string{
		"sys/fs/cgroup/cgroup.controllers":    "memory\n",
		"sys/fs/cgroup/a/memory.current":      "4096\n",
		"sys/fs/cgroup/a/memory.events":       "low 0\nhigh 0\nmax 2\noom 1\noom_kill 3\nsock_throttled 9\n",
		"sys/fs/cgroup/a/memory.events.local": "oom_kill 1\n",
		"sys/fs/cgroup/a/memory.peak":         "8192\n",
	})
	v2 := must[*Cgroup](t)(g.Cgroup("/a"))
	wantEqual(t, "v2 for sampling", must[CgroupMemory](t)(once(v2.MemoryUsageReader())), CgroupMemory{Current: num(4096)})
	want := CgroupMemory{EventLow: num(0), EventHigh: num(0), EventMax: num(2), EventOOM: num(1), EventOOMKill: num(3)}
	wantEqual(t, "v2 events", must[CgroupMemory](t)(once(v2.MemoryEventsReader())), want)
	want.Current, want.Peak, want.LocalOOMKill = num(4096), num(8192), num(1)
	wantEqual(t, "v2 whole", must[CgroupMemory](t)(v2.Memory()), want)
}
