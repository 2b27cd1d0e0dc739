package agent_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"brink/internal/agent"
	"brink/internal/agent/agenttest"
	"brink/internal/system"
	"brink/internal/wire"
)

func prepare(t *testing.T, a *agenttest.Agent, plan wire.Plan) map[string]wire.Limit {
	t.Helper()
	var limits []wire.Limit
	if err := a.Call(t.Context(), wire.Prepare, plan, &limits); err != nil {
		t.Fatal(err)
	}
	byName := map[string]wire.Limit{}
	for _, l := range limits {
		byName[l.Name] = l
	}
	return byName
}

// holders are the agent's processes that hold memory, by what they hold.
func holders(t *testing.T, a *agenttest.Agent) map[string][]int {
	t.Helper()
	found := map[string][]int{}
	for _, pid := range offspring(t, a.Cmd.Process.Pid) {
		b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		args := strings.Split(string(b), "\x00")
		if i := slices.Index(args, "--mb"); i > 0 && args[1] == "hold" {
			found[args[i+1]] = append(found[args[i+1]], pid)
		}
	}
	return found
}

// offspring lists the children of all of a process's threads, on kernels that
// have no list of them too.
func offspring(t *testing.T, parent int) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, file := range files {
		b, _ := os.ReadFile(file) // it may end meanwhile
		_, rest, _ := strings.Cut(string(b), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(parent) {
			pids = append(pids, atoi(t, filepath.Base(filepath.Dir(file))))
		}
	}
	return pids
}

// rollup reads a figure of /proc/PID/smaps_rollup in MB.
func rollup(t *testing.T, pid int, field string) int {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(field + `:\s+(\d+) kB`).FindSubmatch(b)
	if m == nil {
		t.Fatalf("no %s in %s", field, b)
	}
	return atoi(t, string(m[1])) / 1024
}

func one(t *testing.T, pids []int) int {
	t.Helper()
	if len(pids) != 1 {
		t.Fatalf("processes %v, want one", pids)
	}
	return pids[0]
}

// What is held and touched is read from the kernel's own account of the
// process: Anonymous, and Referenced after clear_refs
// (https://www.kernel.org/doc/html/latest/filesystems/proc.html).
func TestThePlatformsShareIsHeldAndTouched(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	limits := prepare(t, a, wire.Plan{CPUs: 1, Share: wire.Share{
		BallastMB: 96, HotMB: 32, HotEveryNs: int64(20 * time.Millisecond),
		CacheMB: 24, CacheEveryNs: int64(20 * time.Millisecond),
	}})
	// Whether this user may is found out the way that a shell does.
	mayProtect := exec.Command("sh", "-c", "echo -900 2>/dev/null >/proc/self/oom_score_adj").Run() == nil
	if a.Hello.Can(wire.SharedPlan) != mayProtect || mayProtect == strings.Contains(limits["ballast"].How, "may not protect") {
		t.Errorf("protection is %t, the agent says %v and %q", mayProtect, a.Hello.Capabilities, limits["ballast"].How)
	}
	found := holders(t, a)
	ballast, cache := one(t, found["96"]), one(t, found["24"])
	if mb := rollup(t, ballast, "Anonymous"); mb < 96 || mb > 96+32 {
		t.Errorf("the ballast has %d MB of anonymous memory, want 96 and little more", mb)
	}
	if mb := rollup(t, cache, "Rss") - rollup(t, cache, "Anonymous"); mb < 24 {
		t.Errorf("the cache has %d MB of mapped files, want at least 24", mb)
	}
	for _, pid := range []int{ballast, cache} {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/oom_score_adj")
		if got := strings.TrimSpace(string(b)); err != nil || mayProtect != (got == "-900") {
			t.Errorf("oom_score_adj %q %v, want -900: %t", got, err, mayProtect)
		}
		if err := os.WriteFile("/proc/"+strconv.Itoa(pid)+"/clear_refs", []byte("1"), 0); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(500 * time.Millisecond)
	if mb := rollup(t, ballast, "Referenced"); mb < 32 || mb >= 96 {
		t.Errorf("%d MB of the ballast were touched, want the hot 32", mb)
	}
	if mb := rollup(t, cache, "Referenced"); mb < 24 {
		t.Errorf("%d MB of the cache were touched, want all 24", mb)
	}
	if left, _ := filepath.Glob(filepath.Join(a.Dir, "brink-cache-*")); len(left) > 0 {
		t.Errorf("the cache's file has a name: %v", left)
	}
	for name, want := range map[string]string{
		"ballast":    "96 MB, 32 MB of it touched every 20ms",
		"page cache": "24 MB, 24 MB of it touched every 20ms",
		"cpus":       "1",
	} {
		if l := limits[name]; !l.Applied || l.Wanted != want || l.How == "" {
			t.Errorf("limit %s: %+v, want %q to be applied", name, l, want)
		}
	}
	a.Shutdown(t)
	awaitGone(t, "the platform's share", ballast, cache)
}

// A companion comes with each start of an app and goes with it.
func TestASidecarFollowsItsApp(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	limits := prepare(t, a, wire.Plan{Share: wire.Share{SidecarMB: 16}})
	if l := limits["sidecar"]; !l.Applied || l.Wanted != "per app 16 MB" {
		t.Errorf("limit %+v", l)
	}
	ep, err := a.Deploy(t, python("web", serving))
	if err != nil {
		t.Fatal(err)
	}
	other, err := a.Deploy(t, python("other", serving))
	if err != nil {
		t.Fatal(err)
	}
	before := holders(t, a)["16"]
	if len(before) != 2 {
		t.Fatalf("sidecars %v of two apps", before)
	}
	if err := syscall.Kill(ep.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	a.AwaitEvents(t, wire.Healthy, 3)
	after := holders(t, a)["16"]
	if len(after) != 2 || len(slices.DeleteFunc(slices.Clone(after), func(pid int) bool { return slices.Contains(before, pid) })) != 1 {
		t.Errorf("sidecars %v, before the restart of one app %v; want one new one", after, before)
	}
	if err := a.Call(t.Context(), wire.StopApp, wire.AppName{Name: "web"}, nil); err != nil {
		t.Fatal(err)
	}
	if left := holders(t, a)["16"]; len(left) != 1 || !slices.Contains(before, left[0]) {
		t.Errorf("sidecars %v are left, want the other app's alone (of %v)", left, before)
	}
	if !alive(other.Pid) {
		t.Error("the other app is gone")
	}
}

func TestInflateAndDeflate(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	inflate := func(mb int) int {
		t.Helper()
		if err := a.Call(t.Context(), wire.Inflate, wire.Inflation{MB: mb, TouchEveryNs: int64(time.Second)}, nil); err != nil {
			t.Fatal(err)
		}
		return one(t, holders(t, a)[strconv.Itoa(mb)])
	}
	first := inflate(40)
	if mb := rollup(t, first, "Anonymous"); mb < 40 {
		t.Errorf("%d MB are inflated, want 40", mb)
	}
	inflate(50) // in the place of the first
	if alive(first) {
		t.Error("the first inflation is still there")
	}
	for range 2 {
		if err := a.Call(t.Context(), wire.Deflate, nil, nil); err != nil {
			t.Fatal(err)
		}
		if left := holders(t, a); len(left) > 0 {
			t.Errorf("%v are left after the memory was returned", left)
		}
	}
}

// The plan is not what it was once a part of the share is gone.
func TestALostBallastIsTold(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	prepare(t, a, wire.Plan{Share: wire.Share{BallastMB: 20}})
	ballast := one(t, holders(t, a)["20"])
	if err := syscall.Kill(ballast, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	e := a.AwaitEvents(t, wire.Exited, 1)[0]
	if e.App != "" || e.Pid != ballast || e.Signal != 9 || !strings.Contains(e.Detail, "the platform's ballast is gone") {
		t.Errorf("event %+v", e)
	}
}

func TestPlansThatCannotBePrepared(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	for _, tc := range []struct {
		share wire.Share
		kind  wire.FaultKind
		want  string
	}{
		{wire.Share{BallastMB: -1}, wire.BadRequest, "the plan's ballast is -1; it cannot be negative"},
		{wire.Share{SwappedMB: -1}, wire.BadRequest, "the plan's share in swap is -1; it cannot be negative"},
		{wire.Share{BallastMB: 10, HotMB: 11}, wire.BadRequest, "more of the platform's share is hot than there is of it"},
	} {
		err := a.Call(t.Context(), wire.Prepare, wire.Plan{Share: tc.share}, nil)
		var fault *wire.Fault
		if !errors.As(err, &fault) || fault.Kind != tc.kind || !strings.Contains(fault.Text, tc.want) {
			t.Errorf("%+v: error %v, want %q", tc.share, err, tc.want)
		}
	}
	for want, share := range map[string]wire.Share{
		"the platform's share needs 536870912 MB":                      {BallastMB: 1 << 29},
		"536870912 MB of the platform's share are to be in swap, and ": {SwappedMB: 1 << 29},
		"the page cache's file needs 536870912 MB":                     {CacheMB: 1 << 29},
	} {
		a := agenttest.Start(t)
		err := a.Call(t.Context(), wire.Prepare, wire.Plan{Share: share}, nil)
		var fault *wire.Fault
		if !errors.As(err, &fault) || fault.Kind != wire.NoRoom || !strings.Contains(fault.Text, want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	prepare(t, a, wire.Plan{})
	for want, call := range map[string]func() error{
		"a plan is prepared once":                    func() error { return a.Call(t.Context(), wire.Prepare, wire.Plan{}, nil) },
		"0 MB touched every 0s cannot be inflated":   func() error { return a.Call(t.Context(), wire.Inflate, wire.Inflation{}, nil) },
		"the machine's swap is not the plan's alone": func() error { return a.Call(t.Context(), wire.SwapIn, nil, nil) },
	} {
		var fault *wire.Fault
		if err := call(); !errors.As(err, &fault) || fault.Kind != wire.BadRequest || !strings.Contains(fault.Text, want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// Memory and swap are never silently unlimited.
func TestLimitsSayWhetherTheyHold(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	limits := prepare(t, a, wire.Plan{MemoryMB: 2000, SwapMB: 100})
	for _, name := range []string{"memory", "swap"} {
		l, ok := limits[name]
		if !ok || l.How == "" {
			t.Fatalf("limit %s: %+v", name, l)
		}
		if !a.Hello.Can(wire.Cgroup2) && (l.Applied || !strings.Contains(l.How, "what the machine has is shared")) {
			t.Errorf("limit %s without cgroup v2: %+v", name, l)
		}
	}
}

// The machine that is the plan is measured against it; the expected figures are
// the kernel's.
func TestAMachineThatIsThePlan(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	total := atoi(t, string(regexp.MustCompile(`MemTotal:\s+(\d+)`).FindSubmatch(b)[1])) / 1024
	for _, tc := range []struct {
		mb   int
		want bool
	}{{total, true}, {total / 2, false}} {
		a := agenttest.Start(t)
		l := prepare(t, a, wire.Plan{Whole: true, MemoryMB: tc.mb})["memory"]
		if l.Applied != tc.want || !strings.Contains(l.How, strconv.Itoa(total)+" MB") {
			t.Errorf("a plan of %d MB on a machine of %d MB: %+v", tc.mb, total, l)
		}
	}
}

func TestAKilledAgentTakesTheShareWithIt(t *testing.T) {
	t.Parallel()
	registry := t.TempDir()
	a := agenttest.Start(t, "XDG_RUNTIME_DIR="+registry)
	prepare(t, a, wire.Plan{Share: wire.Share{BallastMB: 30}})
	ballast := one(t, holders(t, a)["30"])
	if err := a.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-a.Ended
	awaitGone(t, "the ballast of a killed agent", ballast)
	if err := agent.Sweep(filepath.Join(registry, "brink")); err != nil {
		t.Fatal(err)
	}
}

func TestSpeedIsADuration(t *testing.T) {
	t.Parallel()
	a := agenttest.Start(t)
	var pace wire.Pace
	if err := a.Call(t.Context(), wire.Speed, nil, &pace); err != nil || pace.Ns <= 0 {
		t.Errorf("pace %+v, %v", pace, err)
	}
	if took, err := system.Speed(); took <= 0 || err != nil {
		t.Error("no time passed")
	}
}
