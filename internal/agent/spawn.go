package agent

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"brink/internal/system"
)

// spawner starts processes from one OS thread that lives as long as it does.
// PR_SET_PDEATHSIG is tied to the thread that forked, and CPU affinity is
// inherited from it, so both need a thread of their own.
type spawner struct {
	jobs chan func()
	// mu guards owned: a process is in it before anyone can see it as a child
	// of the agent, until its exec.Cmd has been waited for.
	mu    sync.Mutex
	owned map[int]bool
}

func newSpawner() *spawner {
	s := &spawner{jobs: make(chan func()), owned: map[int]bool{}}
	go func() {
		// Never unlocked: the thread ends with the goroutine, and the kernel
		// then kills whatever it started that is still there.
		runtime.LockOSThread()
		_ = system.GoWithTheOthers() // to give up a priority is always allowed
		for job := range s.jobs {
			job()
		}
	}()
	return s
}

func (s *spawner) close() { close(s.jobs) }

// start starts cmd as the leader of a session of its own, on the first cpus of
// the CPUs that the agent may use (0: on all). It dies with the agent.
func (s *spawner) start(cmd *exec.Cmd, cpus int) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	done := make(chan error)
	s.jobs <- func() { done <- s.startHere(cmd, cpus) }
	return <-done
}

func (s *spawner) startHere(cmd *exec.Cmd, cpus int) error {
	if cpus > 0 {
		all, few, err := affinity(cpus)
		if err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(0, &few); err != nil {
			return fmt.Errorf("sched_setaffinity to CPUs %s: %w", cpuList(&few), err)
		}
		defer func() { _ = unix.SchedSetaffinity(0, &all) }()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	s.owned[cmd.Process.Pid] = true
	return nil
}

// wait waits for a started cmd and gives up its pid.
func (s *spawner) wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.owned, cmd.Process.Pid)
	return err
}

// reap waits for the given children of the agent that have ended and are no
// command's own.
func (s *spawner) reap(pids []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pid := range pids {
		if !s.owned[pid] {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}

func (s *spawner) owns(pid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owned[pid]
}

// affinity returns the CPUs that the calling thread may use, and the first
// count of them.
func affinity(count int) (all, few unix.CPUSet, err error) {
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return all, few, fmt.Errorf("sched_getaffinity: %w", err)
	}
	if have := all.Count(); have < count {
		return all, few, fmt.Errorf("the plan has %d CPUs, this process may use %d (CPUs %s)", count, have, cpuList(&all))
	}
	for cpu := 0; few.Count() < count; cpu++ {
		if all.IsSet(cpu) {
			few.Set(cpu)
		}
	}
	return all, few, nil
}

// AllowedCPUs returns how many CPUs the calling process may use and their list
// in the kernel's form, such as "0-2,4".
func AllowedCPUs() (count int, list string, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return 0, "", fmt.Errorf("sched_getaffinity: %w", err)
	}
	return set.Count(), cpuList(&set), nil
}

// PlanCPUs returns the list of the CPUs that the apps of a plan with the given
// number of CPUs run on.
func PlanCPUs(count int) (string, error) {
	if count < 1 {
		return "", errors.New("a plan's CPU list needs at least 1 CPU")
	}
	_, few, err := affinity(count)
	return cpuList(&few), err
}

// cpuList writes a set as Cpus_allowed_list in proc_pid_status(5) does.
func cpuList(set *unix.CPUSet) string {
	var parts []string
	left := set.Count()
	for cpu := 0; left > 0; cpu++ {
		if !set.IsSet(cpu) {
			continue
		}
		first := cpu
		for set.IsSet(cpu + 1) {
			cpu++
		}
		left -= cpu - first + 1
		part := strconv.Itoa(first)
		if cpu > first {
			part += "-" + strconv.Itoa(cpu)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}
