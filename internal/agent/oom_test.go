package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brink/internal/kernel"
)

// The records are what Linux 4.19, 5.10 and 6.1 print (mm/oom_kill.c), with the
// prefix of /dev/kmsg.
func TestTheKernelsLogNamesWhoWasKilled(t *testing.T) {
	w := &oomWatch{killed: map[int]string{}}
	for _, r := range []string{
		"6,1000,500,-;Memory: 1855000K available",
		"4,1001,501,-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/,task=python3,pid=40,uid=0",
		"3,1002,502,-;Out of memory: Killed process 41 (python3) total-vm:812312kB, anon-rss:301212kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1024kB oom_score_adj:0",
		"3,1003,503,-;Memory cgroup out of memory: Killed process 42 (node) total-vm:1000kB, anon-rss:500kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:80kB oom_score_adj:0",
		"3,1004,504,-;Out of memory: Kill process 43 (sh) score 900 or sacrifice child",
		"6,1005,505,-;oom_reaper: reaped process 44 (python3), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
	} {
		w.record(r)
	}
	for pid, want := range map[int]string{
		40: "", 43: "", 44: "",
		41: "the machine was out of memory: Killed process 41 (python3), anon-rss:301212kB",
		42: "its cgroup was out of memory: Killed process 42 (node), anon-rss:500kB",
	} {
		if got := w.take(pid); got != want {
			t.Errorf("pid %d: %q, want %q", pid, got, want)
		}
	}
	if got := w.take(41); got != "" {
		t.Errorf("asked again: %q, want nothing: the pid may be another's by then", got)
	}
}

func TestTheLogIsFollowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kmsg")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	fs, err := kernel.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer fs.Close()
	w := watchOOM(fs, path)
	if _, err := log.WriteString("3,1,2,-;Out of memory: Killed process 7 (x) total-vm:1kB, anon-rss:2kB\n"); err != nil {
		t.Fatal(err)
	}
	why := ""
	for limit := time.Now().Add(10 * time.Second); why == "" && time.Now().Before(limit); time.Sleep(time.Millisecond) {
		why = w.take(7)
	}
	if !strings.Contains(why, "Killed process 7 (x)") {
		t.Errorf("%q", why)
	}
	if err := w.close(); err != nil {
		t.Error(err)
	}
}

func TestALogThatMayNotBeRead(t *testing.T) {
	fs, err := kernel.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer fs.Close()
	w := watchOOM(fs, filepath.Join(t.TempDir(), "none"))
	if w.log != nil || w.close() != nil {
		t.Error("a log that is not there is followed")
	}
	// The machine's own counter decides then; it does not move here.
	if w.machineKill() {
		t.Error("an OOM kill that nothing counted")
	}
}

func FuzzOOMRecord(f *testing.F) {
	f.Add("3,1,2,-;Out of memory: Killed process 7 (x) total-vm:1kB")
	f.Add("out of memory Killed process 99999999999999999999 (")
	f.Fuzz(func(t *testing.T, text string) {
		w := &oomWatch{killed: map[int]string{}}
		w.record(text)
		for pid, why := range w.killed {
			if pid < 0 || !strings.Contains(text, "Killed process") || why == "" {
				t.Errorf("pid %d: %q from %q", pid, why, text)
			}
		}
	})
}

func TestAStartThatTheOOMKillerSpoilsSaysSo(t *testing.T) {
	silent := errors.New("has no listener on port 80")
	for kills, want := range map[uint64]string{
		0: "it did not answer /health within 1m0s: it has no listener on port 80; its last lines: bye",
		3: "it did not answer /health within 1m0s: it has no listener on port 80; meanwhile the OOM killer ended 3 of its processes; its last lines: bye",
	} {
		if got := unanswered(time.Minute, silent, kills, "bye"); got != want {
			t.Errorf("%d kills: %q, want %q", kills, got, want)
		}
	}
}
