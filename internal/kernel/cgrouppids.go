package kernel

// CgroupPIDs is what a cgroup's pids controller says: tasks, threads included.
//
// https://www.kernel.org/doc/html/latest/admin-guide/cgroup-v2.html#pid
type CgroupPIDs struct {
	Current Num
	Max     Limit
	Refused Num // forks that failed for the limit, since 4.7
}

// PIDs reads the pids controller once.
func (c *Cgroup) PIDs() (CgroupPIDs, error) { return once(c.PIDsReader()) }

// PIDsReader opens the pids controller's files for repeated reading.
func (c *Cgroup) PIDsReader() (*Reader[CgroupPIDs], error) {
	return cgroupReader(c, "pids", pidsFiles, pidsFiles)
}

var pidsFiles = []part[CgroupPIDs]{
	numFile("pids.current", func(p *CgroupPIDs) *Num { return &p.Current }),
	limitFile("pids.max", func(p *CgroupPIDs) *Limit { return &p.Max }),
	flatFile("pids.events", (*CgroupPIDs).event),
}

func (p *CgroupPIDs) event(key []byte) *Num {
	if string(key) == "max" {
		return &p.Refused
	}
	return nil
}
