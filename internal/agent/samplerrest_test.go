package agent

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"brink/internal/kernel"
	"brink/internal/system"
)

// The kinds of a cgroup's memory are read again when its memory has changed, when
// the kernel has reclaimed some anywhere, and once a second whatever happens.
func TestTheKindsOfACgroupsMemoryAreReadWhenTheyMayHaveChanged(t *testing.T) {
	const dir = "sys/fs/cgroup/brink/app1/"
	fs, put := captured(t, map[string]string{
		"sys/fs/cgroup/cgroup.controllers": "memory\n",
		dir + "memory.current":             "1000\n",
		dir + "memory.swap.current":        "10\n",
		dir + "memory.stat":                "anon 1\nfile 1\nslab 1\nworkingset_refault_anon 1\nworkingset_refault_file 1\n",
	})
	p := &app{agent: &agent{fs: fs}}
	p.cgroup.Store(&system.Group{Path: "/brink/app1"})
	g := newAppSignals(p)
	defer g.close()
	at, n := time.Unix(1000, 0), 1
	// want reads after so long, when all kinds are 1 more, and says whether that
	// is to be seen.
	want := func(what string, after time.Duration, since changes, seen bool) {
		t.Helper()
		n++
		put(dir+"memory.stat", strings.ReplaceAll("anon N\nfile N\nslab N\nworkingset_refault_anon N\nworkingset_refault_file N\n", "N", itoa(n)))
		was := known(g.ofKind.Anon)
		at = at.Add(after)
		x := nothing()
		g.read(&x, at, since)
		expected := was
		if seen {
			expected = int64(n)
		}
		for name, got := range map[string]int64{"anon": x.CgAnon, "file": x.CgFile, "slab": x.CgSlab, "refaults of anon": x.CgRefaultAnon, "of file": x.CgRefaultFile} {
			if got != expected {
				t.Errorf("%s: %s is %d, want %d", what, name, got, expected)
			}
		}
	}
	want("the first time", 0, changes{}, true)
	want("when nothing happened", 100*time.Millisecond, changes{stalled: true, killed: true}, false)
	want("when the kernel has reclaimed", 100*time.Millisecond, changes{reclaimed: true}, true)
	want("after that", 100*time.Millisecond, changes{}, false)
	put(dir+"memory.current", "1001\n")
	want("when it has grown", 100*time.Millisecond, changes{}, true)
	put(dir+"memory.swap.current", "9\n")
	want("when it has less in swap", 100*time.Millisecond, changes{}, true)
	want("a second after that", time.Second, changes{}, true)
	want("in samples a second apart, this one early", 950*time.Millisecond, changes{}, true)
}

// The memory of a process that has not run is read again when the kernel has
// reclaimed some, and once a second whatever happens. What scan reads in between,
// which is less exact, does not take its place.
func TestTheMemoryOfAProcessAtRestIsReadWhenItMayHaveChanged(t *testing.T) {
	tr, m := sleeping(t)
	at := time.Unix(1000, 0)
	var scratch kernel.PIDStatm
	want := func(what string, after time.Duration, reclaimed, seen bool) {
		t.Helper()
		const was = -5 // pages, which no process has
		m.rest.pages, m.stat.RSSPages = was, 0
		at = at.Add(after)
		tr.freshen(&scratch, at, reclaimed)
		if read := m.stat.RSSPages != was; read != seen {
			t.Errorf("%s: %d pages are told, want a new reading: %t", what, m.stat.RSSPages, seen)
		}
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", m.proc.PID())); seen && (err != nil || strings.Fields(string(text))[1] != itoa(int(m.stat.RSSPages))) {
			t.Errorf("%s: %d pages are told, statm has %q (%v)", what, m.stat.RSSPages, text, err)
		}
	}
	want("the first time", 0, false, true)
	want("when nothing happened", 100*time.Millisecond, false, false)
	want("when the kernel has reclaimed", 100*time.Millisecond, true, true)
	want("after that", 100*time.Millisecond, false, false)
	m.rest.cpu--
	want("when it has run", 100*time.Millisecond, false, true)
	want("a second after that", time.Second, false, true)
}

// sleeping is a tree of one process, which sleeps.
func sleeping(t *testing.T) (*tree, *member) {
	t.Helper()
	machine, err := kernel.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tr := newTree(machine)
	tr.start(cmd.Process.Pid)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		tr.scan(false) // closes it
		machine.Close()
	})
	if len(tr.members) != 1 {
		t.Fatal("the process is not there")
	}
	m := tr.members[0]
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		was := processCPU(m.proc.PID())
		if m.read() && m.stat.Comm == "sleep" && m.stat.State == 'S' && processCPU(m.proc.PID()) == was {
			return tr, m
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not come to rest: %+v", m.stat)
		}
	}
}

// A process that has not run is not asked again what it waited for.
func TestWhatAProcessAtRestWaitedForIsAskedOnce(t *testing.T) {
	tr, m := sleeping(t)
	var scratch kernel.PIDStatm
	tr.freshen(&scratch, time.Unix(1000, 0), false)
	g := newAppSignals(&app{tree: tr})
	w := g.waiter(identity{m.proc.PID(), m.proc.StartTicks()})
	const waited = 1 << 50 // ns, which nothing of this test has waited
	w.delays.ReclaimNanos, w.cpu = kernel.Num{Value: waited, Known: true}, m.rest.cpu
	s := &sampler{} // can ask nobody
	x := nothing()
	s.waits(&x, g)
	if x.DelayReclaimNs != waited {
		t.Errorf("it waited %d ns, want what it had told before: %d", x.DelayReclaimNs, int64(waited))
	}
	stats, err := tr.fs.TaskStats()
	if err != nil {
		t.Logf("that it is asked when it has run only a user with more rights can see: %v", err)
		return
	}
	defer stats.Close()
	s.delays = stats
	m.rest.cpu--
	s.waits(&x, g)
	if x.DelayReclaimNs == waited {
		t.Error("it has run, and was not asked")
	}
}

// kswapd is read while it runs, once more after that, and once a second whatever
// happens. Each of three counters tells that it runs.
func TestKswapdIsReadWhenItHasRun(t *testing.T) {
	vmstat := func(scanned, objects, runs int) string {
		return fmt.Sprintf("pgsteal_kswapd 0\npgscan_kswapd %d\nslabs_scanned %d\npageoutrun %d\noom_kill 0\n", scanned, objects, runs)
	}
	thread := func(pid int, name string, parent, ticks int) string {
		return fmt.Sprintf("%d (%s) S %d 0 0 0 -1 2129984 0 0 0 0 0 %d 0 0 20 0 1 0 3 0 0 %s\n", pid, name, parent, ticks, strings.Repeat("0 ", 17))
	}
	fs, put := captured(t, map[string]string{
		"proc/vmstat":            vmstat(0, 0, 0),
		"proc/2/stat":            thread(2, "kthreadd", 0, 0),
		"proc/2/task/2/children": "45 ",
		"proc/45/stat":           thread(45, "kswapd0", 2, 1),
	})
	var m machine
	if err := m.open(fs); err != nil {
		t.Fatal(err)
	}
	defer m.close()
	at, ticks := time.Unix(1000, 0), 1
	want := func(what string, after time.Duration, seen bool) {
		t.Helper()
		ticks++
		put("proc/45/stat", thread(45, "kswapd0", 2, ticks))
		expected := m.kswapdNs
		if seen {
			expected = int64(ticks) * 10_000_000 // proc_pid_stat(5): 100 ticks in a second
		}
		at = at.Add(after)
		m.changes()
		x := nothing()
		m.read(&x, at)
		if x.KswapdCPUNs != expected {
			t.Errorf("%s: it used %d ns, want %d", what, x.KswapdCPUNs, expected)
		}
	}
	const tenth = 100 * time.Millisecond
	want("the first time", 0, true)
	want("the second time, the counters being new", tenth, true)
	want("when it did not run", tenth, false)
	for i, text := range []string{vmstat(1, 0, 0), vmstat(1, 1, 0), vmstat(1, 1, 1)} {
		put("proc/vmstat", text)
		want(fmt.Sprintf("when counter %d has risen", i), tenth, true)
		want("in the sample after that", tenth, true)
		want("after that", tenth, false)
	}
	want("after a second", time.Second, true)
	want("after that", tenth, false)
}

// Whatever takes memory from who does not run, or gives it back, is a change.
func TestReclaimIsAChange(t *testing.T) {
	names := []string{
		"pgsteal_kswapd", "pgsteal_direct", "pgsteal_khugepaged", "pgsteal_proactive", "slabs_scanned", "pswpin", "pswpout",
		"pgfault", "pgpgin",
	}
	text := func(risen string) string {
		var b strings.Builder
		for _, name := range names {
			value := 5
			if name == risen {
				value = 6
			}
			fmt.Fprintf(&b, "%s %d\n", name, value)
		}
		return b.String()
	}
	fs, put := captured(t, map[string]string{"proc/vmstat": text("")})
	var m machine
	if err := m.open(fs); err != nil {
		t.Fatal(err)
	}
	defer m.close()
	if !m.changes().reclaimed {
		t.Error("before the first reading anything may have happened")
	}
	for i, name := range names {
		put("proc/vmstat", text(name))
		if got, want := m.changes().reclaimed, i < 7; got != want {
			t.Errorf("%s has risen: reclaimed is %t, want %t", name, got, want)
		}
		put("proc/vmstat", text(""))
		m.changes()
	}
	put("proc/vmstat", "pgfault 5\n")
	m.changes()
	if !m.changes().reclaimed {
		t.Error("where the kernel does not tell, memory may have been reclaimed")
	}
}
