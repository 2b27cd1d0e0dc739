// Package system has what an agent does to its Linux machine so that it carries
// a plan: cgroups, containers, memory that is held in the platform's name, swap
// that is emptied, memory that is locked, priority. It knows of no app and of no
// lab.
package system

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"brink/internal/clock"
)

// cgroupRoot is where cgroup v2 is mounted, if it is the only hierarchy.
const cgroupRoot = "/sys/fs/cgroup"

// Group is one directory of the agent's own in the cgroup v2 hierarchy.
//
// https://www.kernel.org/doc/html/latest/admin-guide/cgroup-v2.html
type Group struct {
	// Dir is absolute.
	Dir string
	// Path is where it is in the hierarchy, such as "/brink-1-2/app1".
	Path string
}

// NewGroup makes a cgroup of that name, with the memory and CPU controllers for
// its children, in the nearest one that this user may divide. The error is one
// sentence that says why there is none.
func NewGroup(name string) (*Group, error) {
	if CgroupVersion() != "v2" {
		return nil, fmt.Errorf("resources are controlled by cgroup %s here, not by v2 alone", CgroupVersion())
	}
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	_, own, _ := strings.Cut(strings.TrimSpace(string(b)), "0::")
	parent, err := delegated(cgroupRoot, own, os.Geteuid())
	if err != nil {
		return nil, err
	}
	c := &Group{Dir: filepath.Join(cgroupRoot, parent, name), Path: path.Join(parent, name)}
	if err := os.Mkdir(c.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("making a cgroup: %w", err)
	}
	if err := c.divide(); err != nil {
		return nil, errors.Join(err, c.Remove())
	}
	return c, nil
}

// CgroupVersion tells which hierarchy controls resources: v2, v1,
// "v1 (hybrid)" or none.
// https://www.kernel.org/doc/html/latest/admin-guide/cgroup-v2.html
func CgroupVersion() string {
	var s unix.Statfs_t
	if err := unix.Statfs(cgroupRoot, &s); err != nil {
		return "none"
	}
	if s.Type == unix.CGROUP2_SUPER_MAGIC {
		return "v2"
	}
	if unix.Statfs(cgroupRoot+"/unified", &s) == nil && s.Type == unix.CGROUP2_SUPER_MAGIC {
		return "v1 (hybrid)"
	}
	return "v1"
}

// delegated returns the nearest cgroup from own upwards that belongs to this
// user and can give the memory controller to a child.
func delegated(root, own string, euid int) (string, error) {
	why := "no cgroup above this process is delegated to this user"
	for at := path.Clean("/" + own); ; at = path.Dir(at) {
		dir := filepath.Join(root, at)
		switch {
		case !isDelegated(dir, at == path.Clean("/"+own), euid):
		case !listed(dir, "cgroup.controllers", "memory"):
			why = fmt.Sprintf("the delegated cgroup %s has no memory controller", at)
		case listed(dir, "cgroup.subtree_control", "memory"):
			return at, nil
		case isTop(dir) || isEmptyFile(dir, "cgroup.procs"):
			if err := write(dir, "cgroup.subtree_control", "+memory"); err == nil {
				return at, nil
			}
			fallthrough
		default:
			why = fmt.Sprintf("the delegated cgroup %s holds processes of its own, so that it cannot be divided", at)
		}
		if at == "/" {
			return "", errors.New(why)
		}
	}
}

// isDelegated tells whether a cgroup is this user's to divide: owned by a user
// other than root, marked by systemd (https://systemd.io/CGROUP_DELEGATION), or
// the top of a tree in which this process is where it started, that is, where
// no manager keeps order.
func isDelegated(dir string, own bool, euid int) bool {
	if unix.Access(dir, unix.W_OK) != nil || unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) != nil {
		return false
	}
	var st unix.Stat_t
	if unix.Stat(dir, &st) == nil && euid != 0 && int(st.Uid) == euid {
		return true
	}
	for _, name := range []string{"trusted.delegate", "user.delegate"} {
		value := make([]byte, 8)
		if n, err := unix.Getxattr(dir, name, value); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return own && isTop(dir)
}

// isTop tells whether dir is the real top of the hierarchy, which alone has no
// cgroup.events and may hold processes beside children.
func isTop(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "cgroup.events"))
	return errors.Is(err, fs.ErrNotExist)
}

func listed(dir, file, word string) bool {
	b, err := os.ReadFile(filepath.Join(dir, file))
	return err == nil && slices.Contains(strings.Fields(string(b)), word)
}

func isEmptyFile(dir, file string) bool {
	b, err := os.ReadFile(filepath.Join(dir, file))
	return err == nil && len(strings.TrimSpace(string(b))) == 0
}

func write(dir, file, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// divide gives its children every controller that matters; only memory must be
// there.
func (c *Group) divide() error {
	for _, optional := range []string{"+cpu", "+io", "+pids"} {
		_ = write(c.Dir, "cgroup.subtree_control", optional)
	}
	return write(c.Dir, "cgroup.subtree_control", "+memory")
}

// Leaf returns a cgroup for processes, which it makes if need be.
func (c *Group) Leaf(name string) (*Group, error) {
	l := &Group{Dir: filepath.Join(c.Dir, name), Path: path.Join(c.Path, name)}
	if err := os.Mkdir(l.Dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("making a cgroup: %w", err)
	}
	return l, nil
}

// Limit sets memory.max or memory.swap.max in units of 2^20 bytes.
func (c *Group) Limit(file string, mb int) error {
	return write(c.Dir, file, strconv.FormatInt(int64(mb)<<20, 10))
}

// Place makes cmd start inside the cgroup. The file must be closed once it has.
func (c *Group) Place(cmd *exec.Cmd) (*os.File, error) {
	f, err := os.Open(c.Dir)
	if err != nil {
		return nil, err
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(f.Fd())
	return f, nil
}

// Kill kills what runs in the cgroup and its children. Kernels before 5.14 cannot.
func (c *Group) Kill() error { return write(c.Dir, "cgroup.kill", "1") }

// Remove kills what runs in the cgroup and its children and removes them.
func (c *Group) Remove() error { return RemoveGroup(c.Dir) }

// RemoveLimit is how long processes may take to vanish when killed. Those that
// wait for memory on a machine which has none end when they have got it.
const RemoveLimit = time.Minute

// RemoveGroup is Remove for the cgroup at dir, which may be gone already.
func RemoveGroup(dir string) error {
	deadline := clock.Real.Now().Add(RemoveLimit)
	for {
		// Kernels before 5.14 have no cgroup.kill; the trees are ended by then.
		_ = write(dir, "cgroup.kill", "1")
		err := removeDirs(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if clock.Real.Now().After(deadline) {
			return fmt.Errorf("removing a cgroup: %w", err)
		}
		<-clock.Real.After(10 * time.Millisecond)
	}
}

// removeDirs removes a directory of directories; a cgroup's files go with it.
func removeDirs(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeDirs(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return os.Remove(dir)
}
