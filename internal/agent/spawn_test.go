package agent

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCPUList(t *testing.T) {
	for want, cpus := range map[string][]int{
		"": {}, "0": {0}, "0-1": {0, 1}, "1,3": {1, 3}, "0-2,5,7-8": {0, 1, 2, 5, 7, 8},
	} {
		var set unix.CPUSet
		for _, c := range cpus {
			set.Set(c)
		}
		if got := cpuList(&set); got != want {
			t.Errorf("CPUs %v are %q, want %q", cpus, got, want)
		}
	}
}

// allowedList reads what the kernel says of a process.
func allowedList(t *testing.T, pid string) string {
	t.Helper()
	b, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "Cpus_allowed_list:\t")
	list, _, _ := strings.Cut(rest, "\n")
	return list
}

func TestAllowedCPUs(t *testing.T) {
	_, list, err := AllowedCPUs()
	if want := allowedList(t, "thread-self"); err != nil || list != want {
		t.Errorf("allowed CPUs %q, %v; the kernel says %q", list, err, want)
	}
}

func TestMoreCPUsThanThereAreIsAnError(t *testing.T) {
	have, _, err := AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := PlanCPUs(have + 1); err == nil || !strings.Contains(err.Error(), "CPUs, this process may use") {
		t.Errorf("error %v", err)
	}
}

func TestAStartedProcessRunsOnThePlansCPUsAndInItsOwnSession(t *testing.T) {
	s := newSpawner()
	defer s.close()
	before := allowedList(t, "self")
	cmd := exec.Command("sleep", "60")
	if err := s.start(cmd, 1); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	want, err := PlanCPUs(1)
	if err != nil {
		t.Fatal(err)
	}
	if got := allowedList(t, itoa(pid)); got != want || strings.ContainsAny(got, "-,") {
		t.Errorf("the process may run on CPUs %s, want the one CPU %s", got, want)
	}
	if sid, err := unix.Getsid(pid); err != nil || sid != pid {
		t.Errorf("its session is %d (%v), want its own, %d", sid, err, pid)
	}
	if got := allowedList(t, "self"); got != before {
		t.Errorf("the agent itself may run on %s now, before on %s", got, before)
	}
	// The next process is not bound by the plan of the last.
	free := exec.Command("sleep", "60")
	if err := s.start(free, 0); err != nil {
		t.Fatal(err)
	}
	if got := allowedList(t, itoa(free.Process.Pid)); got != before {
		t.Errorf("a process without a plan may run on %s, want %s", got, before)
	}
	for _, c := range []*exec.Cmd{cmd, free} {
		_ = c.Process.Kill()
		_ = s.wait(c)
	}
}
