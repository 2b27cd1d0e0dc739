package evidence

import (
	"path"
	"reflect"
	"strings"

	"brink/internal/kernel"
)

// readCgroup reads one cgroup into g.
func (t *tree) readCgroup(g *Cgroup, c *kernel.Cgroup) {
	memory, memErr := c.Memory()
	cpu, cpuErr := c.CPU()
	pids, pidsErr := c.PIDs()
	dirs := cgroupDirs(c)
	g.Version = dirs.version()
	t.fillCgroup(&g.Memory, &memory, dirs, "memory", memErr, memory.WithoutChildren)
	t.fillCgroup(&g.CPU, &cpu, dirs, "cpu", cpuErr, false)
	t.fillCgroup(&g.PIDs, &pids, dirs, "pids", pidsErr, false)
	if dirs.unified != "" {
		g.PSI = t.pressures(dirs.unified+"/", ".pressure", c.PSI)
	} else {
		g.PSI = noPressures("cgroup v1 has no pressure files")
	}
}

func noPressures(why string) Pressures {
	v := Missing(Absent, why)
	s := Stall{v, v, v, v}
	p := Pressure{s, s}
	return Pressures{p, p, p, p}
}

// dirs are the directories of a cgroup by controller.
type dirs struct {
	unified string
	v1      map[string]string
}

func (d dirs) version() string {
	switch {
	case d.unified != "" && len(d.v1) == 0:
		return "v2"
	case len(d.v1) > 0:
		return "v1"
	}
	return ""
}

// dir is where a controller's file lies: cpuacct may be mounted apart from cpu.
func (d dirs) dir(controller, file string) (dir, version string) {
	if strings.HasPrefix(file, "cpuacct.") {
		controller = "cpuacct"
	}
	if dir, ok := d.v1[controller]; ok {
		return dir, "v1"
	}
	return d.unified, "v2"
}

// cgroupDirs tells the directories of a cgroup apart by their place in the
// usual layout: v1 has one for each controller.
func cgroupDirs(c *kernel.Cgroup) dirs {
	d := dirs{v1: map[string]string{}}
	for _, dir := range c.Dirs() {
		rest, _ := strings.CutPrefix(dir, "sys/fs/cgroup/")
		first, _, _ := strings.Cut(rest, "/")
		known := false
		for controller := range strings.SplitSeq(first, ",") {
			switch controller {
			case "cpu", "cpuacct", "memory", "pids":
				d.v1[controller], known = dir, true
			}
		}
		if !known {
			d.unified = dir
		}
	}
	return d
}

// fillCgroup sets the fields of one controller, each from the file that its
// tag names. dst and src are pointers; local says that a v1 memory.stat has no
// totals.
func (t *tree) fillCgroup(dst, src any, d dirs, controller string, err error, local bool) {
	to, from := reflect.ValueOf(dst).Elem(), reflect.ValueOf(src).Elem()
	usual := Bytes
	if controller == "cpu" {
		usual = Micros
	}
	files := map[[2]string]*origin{} // by directory and name
	for _, c := range counterpartsOf(to.Type(), from.Type()) {
		number, limit := numOf(from.Field(c.from).Addr().Interface())
		unit := usual
		if tag, ok := c.tag.Lookup("unit"); ok {
			unit = Unit(tag)
		}
		_, version := d.dir(controller, c.tag.Get("v1"))
		v := Missing(Absent, "cgroup "+version+" does not have it")
		if place := c.tag.Get(version); place != "" {
			file, key, _ := strings.Cut(place, " ")
			dir, _ := d.dir(controller, file)
			o := files[[2]string{dir, file}]
			if o == nil {
				o = t.read(path.Join(dir, file), err)
				files[[2]string{dir, file}] = o
			}
			v = cgroupValue(o, number, file, key, unit, local)
			if err == nil && !v.Known && key == "" {
				v.Detail = "the file is not there"
			}
		}
		switch f := to.Field(c.to).Addr().Interface().(type) {
		case *Value:
			*f = v
		case *Limit:
			f.Value = v
			if limit != nil && limit.Unlimited {
				f.Unlimited, f.Detail = true, "there is no limit"
			}
		}
	}
}

// cgroupValue is a number of a cgroup's file.
func cgroupValue(o *origin, n kernel.Num, file, key string, unit Unit, local bool) Value {
	if !local || file != "memory.stat" {
		return o.value(n, key, unit)
	}
	v := o.value(n, strings.ReplaceAll(key, "total_", ""), unit)
	if v.Known {
		v.Detail = "without children"
	}
	return v
}

// numOf returns the number that a field of package kernel holds, and the field
// itself if it is a limit.
func numOf(field any) (kernel.Num, *kernel.Limit) {
	switch n := field.(type) {
	case *kernel.Num:
		return *n, nil
	case *kernel.Limit:
		return n.Num, n
	}
	return kernel.Num{}, nil
}
