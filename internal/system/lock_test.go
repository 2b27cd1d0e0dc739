package system

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestLockMemory runs in processes of its own: one that may lock and, where the
// tests run as root, one that may not. VmLck is the kernel's own word.
func TestLockMemory(t *testing.T) {
	switch os.Getenv("AGENT_TEST_LOCK") {
	case "may":
		if err := LockMemory(); err != nil {
			t.Fatal(err)
		}
		touched := make([]byte, 8<<20)
		for i := range touched {
			touched[i] = 1
		}
		if got := lockedMemory(t); got == "0 kB" || MemoryFact() != "locked as it is touched" {
			t.Errorf("VmLck is %s, the fact %q", got, MemoryFact())
		}
		return
	case "may not":
		err := LockMemory()
		if got := lockedMemory(t); err == nil || got != "0 kB" {
			t.Errorf("VmLck is %s, %v", got, err)
		}
		if got := MemoryFact(); !strings.HasPrefix(got, "not locked: this user may lock 64 KiB") {
			t.Errorf("the fact is %q", got)
		}
		return
	}
	again := func(role string, user *syscall.Credential) {
		t.Helper()
		// Tests cannot be found by another user where they were built.
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestLockMemory$")
		if user != nil {
			cmd = exec.Command("/bin/sh", "-c", `ulimit -l 64; exec /proc/self/fd/3 -test.run='^TestLockMemory$'`)
			self, err := os.Open("/proc/self/exe")
			if err != nil {
				t.Fatal(err)
			}
			defer self.Close()
			cmd.ExtraFiles = []*os.File{self}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
			cmd.Dir = "/"
		}
		cmd.Env = append(os.Environ(), "AGENT_TEST_LOCK="+role)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", role, err, out)
		}
	}
	if mayLock() == nil {
		again("may", nil)
	}
	if os.Getuid() == 0 {
		again("may not", &syscall.Credential{Uid: 65534, Gid: 65534})
	}
}

func lockedMemory(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmLck:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}
