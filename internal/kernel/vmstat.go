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
	PgscanKswapd, PgscanDirect     Num
	PgscanKhugepaged               Num // since 6.2
	PgscanProactive                Num // since 6.15, part of PgscanDirect before
	PgscanAnon, PgscanFile         Num // since 5.8: the four above, by kind of page
	PgstealKswapd, PgstealDirect   Num
	PgstealKhugepaged              Num // since 6.2
	PgstealProactive               Num // since 6.15
	PgstealAnon, PgstealFile       Num // since 5.8
	Pgsteal                        Num // before 3.5: all pages stolen, by whom is not said
	PgscanDirectThrottle           Num // events: a task was held back
	Allocstall                     Num // events: an allocation reclaimed directly
	AllocstallNormal               Num // events, since 4.8: those for the zone normal
	Pgrefill                       Num // looked at on the active lists
	Pgactivate, Pgdeactivate       Num
	SlabsScanned                   Num // objects of the kernel's own caches
	KswapdInodesteal, Pginodesteal Num // pages freed with inodes
	Pageoutrun                     Num // events: kswapd was woken and ran
	PgpromoteSuccess, PgdemoteAll  Num // between memory tiers, since 5.18 and 5.15
	Pgrotated                      Num
	Pswpin, Pswpout                Num
	SwpinZero, SwpoutZero          Num // since 6.13: pages of zeros, which Pswpin and Pswpout leave out
	Zswpin, Zswpout                Num // since 6.2
	Pgpgin, Pgpgout                Num // KiB
	Pgfault, Pgmajfault            Num // events, major ones in both
	WorkingsetRefaultAnon          Num // since 5.9, when anonymous pages got working sets
	WorkingsetRefaultFile          Num // workingset_refault before 5.9, file pages only
	WorkingsetActivate             Num // refaults of pages that were in use; both kinds
	WorkingsetRestore              Num // refaults of pages that were active; both kinds, since 5.0
	WorkingsetNodereclaim          Num
	OOMKill                        Num // events, since 4.13
	CompactStall                   Num // events

	NrMapped, NrShmem, NrPageTablePages Num // now, not totals
	NrZspages                           Num // now: of compressed swap (zram, zswap), since 4.8

	// normal says that AllocstallNormal is to be added to Allocstall.
	normal bool
}

// Vmstat reads /proc/vmstat once.
func (f *FS) Vmstat() (Vmstat, error) { return once(f.VmstatReader()) }

// VmstatReader opens /proc/vmstat for repeated reading.
func (f *FS) VmstatReader() (*Reader[Vmstat], error) {
	return newReader(f.at, "", part[Vmstat]{name: "proc/vmstat", flat: parseVmstat})
}

// VmstatUsageReader is VmstatReader without the swapping of zeros and zswap, for
// sampling. These stand at the end, behind much that nobody reads, and the
// kernel gathers all counters anew for each page of text.
func (f *FS) VmstatUsageReader() (*Reader[Vmstat], error) {
	return newReader(f.at, "", part[Vmstat]{name: "proc/vmstat", flat: parseVmstatUsage})
}

// parseVmstat reads lines of "key value". Before 2012 the pages stolen are
// split by zone and only kswapd's are also counted by themselves: the others
// were stolen directly.
func parseVmstat(l *layout, v *Vmstat, b []byte) error {
	err := l.parse(b, v.slot)
	v.settle()
	return err
}

func parseVmstatUsage(l *layout, v *Vmstat, b []byte) error {
	err := l.parse(b, v.usage)
	v.settle()
	return err
}

// settle works out what older kernels give in parts.
func (v *Vmstat) settle() {
	if v.normal {
		v.Allocstall = v.Allocstall.Plus(v.AllocstallNormal)
	}
	if k := v.PgstealKswapd; !v.PgstealDirect.Known && v.Pgsteal.Known && k.Known && v.Pgsteal.Value >= k.Value {
		v.PgstealDirect = Num{v.Pgsteal.Value - k.Value, true}
	}
}

func (v *Vmstat) slot(key []byte) *Num {
	if dst := v.usage(key); dst != nil {
		return dst
	}
	switch string(key) {
	case "nr_zspages":
		return &v.NrZspages
	case "swpin_zero":
		return &v.SwpinZero
	case "swpout_zero":
		return &v.SwpoutZero
	case "zswpin":
		return &v.Zswpin
	case "zswpout":
		return &v.Zswpout
	}
	return nil
}

// usage returns where a counter goes that is sampled.
func (v *Vmstat) usage(key []byte) *Num {
	if string(key) == "allocstall_normal" {
		v.normal = true
		return &v.AllocstallNormal
	}
	key = withoutZone(key)
	if dst := v.reclaim(key); dst != nil {
		return dst
	}
	return v.other(key)
}

// reclaim returns where a counter of the page reclaim goes.
func (v *Vmstat) reclaim(key []byte) *Num {
	switch string(key) {
	case "pgscan_kswapd":
		return &v.PgscanKswapd
	case "pgscan_direct":
		return &v.PgscanDirect
	case "pgscan_khugepaged":
		return &v.PgscanKhugepaged
	case "pgscan_proactive":
		return &v.PgscanProactive
	case "pgscan_anon":
		return &v.PgscanAnon
	case "pgscan_file":
		return &v.PgscanFile
	case "pgsteal_kswapd", "kswapd_steal":
		return &v.PgstealKswapd
	case "pgsteal_direct":
		return &v.PgstealDirect
	case "pgsteal_khugepaged":
		return &v.PgstealKhugepaged
	case "pgsteal_proactive":
		return &v.PgstealProactive
	case "pgsteal":
		return &v.Pgsteal
	case "pgsteal_anon":
		return &v.PgstealAnon
	case "pgsteal_file":
		return &v.PgstealFile
	case "pgscan_direct_throttle":
		return &v.PgscanDirectThrottle
	case "allocstall":
		return &v.Allocstall
	case "pgrefill":
		return &v.Pgrefill
	case "pgactivate":
		return &v.Pgactivate
	case "pgdeactivate":
		return &v.Pgdeactivate
	case "slabs_scanned":
		return &v.SlabsScanned
	case "kswapd_inodesteal":
		return &v.KswapdInodesteal
	case "pginodesteal":
		return &v.Pginodesteal
	case "pageoutrun":
		return &v.Pageoutrun
	case "pgrotated":
		return &v.Pgrotated
	case "pgpromote_success":
		return &v.PgpromoteSuccess
	case "pgdemote_kswapd", "pgdemote_direct", "pgdemote_khugepaged", "pgdemote_proactive":
		return &v.PgdemoteAll
	}
	return nil
}

// other returns where a counter that is not of the page reclaim goes.
func (v *Vmstat) other(key []byte) *Num {
	switch string(key) {
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
	case "workingset_activate_anon", "workingset_activate_file", "workingset_activate":
		return &v.WorkingsetActivate
	case "workingset_restore_anon", "workingset_restore_file", "workingset_restore":
		return &v.WorkingsetRestore
	case "workingset_nodereclaim":
		return &v.WorkingsetNodereclaim
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
