package cli

import (
	"bytes"
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

	"brink/internal/record"
)

// patience bounds the waits for things that must happen; how long they take
// is not asserted, the machine may be busy.
const patience = 30 * time.Second

// session is a place to run brink in, with a registry and temporary files of
// its own. A mark in the environment tells its processes from all others: brink
// and its agent have it from the session, apps from the experiment.
type session struct {
	t          *testing.T
	work, mark string
}

const markName = "BRINK_TEST_MARK"

func newSession(t *testing.T) *session {
	t.Helper()
	s := &session{t: t, work: t.TempDir(), mark: fmt.Sprintf(markName+"=%d-%d", os.Getpid(), time.Now().UnixNano())}
	for _, dir := range []string{"runtime", "tmp"} {
		if err := os.Mkdir(s.path(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, pid := range s.marked() {
			t.Errorf("process %d is left: %s", pid, cmdline(pid))
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return s
}

func (s *session) path(name string) string { return filepath.Join(s.work, name) }

// file writes a file of the session, with the mark's value for VALUE.
func (s *session) file(name, text string) {
	s.t.Helper()
	_, value, _ := strings.Cut(s.mark, "=")
	if err := os.WriteFile(s.path(name), []byte(strings.ReplaceAll(text, "VALUE", value)), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// command is brink with arguments, in a process group of its own as a shell
// gives it one.
func (s *session) command(args ...string) *exec.Cmd {
	cmd := exec.Command("brink", args...)
	cmd.Dir = s.work
	cmd.Env = append(os.Environ(), s.mark, "XDG_RUNTIME_DIR="+s.path("runtime"), "TMPDIR="+s.path("tmp"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// run runs brink to its end.
func (s *session) run(args ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	var out, err bytes.Buffer
	cmd := s.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &err
	return exitCode(s.t, cmd.Run()), out.String(), err.String()
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return 0
}

// marked lists the living processes of the session.
func (s *session) marked() []int {
	s.t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		s.t.Fatal(err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		// Of a process that is gone, or that was not waited for, it is empty.
		env, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if slices.Contains(strings.Split(string(env), "\x00"), s.mark) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// find returns the session's processes whose command line holds text.
func (s *session) find(text string) []int {
	return slices.DeleteFunc(s.marked(), func(pid int) bool { return !strings.Contains(cmdline(pid), text) })
}

func cmdline(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.ReplaceAll(string(text), "\x00", " ")
}

func (s *session) await(what string, ok func() bool) {
	s.t.Helper()
	for limit := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			s.t.Fatalf("waited in vain: %s", what)
		}
	}
}

// trafficRuns tells whether the run in dir has come to its first request.
func (s *session) trafficRuns(dir string) bool {
	r, err := record.Open(s.path(dir))
	if err != nil {
		return false
	}
	defer r.Close()
	_, rows, err := r.Query(s.t.Context(), "SELECT 1 FROM repetitions JOIN streams ON repetition_id = repetitions.id WHERE traffic_ns IS NOT NULL")
	if err != nil {
		return false
	}
	for range rows {
		return true
	}
	return false
}

func (s *session) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(s.path(name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// experimentOf is an experiment with one app and one stream of traffic.
func experimentOf(app, traffic string) string {
	return `name: one
title: One step
type: config
question: What happens?
why: It must be known.
symptoms: [Something happens.]
hypotheses:
  - {id: H1, claim: It is answered., form: law, metric: last_answer_s, steps: s, formula: "1", tolerance: 10%, config: true}
apps:
  - {name: api, env: {` + markName + `: VALUE}, ` + app + `}
steps:
  - {name: s, traffic: ` + traffic + `}
repetitions: 2
`
}

var (
	builtIn = "runtime: go, workers: 2"
	holding = "{kind: batch, count: 3, path: /thread-hold?secs=60, timeout: 2m}"
)

// start starts a run and waits until requests are under way.
func (s *session) start(dir string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	s.t.Helper()
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	cmd = s.command("run", "one.yaml", "--out", dir)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.await("requests", func() bool { return s.trafficRuns(dir) })
	return cmd, stdout, stderr
}

func TestInterruptStopsCleanlyAndKeepsWhatWasRecorded(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			s.file("one.yaml", experimentOf(builtIn, holding))
			cmd, stdout, stderr := s.start("run")
			if n := len(s.find(" app ")); n != 3 {
				t.Errorf("%d processes of the app before the interrupt, want a master and 2 workers", n)
			}
			// As Ctrl-C does, to the whole foreground group.
			if err := syscall.Kill(-cmd.Process.Pid, sig); err != nil {
				t.Fatal(err)
			}
			if code := exitCode(t, cmd.Wait()); code != exitBroken {
				t.Errorf("exit code %d, want %d", code, exitBroken)
			}
			if left := s.marked(); len(left) > 0 {
				t.Errorf("processes %v are there when brink has ended", left)
			}
			if left, _ := filepath.Glob(s.path("tmp/brink-run-*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if !strings.HasSuffix(stderr.String(), "\nbrink: interrupted; what was recorded is in run\n") {
				t.Errorf("stderr is\n%s", stderr)
			}
			const notice = "The run was interrupted: stopped by the user."
			if !strings.HasPrefix(stdout.String(), "NOTE "+notice) || !strings.HasSuffix(stdout.String(), "\nReport: run/report.html\n") {
				t.Errorf("stdout is\n%s", stdout)
			}
			if !strings.Contains(s.read("run/report.md"), notice) || !strings.Contains(s.read("run/report.html"), notice) {
				t.Error("the report does not say that it was interrupted")
			}
			_, out, _ := s.run("query", "run", "SELECT count(*), min(o.name), min(r.status) FROM probes p JOIN outcomes o ON o.id = p.outcome, repetitions r", "--csv")
			if !strings.HasSuffix(out, "\n3,canceled,interrupted\n") {
				t.Errorf("the record holds %q, want the 3 requests that were under way", out)
			}
		})
	}
}

// An interrupt that comes before there is anything to keep.
func TestInterruptBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	// A python3 that takes its time to say what it can import.
	if err := os.Mkdir(s.path("bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.file("bin/python3", "#!/bin/sh\ntouch asked\nexec sleep 60\n")
	if err := os.Chmod(s.path("bin/python3"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.file("one.yaml", experimentOf("runtime: flask, workers: 2", holding))
	cmd := s.command("run", "one.yaml", "--out", "run")
	brink, err := exec.LookPath("brink")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Path = brink
	cmd.Env = append(cmd.Env, "PATH="+s.path("bin")+":"+os.Getenv("PATH"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.await("the question", func() bool { _, err := os.Stat(s.path("asked")); return err == nil })
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, cmd.Wait()); code != exitBroken || stderr.String() != "brink: interrupted\n" {
		t.Errorf("exit code %d, stderr %q", code, stderr.String())
	}
	if _, err := os.Stat(s.path("run")); err == nil {
		t.Error("a run directory was made")
	}
}

func TestNothingOutlivesAKilledRunAndItsRecordIsReported(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.file("one.yaml", experimentOf(builtIn, holding))
	cmd, _, _ := s.start("run")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	s.await("the end of agent and app", func() bool { return len(s.marked()) == 0 })

	code, stdout, stderr := s.run("report", "run")
	if code != exitDone || !strings.HasPrefix(stdout, "NOTE The record was cut off: it ends at ") {
		t.Errorf("exit code %d, stdout\n%s\nstderr\n%s", code, stdout, stderr)
	}
	if !strings.Contains(s.read("run/report.md"), "The record was cut off: it ends at ") {
		t.Error("the report does not say where the record ends")
	}
}

// Brink and its agent are killed together: the app's first process dies with
// the agent, what that had started stays until the next run sweeps it away.
func TestTheNextRunSweepsWhatAKilledAgentLeft(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.file("one.yaml", experimentOf("runtime: command, command: [badapp, leaves]",
		"{kind: steady, every: 50ms, path: /ping, duration: 60s}"))
	cmd, _, _ := s.start("killed")
	s.await("the app's child in the registry", func() bool {
		for _, pid := range s.find("sleep 60") {
			entries, _ := filepath.Glob(s.path("runtime/brink/*.json"))
			for _, e := range entries {
				if text, err := os.ReadFile(e); err == nil && strings.Contains(string(text), fmt.Sprintf(`"pid":%d,`, pid)) {
					return true
				}
			}
		}
		return false
	})
	agents := s.find("agent --dir")
	if len(agents) != 1 {
		t.Fatalf("agents %v, want one", agents)
	}
	for _, pid := range []int{cmd.Process.Pid, agents[0]} {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait()
	s.await("the end of all but the child", func() bool { return len(s.marked()) == 1 })

	s.file("two.yaml", experimentOf(builtIn, "{kind: batch, count: 1, path: /ping}"))
	if code, _, stderr := s.run("run", "two.yaml", "--out", "next", "--repetitions", "1"); code != exitDone {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if left := s.marked(); len(left) > 0 {
		t.Errorf("processes %v are left after the next run", left)
	}
	for _, pattern := range []string{"runtime/brink/*", "tmp/brink-run-*"} {
		if left, _ := filepath.Glob(s.path(pattern)); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

func TestAFullDiskStopsTheRunAndKeepsWhatWasWritten(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	disk := s.path("disk")
	if err := os.Mkdir(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=700k"); err != nil {
		t.Fatalf("a small file system must be mounted for this test: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	s.file("one.yaml", experimentOf(builtIn, "{kind: rate, rate: 1000, path: /ping, duration: 10m, reuse: true}"))
	code, stdout, stderr := s.run("run", "one.yaml", "--out", "disk/run")
	if code != exitBroken || stdout != "" {
		t.Errorf("exit code %d, want %d; stdout %q", code, exitBroken, stdout)
	}
	var kept, samples int
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	last := lines[len(lines)-1]
	if _, err := fmt.Sscanf(last, "brink: the disk that holds disk/run is full: %d probes and %d samples", &kept, &samples); err != nil || kept == 0 {
		t.Errorf("the last line is %q", last)
	}
	if !strings.HasSuffix(last, "so that the report is missing: brink report disk/run --out DIR writes it elsewhere") {
		t.Errorf("the last line is %q", last)
	}
	if _, out, _ := s.run("query", "disk/run", "SELECT status, (SELECT count(*) FROM probes) FROM run", "--csv"); !strings.HasSuffix(out, fmt.Sprintf("\nbroken,%d\n", kept)) {
		t.Errorf("the record says %q, the message %d", out, kept)
	}
	code, stdout, stderr = s.run("report", "disk/run", "--out", "elsewhere")
	if code != exitDone || !strings.HasPrefix(stdout, "NOTE The run broke: the disk that holds disk/run is full: ") {
		t.Errorf("exit code %d, stdout\n%s\nstderr\n%s", code, stdout, stderr)
	}
	if !strings.Contains(s.read("elsewhere/report.md"), "is full") {
		t.Error("the report does not say that the disk was full")
	}
}
