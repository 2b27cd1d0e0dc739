package kernel

import "bytes"

// Controllers is /proc/cgroups: which resource controllers the kernel was
// built with, and whether they were left switched on at boot
// (cgroup_disable=memory is common on small boards). A controller that is not
// listed was not built in. Kernels of cgroup v2 alone may lack the file.
//
// https://man7.org/linux/man-pages/man7/cgroups.7.html
type Controllers struct {
	CPU, CPUAcct, Memory, PIDs, IO Controller
}

// Controller is one line of the file. Hierarchy is 0 for a controller that is
// on v2, or nowhere.
type Controller struct {
	Known, Enabled     bool
	Hierarchy, Cgroups Num
}

// Controllers reads /proc/cgroups once.
func (f *FS) Controllers() (Controllers, error) {
	return once(newReader(f.at, "", part[Controllers]{name: "proc/cgroups", parse: parseControllers}))
}

func (c *Controllers) slot(name []byte) *Controller {
	switch string(name) {
	case "cpu":
		return &c.CPU
	case "cpuacct":
		return &c.CPUAcct
	case "memory":
		return &c.Memory
	case "pids":
		return &c.PIDs
	case "io", "blkio":
		return &c.IO
	}
	return nil
}

// parseControllers reads a heading and lines of "NAME HIERARCHY CGROUPS ENABLED".
func parseControllers(c *Controllers, b []byte) error {
	var bad faults
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = cutLine(b)
		name, rest := cutField(line)
		dst := c.slot(name)
		if dst == nil {
			continue
		}
		hierarchy, rest := cutField(rest)
		cgroups, rest := cutField(rest)
		enabled := bytes.TrimSpace(rest)
		if len(enabled) != 1 || enabled[0] != '0' && enabled[0] != '1' {
			bad.add(n, string(name), line, "a hierarchy, a number of cgroups, and 0 or 1")
			continue
		}
		*dst = Controller{Known: true, Enabled: enabled[0] == '1'}
		dst.Hierarchy.Value, dst.Hierarchy.Known = parseNum(hierarchy)
		dst.Cgroups.Value, dst.Cgroups.Known = parseNum(cgroups)
	}
	return bad.err()
}
