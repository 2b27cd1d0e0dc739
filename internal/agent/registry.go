package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"brink/internal/clock"
	"brink/internal/kernel"
	"brink/internal/system"
)

// registry is the file in which a living agent says what it runs, so that the
// next start can clean up after one that was killed.
type registry struct {
	path string

	mu    sync.Mutex
	entry entry
	err   error
}

// entry is the file's content.
type entry struct {
	// Boot is the machine's boot: start times count from it.
	Boot      string     `json:"boot_id"`
	Agent     identity   `json:"agent"`
	RunDir    string     `json:"run_dir"`
	Processes []identity `json:"processes"`
	// Cgroup is the directory of the agent's cgroup, where it has one.
	Cgroup string `json:"cgroup,omitempty"`
}

// RegistryDir returns the directory where this user's agents register, and
// makes it: brink in XDG_RUNTIME_DIR, or brink-UID in the temporary directory.
// It refuses one that belongs to another user.
func RegistryDir() (string, error) {
	dir := filepath.Join(os.TempDir(), "brink-"+strconv.Itoa(os.Getuid()))
	if base := os.Getenv("XDG_RUNTIME_DIR"); base != "" {
		dir = filepath.Join(base, "brink")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("the directory of running agents: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("the directory of running agents: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm()&0o022 != 0 || ok && int(st.Uid) != os.Getuid() {
		return "", fmt.Errorf("the directory of running agents, %s, must be a directory that belongs to this user and that no other may write to", dir)
	}
	return dir, nil
}

func bootID() string {
	// Without it, start times are compared across boots, where they differ.
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
}

func openRegistry(fs *kernel.FS, dir, runDir string) (*registry, error) {
	self, err := fs.OpenProcess(os.Getpid())
	if err != nil {
		return nil, err
	}
	defer self.Close()
	id := identity{self.PID(), self.StartTicks()}
	// The run directory's name tells agents of one process apart.
	r := &registry{
		path:  filepath.Join(dir, fmt.Sprintf("%d-%d-%s.json", id.Pid, id.Start, filepath.Base(runDir))),
		entry: entry{Boot: bootID(), Agent: id, RunDir: runDir},
	}
	r.write(nil)
	return r, r.err
}

// owns writes down the agent's cgroup.
func (r *registry) owns(c *system.Group) {
	if c == nil {
		return
	}
	r.mu.Lock()
	r.entry.Cgroup = c.Dir
	processes := r.entry.Processes
	r.entry.Processes = nil // so that it is written whatever runs
	r.mu.Unlock()
	r.write(processes)
}

// write replaces the list of processes when it has changed. A failure is
// returned by close: it only matters if the agent is killed.
func (r *registry) write(ids []identity) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entry.Processes != nil && slices.Equal(ids, r.entry.Processes) {
		return
	}
	r.entry.Processes = append([]identity{}, ids...)
	b, err := json.Marshal(r.entry)
	if err == nil {
		err = os.WriteFile(r.path+".new", b, 0o600)
	}
	if err == nil {
		err = os.Rename(r.path+".new", r.path)
	}
	if err != nil {
		r.err = fmt.Errorf("registering what runs: %w", err)
	}
}

func (r *registry) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := os.Remove(r.path)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(r.err, err)
}

// Sweep cleans up after agents that were killed: of each entry in dir whose
// agent is gone it ends the processes whose pid and start time both match, what
// those have started and what runs in its cgroup, and removes cgroup and run
// directory. Entries of living agents are left alone.
func Sweep(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		return err
	}
	fs, err := kernel.Open("/")
	if err != nil {
		return err
	}
	defer fs.Close()
	for _, file := range files {
		if sweepErr := sweep(fs, file); sweepErr != nil {
			err = errors.Join(err, fmt.Errorf("cleaning up after an earlier run (%s): %w", file, sweepErr))
		}
	}
	return err
}

func sweep(fs *kernel.FS, file string) error {
	b, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil // its agent has just ended
	}
	if err != nil {
		return err
	}
	var e entry
	if err := json.Unmarshal(b, &e); err != nil {
		// It is written whole or not at all, so it is nothing of an agent's.
		return fmt.Errorf("it is not an agent's entry; remove it: %w", err)
	}
	if e.Boot == bootID() {
		if e.Agent.same(fs) {
			return nil
		}
		if err := endAll(fs, e.Processes); err != nil {
			return err
		}
		if e.Cgroup != "" {
			if err := system.RemoveGroup(e.Cgroup); err != nil {
				return err
			}
		}
	}
	if e.RunDir != "" {
		if err := os.RemoveAll(e.RunDir); err != nil {
			return err
		}
	}
	return os.Remove(file)
}

// endAll kills the processes that still are who they were, with their
// children, and waits until they are gone.
func endAll(fs *kernel.FS, ids []identity) error {
	t := newTree(fs)
	for _, id := range ids {
		if id.same(fs) {
			t.adopt(id.Pid)
		}
	}
	deadline := clock.Real.Now().Add(killLimit)
	for {
		t.scan(true)
		left := t.living()
		if len(left) == 0 {
			return nil
		}
		if clock.Real.Now().After(deadline) {
			return fmt.Errorf("%v cannot be ended", left)
		}
		t.kill()
		<-clock.Real.After(10 * time.Millisecond)
	}
}
