package evidence

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"brink/internal/kernel"
)

// captured is the files of the kernel in an input, by reading.
type captured struct {
	groups map[string]*capturedGroup // by place.group
}

type capturedGroup struct {
	rest, reading string
	files         map[string]*file // by place.rel
	left          []leftOut
}

// leftOut is a file in whose place a reading has another.
type leftOut struct {
	file *file
	as   string // by place.rel
}

// add takes in a file of a reading; had is the one that has its place already,
// in which case it is left out.
func (c *captured) add(p place, f *file) (had *file) {
	if c.groups == nil {
		c.groups = map[string]*capturedGroup{}
	}
	g := c.groups[p.group]
	if g == nil {
		g = &capturedGroup{files: map[string]*file{}}
		g.rest, g.reading = p.split()
		c.groups[p.group] = g
	}
	if had = g.files[p.rel]; had == nil {
		g.files[p.rel] = f
	}
	return had
}

// order returns the groups that make a reading each, in the order of time as
// far as names tell; those that hold cgroups only, or that stand beside t0 and
// t1, go into the last.
func (c *captured) order() []*capturedGroup {
	var whole, rest []*capturedGroup
	named := false
	for _, g := range c.groups {
		named = named || g.reading != ""
	}
	for _, key := range sortedKeys(c.groups) {
		g := c.groups[key]
		if g.reading != "" || !named && g.hasProc() {
			whole = append(whole, g)
		} else {
			rest = append(rest, g)
		}
	}
	if len(whole) == 0 {
		whole, rest = []*capturedGroup{{files: map[string]*file{}}}, slices.Concat(whole, rest)
	}
	slices.SortStableFunc(whole, func(a, b *capturedGroup) int {
		return cmp.Or(cmp.Compare(readingNumber(a.reading), readingNumber(b.reading)), cmp.Compare(a.rest, b.rest))
	})
	last := whole[len(whole)-1]
	for _, g := range rest {
		for _, rel := range sortedKeys(g.files) {
			f := g.files[rel]
			// Cgroups of another directory keep that directory's name.
			if own, ok := strings.CutPrefix(rel, ownCgroup); ok && g.rest != "" && len(rest) > 1 {
				rel = ownCgroup + "/" + g.rest + own
			}
			if last.files[rel] != nil {
				last.left = append(last.left, leftOut{f, rel})
				continue
			}
			last.files[rel] = f
		}
	}
	return whole
}

func (g *capturedGroup) hasProc() bool {
	for rel := range g.files {
		if strings.HasPrefix(rel, "proc/") {
			return true
		}
	}
	return false
}

func readingNumber(name string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(name, "t"))
	return n
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// read takes the reading that a group of files holds. The files are laid out
// in a directory of their own, so that the code that reads "/" reads them.
func (g *capturedGroup) read() (r Reading, faults []Stranger, err error) {
	dir, err := os.MkdirTemp("", "brink-evidence-")
	if err != nil {
		return Reading{}, nil, fmt.Errorf("laying out captured files: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	t := &tree{shown: map[string]string{}, flat: map[string]flat{}}
	cgroups, err := g.layOut(dir, t)
	if err != nil {
		return Reading{}, nil, fmt.Errorf("laying out captured files: %w", err)
	}
	if t.fs, err = kernel.Open(dir); err != nil {
		return Reading{}, nil, err
	}
	defer t.fs.Close()
	t.text = g.text
	r = Reading{Name: g.reading, View: ViewMachine}
	t.readMachine(&r, nil)
	t.readTables(&r)
	pids, _ := t.fs.PIDs()
	slices.Sort(pids)
	const mostSched = 512
	for _, pid := range pids[:min(len(pids), mostSched)] {
		if g.files["proc/"+strconv.Itoa(pid)+"/schedstat"] != nil {
			t.readSched(&r, []int{pid}, nil)
		}
	}
	t.readKswapd(&r)
	for _, cg := range cgroups {
		c, err := t.fs.Cgroup(cg.path)
		if err != nil {
			continue
		}
		r.Cgroups = append(r.Cgroups, Cgroup{Path: cg.shown, Own: cg.own})
		t.readCgroup(&r.Cgroups[len(r.Cgroups)-1], c)
	}
	judgeOwn(&r)
	return r, t.faults, nil
}

// text reads a file for which package kernel has no reader.
func (g *capturedGroup) text(name string) (string, error) {
	f := g.files[name]
	if f == nil {
		return "", fmt.Errorf("%s: %w: %w", name, kernel.ErrUnavailable, os.ErrNotExist)
	}
	return string(f.data), nil
}

// laidOut is a cgroup of the tree that was laid out.
type laidOut struct {
	path, shown string
	own         bool
}

const mostCgroups = 512

// layOut writes the files below dir and says which cgroups they make.
func (g *capturedGroup) layOut(dir string, t *tree) ([]laidOut, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := root.MkdirAll("proc", 0o700); err != nil {
		return nil, err
	}
	versions := g.ownVersions()
	unified := g.unified()
	if unified {
		if err := writeBelow(root, "sys/fs/cgroup/cgroup.controllers", nil); err != nil {
			return nil, err
		}
	}
	var cgroups []laidOut
	for _, rel := range sortedKeys(g.files) {
		f := g.files[rel]
		names := []string{rel}
		cg := laidOut{}
		if own, ok := strings.CutPrefix(rel, ownCgroup+"/"); ok {
			names, cg = placeOwn(own, versions[path.Dir(own)], unified)
		} else if below, ok := strings.CutPrefix(rel, "sys/fs/cgroup/"); ok {
			cg.path = cgroupPath(below)
			cg.shown = cg.path
		}
		if cg.path != "" && !slices.ContainsFunc(cgroups, func(o laidOut) bool { return o.path == cg.path }) {
			if len(cgroups) == mostCgroups {
				continue
			}
			cgroups = append(cgroups, cg)
		}
		for _, name := range names {
			t.shown[name] = f.name
			if len(f.data) <= largestKernelFile && !strings.HasPrefix(name, "proc/net/tcp") {
				t.flat[name] = indexFlat(f.data)
			}
			if err := writeBelow(root, name, f.data); err != nil {
				return nil, err
			}
		}
	}
	return cgroups, nil
}

// largestKernelFile is more than any file has that is indexed.
const largestKernelFile = 1 << 20

// unified says that the tree below sys/fs/cgroup is of v2 alone: its files lie
// in directories that name no controller of v1.
func (g *capturedGroup) unified() bool {
	found := false
	for rel := range g.files {
		below, ok := strings.CutPrefix(rel, "sys/fs/cgroup/")
		if !ok {
			continue
		}
		first, _, _ := strings.Cut(below, "/")
		switch first, _, _ = strings.Cut(first, ","); first {
		case "cpu", "cpuacct", "memory", "pids", "unified", "systemd":
			return false
		}
		found = true
	}
	return found
}

// ownVersions tells which version of cgroups each directory of own files is of.
func (g *capturedGroup) ownVersions() map[string]string {
	versions := map[string]string{}
	for _, rel := range sortedKeys(g.files) {
		own, ok := strings.CutPrefix(rel, ownCgroup+"/")
		if !ok {
			continue
		}
		if v := cgroupVersion(path.Base(own), g.files[rel].data); v != "" {
			versions[path.Dir(own)] = v
		}
	}
	return versions
}

// placeOwn says where a file of the capture's own cgroup goes.
func placeOwn(own, version string, unified bool) (names []string, cg laidOut) {
	dir, base := path.Dir(own), path.Base(own)
	cg = laidOut{path: path.Join("/own", dir), shown: "cgroup", own: true}
	if dir != "." {
		cg.shown = path.Join(dir, "cgroup")
		cg.shown = strings.TrimSuffix(cg.shown, "/cgroup")
	}
	switch {
	case version != "v1" && unified:
		return []string{"sys/fs/cgroup" + cg.path + "/" + base}, cg
	case version != "v1":
		return []string{"sys/fs/cgroup/unified" + cg.path + "/" + base}, cg
	}
	controller, _, _ := strings.Cut(base, ".")
	return []string{"sys/fs/cgroup/" + controller + cg.path + "/" + base}, cg
}

// cgroupPath is the path of the cgroup that a file below sys/fs/cgroup is of:
// in v1 the first directory names controllers.
func cgroupPath(below string) string {
	dir := path.Dir(below)
	first, rest, _ := strings.Cut(dir, "/")
	for c := range strings.SplitSeq(first, ",") {
		switch c {
		case "cpu", "cpuacct", "memory", "pids", "unified":
			return "/" + rest
		}
	}
	return path.Join("/", dir)
}

func writeBelow(root *os.Root, name string, data []byte) error {
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	w, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, bytes.NewReader(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))))
	return errors.Join(err, w.Close())
}
