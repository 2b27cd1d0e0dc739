package kernel

import "bytes"

// Vmstat is /proc/vmstat: totals since boot, in pages of [FS.PageSize] where a
// comment does not say events. Counters that older kernels split by memory
// zone are added up. Fields are read by name; prefixes are never summed, since
// pgsteal_anon + pgsteal_file counts the same pages as pgsteal_kswapd +
// pgsteal_direct.
//
// https://www.kernel.org/doc/html/latest/admin-guide/mm/concepts.html
// https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/mm/vmstat.c
type Vmstat struct {
	PgscanKswapd, PgscanDirect          Num
	PgscanKhugepaged                    Num // since 6.2
	PgscanProactive                     Num // since 6.15, part of PgscanDirect before
	PgstealKswapd, PgstealDirect        Num
	PgstealKhugepaged                   Num // since 6.2
	PgstealProactive                    Num // since 6.15
	PgscanDirectThrottle                Num // events: a task was held back
	Allocstall                          Num // events: an allocation reclaimed directly
	Pswpin, Pswpout                     Num
	Pgpgin, Pgpgout                     Num // KiB
	Pgfault, Pgmajfault                 Num // events
	WorkingsetRefaultAnon               Num // since 5.9, when anonymous pages got working sets
	WorkingsetRefaultFile               Num // workingset_refault before 5.9, file pages only
	OOMKill                             Num // events, since 4.13
	CompactStall                        Num // events
	NrMapped, NrShmem, NrPageTablePages Num // now, not totals
}

// Vmstat reads /proc/vmstat once.
func (f *FS) Vmstat() (Vmstat, error) { return once(f.VmstatReader()) }

// VmstatReader opens /proc/vmstat for repeated reading.
func (f *FS) VmstatReader() (*Reader[Vmstat], error) {
	return newReader(f.root, "", part[Vmstat]{name: "proc/vmstat", parse: parseVmstat})
}

func parseVmstat(v *Vmstat, b []byte) error { return parseFlat(b, v.slot) }

func (v *Vmstat) slot(key []byte) *Num {
	switch string(withoutZone(key)) {
	case "pgscan_kswapd":
		return &v.PgscanKswapd
	case "pgscan_direct":
		return &v.PgscanDirect
	case "pgscan_khugepaged":
		return &v.PgscanKhugepaged
	case "pgscan_proactive":
		return &v.PgscanProactive
	case "pgsteal_kswapd", "kswapd_steal":
		return &v.PgstealKswapd
	case "pgsteal_direct":
		return &v.PgstealDirect
	case "pgsteal_khugepaged":
		return &v.PgstealKhugepaged
	case "pgsteal_proactive":
		return &v.PgstealProactive
	case "pgscan_direct_throttle":
		return &v.PgscanDirectThrottle
	case "allocstall":
		return &v.Allocstall
	case "pswpin":
		return &v.Pswpin
	case "pswpout":
		return &v.Pswpout
	case "pgpgin":
		return &v.Pgpgin
	case "pgpgout":
		return &v.Pgpgout
	case "pgfault":
		return &v.Pgfault
	case "pgmajfault":
		return &v.Pgmajfault
	case "workingset_refault_anon":
		return &v.WorkingsetRefaultAnon
	case "workingset_refault_file", "workingset_refault":
		return &v.WorkingsetRefaultFile
	case "oom_kill":
		return &v.OOMKill
	case "compact_stall":
		return &v.CompactStall
	case "nr_mapped":
		return &v.NrMapped
	case "nr_shmem":
		return &v.NrShmem
	case "nr_page_table_pages":
		return &v.NrPageTablePages
	}
	return nil
}

// withoutZone takes the memory zone off a name that has one.
func withoutZone(key []byte) []byte {
	i := bytes.LastIndexByte(key, '_')
	if i < 0 {
		return key
	}
	switch string(key[i+1:]) {
	case "dma", "dma32", "normal", "high", "movable", "device":
		return key[:i]
	}
	return key
}
