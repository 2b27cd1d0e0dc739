package agent

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"brink/internal/kernel"
)

// sleeper starts a process that has nothing to do with any agent.
func sleeper(t *testing.T, argv ...string) (identity, *exec.Cmd) {
	t.Helper()
	if len(argv) == 0 {
		argv = []string{"sleep", "60"}
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-done })
	return identity{cmd.Process.Pid, uint64(statField(t, cmd.Process.Pid, 22))}, cmd
}

func writeEntry(t *testing.T, dir, name string, e entry) string {
	t.Helper()
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name+".json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func runDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.MkdirAll(filepath.Join(dir, "app1"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func living(t *testing.T, id identity) bool {
	t.Helper()
	fs, err := kernel.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer fs.Close()
	return id.same(fs)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// gone is the identity of an agent that has ended.
func goneAgent(t *testing.T) identity {
	id, cmd := sleeper(t)
	_ = cmd.Process.Kill()
	for living(t, id) {
		time.Sleep(time.Millisecond)
	}
	return id
}

func TestSweepEndsOnlyWhatADeadAgentLeft(t *testing.T) {
	dir := t.TempDir()
	left, _ := sleeper(t, "sh", "-c", "sleep 61 & wait")
	reused, _ := sleeper(t)
	run := runDir(t)
	var child int
	for child == 0 {
		b, err := os.ReadFile("/proc/" + itoa(left.Pid) + "/task/" + itoa(left.Pid) + "/children")
		if err != nil {
			t.Fatal(err)
		}
		if f := strings.Fields(string(b)); len(f) > 0 {
			child = int(mustInt(t, f[0]))
		}
	}
	kid := identity{child, uint64(statField(t, child, 22))}
	file := writeEntry(t, dir, "dead", entry{
		Boot: bootID(), Agent: goneAgent(t), RunDir: run,
		// The second has the pid of a living process, started at another time.
		Processes: []identity{left, {reused.Pid, reused.Start - 1}},
	})
	if err := Sweep(dir); err != nil {
		t.Fatal(err)
	}
	if living(t, left) || living(t, kid) {
		t.Error("the app that was left, or its child, is still alive")
	}
	if !living(t, reused) {
		t.Error("a process was ended that only has the pid of a registered one")
	}
	if exists(run) || exists(file) {
		t.Error("the run directory or the entry is still there")
	}
}

func mustInt(t *testing.T, s string) int64 {
	t.Helper()
	var n int64
	if err := json.Unmarshal([]byte(s), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSweepLeavesALivingAgentAlone(t *testing.T) {
	dir, run := t.TempDir(), runDir(t)
	agent, _ := sleeper(t)
	app, _ := sleeper(t)
	file := writeEntry(t, dir, "alive", entry{Boot: bootID(), Agent: agent, RunDir: run, Processes: []identity{app}})
	if err := Sweep(dir); err != nil {
		t.Fatal(err)
	}
	if !living(t, app) || !exists(run) || !exists(file) {
		t.Error("something of a living agent's was touched")
	}
}

// After a reboot the same pid and start time are another process.
func TestSweepEndsNothingOfAnotherBoot(t *testing.T) {
	dir, run := t.TempDir(), runDir(t)
	app, _ := sleeper(t)
	writeEntry(t, dir, "old", entry{Boot: "another", Agent: app, RunDir: run, Processes: []identity{app}})
	if err := Sweep(dir); err != nil {
		t.Fatal(err)
	}
	if !living(t, app) {
		t.Error("a process was ended for an entry of another boot")
	}
	if exists(run) {
		t.Error("the run directory of another boot is still there")
	}
}

func TestSweepNamesAnEntryThatIsNone(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := Sweep(dir)
	if err == nil || !strings.Contains(err.Error(), "x.json") || !strings.Contains(err.Error(), "not an agent's entry; remove it") {
		t.Errorf("error %v", err)
	}
}

func TestSweepOfNothing(t *testing.T) {
	if err := Sweep(filepath.Join(t.TempDir(), "absent")); err != nil {
		t.Error(err)
	}
}

func TestRegistryDirRefusesOneThatOthersMayWriteTo(t *testing.T) {
	base := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", base)
	old := syscall.Umask(0)
	err := os.Mkdir(filepath.Join(base, "brink"), 0o777)
	syscall.Umask(old)
	if err != nil {
		t.Fatal(err)
	}
	if dir, err := RegistryDir(); err == nil {
		t.Errorf("%s was accepted", dir)
	}
	if err := os.Remove(filepath.Join(base, "brink")); err != nil {
		t.Fatal(err)
	}
	dir, err := RegistryDir()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 || dir != filepath.Join(base, "brink") {
		t.Errorf("%s %v %v, want it private", dir, info.Mode(), err)
	}
}
