package kernel

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Cgroup is a control group, with the directory that each of its controllers
// has. The same readings come from v1 and v2 files, in the same units.
//
// https://www.kernel.org/doc/html/latest/admin-guide/cgroup-v2.html
// https://www.kernel.org/doc/html/latest/admin-guide/cgroup-v1/index.html
type Cgroup struct {
	fs      *FS
	v1      map[string]string // directory by controller
	unified string            // directory, "" if there is none
}

// CgroupOf returns the cgroup that a process is in. The error is [ErrGone] if
// there is no such process.
func (f *FS) CgroupOf(pid int) (*Cgroup, error) {
	name := "proc/" + strconv.Itoa(pid) + "/cgroup"
	t, err := openFile(f.at, "", name)
	if err != nil {
		return nil, f.goneOrAbsent(pid, err)
	}
	defer t.close()
	b, err := t.read()
	if err != nil {
		return nil, err
	}
	paths, err := parseCgroupPaths(b)
	if err != nil {
		return nil, t.blame(err)
	}
	return f.cgroup(func(controller string) (string, bool) {
		p, ok := paths[controller]
		return p, ok
	})
}

func (f *FS) goneOrAbsent(pid int, err error) error {
	if !f.at.isDir("proc/" + strconv.Itoa(pid)) {
		return gone(err)
	}
	return err
}

// Cgroup returns the cgroup with this path (such as "/brink/app-1") in every
// hierarchy.
func (f *FS) Cgroup(path string) (*Cgroup, error) {
	return f.cgroup(func(string) (string, bool) { return path, true })
}

// unifiedController names the v2 hierarchy in the results of parseCgroupPaths.
const unifiedController = ""

func (f *FS) cgroup(pathOf func(controller string) (string, bool)) (*Cgroup, error) {
	mounts, err := f.cgroupMounts()
	if err != nil {
		return nil, err
	}
	c := &Cgroup{fs: f, v1: map[string]string{}}
	for controller, mount := range mounts.v1 {
		if p, ok := pathOf(controller); ok {
			if dir, ok := mount.within(p); ok && f.at.isDir(dir) {
				c.v1[controller] = dir
			}
		}
	}
	if p, ok := pathOf(unifiedController); ok && mounts.unified != nil {
		if dir, ok := mounts.unified.within(p); ok && f.at.isDir(dir) {
			c.unified = dir
		}
	}
	if len(c.v1) == 0 && c.unified == "" {
		return nil, fmt.Errorf("cgroup: %w: no mounted hierarchy shows it", ErrUnavailable)
	}
	return c, nil
}

// parseCgroupPaths reads /proc/PID/cgroup: lines of ID:CONTROLLERS:PATH, where
// no controllers mean v2. Paths may hold colons, and end in " (deleted)" when
// the cgroup has been removed.
func parseCgroupPaths(b []byte) (map[string]string, error) {
	paths := map[string]string{}
	n := 0
	for line := range bytes.Lines(b) {
		n++
		text := strings.TrimSuffix(string(line), "\n")
		id, rest, ok := strings.Cut(text, ":")
		controllers, path, ok2 := strings.Cut(rest, ":")
		if _, err := strconv.ParseUint(id, 10, 32); err != nil || !ok || !ok2 || !strings.HasPrefix(path, "/") {
			return nil, &FieldError{Line: n, Field: "cgroup", Text: shorten([]byte(text)), Want: "ID:CONTROLLERS:PATH"}
		}
		path = strings.TrimSuffix(path, " (deleted)")
		for controller := range strings.SplitSeq(controllers, ",") {
			paths[controller] = path
		}
	}
	return paths, nil
}

// Dirs lists the cgroup's directories below the root of the FS, sorted.
func (c *Cgroup) Dirs() []string {
	var dirs []string
	for _, dir := range c.v1 {
		dirs = append(dirs, dir)
	}
	if c.unified != "" {
		dirs = append(dirs, c.unified)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// PSIReader opens the cgroup's RESOURCE.pressure file, which only v2 has.
func (c *Cgroup) PSIReader(r PSIResource) (*Reader[PSI], error) {
	if c.unified == "" {
		return nil, fmt.Errorf("%s.pressure: %w: only cgroup v2 has it", r, ErrUnavailable)
	}
	return newReader(c.fs.at, "", part[PSI]{name: c.unified + "/" + string(r) + ".pressure", parse: parsePSI, single: true})
}

// PSI reads the cgroup's RESOURCE.pressure file once.
func (c *Cgroup) PSI(r PSIResource) (PSI, error) { return once(c.PSIReader(r)) }

// limitFile returns how a file with one limit is read: "max" in v2; in v1 a
// negative number, or one near 2^63 that depends on the page size.
func limitFile[T any](name string, slot func(*T) *Limit) part[T] {
	return part[T]{name: name, single: true, parse: func(dst *T, b []byte) error {
		return slot(dst).parse(bytes.TrimSpace(b))
	}}
}

func (l *Limit) parse(b []byte) error {
	if string(b) == "max" || (len(b) > 1 && b[0] == '-' && isNumber(b[1:])) {
		*l = Limit{Unlimited: true}
		return nil
	}
	v, ok := parseNum(b)
	if !ok {
		return &FieldError{Line: 1, Field: "limit", Text: shorten(b), Want: `a whole number or "max"`}
	}
	if v > math.MaxInt64/2 {
		*l = Limit{Unlimited: true}
		return nil
	}
	*l = Limit{Num: Num{v, true}}
	return nil
}

func isNumber(b []byte) bool {
	_, ok := parseNum(b)
	return ok
}

// numFile returns how a file with one number is read.
func numFile[T any](name string, slot func(*T) *Num) part[T] {
	return part[T]{name: name, single: true, parse: func(dst *T, b []byte) error {
		return parseSingle(slot(dst), "value", b)
	}}
}

// flatFile returns how a file with lines of "key value" is read.
func flatFile[T any](name string, slot func(*T, []byte) *Num) part[T] {
	return part[T]{name: name, single: true, flat: func(l *layout, dst *T, b []byte) error {
		return l.parse(b, func(key []byte) *Num { return slot(dst, key) })
	}}
}

// cgroupReader opens the files of one controller: v1's where it is mounted as
// v1, else v2's.
func cgroupReader[T any](c *Cgroup, controller string, v1, v2 []part[T]) (*Reader[T], error) {
	if dir, ok := c.v1[controller]; ok {
		return newReader(c.fs.at, "", partsIn(dir, v1)...)
	}
	if c.unified == "" {
		return nil, fmt.Errorf("cgroup: %w: the %s controller is not mounted", ErrUnavailable, controller)
	}
	return newReader(c.fs.at, "", partsIn(c.unified, v2)...)
}

// partsIn returns the parts with their names below dir.
func partsIn[T any](dir string, parts []part[T]) []part[T] {
	in := slices.Clone(parts)
	for i := range in {
		in[i].name = dir + "/" + in[i].name
	}
	return in
}
