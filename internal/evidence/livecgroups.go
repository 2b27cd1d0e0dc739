//go:build linux

package evidence

import (
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"brink/internal/kernel"
)

// findCgroups lists the cgroups to read: our own, those of the servers, what is
// above them, and others with a limit, of which a bounded number is looked for.
func (l *live) findCgroups() {
	l.addCgroupOf(os.Getpid(), true)
	masters := l.pools.masters()
	for _, pid := range slices.Sorted(maps.Keys(masters)) {
		l.addCgroupOf(pid, false)
	}
	l.nameCgroups(masters)
	for _, g := range append([]liveCgroup(nil), l.cgroups...) {
		for up := path.Dir(g.path); up != "/" && up != "."; up = path.Dir(up) {
			if c, err := l.tree.fs.Cgroup(up); err == nil {
				l.addCgroup(c, false)
			}
		}
	}
	for _, p := range limitedCgroups() {
		if c, err := l.tree.fs.Cgroup(p); err == nil {
			l.addCgroup(c, false)
		}
	}
}

// addCgroupOf adds the cgroup of a process. In v1 a process may be in another
// cgroup for each controller, so that none of them says all of it.
func (l *live) addCgroupOf(pid int, own bool) {
	// Finding a cgroup's directories takes reading the table of mounts, so that
	// of many servers in one cgroup the first tells.
	text, err := smallFile("proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return
	}
	if known, ok := l.seenCgroups[text]; ok {
		l.cgroupOf[pid] = known
		return
	}
	c, err := l.tree.fs.CgroupOf(pid)
	if err != nil {
		return
	}
	l.seenCgroups[text] = pathOfCgroup(c)
	l.cgroupOf[pid] = pathOfCgroup(c)
	paths := map[string]bool{}
	for _, dir := range c.Dirs() {
		below := strings.TrimPrefix(strings.TrimPrefix(dir, "sys/fs/cgroup"), "/")
		paths[cgroupPath(below+"/x")] = true
	}
	if len(paths) == 1 {
		l.addCgroup(c, own)
		return
	}
	for _, p := range sortedKeys(paths) {
		if one, err := l.tree.fs.Cgroup(p); err == nil && p != "/" {
			l.addCgroup(one, own)
		}
	}
}

// nameCgroups calls a cgroup by its server where it has one only.
func (l *live) nameCgroups(masters map[int]string) {
	for i := range l.cgroups {
		g := &l.cgroups[i]
		n := 0
		for pid, name := range masters {
			if l.cgroupOf[pid] == g.path {
				g.server = name
				n++
			}
		}
		if n > 1 {
			g.server = ""
		}
	}
}

// mostLiveCgroups bounds what two readings cost: a dozen small files each.
const mostLiveCgroups = 48

func (l *live) addCgroup(c *kernel.Cgroup, own bool) {
	p := pathOfCgroup(c)
	for i := range l.cgroups {
		if l.cgroups[i].path == p {
			l.cgroups[i].own = l.cgroups[i].own || own
			return
		}
	}
	if len(l.cgroups) < mostLiveCgroups {
		l.cgroups = append(l.cgroups, liveCgroup{c: c, path: p, own: own})
	}
}

// pathOfCgroup is the path of a cgroup in its hierarchy, that of the memory
// controller where v1 has several.
func pathOfCgroup(c *kernel.Cgroup) string {
	d := cgroupDirs(c)
	dir := d.unified
	for _, controller := range []string{"cpuacct", "cpu", "memory"} {
		if v1, ok := d.v1[controller]; ok {
			dir = v1
		}
	}
	below := strings.TrimPrefix(strings.TrimPrefix(dir, "sys/fs/cgroup"), "/")
	return cgroupPath(below + "/x")
}

// limitedCgroups walks a bounded part of the tree of cgroups for those that
// have a limit of memory or CPU of their own. Only directories and the two
// limits are read.
func limitedCgroups() []string {
	const top, mostDirs, mostFound = "/sys/fs/cgroup", 256, 32
	roots := map[string]string{top: "memory.max memory.high cpu.max"}
	if _, err := os.Stat(top + "/cgroup.controllers"); err != nil {
		roots = map[string]string{top + "/memory": "memory.limit_in_bytes", top + "/cpu": "cpu.cfs_quota_us"}
	}
	var found []string
	for root, limits := range roots {
		queue, seen := []string{root}, 0
		for len(queue) > 0 && seen < mostDirs && len(found) < mostFound {
			dir := queue[0]
			queue = queue[1:]
			seen++
			if dir != root && hasLimit(dir, strings.Fields(limits)) {
				found = append(found, strings.TrimPrefix(dir, root))
			}
			if strings.Count(dir, "/") > 9 {
				continue
			}
			for _, name := range directoriesIn(dir) {
				if len(queue) < mostDirs {
					queue = append(queue, dir+"/"+name)
				}
			}
		}
	}
	return found
}

// directoriesIn lists the directories in one. Each holds a link to the one above,
// so that the number of links tells without a list that there are none.
func directoriesIn(dir string) []string {
	const linksOfOneWithout = 2 // its name and "."
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil || st.Nlink == linksOfOneWithout {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

func hasLimit(dir string, files []string) bool {
	for _, name := range files {
		text, err := smallFile(strings.TrimPrefix(dir, "/") + "/" + name)
		if err != nil {
			continue
		}
		text = strings.TrimSpace(text)
		if text != "" && !strings.HasPrefix(text, "max") && text != "-1" && len(text) < 19 {
			return true
		}
	}
	return false
}
