package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"brink/internal/kernel"
	"brink/internal/system"
)

// A cgroup that is removed is unknown, and one that takes its name is read,
// although the files of the first are still open. In brink's own guest, in which
// host/vm runs this, a cgroup can be made.
func TestGuestReadsACgroupThatIsMadeAgain(t *testing.T) {
	path := "/brink-test-" + strconv.Itoa(os.Getpid())
	dir, why := makeGroup(t, path)
	if why != nil {
		t.Logf("only the guest tests this, for here no cgroup with the memory controller can be made: %v", why)
		if os.Getenv("BRINK_TEST_GUEST") != "" { // agenttest.GuestVariable
			t.Error("this is the guest")
		}
		return
	}
	machine, err := kernel.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer machine.Close()
	p := &app{agent: &agent{fs: machine}}
	p.cgroup.Store(&system.Group{Path: path})
	g := newAppSignals(p)
	defer g.close()
	memory := func() int64 {
		x := nothing()
		g.read(&x, time.Unix(0, 0), changes{stalled: true, killed: true})
		return x.CgMemory
	}
	if got := memory(); got < 0 {
		t.Fatalf("the cgroup's memory is %d", got)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := memory(); got != -1 {
			t.Errorf("the memory of a removed cgroup is %d, want -1", got)
		}
	}
	if _, why := makeGroup(t, path); why != nil {
		t.Fatal(why)
	}
	memory() // finds that there is one
	if got := memory(); got < 0 {
		t.Errorf("the memory of the cgroup that took its name is %d", got)
	}
}

// makeGroup makes a cgroup with the memory controller. It returns why where this
// user may not, or may not have the controller there, which holds for the agent
// too.
func makeGroup(t *testing.T, path string) (dir string, why error) {
	t.Helper()
	dir, usage := filepath.Join("/sys/fs/cgroup/memory", path), "memory.usage_in_bytes"
	if _, err := os.Stat("/sys/fs/cgroup/memory/memory.stat"); err != nil {
		dir, usage = filepath.Join("/sys/fs/cgroup", path), "memory.current"
	}
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.EROFS) {
		return dir, err
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	_, err = os.Stat(filepath.Join(dir, usage))
	return dir, err
}
