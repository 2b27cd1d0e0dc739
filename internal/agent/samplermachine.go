package agent

import (
	"errors"
	"slices"
	"time"

	"brink/internal/gauge"
	"brink/internal/kernel"
	"brink/internal/wire"
)

// machine reads what belongs to the plan as a whole.
type machine struct {
	stat    *kernel.Reader[kernel.Stat]
	meminfo *kernel.Reader[kernel.Meminfo]
	vmstat  *kernel.Reader[kernel.Vmstat]
	netstat *kernel.Reader[kernel.Netstat]
	psi     [3]*kernel.Reader[kernel.PSI] // cpu, memory, io
	kswapd  *kernel.Kswapd
	reclaim *kernel.ReclaimTrace

	times    kernel.Stat
	mem      kernel.Meminfo
	vm       kernel.Vmstat
	net      kernel.Netstat
	pressure kernel.PSI
	memSome  int64 // µs, -1 where it is unknown
	memFull  int64
	kswapdNs int64     // CPU time of kswapd when it was last read, -1 if it is unknown
	kswapdAt time.Time // when that was
	kswapdIn int       // for how many samples it is to be read
	direct   kernel.DirectReclaims
	lost     uint64
	// drops and netAt are of when net was read.
	drops gauge.ListenDrops
	netAt time.Time
}

func (m *machine) open(fs *kernel.FS) error {
	err := errors.Join(
		optionalReader(&m.stat, fs.StatReader),
		optionalReader(&m.meminfo, fs.MeminfoReader),
		optionalReader(&m.vmstat, fs.VmstatUsageReader),
		optionalReader(&m.netstat, fs.ListenEventsReader),
	)
	for i, r := range [...]kernel.PSIResource{kernel.PSICPU, kernel.PSIMemory, kernel.PSIIO} {
		err = errors.Join(err, optionalReader(&m.psi[i], func() (*kernel.Reader[kernel.PSI], error) { return fs.PSIReader(r) }))
	}
	// Both need what not every machine gives; without them the samples say
	// that it is unknown.
	m.kswapd, _ = fs.Kswapd()
	m.kswapdNs = -1
	m.reclaim, _ = fs.TraceDirectReclaim()
	return err
}

func (m *machine) close() error {
	err := errors.Join(m.stat.Close(), m.meminfo.Close(), m.vmstat.Close(), m.netstat.Close(), m.kswapd.Close(), m.reclaim.Close())
	for _, r := range m.psi {
		err = errors.Join(err, r.Close())
	}
	return err
}

// changes are what may have happened to any process of the machine since the last
// sample. What has not, has not in any cgroup, whose own account need not be read
// then: making an account costs as much as reading it.
type changes struct {
	stalled   bool // for want of memory
	killed    bool // by the OOM killer
	reclaimed bool // memory of somebody's, or given back from swap
}

// changes reads what tells.
func (m *machine) changes() changes {
	waited, kills, pages, kswapd := m.memSome, m.vm.OOMKill, taken(&m.vm), kswapdWork(&m.vm)
	m.memSome, m.memFull = stalls(m.psi[1], &m.pressure)
	read(m.vmstat, &m.vm)
	if kswapd != kswapdWork(&m.vm) || !m.vm.Pageoutrun.Known {
		m.kswapdIn = 2 // in this it was perhaps not at its end
	}
	return changes{
		stalled:   m.memSome < 0 || m.memSome != waited,
		killed:    !m.vm.OOMKill.Known || m.vm.OOMKill != kills,
		reclaimed: pages != taken(&m.vm) || !m.vm.PgstealKswapd.Known,
	}
}

// taken counts the pages that were taken from processes and cgroups without any
// of their own running, or given back to them.
func taken(v *kernel.Vmstat) [7]kernel.Num {
	return [...]kernel.Num{
		v.PgstealKswapd, v.PgstealDirect, v.PgstealKhugepaged, v.PgstealProactive, v.SlabsScanned, v.Pswpin, v.Pswpout,
	}
}

// kswapdWork counts what kswapd cannot run without.
func kswapdWork(v *kernel.Vmstat) [3]kernel.Num {
	return [...]kernel.Num{v.Pageoutrun, v.PgscanKswapd, v.SlabsScanned}
}

// read fills in the plan's sample, after changes.
func (m *machine) read(p *wire.Sample, now time.Time) {
	read(m.stat, &m.times)
	t := &m.times.Total
	p.BusyNs = scaled(t.Busy(), nanosPerTick)
	p.UserNs = scaled(t.User.Plus(t.Nice), nanosPerTick)
	p.SystemNs = scaled(t.System.Plus(t.IRQ).Plus(t.SoftIRQ), nanosPerTick)
	p.IdleNs = scaled(t.Idle, nanosPerTick)
	p.IOWaitNs, p.StealNs = scaled(t.IOWait, nanosPerTick), scaled(t.Steal, nanosPerTick)
	m.memory(p)
	m.paging(p)
	p.KswapdCPUNs = m.kswapdCPU(now)
	m.directReclaim(p)

	p.PSICPUSome, _ = stalls(m.psi[0], &m.pressure)
	p.PSIMemSome, p.PSIMemFull = m.memSome, m.memFull
	p.PSIIOSome, p.PSIIOFull = stalls(m.psi[2], &m.pressure)
}

// netstatEvery is how often the counts of connections that were turned away are
// read although the listeners tell of none: one may have been closed.
const netstatEvery = 10 * time.Second

// listening fills in how often a connection was turned away. The kernel writes
// out hundreds of counters for two, so that they are read only when the
// listeners tell that they have changed.
func (m *machine) listening(p *wire.Sample, drops gauge.ListenDrops, now time.Time) {
	if !drops.Known || drops != m.drops || !m.net.ListenDrops.Known || now.Sub(m.netAt) >= netstatEvery {
		read(m.netstat, &m.net)
		m.drops, m.netAt = drops, now
	}
	p.Overflows, p.ListenDrops = known(m.net.ListenOverflows), known(m.net.ListenDrops)
}

func (m *machine) memory(p *wire.Sample) {
	read(m.meminfo, &m.mem)
	i := &m.mem
	p.MemTotal, p.MemAvailable, p.MemFree = known(i.MemTotal), known(i.MemAvailable), known(i.MemFree)
	p.Buffers, p.Cached, p.AnonPages, p.Slab = known(i.Buffers), known(i.Cached), known(i.AnonPages), known(i.Slab)
	p.SwapTotal, p.SwapFree, p.SwapCached = known(i.SwapTotal), known(i.SwapFree), known(i.SwapCached)
	p.Dirty, p.Mapped, p.Shmem = known(i.Dirty), known(i.Mapped), known(i.Shmem)
	p.SReclaimable, p.SUnreclaim = known(i.SReclaimable), known(i.SUnreclaim)
	p.KernelStack, p.PageTables = known(i.KernelStack), known(i.PageTables)
}

func (m *machine) paging(p *wire.Sample) {
	v := &m.vm
	p.PgscanKswapd, p.PgscanDirect = known(v.PgscanKswapd), known(v.PgscanDirect)
	p.PgscanKhugepaged, p.PgscanProactive = known(v.PgscanKhugepaged), known(v.PgscanProactive)
	p.PgscanAnon, p.PgscanFile = known(v.PgscanAnon), known(v.PgscanFile)
	p.PgstealKswapd, p.PgstealDirect = known(v.PgstealKswapd), known(v.PgstealDirect)
	p.PgstealKhugepaged, p.PgstealProactive = known(v.PgstealKhugepaged), known(v.PgstealProactive)
	p.PgstealAnon, p.PgstealFile = known(v.PgstealAnon), known(v.PgstealFile)
	p.PgscanDirectThrottle = known(v.PgscanDirectThrottle)
	p.Allocstall, p.AllocstallNormal = known(v.Allocstall), known(v.AllocstallNormal)
	p.Pgrefill, p.Pgactivate, p.Pgdeactivate = known(v.Pgrefill), known(v.Pgactivate), known(v.Pgdeactivate)
	p.SlabsScanned, p.Pageoutrun, p.CompactStall = known(v.SlabsScanned), known(v.Pageoutrun), known(v.CompactStall)
	p.RefaultAnon, p.RefaultFile = known(v.WorkingsetRefaultAnon), known(v.WorkingsetRefaultFile)
	p.WorkingsetActivate, p.WorkingsetRestore = known(v.WorkingsetActivate), known(v.WorkingsetRestore)
	p.WorkingsetNodereclaim = known(v.WorkingsetNodereclaim)
	p.Pswpin, p.Pswpout, p.PgpgIn, p.PgpgOut = known(v.Pswpin), known(v.Pswpout), known(v.Pgpgin), known(v.Pgpgout)
	p.PgfaultAll, p.Pgmajfault, p.OOMKills = known(v.Pgfault), known(v.Pgmajfault), known(v.OOMKill)
}

// directReclaim fills in how often, and for how long, others than kswapd reclaim.
// A reading before which events were lost is unknown: the sums are too small by
// what was in them.
func (m *machine) directReclaim(p *wire.Sample) {
	if m.reclaim == nil || m.reclaim.Read(&m.direct) != nil {
		return
	}
	if m.direct.Lost != m.lost {
		m.lost = m.direct.Lost
		return
	}
	p.DirectReclaims, p.DirectReclaimNs = int64(m.direct.Count), int64(m.direct.Nanos)
}

// kswapdCPU is what kswapd has used, in ns, -1 if that is unknown.
func (m *machine) kswapdCPU(now time.Time) int64 {
	if m.kswapd == nil {
		return -1
	}
	if m.kswapdIn == 0 && m.kswapdNs >= 0 && now.Sub(m.kswapdAt) < restEvery {
		return m.kswapdNs
	}
	m.kswapdNs, m.kswapdAt, m.kswapdIn = -1, now, max(0, m.kswapdIn-1)
	if ticks, err := m.kswapd.Ticks(); err == nil {
		m.kswapdNs = int64(ticks) * nanosPerTick
	}
	return m.kswapdNs
}

// stalls reads a pressure file: the totals in µs.
func stalls(r *kernel.Reader[kernel.PSI], p *kernel.PSI) (some, full int64) {
	if r == nil {
		return -1, -1
	}
	read(r, p)
	return total(&p.Some), total(&p.Full)
}

func total(s *kernel.Stall) int64 {
	if !s.Known {
		return -1
	}
	return int64(s.TotalMicros)
}

// swapDisks reads the disks that hold swap.
type swapDisks struct {
	stats *kernel.Reader[kernel.Diskstats]
	swaps *kernel.Reader[kernel.Swaps]

	disks kernel.Diskstats
	areas kernel.Swaps
	names []string
	// swap is the size of swap when names was made.
	swap int64
}

func (d *swapDisks) open(fs *kernel.FS) error {
	return errors.Join(optionalReader(&d.stats, fs.DiskstatsReader), optionalReader(&d.swaps, fs.SwapsReader))
}

func (d *swapDisks) close() error { return errors.Join(d.stats.Close(), d.swaps.Close()) }

// read fills in the plan's sample, whose SwapTotal is known by then. Without
// swap on a disk all is unknown; when swap is taken out, its disk stays.
func (d *swapDisks) read(p *wire.Sample) {
	if d.stats == nil || d.swaps == nil {
		return
	}
	if p.SwapTotal > 0 && p.SwapTotal != d.swap {
		d.swap = p.SwapTotal
		d.find()
	}
	if len(d.names) == 0 {
		return
	}
	read(d.stats, &d.disks)
	sum := kernel.Disk{}
	for i, name := range d.names {
		disk := d.disks.Find(name)
		if disk == nil {
			return
		}
		if i == 0 {
			sum = *disk
			continue
		}
		sum.Reads, sum.ReadSectors = sum.Reads.Plus(disk.Reads), sum.ReadSectors.Plus(disk.ReadSectors)
		sum.Writes, sum.WriteSectors = sum.Writes.Plus(disk.Writes), sum.WriteSectors.Plus(disk.WriteSectors)
		sum.BusyMillis, sum.QueueMillis = sum.BusyMillis.Plus(disk.BusyMillis), sum.QueueMillis.Plus(disk.QueueMillis)
		sum.InFlight = sum.InFlight.Plus(disk.InFlight)
	}
	const nanosPerMilli = 1_000_000
	p.DiskReads, p.DiskWrites, p.DiskInFlight = known(sum.Reads), known(sum.Writes), known(sum.InFlight)
	p.DiskReadBytes = scaled(sum.ReadSectors, kernel.SectorBytes)
	p.DiskWriteBytes = scaled(sum.WriteSectors, kernel.SectorBytes)
	p.DiskBusyNs, p.DiskQueueNs = scaled(sum.BusyMillis, nanosPerMilli), scaled(sum.QueueMillis, nanosPerMilli)
}

// find looks for the disks anew. Swap in a file names none.
func (d *swapDisks) find() {
	read(d.swaps, &d.areas)
	d.names = d.names[:0]
	for i := range d.areas.Areas {
		name := d.areas.Areas[i].Disk()
		if name == "" {
			d.names = d.names[:0]
			return
		}
		if !slices.Contains(d.names, name) {
			d.names = append(d.names, name)
		}
	}
}
