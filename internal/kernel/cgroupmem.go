package kernel

import (
	"bytes"
	"slices"
)

// CgroupMemory is what a cgroup's memory controller says, children included, in
// bytes and, where a comment says so, events since the cgroup was made. A new
// cgroup starts from 0. Fields that the version or the kernel lacks are unknown.
//
// https://www.kernel.org/doc/html/latest/admin-guide/cgroup-v2.html#memory-interface-files
// https://www.kernel.org/doc/html/latest/admin-guide/cgroup-v1/memory.html
type CgroupMemory struct {
	Current, Peak Num
	Max           Limit // memory.max, memory.limit_in_bytes
	High          Limit // v2
	SwapCurrent   Num
	SwapMax       Limit // v2; v1 limits memory and swap together

	Anon                     Num // v1: rss, with its swap cache
	File                     Num // page cache and shmem; v1: cache
	Shmem, FileMapped        Num
	FileDirty, FileWriteback Num
	ActiveAnon, InactiveAnon Num
	ActiveFile, InactiveFile Num
	Kernel, Slab             Num // v2

	// Events.
	PgFault, PgMajFault      Num
	RefaultAnon, RefaultFile Num // pages
	PgScan, PgSteal          Num // pages, v2
	EventLow, EventHigh      Num // v2
	EventMax                 Num // the limit was hit; v1: failcnt
	EventOOM                 Num // v2: the limit was hit and reclaim failed
	EventOOMKill             Num // processes killed; v1 since 4.13
	EventOOMGroupKill        Num // v2 since 5.17
	LocalOOMKill             Num // v2 since 5.2: EventOOMKill without the children's
	UnderOOM                 Num // v1: 1 while tasks wait for memory

	// WithoutChildren says that v1's memory.stat has no totals, as in excerpts
	// of it: what comes from there leaves the children out.
	WithoutChildren bool
}

// Memory reads the memory controller once.
func (c *Cgroup) Memory() (CgroupMemory, error) { return once(c.MemoryReader()) }

// MemoryReader opens the memory controller's files for repeated reading. The
// root cgroup of v2 has only memory.stat.
func (c *Cgroup) MemoryReader() (*Reader[CgroupMemory], error) {
	return cgroupReader(c, "memory", memoryV1, memoryV2)
}

// MemoryEventsReader is MemoryReader for how often the limit was hit and what
// the OOM killer did, without local events: for sampling.
func (c *Cgroup) MemoryEventsReader() (*Reader[CgroupMemory], error) {
	return cgroupReader(c, "memory", memoryEventsV1, memoryEventsV2)
}

// MemoryUsageReader is MemoryReader for Current and, in v2, SwapCurrent, which the
// kernel has at hand: for sampling.
func (c *Cgroup) MemoryUsageReader() (*Reader[CgroupMemory], error) {
	return cgroupReader(c, "memory", memoryUsageV1, memoryUsageV2)
}

// MemoryKindsReader is MemoryReader for Anon, File, Slab, RefaultAnon, RefaultFile
// and, in v1, SwapCurrent: for sampling. They are in memory.stat, which the kernel
// writes out as a whole, at ten times the cost of what MemoryUsageReader reads.
func (c *Cgroup) MemoryKindsReader() (*Reader[CgroupMemory], error) {
	return cgroupReader(c, "memory", memoryKindsV1, memoryKindsV2)
}

var (
	memoryUsageV2 = []part[CgroupMemory]{
		numFile("memory.current", func(m *CgroupMemory) *Num { return &m.Current }),
		numFile("memory.swap.current", func(m *CgroupMemory) *Num { return &m.SwapCurrent }),
	}
	memoryKindsV2  = []part[CgroupMemory]{flatFile("memory.stat", (*CgroupMemory).kindV2)}
	memoryStatV2   = []part[CgroupMemory]{flatFile("memory.stat", (*CgroupMemory).statV2)}
	memoryEventsV2 = []part[CgroupMemory]{flatFile("memory.events", (*CgroupMemory).event)}
	memoryUsageV1  = []part[CgroupMemory]{
		numFile("memory.usage_in_bytes", func(m *CgroupMemory) *Num { return &m.Current }),
	}
	memoryKindsV1  = []part[CgroupMemory]{memoryStatFileV1((*CgroupMemory).kindV1)}
	memoryStatV1   = []part[CgroupMemory]{memoryStatFileV1((*CgroupMemory).statV1)}
	memoryEventsV1 = []part[CgroupMemory]{
		numFile("memory.failcnt", func(m *CgroupMemory) *Num { return &m.EventMax }),
		flatFile("memory.oom_control", (*CgroupMemory).oomControl),
	}
)

var memoryV2 = slices.Concat(memoryUsageV2, memoryStatV2, memoryEventsV2, []part[CgroupMemory]{
	numFile("memory.peak", func(m *CgroupMemory) *Num { return &m.Peak }),
	limitFile("memory.max", func(m *CgroupMemory) *Limit { return &m.Max }),
	limitFile("memory.high", func(m *CgroupMemory) *Limit { return &m.High }),
	limitFile("memory.swap.max", func(m *CgroupMemory) *Limit { return &m.SwapMax }),
	flatFile("memory.events.local", (*CgroupMemory).localEvent),
})

var memoryV1 = slices.Concat(memoryUsageV1, memoryStatV1, memoryEventsV1, []part[CgroupMemory]{
	numFile("memory.max_usage_in_bytes", func(m *CgroupMemory) *Num { return &m.Peak }),
	limitFile("memory.limit_in_bytes", func(m *CgroupMemory) *Limit { return &m.Max }),
})

func (m *CgroupMemory) event(key []byte) *Num {
	switch string(key) {
	case "low":
		return &m.EventLow
	case "high":
		return &m.EventHigh
	case "max":
		return &m.EventMax
	case "oom":
		return &m.EventOOM
	case "oom_kill":
		return &m.EventOOMKill
	case "oom_group_kill":
		return &m.EventOOMGroupKill
	}
	return nil
}

func (m *CgroupMemory) localEvent(key []byte) *Num {
	if string(key) == "oom_kill" {
		return &m.LocalOOMKill
	}
	return nil
}

func (m *CgroupMemory) oomControl(key []byte) *Num {
	switch string(key) {
	case "under_oom":
		return &m.UnderOOM
	case "oom_kill":
		return &m.EventOOMKill
	}
	return nil
}

func (m *CgroupMemory) statV2(key []byte) *Num {
	switch string(key) {
	case "anon":
		return &m.Anon
	case "file":
		return &m.File
	case "shmem":
		return &m.Shmem
	case "file_mapped":
		return &m.FileMapped
	case "file_dirty":
		return &m.FileDirty
	case "file_writeback":
		return &m.FileWriteback
	case "kernel":
		return &m.Kernel
	case "slab":
		return &m.Slab
	case "pgscan":
		return &m.PgScan
	case "pgsteal":
		return &m.PgSteal
	}
	return m.statShared(key)
}

// kindV2 returns where a key goes that is sampled.
func (m *CgroupMemory) kindV2(key []byte) *Num { return m.kind(m.statV2(key)) }

func (m *CgroupMemory) kindV1(key []byte) *Num { return m.kind(m.statV1(key)) }

func (m *CgroupMemory) kind(field *Num) *Num {
	switch field {
	case &m.Anon, &m.File, &m.Slab, &m.SwapCurrent, &m.RefaultAnon, &m.RefaultFile:
		return field
	}
	return nil
}

// memoryStatFileV1 returns how memory.stat is read. It takes the keys that include
// children: without total_ they do not.
func memoryStatFileV1(slot func(*CgroupMemory, []byte) *Num) part[CgroupMemory] {
	total := []byte("total_")
	return part[CgroupMemory]{name: "memory.stat", single: true, flat: func(l *layout, m *CgroupMemory, b []byte) error {
		// The last key that is wanted has it, if any has.
		last := l.last()
		if last == nil {
			last = b
		}
		m.WithoutChildren = len(b) > 0 && !bytes.Contains(last, total)
		return l.parse(b, func(key []byte) *Num {
			key, is := bytes.CutPrefix(key, total)
			if !is && !m.WithoutChildren {
				return nil
			}
			return slot(m, key)
		})
	}}
}

func (m *CgroupMemory) statV1(key []byte) *Num {
	switch string(key) {
	case "rss":
		return &m.Anon
	case "cache":
		return &m.File
	case "shmem":
		return &m.Shmem
	case "mapped_file":
		return &m.FileMapped
	case "dirty":
		return &m.FileDirty
	case "writeback":
		return &m.FileWriteback
	case "swap":
		return &m.SwapCurrent
	}
	return m.statShared(key)
}

// statShared takes the keys that v1 and v2 spell alike.
func (m *CgroupMemory) statShared(key []byte) *Num {
	switch string(key) {
	case "active_anon":
		return &m.ActiveAnon
	case "inactive_anon":
		return &m.InactiveAnon
	case "active_file":
		return &m.ActiveFile
	case "inactive_file":
		return &m.InactiveFile
	case "pgfault":
		return &m.PgFault
	case "pgmajfault":
		return &m.PgMajFault
	case "workingset_refault_anon":
		return &m.RefaultAnon
	case "workingset_refault_file", "workingset_refault":
		return &m.RefaultFile
	}
	return nil
}
