package evidence

import (
	"reflect"
	"time"
)

// Reading is one look at the kernel, at one instant. Levels are of that
// instant; counters are totals since boot, or since the cgroup was made.
type Reading struct {
	Name string    // t0, t1 …, or where it comes from
	At   time.Time // zero if nothing tells
	// AtFrom is where the time stands.
	AtFrom Source
	// Clock is seconds on whatever clock the readings share, when only how far
	// they are apart is known.
	Clock Value
	// View says whose files /proc shows.
	View View
	// Frozen says that the source does not move: its totals are those of the
	// reading before although time has passed.
	Frozen bool

	Machine    Machine
	Meminfo    Meminfo
	Vmstat     Vmstat
	PSI        Pressures
	CPU        CPUTimes // all CPUs, from /proc/stat
	Netstat    Netstat
	SwapDisk   DiskIO // the disks that hold swap, added up
	ZFS        ARC
	Cgroups    []Cgroup
	Listeners  []Listener
	Sched      []Sched // of server processes
	KswapdTime Value   // CPU time of all kswapd threads since boot, s
}

// View says whose files /proc shows.
type View string

// The views. A container without lxcfs sees its host's /proc, so that meminfo
// says nothing of its own limit: [Cgroup].Own does. With lxcfs it sees some
// fields of its own and the host's others, which are then marked [Implausible].
const (
	ViewUnknown View = ""
	ViewMachine View = "machine"   // the machine's own
	ViewHost    View = "host"      // of the machine around the capture's own cgroup
	ViewMixed   View = "container" // partly virtualised for the container
)

// Machine is what a reading says about the machine as a whole.
type Machine struct {
	Kernel      string // release; empty if not known
	Host        string // name; empty if not known or blanked
	CPUs        Value
	PageBytes   Value // Detail says when it is assumed
	Uptime      Value // s
	Boot        Value // Unix time, s
	SomaxConn   Value // net.core.somaxconn, the most that a backlog can be
	Load1       Value
	Load5       Value
	Load15      Value
	Runnable    Value // tasks that run or want to
	Tasks       Value
	Blocked     Value // tasks in uninterruptible sleep
	Overcommit  Value // vm.overcommit_memory: 0, 1 or 2
	Swappiness  Value
	Watermark   Value // vm.watermark_scale_factor
	InContainer Tri
	Root        Tri    // read by root
	CgroupTree  string // v1, v2, hybrid, none; empty if not known
	// MemoryCgroup says whether the kernel has the memory controller switched on.
	MemoryCgroup Tri
}

// Tri is yes, no or not known.
type Tri string

// The answers.
const (
	Unsure Tri = ""
	Yes    Tri = "yes"
	No     Tri = "no"
)

func triOf(b bool) Tri {
	if b {
		return Yes
	}
	return No
}

// Meminfo is /proc/meminfo in bytes, HugePages in pages of HugepageSize.
type Meminfo struct {
	MemTotal, MemFree, MemAvailable              Value
	Buffers, Cached, SwapCached                  Value
	Active, Inactive                             Value
	ActiveAnon                                   Value `field:"Active(anon)"`
	InactiveAnon                                 Value `field:"Inactive(anon)"`
	ActiveFile                                   Value `field:"Active(file)"`
	InactiveFile                                 Value `field:"Inactive(file)"`
	Unevictable, Mlocked                         Value
	SwapTotal, SwapFree                          Value
	Zswap, Zswapped                              Value
	Dirty, Writeback                             Value
	AnonPages, Mapped, Shmem                     Value
	KReclaimable, Slab, SReclaimable, SUnreclaim Value
	KernelStack, PageTables                      Value
	CommitLimit                                  Value
	CommittedAS                                  Value `field:"Committed_AS"`
	AnonHugePages, Hugetlb                       Value
	HugepageSize                                 Value `field:"Hugepagesize"`
	HugePagesTotal                               Value `field:"HugePages_Total" unit:"pages"`
	HugePagesFree                                Value `field:"HugePages_Free" unit:"pages"`
	HugePagesRsvd                                Value `field:"HugePages_Rsvd" unit:"pages"`
	HugePagesSurp                                Value `field:"HugePages_Surp" unit:"pages"`
}

// Vmstat is /proc/vmstat: totals since boot, in pages where the tag does not
// say otherwise. What kernels split by zone is added up.
type Vmstat struct {
	PgscanKswapd, PgscanDirect        Value
	PgscanKhugepaged, PgscanProactive Value
	PgscanAnon, PgscanFile            Value
	PgstealKswapd                     Value `field:"pgsteal_kswapd|kswapd_steal"`
	PgstealDirect                     Value `field:"pgsteal_direct|pgsteal"`
	PgstealKhugepaged                 Value
	PgstealProactive                  Value
	PgstealAnon, PgstealFile          Value
	PgscanDirectThrottle              Value `unit:"events"`
	Allocstall                        Value `unit:"events"`
	Pswpin, Pswpout                   Value
	Zswpin, Zswpout                   Value
	Pgpgin, Pgpgout                   Value `unit:"KiB"`
	Pgfault, Pgmajfault               Value `unit:"events"`
	WorkingsetRefaultAnon             Value
	WorkingsetRefaultFile             Value `field:"workingset_refault_file|workingset_refault"`
	WorkingsetActivate                Value `field:"workingset_activate|workingset_activate_anon|workingset_activate_file"`
	WorkingsetRestore                 Value `field:"workingset_restore|workingset_restore_anon|workingset_restore_file"`
	OOMKill                           Value `field:"oom_kill" unit:"events"`
	CompactStall                      Value `unit:"events"`
	// NrZspages is what the pools of compressed swap (zram, zswap) take now.
	NrZspages Value
}

// Pressures is PSI of the machine or of a cgroup.
type Pressures struct{ CPU, Memory, IO, IRQ Pressure }

// Pressure is one pressure file. Cpu has no full before 5.13, irq no some.
type Pressure struct{ Some, Full Stall }

// Stall is one line of it: percentages of wall time and a total in µs.
type Stall struct{ Avg10, Avg60, Avg300, Total Value }

// CPUTimes is the time of all CPUs since boot, in s.
type CPUTimes struct {
	User, Nice, System, Idle, IOWait, IRQ, SoftIRQ, Steal Value
}

// Netstat is /proc/net/netstat and snmp: events since boot of one network
// namespace. Unix sockets are not in it.
type Netstat struct {
	ListenOverflows, ListenDrops                     Value
	SyncookiesSent, SyncookiesRecv, SyncookiesFailed Value
	TCPReqQFullDoCookies, TCPReqQFullDrop            Value
	TCPBacklogDrop, TCPRcvQDrop                      Value
	TCPAbortOnClose, TCPAbortOnMemory                Value
	TCPAbortOnTimeout                                Value
	TCPTimeouts, TCPSynRetrans                       Value
	ActiveOpens, PassiveOpens, AttemptFails          Value
	EstabResets, CurrEstab, RetransSegs              Value
}

// DiskIO is what the disks that hold swap did since boot.
type DiskIO struct {
	Name                  string // of all areas of swap, the path of those that are files
	Reads, Writes         Value  // events
	ReadBytes, WriteBytes Value
	BusyMillis            Value
}

// ARC is the cache of ZFS (/proc/spl/kstat/zfs/arcstats), in bytes. It is in
// neither Cached nor, on most versions, any line of meminfo.
type ARC struct{ Size, Min, Max Value }

// Cgroup is a control group, v1 or v2, in the same units.
type Cgroup struct {
	Path    string // below the hierarchy's root; as the capture calls it
	Version string // v1, v2; empty if not known
	// Own says that it is the cgroup the capture was taken in.
	Own    bool
	Memory CgroupMemory
	CPU    CgroupCPU
	PIDs   CgroupPIDs
	PSI    Pressures
	// Server is the address or name of the server in it, empty if none is known.
	Server string
}

// CgroupMemory is the memory controller, children included; bytes, and events
// since the cgroup was made.
type CgroupMemory struct {
	Current           Value `v2:"memory.current" v1:"memory.usage_in_bytes"`
	Peak              Value `v2:"memory.peak" v1:"memory.max_usage_in_bytes"`
	Max               Limit `v2:"memory.max" v1:"memory.limit_in_bytes"`
	High              Limit `v2:"memory.high"`
	SwapMax           Limit `v2:"memory.swap.max"`
	SwapCurrent       Value `v2:"memory.swap.current" v1:"memory.stat total_swap"`
	Anon              Value `v2:"memory.stat anon" v1:"memory.stat total_rss"`
	File              Value `v2:"memory.stat file" v1:"memory.stat total_cache"`
	Shmem             Value `v2:"memory.stat shmem" v1:"memory.stat total_shmem"`
	FileMapped        Value `v2:"memory.stat file_mapped" v1:"memory.stat total_mapped_file"`
	FileDirty         Value `v2:"memory.stat file_dirty" v1:"memory.stat total_dirty"`
	ActiveFile        Value `v2:"memory.stat active_file" v1:"memory.stat total_active_file"`
	InactiveFile      Value `v2:"memory.stat inactive_file" v1:"memory.stat total_inactive_file"`
	Kernel            Value `v2:"memory.stat kernel"`
	Slab              Value `v2:"memory.stat slab"`
	PgFault           Value `v2:"memory.stat pgfault" v1:"memory.stat total_pgfault" unit:"events"`
	PgMajFault        Value `v2:"memory.stat pgmajfault" v1:"memory.stat total_pgmajfault" unit:"events"`
	RefaultAnon       Value `v2:"memory.stat workingset_refault_anon" v1:"memory.stat total_workingset_refault_anon" unit:"pages"`
	RefaultFile       Value `v2:"memory.stat workingset_refault_file|workingset_refault" v1:"memory.stat total_workingset_refault_file|total_workingset_refault" unit:"pages"`
	PgScan            Value `v2:"memory.stat pgscan" unit:"pages"`
	PgSteal           Value `v2:"memory.stat pgsteal" unit:"pages"`
	EventLow          Value `v2:"memory.events low" unit:"events"`
	EventHigh         Value `v2:"memory.events high" unit:"events"`
	EventMax          Value `v2:"memory.events max" v1:"memory.failcnt" unit:"events"`
	EventOOM          Value `v2:"memory.events oom" unit:"events"`
	EventOOMKill      Value `v2:"memory.events oom_kill" v1:"memory.oom_control oom_kill" unit:"events"`
	EventOOMGroupKill Value `v2:"memory.events oom_group_kill" unit:"events"`
	LocalOOMKill      Value `v2:"memory.events.local oom_kill" unit:"events"`
	UnderOOM          Value `v1:"memory.oom_control under_oom" unit:"events"`
}

// CgroupCPU is the CPU controller; µs since the cgroup was made.
type CgroupCPU struct {
	UsageMicros     Value `v2:"cpu.stat usage_usec" v1:"cpuacct.usage"`
	UserMicros      Value `v2:"cpu.stat user_usec" v1:"cpuacct.stat user"`
	SystemMicros    Value `v2:"cpu.stat system_usec" v1:"cpuacct.stat system"`
	QuotaMicros     Limit `v2:"cpu.max" v1:"cpu.cfs_quota_us"` // may be used in every PeriodMicros
	PeriodMicros    Value `v2:"cpu.max" v1:"cpu.cfs_period_us"`
	Periods         Value `v2:"cpu.stat nr_periods" v1:"cpu.stat nr_periods" unit:"events"`
	Throttled       Value `v2:"cpu.stat nr_throttled" v1:"cpu.stat nr_throttled" unit:"events"`
	ThrottledMicros Value `v2:"cpu.stat throttled_usec" v1:"cpu.stat throttled_time"` // of all its CPUs
	// Now is how many CPUs it uses, as a tool had it that looked twice.
	Now Value
}

// CgroupPIDs is the controller of tasks, threads included.
//
// https://docs.kernel.org/admin-guide/cgroup-v2.html (pids)
type CgroupPIDs struct {
	Current Value `v2:"pids.current" v1:"pids.current" unit:"events"`
	Max     Limit `v2:"pids.max" v1:"pids.max" unit:"events"`
	Refused Value `v2:"pids.events max" v1:"pids.events max" unit:"events"` // forks that failed for it
}

// QuotaCPUs is how many CPUs the quota allows.
func (c *CgroupCPU) QuotaCPUs() Value {
	if c.QuotaMicros.Unlimited {
		return Missing(Absent, "there is no quota", c.QuotaMicros.From...)
	}
	return c.QuotaMicros.Over(c.PeriodMicros)
}

// Listener is a socket that listens.
type Listener struct {
	Address string `json:"address,omitempty"` // "0.0.0.0:8000", "[::]:80" or the path of a unix socket
	Unix    bool   `json:"unix,omitempty"`
	Port    int    `json:"port,omitempty"`   // 0 for unix sockets
	Queue   Value  `json:"queue,omitzero"`   // connections that wait to be accepted
	Backlog Value  `json:"backlog,omitzero"` // the limit; the queue may hold one more
	Drops   Value  `json:"drops,omitzero"`   // events since it was opened, of TCP
	// Process is the program's name and pid where the source has it.
	Process string `json:"process,omitempty"`
	PID     int    `json:"pid,omitempty"`
}

// Full reports whether the queue takes no more: the kernel lets one more in than
// the backlog says.
//
// sk_acceptq_is_full and unix_recvq_full in the kernel's sources.
func (l *Listener) Full() bool { return l.AtLimit() && l.Queue.Number > l.Backlog.Number }

// AtLimit reports whether the queue has reached its limit and takes one more at
// most.
func (l *Listener) AtLimit() bool {
	return l.Queue.Known && l.Backlog.Known && l.Backlog.Number > 0 && l.Queue.Number >= l.Backlog.Number
}

// Sched is what the scheduler did with the main thread of a server's process
// since it started.
type Sched struct {
	PID    int
	Comm   string
	Server string // as in [Pool]
	State  string // R, S, D …
	Run    Value  // s on a CPU
	Wait   Value  // s ready to run, waiting for a CPU
	CPU    Value  // s of all threads
}

// Cgroup returns the cgroup with a path, nil if the reading has none.
func (r *Reading) Cgroup(path string) *Cgroup {
	for i := range r.Cgroups {
		if r.Cgroups[i].Path == path {
			return &r.Cgroups[i]
		}
	}
	return nil
}

// Listener returns the listener with an address, nil if the reading has none.
func (r *Reading) Listener(address string) *Listener {
	for i := range r.Listeners {
		if r.Listeners[i].Address == address {
			return &r.Listeners[i]
		}
	}
	return nil
}

// OfCgroup makes a getter for [Case.Rate] and its like of one for a cgroup.
func OfCgroup(path string, get func(*Cgroup) Value) func(*Reading) Value {
	return func(r *Reading) Value {
		if g := r.Cgroup(path); g != nil {
			return get(g)
		}
		return Missing(NotSeen, "the reading has no cgroup "+path)
	}
}

// CgroupPaths lists the paths of all cgroups in any reading, in the order in
// which they were met.
func (c *Case) CgroupPaths() []string {
	var paths []string
	seen := map[string]bool{}
	for i := range c.Readings {
		for _, g := range c.Readings[i].Cgroups {
			if !seen[g.Path] {
				seen[g.Path] = true
				paths = append(paths, g.Path)
			}
		}
	}
	return paths
}

// emptyReading is a reading of which nothing is known.
func emptyReading(name string) Reading {
	r := Reading{Name: name}
	nothing(reflect.ValueOf(&r).Elem())
	return r
}

// giveReasons makes sure that no value is missing without a reason.
func (c *Case) giveReasons() {
	nothing(reflect.ValueOf(&c.Readings).Elem())
	nothing(reflect.ValueOf(&c.Activities).Elem())
	nothing(reflect.ValueOf(&c.Pools).Elem())
	nothing(reflect.ValueOf(&c.Containers).Elem())
	nothing(reflect.ValueOf(&c.Processes).Elem())
	nothing(reflect.ValueOf(&c.Config).Elem())
}

// nothing gives every Value below v that has no reason yet that of an input
// which was not there.
func nothing(v reflect.Value) {
	if v.Type() == reflect.TypeFor[Value]() {
		x := v.Addr().Interface().(*Value)
		if x.Known {
			return
		}
		if x.Number = 0; x.Why == "" {
			x.Why, x.Detail = NotSeen, "no input holds it"
		}
		return
	}
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			nothing(v.Index(i))
		}
		return
	}
	if v.Kind() != reflect.Struct || v.Type() == reflect.TypeFor[time.Time]() || v.Type() == reflect.TypeFor[Source]() {
		return
	}
	for i := range v.NumField() {
		nothing(v.Field(i))
	}
}
