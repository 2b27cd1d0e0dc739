package kernel

import (
	"bytes"
	"math"
)

// CgroupCPU is what a cgroup's CPU controller says, children included. Times
// are µs since the cgroup was made, whatever unit the kernel's file has.
//
// https://www.kernel.org/doc/html/latest/admin-guide/cgroup-v2.html#cpu-interface-files
// https://www.kernel.org/doc/html/latest/scheduler/sched-bwc.html
// https://www.kernel.org/doc/html/latest/admin-guide/cgroup-v1/cpuacct.html
type CgroupCPU struct {
	UsageMicros              Num
	UserMicros, SystemMicros Num
	// QuotaMicros may be used in every PeriodMicros; Unlimited without a quota.
	QuotaMicros                         Limit
	PeriodMicros                        Num
	Periods, Throttled, ThrottledMicros Num // v2 lacks them without the controller
}

// CPU reads the CPU controller once.
func (c *Cgroup) CPU() (CgroupCPU, error) { return once(c.CPUReader()) }

// CPUReader opens the CPU controller's files for repeated reading. In v1 usage
// belongs to cpuacct and the quota to cpu.
func (c *Cgroup) CPUReader() (*Reader[CgroupCPU], error) {
	var parts []part[CgroupCPU]
	if dir, ok := c.v1["cpu"]; ok {
		parts = append(parts, partsIn(dir, cpuV1)...)
	}
	if dir, ok := c.v1["cpuacct"]; ok {
		parts = append(parts, partsIn(dir, cpuacctV1)...)
	}
	if len(parts) == 0 {
		return cgroupReader(c, "cpu", nil, cpuV2)
	}
	return newReader(c.fs.at, "", parts...)
}

// CPUUsageReader is CPUReader without the quota and, in v1, without the split
// into user and system: for sampling.
func (c *Cgroup) CPUUsageReader() (*Reader[CgroupCPU], error) {
	var parts []part[CgroupCPU]
	if dir, ok := c.v1["cpu"]; ok {
		parts = append(parts, partsIn(dir, cpuV1[:1])...)
	}
	if dir, ok := c.v1["cpuacct"]; ok {
		parts = append(parts, partsIn(dir, cpuacctV1[:1])...)
	}
	if len(parts) == 0 {
		return cgroupReader(c, "cpu", nil, cpuV2[:1])
	}
	return newReader(c.fs.at, "", parts...)
}

var cpuV2 = []part[CgroupCPU]{
	flatFile("cpu.stat", (*CgroupCPU).statV2),
	{name: "cpu.max", parse: parseCPUMax, single: true},
}

var cpuV1 = []part[CgroupCPU]{
	{name: "cpu.stat", flat: parseCPUStatV1, single: true},
	limitFile("cpu.cfs_quota_us", func(c *CgroupCPU) *Limit { return &c.QuotaMicros }),
	numFile("cpu.cfs_period_us", func(c *CgroupCPU) *Num { return &c.PeriodMicros }),
}

var cpuacctV1 = []part[CgroupCPU]{
	{name: "cpuacct.usage", parse: parseCPUAcctUsage, single: true},
	{name: "cpuacct.stat", flat: parseCPUAcctStat, single: true},
}

func (c *CgroupCPU) statV2(key []byte) *Num {
	switch string(key) {
	case "usage_usec":
		return &c.UsageMicros
	case "user_usec":
		return &c.UserMicros
	case "system_usec":
		return &c.SystemMicros
	case "nr_periods":
		return &c.Periods
	case "nr_throttled":
		return &c.Throttled
	case "throttled_usec":
		return &c.ThrottledMicros
	}
	return nil
}

// parseCPUMax reads "QUOTA PERIOD" in µs, where QUOTA may be "max".
func parseCPUMax(c *CgroupCPU, b []byte) error {
	quota, rest := cutField(b)
	period, _ := cutField(rest)
	p, ok := parseNum(period)
	if !ok {
		return &FieldError{Line: 1, Field: "cpu.max", Text: shorten(bytes.TrimSpace(b)), Want: "a quota and a period"}
	}
	if err := c.QuotaMicros.parse(quota); err != nil {
		return err
	}
	c.PeriodMicros = Num{p, true}
	return nil
}

// parseCPUStatV1 reads cpu.stat of v1, where throttled_time is in ns.
func parseCPUStatV1(l *layout, c *CgroupCPU, b []byte) error {
	err := l.parse(b, func(key []byte) *Num {
		switch string(key) {
		case "nr_periods":
			return &c.Periods
		case "nr_throttled":
			return &c.Throttled
		case "throttled_time":
			return &c.ThrottledMicros
		}
		return nil
	})
	c.ThrottledMicros.Value /= 1000
	return err
}

// parseCPUAcctUsage reads cpuacct.usage, in ns.
func parseCPUAcctUsage(c *CgroupCPU, b []byte) error {
	err := parseSingle(&c.UsageMicros, "usage", b)
	c.UsageMicros.Value /= 1000
	return err
}

// parseCPUAcctStat reads cpuacct.stat, in ticks.
func parseCPUAcctStat(l *layout, c *CgroupCPU, b []byte) error {
	err := l.parse(b, func(key []byte) *Num {
		switch string(key) {
		case "user":
			return &c.UserMicros
		case "system":
			return &c.SystemMicros
		}
		return nil
	})
	c.UserMicros = ticksToMicros(c.UserMicros)
	c.SystemMicros = ticksToMicros(c.SystemMicros)
	return err
}

func ticksToMicros(n Num) Num {
	const microsPerTick = 1_000_000 / UserHz
	if n.Value > math.MaxUint64/microsPerTick {
		return Num{}
	}
	n.Value *= microsPerTick
	return n
}
