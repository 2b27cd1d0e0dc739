package evidence

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"brink/internal/kernel"
)

// tree is a root with proc and sys below it, live or captured, and how its
// files are called towards the reader.
type tree struct {
	fs   *kernel.FS
	live bool
	// shown names a file as the input calls it, and flat indexes it.
	shown map[string]string
	flat  map[string]flat
	// text reads a small file that package kernel has no reader for.
	text func(name string) (string, error)
	gaps []Gap
	// faults are the values of captured files that cannot be.
	faults []Stranger
}

// from is the origin of a file.
func (t *tree) from(name string) *origin {
	shown, ok := t.shown[name]
	if !ok {
		shown = name
		if t.live {
			shown = "/" + name
		}
	}
	return &origin{file: shown, flat: t.flat[name]}
}

// read completes the origin of a file with what reading it came to.
func (t *tree) read(name string, err error) *origin {
	o := t.from(name)
	o.explained(err, t.live)
	if o.bad != nil && !t.live {
		t.faults = append(t.faults, o.fault())
	}
	return o
}

// readMachine reads everything that is not a cgroup or a process. What does not
// change while somebody looks is taken from the reading before, if there is one.
func (t *tree) readMachine(r, before *Reading) {
	m, err := t.fs.Meminfo()
	fill(&r.Meminfo, &m, t.read("proc/meminfo", err), Bytes, asItIs)
	v, err := t.fs.Vmstat()
	fill(&r.Vmstat, &v, t.read("proc/vmstat", err), Pages, snake)
	n, err := t.fs.Netstat()
	fill(&r.Netstat, &n, t.netstatOrigin(err), Events, asItIs)
	r.PSI = t.pressures("proc/pressure/", "", t.fs.PSI)
	t.readStat(r)
	t.readLoad(r)
	r.Machine.Uptime = t.smallNumber("proc/uptime", "uptime", Seconds)
	t.readSettings(r, before)
	if before == nil || before.SwapDisk.Name != "" {
		t.readSwapDisk(r)
	} else {
		r.SwapDisk = before.SwapDisk
	}
	if before == nil || before.ZFS.Size.Known {
		r.ZFS = t.arc()
	} else {
		r.ZFS = before.ZFS
	}
	r.View = judgeView(r)
}

// netstatOrigin names netstat for all fields: those of snmp carry their line
// there.
func (t *tree) netstatOrigin(err error) *origin {
	o := t.read("proc/net/netstat", err)
	if snmp := t.flat["proc/net/snmp"]; len(snmp) > 0 && len(o.flat) == 0 {
		o.file, o.flat = t.from("proc/net/snmp").file, snmp
	}
	return o
}

// pressures reads the pressure files of the machine or of a cgroup.
func (t *tree) pressures(before, after string, read func(kernel.PSIResource) (kernel.PSI, error)) Pressures {
	one := func(r kernel.PSIResource) Pressure {
		p, err := read(r)
		o := t.read(before+string(r)+after, err)
		return Pressure{Some: stall(p.Some, o, "some"), Full: stall(p.Full, o, "full")}
	}
	return Pressures{
		CPU: one(kernel.PSICPU), Memory: one(kernel.PSIMemory), IO: one(kernel.PSIIO), IRQ: one(kernel.PSIIRQ),
	}
}

func stall(s kernel.Stall, o *origin, kind string) Stall {
	from := o.source(kind)
	if !s.Known {
		v := o.value(kernel.Num{}, kind, Percent)
		return Stall{v, v, v, v}
	}
	value := func(x float64, unit Unit, field string) Value {
		return Known(x, unit, Source{File: from.File, Line: from.Line, Field: kind + " " + field})
	}
	return Stall{
		Avg10: value(s.Avg10, Percent, "avg10"), Avg60: value(s.Avg60, Percent, "avg60"),
		Avg300: value(s.Avg300, Percent, "avg300"), Total: value(float64(s.TotalMicros), Micros, "total"),
	}
}

func (t *tree) readStat(r *Reading) {
	s, err := t.fs.Stat()
	o := t.read("proc/stat", err)
	value := func(n kernel.Num) Value {
		v := o.value(n, "cpu", Seconds)
		v.Number /= kernel.UserHz
		return v
	}
	c := &s.Total
	r.CPU = CPUTimes{
		User: value(c.User), Nice: value(c.Nice), System: value(c.System), Idle: value(c.Idle),
		IOWait: value(c.IOWait), IRQ: value(c.IRQ), SoftIRQ: value(c.SoftIRQ), Steal: value(c.Steal),
	}
	r.Machine.Blocked = o.value(s.Blocked, "procs_blocked", Events)
	r.Machine.CPUs = o.value(kernel.Num{Value: uint64(len(s.CPU)), Known: len(s.CPU) > 0}, "cpu0", Events)
	r.Machine.Boot = o.value(s.BootTime, "btime", Seconds)
}

func (t *tree) readLoad(r *Reading) {
	l, err := t.fs.Loadavg()
	o := t.read("proc/loadavg", err)
	o.flat = nil
	value := func(x float64, field string) Value {
		if !l.Known {
			return o.value(kernel.Num{}, field, NoUnit)
		}
		return Known(x, NoUnit, Source{File: o.file, Line: 1, Field: field})
	}
	m := &r.Machine
	m.Load1, m.Load5, m.Load15 = value(l.Load1, "load 1 min"), value(l.Load5, "load 5 min"), value(l.Load15, "load 15 min")
	m.Runnable, m.Tasks = value(float64(l.Runnable), "runnable"), value(float64(l.Tasks), "tasks")
}

// smallNumber reads a file of one number that package kernel has no use for.
func (t *tree) smallNumber(name, field string, unit Unit) Value {
	text, err := t.text(name)
	o := t.read(name, err)
	if o.whole != "" {
		return Missing(o.whole, o.detail, Source{File: o.file})
	}
	first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	from := Source{File: o.file, Line: 1, Field: field}
	v := parsedNumber(first, unit, from)
	if v.Below(0) {
		return Missing(Unreadable, "it is below 0", from)
	}
	return v
}

// readSettings reads how the kernel is set up.
func (t *tree) readSettings(r, before *Reading) {
	m := &r.Machine
	if before != nil {
		b := &before.Machine
		m.Overcommit, m.Swappiness, m.Watermark, m.SomaxConn = b.Overcommit, b.Swappiness, b.Watermark, b.SomaxConn
		m.Kernel, m.Host, m.MemoryCgroup, m.CgroupTree, m.PageBytes = b.Kernel, b.Host, b.MemoryCgroup, b.CgroupTree, b.PageBytes
		return
	}
	m.Overcommit = t.smallNumber("proc/sys/vm/overcommit_memory", "vm.overcommit_memory", NoUnit)
	m.Swappiness = t.smallNumber("proc/sys/vm/swappiness", "vm.swappiness", NoUnit)
	m.Watermark = t.smallNumber("proc/sys/vm/watermark_scale_factor", "vm.watermark_scale_factor", NoUnit)
	m.SomaxConn = t.smallNumber("proc/sys/net/core/somaxconn", "net.core.somaxconn", NoUnit)
	if text, err := t.text("proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = shorten(strings.TrimSpace(text))
	}
	if text, err := t.text("proc/sys/kernel/hostname"); err == nil {
		m.Host = shorten(strings.TrimSpace(text))
	}
	if c, err := t.fs.Controllers(); err == nil && c.Memory.Known {
		m.MemoryCgroup = triOf(c.Memory.Enabled)
	}
	if v, err := t.fs.CgroupVersion(); err == nil {
		m.CgroupTree = string(v)
	}
	t.readPageSize(r)
}

func (t *tree) readPageSize(r *Reading) {
	size := t.fs.PageSize()
	r.Machine.PageBytes = Known(float64(size.Bytes), Bytes)
	if size.Assumed {
		r.Machine.PageBytes.Detail = "assumed: no input shows it"
	}
}

func (t *tree) readSwapDisk(r *Reading) {
	areas, err := t.fs.Swaps()
	disks, diskErr := t.fs.Diskstats()
	o := t.read("proc/diskstats", errors.Join(diskErr, err))
	var sum kernel.Disk
	var names []string
	field, found := "", false
	for _, a := range areas.Areas {
		names = append(names, cmp.Or(a.Disk(), a.Name))
		d := disks.Find(a.Disk())
		if d == nil {
			continue
		}
		field = strings.TrimPrefix(field+","+d.Name, ",")
		if !found {
			sum, found = *d, true
			continue
		}
		sum.Reads, sum.Writes = sum.Reads.Plus(d.Reads), sum.Writes.Plus(d.Writes)
		sum.ReadSectors, sum.WriteSectors = sum.ReadSectors.Plus(d.ReadSectors), sum.WriteSectors.Plus(d.WriteSectors)
		sum.BusyMillis = sum.BusyMillis.Plus(d.BusyMillis)
	}
	r.SwapDisk.Name = strings.Join(names, ",")
	r.SwapDisk.Reads, r.SwapDisk.Writes = o.value(sum.Reads, field, Events), o.value(sum.Writes, field, Events)
	r.SwapDisk.ReadBytes = o.value(sum.ReadSectors, field, Bytes).Times(kernel.SectorBytes, Bytes)
	r.SwapDisk.WriteBytes = o.value(sum.WriteSectors, field, Bytes).Times(kernel.SectorBytes, Bytes)
	r.SwapDisk.BusyMillis = o.value(sum.BusyMillis, field, Millis)
}

// readSched reads what the scheduler did with some processes. It keeps them
// open in kept, unless that is nil.
func (t *tree) readSched(r *Reading, pids []int, kept map[int]*kernel.Process) {
	for _, pid := range pids {
		if p := kept[pid]; p != nil {
			var stat kernel.PIDStat
			err := p.Stat(&stat)
			if errors.Is(err, kernel.ErrGone) || errors.Is(err, kernel.ErrReused) {
				continue
			}
			r.Sched = append(r.Sched, t.sched(p, &stat, err))
			continue
		}
		p, err := t.fs.OpenProcess(pid)
		if err != nil {
			continue // it has ended
		}
		stat := p.LastStat()
		r.Sched = append(r.Sched, t.sched(p, &stat, nil))
		if kept == nil {
			_ = p.Close()
		} else {
			kept[pid] = p
		}
	}
}

func (t *tree) sched(p *kernel.Process, stat *kernel.PIDStat, statErr error) Sched {
	var s kernel.SchedStat
	dir := "proc/" + strconv.Itoa(p.PID()) + "/"
	o := t.read(dir+"schedstat", p.SchedStat(&s))
	seconds := func(n kernel.Num, field string) Value {
		return o.value(n, field, Seconds).Times(1e-9, Seconds)
	}
	one := Sched{PID: p.PID(), Comm: stat.Comm, Run: seconds(s.RunNanos, "run"), Wait: seconds(s.WaitNanos, "wait")}
	ticks := t.read(dir+"stat", statErr)
	one.CPU = ticks.value(kernel.Num{Value: stat.UserTicks + stat.SysTicks, Known: statErr == nil}, "utime+stime", Seconds).Times(1.0/kernel.UserHz, Seconds)
	if statErr == nil {
		one.State = string(stat.State)
	}
	return one
}

// readKswapd reads the CPU time of the kernel's reclaim threads.
func (t *tree) readKswapd(r *Reading) {
	k, err := t.fs.Kswapd()
	if err != nil {
		o := t.read("proc/<kswapd>/stat", err)
		r.KswapdTime = Missing(o.whole, o.detail, Source{File: o.file})
		return
	}
	defer k.Close()
	ticks, err := k.Ticks()
	o := t.read("proc/<kswapd>/stat", err)
	r.KswapdTime = o.value(kernel.Num{Value: ticks, Known: err == nil}, "utime+stime", Seconds).Times(1.0/kernel.UserHz, Seconds)
}

// readTables reads the queues of listening sockets from the text tables, which
// do not have the backlog.
func (t *tree) readTables(r *Reading) {
	list, err := t.fs.Listeners(0)
	if err != nil && !errors.As(err, new(*kernel.FieldError)) {
		if !errors.Is(err, fs.ErrNotExist) || t.live {
			o := t.read("proc/net/tcp", err)
			t.gaps = append(t.gaps, Gap{What: HasListeners, Why: o.whole, Detail: o.detail, From: Source{File: o.file}})
		}
		return
	}
	o := t.from("proc/net/tcp")
	for _, l := range list {
		r.Listeners = append(r.Listeners, Listener{
			Address: l.Local.String(), Port: int(l.Local.Port()),
			Queue:   Known(float64(l.Queue), Events, Source{File: o.file, Field: "rx_queue"}),
			Backlog: Missing(Absent, "the text table has no backlog", Source{File: o.file}),
		})
	}
	slices.SortStableFunc(r.Listeners, func(a, b Listener) int { return strings.Compare(a.Address, b.Address) })
}

// shorten keeps a text from the input short enough for a message.
func shorten(s string) string {
	const most = 200
	if len(s) <= most {
		return strings.ToValidUTF8(s, "�")
	}
	return strings.ToValidUTF8(string(bytes.TrimRight([]byte(s[:most]), "\x80\x81")), "�") + "…"
}
