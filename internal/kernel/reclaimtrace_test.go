package kernel

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const (
	reclaimBegins = "mm_vmscan_direct_reclaim_begin: order=0 gfp_flags=GFP_HIGHUSER_MOVABLE"
	reclaimEnd    = "mm_vmscan_direct_reclaim_end: nr_reclaimed=32"
)

// fakeTracefs has what the kernel puts into a new instance.
func fakeTracefs(t *testing.T, pid int) (*FS, string) {
	t.Helper()
	const top = "sys/kernel/tracing/"
	instance := top + "instances/brink-" + strconv.Itoa(pid) + "/"
	files := map[string]string{
		instance + "trace_pipe": "", instance + "buffer_size_kb": "", instance + "trace_clock": "",
		"proc/" + strconv.Itoa(os.Getpid()) + "/stat": "",
	}
	for _, event := range traceEvents {
		files[top+"events/vmscan/"+event+"/enable"] = "0\n"
		files[instance+"events/vmscan/"+event+"/enable"] = "0\n"
	}
	f, dir := tree(t, files)
	return f, filepath.Join(dir, instance)
}

func addTrace(t *testing.T, instance, text string) {
	t.Helper()
	f := must[*os.File](t)(os.OpenFile(filepath.Join(instance, "trace_pipe"), os.O_APPEND|os.O_WRONLY, 0))
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// Lines in the forms of Documentation/trace/ftrace.rst, with and without what
// options add.
func TestDirectReclaimsArePairedByThread(t *testing.T) {
	f, instance := fakeTracefs(t, os.Getpid())
	tr := must[*ReclaimTrace](t)(f.TraceDirectReclaim())
	wantEqual(t, "enabled", string(must[[]byte](t)(os.ReadFile(filepath.Join(instance, "events/vmscan/mm_vmscan_direct_reclaim_end/enable")))[:1]), "1")
	var got DirectReclaims
	read := func(what string, want DirectReclaims) {
		t.Helper()
		if err := tr.Read(&got); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, what, got, want)
	}
	read("nothing yet", DirectReclaims{})
	addTrace(t, instance, "           <...>-9     [000] .....    99.500000: "+reclaimEnd+"\n"+ // began before us
		"           <...>-812   [000] .....   100.000000: "+reclaimBegins+"\n"+
		" a-b [001] : c-77    (     77) [001] d..1.   100.100000: "+reclaimBegins+"\n"+
		"           <...>-812   [001] .....   100.250000: "+reclaimEnd+"\n"+
		"            node-5     [000]   100.300000: sched_switch: prev_comm=x\n"+
		" a-b [001] : c-77    (     77) [000] d..1.   100.1000")
	read("one has ended", DirectReclaims{Count: 1, Nanos: 250e6, LongestNanos: 250e6})
	addTrace(t, instance, "05: "+reclaimEnd+"\n")
	read("a line that came in two pieces", DirectReclaims{Count: 2, Nanos: 250e6 + 5e3, LongestNanos: 250e6})
	addTrace(t, instance, "python-3 [000] 200.000000: "+reclaimBegins+"\nCPU:0 [LOST 12 EVENTS]\npython-3 [000] 201.000000: "+reclaimEnd+"\n")
	read("events were lost between the two", DirectReclaims{Count: 2, Nanos: 250e6 + 5e3, LongestNanos: 250e6, Lost: 12})
	addTrace(t, instance, "no head: "+reclaimBegins+"\n")
	read("a line in no known form", DirectReclaims{Count: 2, Nanos: 250e6 + 5e3, LongestNanos: 250e6, Lost: 13})
}

func TestReadingDirectReclaimsAllocatesNothing(t *testing.T) {
	f, instance := fakeTracefs(t, os.Getpid())
	tr := must[*ReclaimTrace](t)(f.TraceDirectReclaim())
	text := strings.Repeat("<...>-8 [000] ..... 1.000000: "+reclaimBegins+"\n<...>-8 [000] ..... 1.000007: "+reclaimEnd+"\n", 200)
	pipe := must[*os.File](t)(os.OpenFile(filepath.Join(instance, "trace_pipe"), os.O_APPEND|os.O_WRONLY, 0))
	defer pipe.Close()
	var got DirectReclaims
	n := testing.AllocsPerRun(20, func() {
		if _, err := pipe.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := tr.Read(&got); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations per reading, want 0", n)
	}
	wantEqual(t, "reclaims", got, DirectReclaims{Count: 21 * 200, Nanos: 21 * 200 * 7000, LongestNanos: 7000})
}

func TestTraceWithoutTracefsIsUnavailable(t *testing.T) {
	f, _ := tree(t, map[string]string{"sys/kernel/tracing/README": ""})
	if _, err := f.TraceDirectReclaim(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
}

// The kernel's own tracefs, in a mount namespace of a process of its own: the
// instance comes, can be read, and goes, as does one that was left behind.
func TestTraceLive(t *testing.T) {
	if os.Getenv("KERNEL_TEST_TRACE") != "" {
		traceHere(t)
		return
	}
	if os.Getuid() != 0 {
		if _, err := live(t).TraceDirectReclaim(); err == nil {
			t.Error("an ordinary user may trace")
		}
		return
	}
	script := `mount -t tracefs tracefs /sys/kernel/tracing && mkdir /sys/kernel/tracing/instances/brink-4194305 && exec "$0" -test.run='^TestTraceLive$'`
	cmd := exec.Command("unshare", "--mount", "sh", "-c", script, must[string](t)(os.Executable()))
	cmd.Env = append(os.Environ(), "KERNEL_TEST_TRACE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func traceHere(t *testing.T) {
	instances := func() []string { return must[[]string](t)(filepath.Glob("/sys/kernel/tracing/instances/brink-*")) }
	tr := must[*ReclaimTrace](t)(live(t).TraceDirectReclaim())
	if got := instances(); len(got) != 1 || !strings.HasSuffix(got[0], "brink-"+strconv.Itoa(os.Getpid())) {
		t.Errorf("instances %v, want only that of pid %d", got, os.Getpid())
	}
	on := must[[]byte](t)(os.ReadFile(filepath.Join("/", tr.instance, "events/vmscan/mm_vmscan_direct_reclaim_begin/enable")))
	wantEqual(t, "the event is on", string(on), "1\n")
	var got DirectReclaims
	if err := tr.Read(&got); err != nil || got.Lost != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
	if got := instances(); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
}

// FuzzReclaimEvents: whatever the pipe holds, in whatever pieces, the sums are
// those of the whole text, and no reclaim is longer than the sum.
func FuzzReclaimEvents(f *testing.F) {
	f.Add([]byte("<...>-8 [000] ..... 1.000000: "+reclaimBegins+"\n<...>-8 [000] ..... 1.000007: "+reclaimEnd+"\n"), 40)
	f.Add([]byte("CPU:1 [LOST 9 EVENTS]\n(-)) [0] 1.000000: "+reclaimEnd+"\n"), 3)
	f.Add([]byte(": mm_vmscan_direct_reclaim_begin:\n-1 [1] 9.999999: mm_vmscan_direct_reclaim_end:\n"), 1)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		var whole, pieces reclaimPairs
		whole.take(b)
		cut = min(max(cut, 0), len(b))
		rest := pieces.take(b[:cut])
		pieces.take(append(rest[:len(rest):len(rest)], b[cut:]...))
		wantEqual(t, "in pieces", pieces.sums, whole.sums)
		if s := whole.sums; s.LongestNanos > s.Nanos || s.Count == 0 && s.Nanos > 0 {
			t.Errorf("%+v", s)
		}
	})
}
