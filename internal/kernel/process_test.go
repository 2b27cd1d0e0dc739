package kernel

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"pgregory.net/rapid"
)

func TestProcessOfOldKernel(t *testing.T) {
	p := must[*Process](t)(open(t, "testdata/linux-3.10").OpenProcess(812))
	defer p.Close()
	var s PIDStat
	if err := p.Stat(&s); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "stat", s, PIDStat{
		PID: 812, Comm: "gunicorn: (web) x", State: 'S', PPID: 1,
		MinFaults: 5200, MajFaults: 12, UserTicks: 205, SysTicks: 48, ChildUser: 1010, ChildSys: 77,
		Threads: 1, StartTicks: 5312, VSize: 246374400, RSSPages: 4821, Processor: 2,
	})
	wantEqual(t, "start", p.StartTicks(), 5312)

	var sched SchedStat
	if err := p.SchedStat(&sched); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "schedstat", sched, SchedStat{num(2530123456), num(88123456), num(5120)})

	var st PIDStatus
	if err := p.Status(&st); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "status", st, PIDStatus{
		State: 'S', Tgid: num(812), PPID: num(1), Threads: num(1),
		VmSize: kb(240600), VmPeak: kb(240700), VmLck: kb(0), VmPin: kb(0),
		VmRSS: kb(19284), VmHWM: kb(20100), VmSwap: kb(1200),
		CPUsAllowedList:   "0,2",
		VoluntarySwitches: num(4100), NonvoluntarySwitches: num(1020),
	})

	kids := must[[]int](t)(p.Children([]int{5}))
	if !slices.Equal(kids, []int{5, 901, 902}) {
		t.Errorf("children = %v", kids)
	}
}

func statLine(pid int, comm string, ppid, start int) string {
	fields := make([]string, 0, 52)
	for n := 4; n <= 52; n++ {
		switch n {
		case 4:
			fields = append(fields, strconv.Itoa(ppid))
		case 20:
			fields = append(fields, "1")
		case 22:
			fields = append(fields, strconv.Itoa(start))
		default:
			fields = append(fields, "7")
		}
	}
	return fmt.Sprintf("%d (%s) R %s\n", pid, comm, strings.Join(fields, " "))
}

func TestPIDStatComm(t *testing.T) {
	for _, comm := range []string{"a", "", "a b", ") R 1 (", "((x", "kworker/u8:3-events_unbound", "a\nb"} {
		var s PIDStat
		if err := parsePIDStat(&s, []byte(statLine(9, comm, 3, 44))); err != nil {
			t.Errorf("%q: %v", comm, err)
		}
		if s.Comm != comm || s.PPID != 3 || s.StartTicks != 44 || s.State != 'R' {
			t.Errorf("%q: %+v", comm, s)
		}
	}
}

// Whatever a process calls itself, its numbers are read right.
func TestPIDStatAnyName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		comm := rapid.String().Draw(t, "comm")
		pid, ppid := rapid.IntRange(1, 1<<22).Draw(t, "pid"), rapid.IntRange(0, 1<<22).Draw(t, "ppid")
		start := rapid.IntRange(0, 1<<60).Draw(t, "start")
		var s PIDStat
		if err := parsePIDStat(&s, []byte(statLine(pid, comm, ppid, start))); err != nil {
			t.Fatal(err)
		}
		if s.Comm != comm || s.PID != pid || s.PPID != ppid || s.StartTicks != uint64(start) {
			t.Fatalf("read %+v", s)
		}
	})
}

// A line that was cut off anywhere before field 41 yields nothing at all.
func TestPIDStatCutAnywhere(t *testing.T) {
	whole := statLine(9, "x", 3, 123456)
	enough := strings.Join(strings.Fields(whole)[:41], " ")
	for n := range whole {
		var s PIDStat
		err := parsePIDStat(&s, []byte(whole[:n]))
		if n < len(enough) && (err == nil || s != PIDStat{}) {
			t.Fatalf("cut at %d: %+v, %v", n, s, err)
		}
		if n >= len(enough) && (err != nil || s.StartTicks != 123456) {
			t.Fatalf("cut at %d: %+v, %v", n, s, err)
		}
	}
}

func TestReusedPIDIsNoticed(t *testing.T) {
	f, dir := tree(t, map[string]string{"proc/9/stat": statLine(9, "x", 3, 100)})
	p := must[*Process](t)(f.OpenProcess(9))
	defer p.Close()
	var s PIDStat
	if err := p.Stat(&s); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "proc/9/stat"), statLine(9, "x", 3, 101))
	if err := p.Stat(&s); !errors.Is(err, ErrReused) {
		t.Errorf("another start time: %v, want ErrReused", err)
	}
	wantEqual(t, "stat", s, PIDStat{})
	if _, err := p.Children(nil); !errors.Is(err, ErrReused) {
		t.Errorf("children: %v, want ErrReused", err)
	}
	write(t, filepath.Join(dir, "proc/10/stat"), statLine(9, "x", 3, 100))
	if _, err := f.OpenProcess(10); !errors.Is(err, ErrReused) {
		t.Errorf("another pid inside: %v, want ErrReused", err)
	}
}

func TestAbsentProcess(t *testing.T) {
	f := open(t, "testdata/linux-3.10")
	if _, err := f.OpenProcess(4000); !errors.Is(err, ErrGone) {
		t.Errorf("absent pid: %v", err)
	}
	if _, err := f.OpenProcess(1); !errors.Is(err, ErrGone) {
		t.Errorf("no stat: %v", err)
	}
	for _, pid := range []int{0, -1} {
		if _, err := f.OpenProcess(pid); err == nil {
			t.Errorf("pid %d was opened", pid)
		}
	}
}

func TestFileThatTheKernelLacksIsNotTheEnd(t *testing.T) {
	f, _ := tree(t, map[string]string{"proc/9/stat": statLine(9, "x", 3, 100)})
	p := must[*Process](t)(f.OpenProcess(9))
	defer p.Close()
	var s SchedStat
	if err := p.SchedStat(&s); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrGone) {
		t.Errorf("schedstat: %v, want ErrUnavailable", err)
	}
}

func TestSchedStatForms(t *testing.T) {
	for text, want := range map[string]SchedStat{
		"1 2 3\n":   {num(1), num(2), num(3)},
		"0 0 1\n":   {num(0), num(0), num(1)},
		"0 0 0\n":   {}, // the kernel does not keep them
		"1 2 3 4\n": {num(1), num(2), num(3)},
	} {
		var s SchedStat
		if err := parseSchedStat(&s, []byte(text)); err != nil || s != want {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "1 2", "1 2 x\n", "-1 2 3\n", "1 2\n3\n"} {
		var s SchedStat
		if err := parseSchedStat(&s, []byte(text)); err == nil || s != (SchedStat{}) {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
}

func TestChildrenByParentWithoutTaskFiles(t *testing.T) {
	f, _ := tree(t, map[string]string{
		"proc/9/stat":  statLine(9, "master", 1, 100),
		"proc/11/stat": statLine(11, "w", 9, 101),
		"proc/10/stat": statLine(10, "w", 9, 102),
		"proc/12/stat": statLine(12, "other", 1, 103),
		"proc/13/maps": "", // ended meanwhile
	})
	p := must[*Process](t)(f.OpenProcess(9))
	defer p.Close()
	kids := must[[]int](t)(p.Children(nil))
	if !slices.Equal(kids, []int{10, 11}) {
		t.Errorf("children = %v, want 10 and 11", kids)
	}
}

// start runs a child that is killed and reaped at the end of the test.
func start(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(cmd) })
	return cmd
}

func end(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
}

// eventually waits for what another process does in its own time.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for range 2000 {
		if ok() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("never happened: %s", what)
}

// sleeping starts a child and opens it when it has come to rest.
func sleeping(t *testing.T) (*exec.Cmd, *Process) {
	t.Helper()
	cmd := start(t, "sleep", "300")
	p := must[*Process](t)(live(t).OpenProcess(cmd.Process.Pid))
	t.Cleanup(func() { p.Close() })
	var s PIDStat
	eventually(t, "sleep sleeps", func() bool {
		return p.Stat(&s) == nil && s.Comm == "sleep" && s.State == 'S'
	})
	return cmd, p
}

// Against ps(1) and prometheus/procfs, on a process that does nothing.
func TestProcessLive(t *testing.T) {
	cmd, p := sleeping(t)
	var s PIDStat
	var st PIDStatus
	var sched SchedStat
	if err := errors.Join(p.Stat(&s), p.Status(&st), p.SchedStat(&sched)); err != nil {
		t.Fatal(err)
	}
	pid := strconv.Itoa(cmd.Process.Pid)
	out := output(t, "ps", "-o", "ppid=,nlwp=,rss=,vsz=,s=,psr=,comm=", "-p", pid)
	ps := strings.Fields(out)
	got := fmt.Sprintf("%d %d %d %d %c %d %s", s.PPID, s.Threads, st.VmRSS.Value/1024, s.VSize/1024, s.State, s.Processor, s.Comm)
	wantEqual(t, "ps", got, strings.Join(ps, " "))
	wantEqual(t, "PPid", s.PPID, os.Getpid())

	other := must[procfs.Proc](t)(procfs.NewProc(cmd.Process.Pid))
	ost := must[procfs.ProcStat](t)(other.Stat())
	wantEqual(t, "start", s.StartTicks, ost.Starttime)
	wantEqual(t, "utime", s.UserTicks, uint64(ost.UTime))
	wantEqual(t, "minflt", s.MinFaults, uint64(ost.MinFlt))
	ostatus := must[procfs.ProcStatus](t)(other.NewStatus())
	wantEqual(t, "VmRSS", st.VmRSS, num(ostatus.VmRSS))
	wantEqual(t, "VmHWM", st.VmHWM, num(ostatus.VmHWM))
	wantEqual(t, "RssAnon", st.RssAnon, num(ostatus.RssAnon))
	wantEqual(t, "RssFile", st.RssFile, num(ostatus.RssFile))
	wantEqual(t, "voluntary", st.VoluntarySwitches, num(ostatus.VoluntaryCtxtSwitches))
	osched := must[procfs.ProcSchedstat](t)(other.Schedstat())
	wantEqual(t, "run", sched.RunNanos, num(osched.RunningNanoseconds))
	wantEqual(t, "wait", sched.WaitNanos, num(osched.WaitingNanoseconds))
	wantEqual(t, "timeslices", sched.Timeslices, num(osched.RunTimeslices))
}

func TestCPUsAllowedLive(t *testing.T) {
	cmd := start(t, "taskset", "-c", "0", "sleep", "300")
	p := must[*Process](t)(live(t).OpenProcess(cmd.Process.Pid))
	defer p.Close()
	var st PIDStatus
	eventually(t, "taskset has set the CPU", func() bool {
		return p.Status(&st) == nil && st.CPUsAllowedList == "0"
	})
}

func TestDeadProcessIsGone(t *testing.T) {
	cmd, p := sleeping(t)
	var s PIDStat
	var st PIDStatus
	var sched SchedStat
	if err := p.SchedStat(&sched); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "killed, not reaped: state Z", func() bool { return p.Stat(&s) == nil && s.State == 'Z' })
	_ = cmd.Wait()
	for name, err := range map[string]error{
		"stat":                      p.Stat(&s),
		"schedstat":                 p.SchedStat(&sched),
		"status, not opened before": p.Status(&st),
		"children":                  second(p.Children(nil)),
		"opening it":                second(live(t).OpenProcess(cmd.Process.Pid)),
		"its cgroup":                second(live(t).CgroupOf(cmd.Process.Pid)),
	} {
		if !errors.Is(err, ErrGone) {
			t.Errorf("%s: %v, want ErrGone", name, err)
		}
	}
	wantEqual(t, "stat", s, PIDStat{})
	wantEqual(t, "schedstat", sched, SchedStat{})
}

// Against pgrep(1): of a shell with one thread, and of this process, which has
// several.
func TestChildrenLive(t *testing.T) {
	sh := start(t, "sh", "-c", "sleep 300 & sleep 300 & wait")
	f := live(t)
	for _, pid := range []int{sh.Process.Pid, os.Getpid()} {
		p := must[*Process](t)(f.OpenProcess(pid))
		defer p.Close()
		atLeast := 1
		if pid == sh.Process.Pid {
			atLeast = 2
		}
		var kids []int
		eventually(t, "the children are there", func() bool {
			kids = must[[]int](t)(p.Children(nil))
			return len(kids) >= atLeast
		})
		slices.Sort(kids)
		byParent := slices.DeleteFunc(must[[]int](t)(p.childrenByParent(nil)), isNot(kids))
		if !slices.Equal(kids, byParent) {
			t.Errorf("children of %d = %v, by parent %v", pid, kids, byParent)
		}
		out := output(t, "pgrep", "-P", strconv.Itoa(pid))
		for _, kid := range kids {
			if !slices.Contains(strings.Fields(out), strconv.Itoa(kid)) {
				t.Errorf("child %d of %d: pgrep has %q", kid, pid, out)
			}
		}
	}
}

func isNot(pids []int) func(int) bool {
	return func(pid int) bool { return !slices.Contains(pids, pid) }
}
