package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"brink/internal/clock"
	"brink/internal/kernel"
	"brink/internal/system"
	"brink/internal/wire"
)

// captured is a tree of kernel files, and how they are changed.
func captured(t *testing.T, files map[string]string) (*kernel.FS, func(name, text string)) {
	t.Helper()
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		put(name, text)
	}
	fs, err := kernel.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fs.Close() })
	return fs, put
}

func nothing() wire.Sample {
	var x wire.Sample
	x.Clear()
	return x
}

func wantSample(t *testing.T, what string, got, want wire.Sample) {
	t.Helper()
	a, b, names := got.Numbers(), want.Numbers(), wire.SampleNames()
	for i := range a {
		if *a[i] != *b[i] {
			t.Errorf("%s: %s is %d, want %d", what, names[i], *a[i], *b[i])
		}
	}
}

// A cgroup of v2 with numbers of our own, in the units of cgroup-v2.rst.
func TestAnAppsCgroupIsInItsSample(t *testing.T) {
	const dir = "sys/fs/cgroup/brink/app1/"
	fs, put := captured(t, map[string]string{
		"sys/fs/cgroup/cgroup.controllers": "cpu io memory\n",
		dir + "memory.current":             "104857600\n",
		dir + "memory.swap.current":        "4096\n",
		dir + "memory.events":              "low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 0\n",
		dir + "memory.stat":                "anon 90000000\nfile 8000000\nslab 700000\nworkingset_refault_anon 11\nworkingset_refault_file 22\n",
		dir + "memory.pressure":            "some avg10=1.00 avg60=1.00 avg300=1.00 total=5000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=3000\n",
		dir + "cpu.stat":                   "usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\nnr_periods 10\nnr_throttled 4\nthrottled_usec 900\n",
	})
	p := &app{agent: &agent{fs: fs}}
	g := newAppSignals(p)
	defer g.close()
	since := changes{stalled: true, killed: true}
	read := func() wire.Sample {
		x := nothing()
		g.read(&x, time.Unix(0, 0), since)
		return x
	}
	wantSample(t, "without a cgroup", read(), nothing())

	p.cgroup.Store(&system.Group{Path: "/brink/app1"})
	want := nothing()
	want.CgMemory, want.CgSwap, want.CgAnon, want.CgFile, want.CgSlab = 104857600, 4096, 90000000, 8000000, 700000
	want.CgRefaultAnon, want.CgRefaultFile, want.CgOOMKills, want.CgMax = 11, 22, 1, 7
	want.CgPSIMemSome, want.CgPSIMemFull = 5000, 3000
	want.CgCPUNs, want.CgThrottledNs, want.CgThrottled = 2_500_000_000, 900_000, 4
	wantSample(t, "with one", read(), want)

	// Without the controller a file lacks keys, which are unknown, not 0.
	put(dir+"cpu.stat", "usage_usec 2600000\n")
	put(dir+"memory.stat", "anon 1\n")
	put(dir+"memory.current", "104861696\n")
	want.CgMemory = 104861696
	want.CgCPUNs, want.CgThrottledNs, want.CgThrottled = 2_600_000_000, -1, -1
	want.CgAnon, want.CgFile, want.CgSlab, want.CgRefaultAnon, want.CgRefaultFile = 1, -1, -1, -1, -1
	wantSample(t, "with fewer keys", read(), want)

	// Its pressure is what it was where nothing on the machine has stalled.
	put(dir+"memory.pressure", "some avg10=1.00 avg60=1.00 avg300=1.00 total=7000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=4000\n")
	put(dir+"memory.events", "max 8\noom_kill 2\n")
	since = changes{}
	wantSample(t, "without a stall", read(), want)
	since.stalled = true
	want.CgPSIMemSome, want.CgPSIMemFull = 7000, 4000
	wantSample(t, "with a stall", read(), want)

	// Nor has it had an OOM kill where the machine has not, and no limit was hit
	// where there is none.
	since = changes{killed: true}
	want.CgOOMKills, want.CgMax = 2, 8
	wantSample(t, "after an OOM kill", read(), want)
	since = changes{}
	put(dir+"memory.events", "max 9\noom_kill 2\n")
	wantSample(t, "without a limit", read(), want)
	p.spec.MemoryLimitMB = 100
	want.CgMax = 9
	wantSample(t, "with a limit", read(), want)
	p.cgroup.Store(&system.Group{Path: "/brink/gone"})
	wantSample(t, "in one that is not there", read(), nothing())
}

const swapHeading = "Filename Type Size Used Priority\n"

// Two swap disks are added up, in the units of iostats.rst; swap in a file
// names no disk; a disk stays when its swap is taken out.
func TestSwapDisksAreInThePlansSample(t *testing.T) {
	fs, put := captured(t, map[string]string{
		"proc/swaps":     swapHeading + "/dev/nvme1n1 partition 1024 0 -2\n/dev/vdb partition 1024 0 -3\n",
		"proc/diskstats": "259 0 nvme0n1 9 9 9 9 9 9 9 9 9 9 9\n259 1 nvme1n1 100 0 800 70 200 0 1600 90 3 50 400\n254 16 vdb 1 0 8 1 2 0 16 1 1 5 6\n",
	})
	var d swapDisks
	if err := d.open(fs); err != nil {
		t.Fatal(err)
	}
	defer d.close()
	read := func(swap int64) wire.Sample {
		x := nothing()
		x.SwapTotal = swap
		d.read(&x)
		return x
	}
	want := nothing()
	wantSample(t, "before there is swap", read(0), func() wire.Sample { w := want; w.SwapTotal = 0; return w }())
	want.SwapTotal = 2 << 20
	want.DiskReads, want.DiskWrites, want.DiskInFlight = 101, 202, 4
	want.DiskReadBytes, want.DiskWriteBytes = 808*512, 1616*512
	want.DiskBusyNs, want.DiskQueueNs = 55e6, 406e6
	wantSample(t, "two disks", read(2<<20), want)
	want.SwapTotal = 0
	wantSample(t, "swap was taken out", read(0), want)
	put("proc/swaps", swapHeading+"/swapfile file 1024 0 -2\n")
	want = nothing()
	want.SwapTotal = 1 << 20
	wantSample(t, "a file", read(1<<20), want)
}

// What the tracepoints tell, and that a reading before which events were lost
// is unknown.
func TestDirectReclaimIsInThePlansSample(t *testing.T) {
	const top = "sys/kernel/tracing/"
	instance := top + "instances/brink-" + strconv.Itoa(os.Getpid()) + "/"
	files := map[string]string{instance + "trace_pipe": "", "proc/self/x": ""}
	for _, event := range []string{"mm_vmscan_direct_reclaim_begin", "mm_vmscan_direct_reclaim_end"} {
		files[top+"events/vmscan/"+event+"/enable"] = "0"
		files[instance+"events/vmscan/"+event+"/enable"] = "0"
	}
	fs, put := captured(t, files)
	trace, err := fs.TraceDirectReclaim()
	if err != nil {
		t.Fatal(err)
	}
	m := machine{reclaim: trace}
	text := ""
	read := func(more string) wire.Sample {
		text += more
		put(instance+"trace_pipe", text)
		x := nothing()
		m.directReclaim(&x)
		return x
	}
	reclaim := func(from, to string) string {
		return fmt.Sprintf("<...>-8 [000] ..... %s: mm_vmscan_direct_reclaim_begin: order=0\n<...>-8 [000] ..... %s: mm_vmscan_direct_reclaim_end: nr_reclaimed=1\n", from, to)
	}
	want := nothing()
	want.DirectReclaims, want.DirectReclaimNs = 0, 0
	wantSample(t, "none yet", read(""), want)
	want.DirectReclaims, want.DirectReclaimNs = 1, 1_500_000_000
	wantSample(t, "one", read(reclaim("10.000000", "11.500000")), want)
	wantSample(t, "events were lost", read("CPU:0 [LOST 5 EVENTS]\n"), nothing())
	want.DirectReclaims, want.DirectReclaimNs = 2, 1_500_001_000
	wantSample(t, "another", read(reclaim("20.000000", "20.000001")), want)
	wantSample(t, "without tracefs", func() wire.Sample { x := nothing(); (&machine{}).directReclaim(&x); return x }(), nothing())
}

// The plan's numbers lie between two readings of the files by other means.
func TestThePlansSampleAgreesWithProc(t *testing.T) {
	a := inProcess(t)
	s := sampling1(t, a)
	before := procNumbers(t)
	s.take(clock.Real.Now().Add(-70 * time.Millisecond))
	after := procNumbers(t)
	x := s.samples[0]
	got, names := x.Numbers(), wire.SampleNames()
	checked := 0
	for i, name := range names {
		from, known := before[name]
		if !known {
			continue
		}
		checked++
		if *got[i] < from || *got[i] > after[name] {
			t.Errorf("%s is %d, /proc had %d and then %d", name, *got[i], from, after[name])
		}
	}
	if checked < 15 {
		t.Errorf("only %d numbers were compared", checked)
	}
	if x.LatenessNs < 70e6 || x.LatenessNs > 10e9 {
		t.Errorf("%d ns late, want 70 ms and a little", x.LatenessNs)
	}
	if x.PlatformCPUNs != -1 || x.PlatformRSS != -1 {
		t.Errorf("the platform has no share, and uses %d ns, %d bytes", x.PlatformCPUNs, x.PlatformRSS)
	}
	if x.Buffers < 0 || x.Mapped <= 0 || x.PageTables <= 0 || x.SReclaimable+x.SUnreclaim != x.Slab {
		t.Errorf("memory: %+v", x)
	}
	if x.SwapTotal == 0 && x.DiskReads != -1 {
		t.Errorf("without swap, its disk has %d reads", x.DiskReads)
	}
}

// procNumbers reads counters, which only rise, by the names of the samples.
func procNumbers(t *testing.T) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	text, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		switch name {
		case "nr_mapped", "workingset_activate", "workingset_restore": // now, or split
		default:
			all[name] = n
		}
	}
	if text, err = os.ReadFile("/proc/stat"); err != nil {
		t.Fatal(err)
	}
	ticks := strings.Fields(string(text))[1:9]
	at := func(i int) int64 {
		n, err := strconv.ParseInt(ticks[i], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n * 1e7
	}
	all["user_ns"], all["system_ns"], all["steal_ns"] = at(0)+at(1), at(2)+at(5)+at(6), at(7)
	return all
}

// What processes waited for is kept when they end, and a thing that one of them
// cannot tell is unknown for all.
func TestWaitsOfTheDeadAreKept(t *testing.T) {
	num := func(n uint64) kernel.Num { return kernel.Num{Value: n, Known: true} }
	of := func(n uint64) kernel.Delays {
		return kernel.Delays{CPUNanos: num(n), BlockIONanos: num(2 * n), SwapinNanos: num(3 * n), ReclaimNanos: num(4 * n)}
	}
	var g appSignals
	tick := func(living map[int]uint64) kernel.Delays {
		for i := range g.waited {
			g.waited[i].here = false
		}
		for pid, n := range living {
			w := g.waiter(identity{pid, 1})
			w.delays, w.here = of(n), true
		}
		return g.settle()
	}
	if got := tick(nil); got != (kernel.Delays{}) {
		t.Errorf("without processes: %+v", got)
	}
	for i, living := range []map[int]uint64{{1: 10}, {1: 20, 2: 5}, {2: 6}, {2: 6, 3: 1}, {}} {
		want := []uint64{10, 25, 26, 27, 27}[i]
		if got := tick(living); got != of(want) {
			t.Errorf("tick %d: %+v, want %+v", i, got, of(want))
		}
	}
}

// The kernel's own word decides: without the account, waits are unknown.
func TestWaitsAreUnknownWithoutAnAccount(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/kernel/task_delayacct")
	a := inProcess(t)
	s := sampling1(t, a)
	deployHere(t, a, flask("web"))
	x := s.takeApp()
	off := err == nil && strings.TrimSpace(string(text)) == "0"
	if s.delays == nil || s.deaf || off {
		if x.DelayReclaimNs != -1 || x.DelaySwapinNs != -1 || x.DelayThrashNs != -1 || x.DelayIONs != -1 {
			t.Errorf("task_delayacct is %q, and the app waited %d, %d, %d, %d ns", text, x.DelayReclaimNs, x.DelaySwapinNs, x.DelayThrashNs, x.DelayIONs)
		}
		return
	}
	if x.DelayIONs < 0 || x.DelayReclaimNs < 0 {
		t.Errorf("task_delayacct is %q, and the waits are %d and %d", text, x.DelayIONs, x.DelayReclaimNs)
	}
}

func TestAHeapThatIsToldIsInTheSample(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gauge")
	var h heapFile
	defer h.close()
	now := time.UnixMilli(1_700_000_010_000)
	read := func() wire.Sample {
		x := nothing()
		h.read(path, &x, now)
		return x
	}
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wantSample(t, "nothing is written", read(), nothing())
	want := nothing()
	want.HeapUsed, want.HeapTotal, want.External, want.ArrayBuffers = 4_000_000, 6_000_000, 70_000, 8
	put("1700000009000 4000000 6000000 70000 8      \n")
	wantSample(t, "a second ago", read(), want)
	if n := testing.AllocsPerRun(50, func() { x := nothing(); h.read(path, &x, now) }); n != 0 {
		t.Errorf("%v allocations per reading, want 0", n)
	}
	for what, text := range map[string]string{
		"six seconds ago": "1700000004000 4000000 6000000 70000 8\n",
		"half a line":     "1700000009000 4000000 60000",
		"four numbers":    "1700000009000 4000000 6000000 70000\n",
		"six numbers":     "1700000009000 4000000 6000000 70000 8 9\n",
		"below 0":         "1700000009000 -4 6000000 70000 8\n",
	} {
		put(text)
		wantSample(t, what, read(), nothing())
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	put("1700000009999 4000000 6000000 70000 8\n")
	wantSample(t, "another file", read(), want)
	if got := heapPath([]string{"PORT=1", heapVariable + "=/x/y"}); got != "/x/y" || heapPath([]string{"A=b"}) != "" {
		t.Errorf("the path is %q", got)
	}
}

func FuzzParseHeap(f *testing.F) {
	f.Add([]byte("1700000009000 4000000 6000000 70000 8      \n"))
	f.Add([]byte("1 2 3 4 99999999999999999999\n"))
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, ok := parseHeap(b)
		if !ok && v != [5]int64{} && strings.Count(string(b), "\n") == 0 {
			t.Errorf("%v of %q", v, b)
		}
		for _, n := range v {
			if n < 0 {
				t.Errorf("%v of %q", v, b)
			}
		}
	})
}
