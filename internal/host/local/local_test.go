package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"brink/internal/agent"
	"brink/internal/agent/agenttest"
	"brink/internal/experiment"
	"brink/internal/host"
	"brink/internal/wire"
)

func TestMain(m *testing.M) {
	agenttest.Main(m, map[string]func([]string) error{"lab": runLab})
}

// runLab is a lab that deploys an app and waits to be killed.
func runLab([]string) error {
	s, err := New(Options{}).Open(context.Background(), experiment.Plan{}, 100*time.Millisecond, agenttest.NewSeen())
	if err != nil {
		return err
	}
	ep, err := s.Deploy(context.Background(), flask("web"))
	if err != nil {
		return err
	}
	fmt.Println(s.(*session).agent.Process.Pid, ep.Pid, s.(*session).dir)
	select {}
}

func open(t *testing.T, plan experiment.Plan, every time.Duration) (*session, *agenttest.Seen) {
	t.Helper()
	o := agenttest.NewSeen()
	s, err := New(Options{Program: "brink test"}).Open(t.Context(), plan, every, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s.(*session), o
}

func flask(name string) experiment.App {
	return experiment.App{Name: name, Runtime: "flask", WorkerClass: "sync", Workers: 2, Timeout: experiment.Duration(30 * time.Second), Backlog: 64}
}

func shell(name, script string) experiment.App {
	return experiment.App{Name: name, Runtime: "command", Command: []string{"sh", "-c", script}}
}

func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func awaitGone(t *testing.T, pids ...int) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		left := slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return !alive(pid) })
		if len(left) == 0 {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%v are still alive", left)
		}
	}
}

// family reads a process and its children from the kernel.
func family(t *testing.T, pid int) []int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Fatal(err)
	}
	pids := []int{pid}
	for _, f := range strings.Fields(string(b)) {
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, n)
	}
	return pids
}

func allowedList(t *testing.T, pid int) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "Cpus_allowed_list:\t")
	list, _, _ := strings.Cut(rest, "\n")
	return list
}

func TestThePlansCPUsHoldForEveryProcessOfAnApp(t *testing.T) {
	t.Parallel()
	s, o := open(t, experiment.Plan{CPUs: 1, MemoryMB: 1855, SwapMB: 2048, SwapIOPS: 60, SwapMBs: 6}, 50*time.Millisecond)
	ep, err := s.Deploy(t.Context(), flask("web"))
	if err != nil {
		t.Fatal(err)
	}
	o.AwaitEvents(t, wire.WorkerBooted, 2)
	all := allowedList(t, os.Getpid())
	first, _, _ := strings.Cut(strings.ReplaceAll(all, "-", ","), ",")
	pids := family(t, ep.Pid)
	if len(pids) != 3 {
		t.Errorf("processes %v, want a master and 2 workers", pids)
	}
	for _, pid := range pids {
		if got := allowedList(t, pid); got != first {
			t.Errorf("pid %d may run on CPUs %s, want %s", pid, got, first)
		}
	}
	limits := map[string]host.Limit{}
	for _, l := range s.Limits() {
		limits[l.Name] = l
	}
	if l := limits["cpus"]; !l.Applied || l.Wanted != "1" || !strings.HasPrefix(l.How, "CPUs "+first+" by sched_setaffinity") || !strings.HasSuffix(l.How, "may run on all of its CPUs ("+all+")") {
		t.Errorf("cpus: %+v", l)
	}
	// Whether memory can be limited depends on the machine; it must be said.
	for name, wanted := range map[string]string{"memory": "1855 MB", "swap": "2048 MB", "swap_iops": "60 operations/s", "swap_mb_s": "6 MB/s"} {
		if l := limits[name]; l.Wanted != wanted || l.How == "" {
			t.Errorf("%s: %+v, want a word on %s", name, l, wanted)
		}
	}
	if limits["swap_iops"].Applied || limits["swap_mb_s"].Applied || len(limits) != 5 {
		t.Errorf("limits %+v", limits)
	}
	o.Await(t, "samples of the app", func() bool { return len(o.Samples("web")) > 0 && len(o.Samples("")) > 0 })
	resp, err := http.Get("http://" + ep.Addr + "/ping")
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("/ping: %v %v", resp, err)
	}
	resp.Body.Close()
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Errorf("Close twice: %v", err)
	}
	for _, pid := range append(pids, s.agent.Process.Pid) {
		if alive(pid) {
			t.Errorf("pid %d is alive after Close", pid)
		}
	}
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("the run directory is still there: %v", err)
	}
}

func TestEverySessionIsFresh(t *testing.T) {
	t.Parallel()
	one, _ := open(t, experiment.Plan{}, 0)
	two, _ := open(t, experiment.Plan{}, 0)
	if one.dir == two.dir || one.agent.Process.Pid == two.agent.Process.Pid {
		t.Error("two sessions share an agent or a run directory")
	}
	// The same name on both is no conflict.
	for _, s := range []*session{one, two} {
		if _, err := s.Deploy(t.Context(), experiment.App{Name: "web", Runtime: "go", Workers: 1, Backlog: 8}); err != nil {
			t.Error(err)
		}
	}
}

func TestAFixedPort(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	app := flask("web")
	app.Port, _ = strconv.Atoi(port)
	s, _ := open(t, experiment.Plan{}, 0)
	_, err = s.Deploy(t.Context(), app)
	var start *host.StartError
	if want := fmt.Sprintf("app web did not start: port %s is taken by pid %d (", port, os.Getpid()); !errors.As(err, &start) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want a StartError: %q", err, want)
	}
	l.Close()
	app.Name = "again"
	if ep, err := s.Deploy(t.Context(), app); err != nil || ep.Addr != addr {
		t.Errorf("%+v, %v; want %s", ep, err, addr)
	}
}

func TestAnAppThatDiesAtStartIsDataAndABadAppIsNot(t *testing.T) {
	t.Parallel()
	s, o := open(t, experiment.Plan{}, 0)
	_, err := s.Deploy(t.Context(), shell("dies", "echo no licence >&2; exit 3"))
	var start *host.StartError
	if !errors.As(err, &start) || start.App != "dies" || !strings.Contains(start.Reason, "exited with code 3") || !strings.Contains(start.Reason, "no licence") {
		t.Errorf("error %v, want a StartError with code and last line", err)
	}
	if e := o.Events(wire.Exited); len(e) != 1 || e[0].Code == nil || *e[0].Code != 3 {
		t.Errorf("exits %+v, want one with code 3", e)
	}
	_, err = s.Deploy(t.Context(), experiment.App{Name: "odd", Runtime: "perl"})
	if err == nil || errors.As(err, &start) || !strings.Contains(err.Error(), `app odd: runtime "perl"`) {
		t.Errorf("error %v, want one that is no StartError", err)
	}
}

func TestACancelledDeployReturnsAndLeavesNothing(t *testing.T) {
	t.Parallel()
	s, o := open(t, experiment.Plan{}, 0)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		o.AwaitEvents(t, wire.Started, 1)
		cancel()
	}()
	_, err := s.Deploy(ctx, shell("slow", "sleep 300"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	pid := o.Events(wire.Started)[0].Pid
	awaitGone(t, pid)
	// The session goes on.
	if _, err := s.Deploy(t.Context(), experiment.App{Name: "web", Runtime: "go", Workers: 1}); err != nil {
		t.Error(err)
	}
}

func TestAKilledAgentIsAnErrorAndLeavesNothing(t *testing.T) {
	t.Parallel()
	s, err := New(Options{}).Open(t.Context(), experiment.Plan{}, 20*time.Millisecond, agenttest.NewSeen())
	if err != nil {
		t.Fatal(err)
	}
	ep, err := s.Deploy(t.Context(), flask("web"))
	if err != nil {
		t.Fatal(err)
	}
	pids := family(t, ep.Pid)
	if err := s.(*session).agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Deploy(t.Context(), flask("late")); err == nil {
		t.Error("a deploy on a dead agent succeeded")
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "the agent") {
		t.Errorf("Close: %v, want an error about the agent", err)
	}
	// Another test's Open may have swept in this one's place.
	awaitGone(t, pids...)
	if _, err := os.Stat(s.(*session).dir); !os.IsNotExist(err) {
		t.Errorf("the run directory is still there: %v", err)
	}
}

func TestNothingOutlivesAKilledLab(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	lab := exec.Command(exe, "lab")
	out, err := lab.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = lab.Process.Kill()
		t.Fatalf("%v: %v", err, lab.Wait())
	}
	var agentPid, appPid int
	var dir string
	if _, err := fmt.Sscan(line, &agentPid, &appPid, &dir); err != nil {
		t.Fatal(err)
	}
	pids := append(family(t, appPid), agentPid)
	if len(pids) != 4 {
		t.Errorf("processes %v, want agent, master and 2 workers", pids)
	}
	if err := lab.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = lab.Wait()
	awaitGone(t, pids...)
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the run directory is still there: %v", err)
	}
}

func TestAnAgentThatDoesNotComeUp(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		argv []string
		want string
	}{
		{[]string{filepath.Join(t.TempDir(), "absent")}, "starting the agent: "},
		{[]string{"sh", "-c", "echo out of luck >&2; exit 3"}, "the agent said: out of luck ("},
		{[]string{"sh", "-c", "echo HTTP/1.1 400 >&3"}, "does not speak brink's protocol"},
	} {
		s, err := New(Options{Agent: tc.argv}).Open(t.Context(), experiment.Plan{}, 0, agenttest.NewSeen())
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: %v, %v; want %q", tc.argv, s, err, tc.want)
		}
	}
}

func TestOpenGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err := New(Options{Agent: []string{"sh", "-c", "read x <&3", "sh"}}).Open(ctx, experiment.Plan{}, 0, agenttest.NewSeen())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	h := New(Options{})
	facts, err := h.Environment(t.Context())
	if err != nil || h.Kind() != "local" {
		t.Fatal(h.Kind(), err)
	}
	direct, err := agent.Facts(t.Context())
	if err != nil || len(facts) != len(direct) {
		t.Errorf("%d facts, the agent has %d (%v)", len(facts), len(direct), err)
	}
}
