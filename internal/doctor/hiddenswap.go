package doctor

import (
	"slices"
	"strings"

	"brink/internal/evidence"
)

// compressed is the memory that swap itself takes where it is kept compressed in
// memory: the pool of zram and of zswap, as the kernel counts its pages, or as zswap
// alone does with an allocator of its own.
//
// https://docs.kernel.org/admin-guide/blockdev/zram.html (mem_used_total),
// https://docs.kernel.org/admin-guide/mm/zswap.html
func (l *look) compressed() evidence.Value {
	zswap := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.Zswap })
	pages := l.Latest(vmstat(func(v *evidence.Vmstat) evidence.Value { return v.NrZspages }))
	if !pages.Known {
		return zswap
	}
	size := l.Latest(func(r *evidence.Reading) evidence.Value { return r.Machine.PageBytes })
	pool := evidence.Known(pages.Number*size.Else(evidence.Known(usualPage, evidence.Bytes)).Number, evidence.Bytes, slices.Concat(pages.From, size.From)...)
	if zswap.Above(pool.Number) {
		return zswap
	}
	return pool
}

// compressedNote says how large that pool is, if it is large: it is no cause of
// a shortage of memory, but what comes of it.
func (l *look) compressedNote(a *answer) {
	pool := l.compressed()
	share := pool.PercentOf(l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.MemTotal }))
	if !share.AtLeast(hiddenLarge) {
		return
	}
	var w words
	text := w.n("compressed swap", pool) + " (" + w.n("compressed swap of MemTotal", share) + " of memory) is swap itself, compressed in memory (zram, zswap)"
	if used := l.swapUsed(); used.Above(0) {
		text += ", for " + w.n("swap used", used) + " of swap in use"
	}
	a.note(Memory, text+": it is there because memory is short, and gives back the difference.", &w)
}

// maybeCompressed reports whether memory that no line accounts for may be that pool,
// and says so: the kernel does not tell of it, at least as much swap is in use, and
// swap is on zram, or nothing tells on what it is, and its pages move without a wait for
// disks.
func (l *look) maybeCompressed(a *answer, part evidence.Value) bool {
	r := l.Last()
	if r == nil || l.compressed().Known || !l.swapUsed().Minus(l.unaccounted()).AtLeast(0) {
		return false
	}
	onDisk := l.swap.in.Below(swapInThrash) || !l.iowait().Below(iowaitThrash)
	zram := strings.Contains(r.SwapDisk.Name, "zram")
	if !zram && (r.SwapDisk.Name != "" || !l.swap.in.Known || onDisk) {
		return false
	}
	var w words
	text := w.n("unaccounted memory", l.unaccounted()) + " (" + w.n("share of MemTotal", part) + " of memory) is in no line of meminfo. With " + w.n("swap used", l.swapUsed()) + " of swap in use "
	if zram {
		a.note(Memory, text+"on zram that is most likely swap itself, compressed in memory: it is there because memory is short.", &w)
		return true
	}
	a.cannotTell(Memory, text+"that may be swap itself, compressed in memory (zram, zswap), and if it is not, a driver or a balloon.",
		"/proc/swaps, and nr_zspages in /proc/vmstat.", &w)
	return true
}
