package kernel

import (
	"bytes"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
)

// CgroupVersion says which hierarchies are mounted.
type CgroupVersion string

// The layouts of systemd's naming. In the hybrid one the resource controllers
// are on v1.
const (
	CgroupNone   CgroupVersion = "none"
	CgroupV1     CgroupVersion = "v1"
	CgroupHybrid CgroupVersion = "hybrid"
	CgroupV2     CgroupVersion = "v2"
)

// CgroupVersion returns which hierarchies are mounted.
//
// https://man7.org/linux/man-pages/man7/cgroups.7.html
func (f *FS) CgroupVersion() (CgroupVersion, error) {
	m, err := f.cgroupMounts()
	if err != nil {
		return CgroupNone, err
	}
	return m.version(), nil
}

// cgroupMount is where a hierarchy can be seen: dir, below the FS's root, shows
// the hierarchy from root on (which is not "/" in most containers).
type cgroupMount struct{ dir, root string }

type cgroupMounts struct {
	unified *cgroupMount
	v1      map[string]cgroupMount // by controller
}

func (m *cgroupMounts) version() CgroupVersion {
	switch {
	case len(m.v1) == 0 && m.unified == nil:
		return CgroupNone
	case len(m.v1) == 0:
		return CgroupV2
	case m.unified == nil:
		return CgroupV1
	}
	return CgroupHybrid
}

// within returns the directory of a cgroup, or false if the mount does not show
// it. A path with ".." leads out of the cgroup namespace.
func (m cgroupMount) within(cgroup string) (string, bool) {
	if !strings.HasPrefix(cgroup, "/") || slices.Contains(strings.Split(cgroup, "/"), "..") {
		return "", false
	}
	rel := cgroup
	if m.root != "/" {
		var ok bool
		if rel, ok = strings.CutPrefix(cgroup, m.root); !ok || (rel != "" && rel[0] != '/') {
			return "", false
		}
	}
	return path.Join(m.dir, rel), true
}

// cgroupMounts returns where the hierarchies are mounted. Once there are any, they
// stay where they are.
func (f *FS) cgroupMounts() (cgroupMounts, error) {
	if m := f.mounts.Load(); m != nil {
		return *m, nil
	}
	m, err := f.readMounts()
	if err == nil && m.version() != CgroupNone {
		f.mounts.Store(&m)
	}
	return m, err
}

// readMounts reads the mount table; captured trees that lack it are taken to
// have the hierarchies in their usual places.
func (f *FS) readMounts() (cgroupMounts, error) {
	for _, name := range []string{"proc/self/mountinfo", "proc/1/mountinfo"} {
		t, err := openFile(f.at, "", name)
		if errors.Is(err, ErrUnavailable) {
			continue
		}
		if err != nil {
			return cgroupMounts{}, err
		}
		b, err := t.read()
		if err != nil {
			t.close()
			return cgroupMounts{}, err
		}
		m := parseMountinfo(b)
		return m, t.close()
	}
	return f.usualCgroupMounts(), nil
}

// parseMountinfo reads
// "31 23 0:28 ROOT DIR OPTIONS [TAG...] - TYPE SOURCE SUPEROPTIONS".
//
// https://www.kernel.org/doc/html/latest/filesystems/proc.html#proc-pid-mountinfo-information-about-mounts
func parseMountinfo(b []byte) cgroupMounts {
	m := cgroupMounts{v1: map[string]cgroupMount{}}
	for line := range bytes.Lines(b) {
		left, right, _ := strings.Cut(string(line), " - ")
		where, what := strings.Fields(left), strings.Fields(right)
		if len(where) < 5 || len(what) < 1 {
			continue
		}
		mount := cgroupMount{
			root: unescapeMount(where[3]),
			dir:  strings.TrimPrefix(path.Clean(unescapeMount(where[4])), "/"),
		}
		switch {
		case what[0] == "cgroup2" && m.unified == nil:
			m.unified = &mount
		case what[0] == "cgroup" && len(what) >= 3:
			for option := range strings.SplitSeq(what[2], ",") {
				m.addV1(option, mount)
			}
		}
	}
	return m
}

// addV1 keeps the controllers that brink reads; the options of a mount also
// hold names, "rw" and the like.
func (m *cgroupMounts) addV1(controller string, mount cgroupMount) {
	switch controller {
	case "cpu", "cpuacct", "memory", "pids":
		if _, seen := m.v1[controller]; !seen {
			m.v1[controller] = mount
		}
	}
}

// unescapeMount undoes the kernel's octal escapes of blanks and backslashes.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

func (f *FS) usualCgroupMounts() cgroupMounts {
	const top = "sys/fs/cgroup"
	m := cgroupMounts{v1: map[string]cgroupMount{}}
	if _, err := f.root.Stat(top + "/cgroup.controllers"); err == nil {
		m.unified = &cgroupMount{dir: top, root: "/"}
		return m
	}
	if f.at.isDir(top + "/unified") {
		m.unified = &cgroupMount{dir: top + "/unified", root: "/"}
	}
	for _, dir := range []string{"cpu", "cpuacct", "cpu,cpuacct", "cpuacct,cpu", "memory", "pids"} {
		if !f.at.isDir(top + "/" + dir) {
			continue
		}
		for controller := range strings.SplitSeq(dir, ",") {
			m.addV1(controller, cgroupMount{dir: top + "/" + dir, root: "/"})
		}
	}
	return m
}
