package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pidStatLine is /proc/PID/stat with 41 fields, of which only a few matter.
func pidStatLine(pid int, comm string, ppid int, user, sys uint64) string {
	return fmt.Sprintf("%d (%s) S %d 0 0 0 -1 2129984 0 0 0 0 %d %d 0 0 20 0 1 0 3 0 0 %s\n", pid, comm, ppid, user, sys, strings.Repeat("0 ", 17))
}

func kernelThreads(t *testing.T, threads map[int]string) (*FS, string) {
	t.Helper()
	files := map[string]string{"proc/2/stat": pidStatLine(2, "kthreadd", 0, 0, 0)}
	kids := ""
	for pid, stat := range threads {
		files["proc/"+strconv.Itoa(pid)+"/stat"] = stat
		kids += strconv.Itoa(pid) + " "
	}
	files["proc/2/task/2/children"] = kids
	return tree(t, files)
}

func TestKswapdIsFoundAmongKernelThreads(t *testing.T) {
	f, dir := kernelThreads(t, map[int]string{
		3:  pidStatLine(3, "rcu_gp", 2, 900, 900),
		45: pidStatLine(45, "kswapd0", 2, 1, 36),
		46: pidStatLine(46, "kswapd1", 2, 0, 4),
		47: pidStatLine(47, "kswapd_worker", 2, 50, 50),
	})
	// A process that borrows the name is no child of kthreadd.
	write(t, filepath.Join(dir, "proc/500/stat"), pidStatLine(500, "kswapd0", 1, 7000, 0))
	k := must[*Kswapd](t)(f.Kswapd())
	defer k.Close()
	wantEqual(t, "ticks", must[uint64](t)(k.Ticks()), 1+36+4)
	write(t, filepath.Join(dir, "proc/45/stat"), pidStatLine(45, "kswapd0", 2, 1, 40))
	wantEqual(t, "ticks later", must[uint64](t)(k.Ticks()), 1+40+4)

	// A node is taken out and another comes: the total does not fall.
	write(t, filepath.Join(dir, "proc/46/stat"), pidStatLine(46, "other", 2, 1, 1)[:3])
	write(t, filepath.Join(dir, "proc/60/stat"), pidStatLine(60, "kswapd2", 2, 0, 5))
	write(t, filepath.Join(dir, "proc/2/task/2/children"), "3 45 60 ")
	wantEqual(t, "after a change", must[uint64](t)(k.Ticks()), 1+40+4+5)
	if n := testing.AllocsPerRun(50, func() { _, _ = k.Ticks() }); n != 0 {
		t.Errorf("%v allocations per reading, want 0", n)
	}
}

func TestKswapdIsLookedForUntilEachMemoryNodeHasOne(t *testing.T) {
	threads := map[int]string{44: pidStatLine(44, "kswapd0", 2, 0, 1), 45: pidStatLine(45, "kswapd1", 2, 0, 2), 46: pidStatLine(46, "kswapd4", 2, 0, 4)}
	for nodes, want := range map[string]uint64{"0\n": 1, "0-1\n": 3, "0-1,4\n": 7, "0-1,4-7\n": 7, "\n": 7, "1-0\n": 7, "x\n": 7} {
		f, dir := kernelThreads(t, threads)
		write(t, filepath.Join(dir, "proc/2/task/2/children"), "44 45 46 ")
		write(t, filepath.Join(dir, "sys/devices/system/node/has_memory"), nodes)
		k := must[*Kswapd](t)(f.Kswapd())
		wantEqual(t, "ticks with nodes "+nodes, must[uint64](t)(k.Ticks()), want)
		k.Close()
	}
}

func TestKswapdThatCannotBeSeenIsUnavailable(t *testing.T) {
	none, _ := kernelThreads(t, map[int]string{3: pidStatLine(3, "rcu_gp", 2, 0, 0)})
	container, _ := tree(t, map[string]string{"proc/1/stat": pidStatLine(1, "sh", 0, 0, 0)})
	for _, f := range []*FS{none, container} {
		if _, err := f.Kswapd(); !errors.Is(err, ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", err)
		}
	}
}

// Against /proc/PID/comm and stat, read by other means.
func TestKswapdLive(t *testing.T) {
	var want uint64
	found := 0
	for _, name := range must[[]string](t)(filepath.Glob("/proc/[0-9]*/comm")) {
		comm, err := os.ReadFile(name)
		if err != nil || !strings.HasPrefix(string(comm), "kswapd") {
			continue
		}
		stat := string(must[[]byte](t)(os.ReadFile(filepath.Join(filepath.Dir(name), "stat"))))
		fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
		if fields[1] != "2" { // ppid
			continue
		}
		found++
		want += must[uint64](t)(strconv.ParseUint(fields[11], 10, 64)) + must[uint64](t)(strconv.ParseUint(fields[12], 10, 64))
	}
	k, err := live(t).Kswapd()
	if found == 0 {
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("there is none, and we have %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if got := must[uint64](t)(k.Ticks()); got < want || got > want+100 {
		t.Errorf("%d ticks, /proc has %d", got, want)
	}
}

// Kernel threads have the flag PF_KTHREAD (0x200000) and kthreadd as parent;
// whatever else is second in a pid namespace of its own has neither.
func TestUserPIDs(t *testing.T) {
	f, dir := kernelThreads(t, map[int]string{3: pidStatLine(3, "rcu_gp", 2, 0, 0), 45: pidStatLine(45, "kswapd0", 2, 0, 0)})
	write(t, filepath.Join(dir, "proc/1/stat"), statLine(1, "init", 0, 5))
	write(t, filepath.Join(dir, "proc/500/stat"), statLine(500, "kswapd0", 1, 5))
	pids := must[[]int](t)(f.UserPIDs())
	slices.Sort(pids)
	wantEqual(t, "processes", fmt.Sprint(pids), "[1 500]")

	container, _ := tree(t, map[string]string{
		"proc/1/stat": statLine(1, "sh", 0, 5), "proc/2/stat": statLine(2, "kthreadd", 0, 5), "proc/2/task/2/children": "3 ",
		"proc/3/stat": statLine(3, "app", 2, 5),
	})
	pids = must[[]int](t)(container.UserPIDs())
	slices.Sort(pids)
	wantEqual(t, "processes in a container", fmt.Sprint(pids), "[1 2 3]")
}
