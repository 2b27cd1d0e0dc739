package wire

import (
	"reflect"
	"strings"
)

// Sample is one reading of one scope at one instant. The scope is the plan
// (App empty) or an app. A negative value means that the signal could not be
// read, or that it belongs to the other scope; it is never zero for that
// reason. Counters count since boot or since the thing that they describe was
// made, so that a window's value is a difference; one that falls was reset.
//
// The names in json are those of the record's columns.
type Sample struct {
	App  string `json:"app,omitempty"`
	AtNs int64  `json:"at_ns"`

	// CPUNs is the CPU time used since start by the scope's processes, dead
	// ones included; for the plan, by all apps.
	CPUNs int64 `json:"cpu_ns"`
	// BusyNs is, for the plan, the CPU time used by the whole machine since boot
	// (/proc/stat, all but idle and iowait).
	BusyNs int64 `json:"busy_ns"`
	// RSS is the resident memory of the scope's processes in bytes.
	RSS   int64 `json:"rss"`
	Procs int64 `json:"procs"`

	// Accept queue of the app's listening socket.
	QueueDepth  int64 `json:"queue_depth"`
	QueueLimit  int64 `json:"queue_limit"`
	OldestMs    int64 `json:"oldest_ms"`
	Abandoned   int64 `json:"abandoned"`
	Overflows   int64 `json:"overflows"`
	ListenDrops int64 `json:"listen_drops"`

	// Of the plan: /proc/meminfo in bytes, /proc/vmstat counters in pages,
	// /proc/pressure totals in µs.
	MemTotal      int64 `json:"mem_total"`
	MemAvailable  int64 `json:"mem_available"`
	MemFree       int64 `json:"mem_free"`
	Cached        int64 `json:"cached"`
	AnonPages     int64 `json:"anon_pages"`
	Slab          int64 `json:"slab"`
	SwapTotal     int64 `json:"swap_total"`
	SwapFree      int64 `json:"swap_free"`
	PgscanKswapd  int64 `json:"pgscan_kswapd"`
	PgscanDirect  int64 `json:"pgscan_direct"`
	PgstealKswapd int64 `json:"pgsteal_kswapd"`
	PgstealDirect int64 `json:"pgsteal_direct"`
	Pswpin        int64 `json:"pswpin"`
	Pswpout       int64 `json:"pswpout"`
	Allocstall    int64 `json:"allocstall"`
	Pgmajfault    int64 `json:"pgmajfault"`
	RefaultAnon   int64 `json:"refault_anon"`
	RefaultFile   int64 `json:"refault_file"`
	OOMKills      int64 `json:"oom_kills"`
	PSICPUSome    int64 `json:"psi_cpu_some"`
	PSIMemSome    int64 `json:"psi_mem_some"`
	PSIMemFull    int64 `json:"psi_mem_full"`
	PSIIOSome     int64 `json:"psi_io_some"`
	PSIIOFull     int64 `json:"psi_io_full"`
	// AgentCPUNs and AgentRSS are what the observer itself costs.
	AgentCPUNs int64 `json:"agent_cpu_ns"`
	AgentRSS   int64 `json:"agent_rss"`

	// Of an app: its pool, as seen from outside. Workers that can serve, how
	// many of them hold a request, how many do not, and the requests that wait
	// for one, in the accept queue or taken by a worker that is busy. Unknown
	// where the pool is inside the process: gevent, uvicorn, Node.js, Go.
	Workers int64 `json:"workers"`
	Busy    int64 `json:"busy"`
	Idle    int64 `json:"idle"`
	Queued  int64 `json:"queued"`

	// Of an app: its cgroup, children included, where it has one.
	// https://www.kernel.org/doc/html/latest/admin-guide/cgroup-v2.html and
	// https://www.kernel.org/doc/html/latest/admin-guide/cgroup-v1/memory.html
	CgMemory       int64 `json:"cg_memory"`        // memory.current, memory.usage_in_bytes; bytes
	CgAnon         int64 `json:"cg_anon"`          // memory.stat anon, v1 total_rss; bytes
	CgFile         int64 `json:"cg_file"`          // memory.stat file, v1 total_cache; bytes, shmem included
	CgSlab         int64 `json:"cg_slab"`          // memory.stat slab, v2; bytes
	CgSwap         int64 `json:"cg_swap"`          // memory.swap.current, v1 total_swap; bytes
	CgRefaultAnon  int64 `json:"cg_refault_anon"`  // memory.stat workingset_refault_anon; pages
	CgRefaultFile  int64 `json:"cg_refault_file"`  // memory.stat workingset_refault_file; pages
	CgOOMKills     int64 `json:"cg_oom_kills"`     // memory.events oom_kill, v1 memory.oom_control; processes
	CgMax          int64 `json:"cg_max"`           // memory.events max, v1 memory.failcnt: times the limit was hit
	CgPSIMemSome   int64 `json:"cg_psi_mem_some"`  // memory.pressure some total, v2; µs
	CgPSIMemFull   int64 `json:"cg_psi_mem_full"`  // memory.pressure full total, v2; µs
	CgCPUNs        int64 `json:"cg_cpu_ns"`        // cpu.stat usage_usec, v1 cpuacct.usage; ns
	CgThrottledNs  int64 `json:"cg_throttled_ns"`  // cpu.stat throttled_usec, v1 throttled_time; ns
	CgThrottled    int64 `json:"cg_throttled"`     // cpu.stat nr_throttled: periods
	DelayReclaimNs int64 `json:"delay_reclaim_ns"` // direct reclaim; ns, as the next three
	DelaySwapinNs  int64 `json:"delay_swapin_ns"`  // waiting for pages to be read from swap
	DelayThrashNs  int64 `json:"delay_thrash_ns"`  // waiting for pages that had only just been evicted
	// DelayIONs and the three before it are the delay accounting of the app's
	// processes that can be found, ended threads included: unknown where
	// kernel.task_delayacct is 0. Waiting for block I/O; ns.
	// https://www.kernel.org/doc/html/latest/accounting/delay-accounting.html
	DelayIONs int64 `json:"delay_io_ns"`

	// Of a Node.js app: the four numbers of process.memoryUsage() that the
	// kernel cannot see; bytes. https://nodejs.org/api/process.html
	HeapUsed     int64 `json:"heap_used"`
	HeapTotal    int64 `json:"heap_total"`
	External     int64 `json:"external"`
	ArrayBuffers int64 `json:"array_buffers"`

	// Of the plan: who reclaims. KswapdCPUNs is the CPU time of all kswapd
	// threads in steps of 10 ms (/proc/PID/stat). DirectReclaims counts the
	// direct reclaims that ended since sampling began, DirectReclaimNs is the
	// wall time that they took in sum (the kernel's events
	// mm_vmscan_direct_reclaim_begin and _end); unknown without tracefs.
	// https://www.kernel.org/doc/html/latest/trace/events-kmem.html
	KswapdCPUNs     int64 `json:"kswapd_cpu_ns"`
	DirectReclaims  int64 `json:"direct_reclaims"`
	DirectReclaimNs int64 `json:"direct_reclaim_ns"`
	// The platform's own share of the plan, the agent not included.
	PlatformCPUNs int64 `json:"platform_cpu_ns"`
	PlatformRSS   int64 `json:"platform_rss"`
	// LatenessNs is how long after it was due this reading was taken.
	LatenessNs int64 `json:"lateness_ns"`

	// Of the plan: CPU time of the machine since boot (/proc/stat), in steps of
	// 10 ms. UserNs includes nice, SystemNs interrupts. Where the kernel stops its
	// tick while a CPU is idle, IdleNs and IOWaitNs are measured and the others
	// are counted in ticks, some of which a virtual machine may miss: then the
	// time that is neither idle nor iowait is nearer to what was used. IOWaitNs
	// may fall.
	// https://www.kernel.org/doc/html/latest/filesystems/proc.html#miscellaneous-kernel-statistics-in-proc-stat
	UserNs   int64 `json:"user_ns"`
	SystemNs int64 `json:"system_ns"`
	IdleNs   int64 `json:"idle_ns"`
	IOWaitNs int64 `json:"iowait_ns"`
	StealNs  int64 `json:"steal_ns"`

	// Of the plan: more of /proc/meminfo, in bytes.
	// https://www.kernel.org/doc/html/latest/filesystems/proc.html#meminfo
	Buffers      int64 `json:"buffers"`
	SwapCached   int64 `json:"swap_cached"`
	Dirty        int64 `json:"dirty"`
	Mapped       int64 `json:"mapped"`
	Shmem        int64 `json:"shmem"`
	SReclaimable int64 `json:"s_reclaimable"`
	SUnreclaim   int64 `json:"s_unreclaim"`
	KernelStack  int64 `json:"kernel_stack"`
	PageTables   int64 `json:"page_tables"`

	// Of the plan: more of /proc/vmstat. Pages, but for PgpgIn and PgpgOut
	// (KiB) and where events are counted. Counters that a kernel splits by zone
	// or by kind of page are added up; each is unknown where the kernel has no
	// such counter.
	// https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/mm/vmstat.c
	PgscanAnon            int64 `json:"pgscan_anon"`
	PgscanFile            int64 `json:"pgscan_file"`
	PgstealAnon           int64 `json:"pgsteal_anon"`
	PgstealFile           int64 `json:"pgsteal_file"`
	PgscanKhugepaged      int64 `json:"pgscan_khugepaged"`
	PgstealKhugepaged     int64 `json:"pgsteal_khugepaged"`
	PgscanProactive       int64 `json:"pgscan_proactive"`
	PgstealProactive      int64 `json:"pgsteal_proactive"`
	PgscanDirectThrottle  int64 `json:"pgscan_direct_throttle"` // events
	AllocstallNormal      int64 `json:"allocstall_normal"`      // events; the zones normal and movable only
	Pgrefill              int64 `json:"pgrefill"`
	Pgactivate            int64 `json:"pgactivate"`
	Pgdeactivate          int64 `json:"pgdeactivate"`
	SlabsScanned          int64 `json:"slabs_scanned"` // objects
	Pageoutrun            int64 `json:"pageoutrun"`    // events: runs of kswapd
	CompactStall          int64 `json:"compact_stall"` // events
	WorkingsetActivate    int64 `json:"workingset_activate"`
	WorkingsetRestore     int64 `json:"workingset_restore"`
	WorkingsetNodereclaim int64 `json:"workingset_nodereclaim"`
	PgpgIn                int64 `json:"pgpgin"`
	PgpgOut               int64 `json:"pgpgout"`
	PgfaultAll            int64 `json:"pgfault"` // events, major faults included

	// Of the plan: the disks that hold swap, added up (/proc/diskstats). DiskBusyNs
	// is the time in which at least one request was under way, DiskQueueNs that
	// time weighted by how many were: its slope is the queue's mean length.
	// https://www.kernel.org/doc/html/latest/admin-guide/iostats.html
	DiskReads      int64 `json:"disk_reads"`
	DiskWrites     int64 `json:"disk_writes"`
	DiskReadBytes  int64 `json:"disk_read_bytes"`
	DiskWriteBytes int64 `json:"disk_write_bytes"`
	DiskBusyNs     int64 `json:"disk_busy_ns"`
	DiskQueueNs    int64 `json:"disk_queue_ns"`
	DiskInFlight   int64 `json:"disk_in_flight"` // now
}

// SampleNames lists the names of a sample's numbers in the order of
// [Sample.Numbers]: those of its fields in json, and of the record's columns.
func SampleNames() [SampleNumbers]string {
	var names [SampleNumbers]string
	fields := reflect.TypeFor[Sample]()
	for i := range names {
		// The first field is the scope.
		names[i], _, _ = strings.Cut(fields.Field(i+1).Tag.Get("json"), ",")
	}
	return names
}

// Clear makes every number of the sample unreadable (-1) and forgets its
// scope.
func (s *Sample) Clear() {
	s.App = ""
	for _, n := range s.Numbers() {
		*n = -1
	}
}
