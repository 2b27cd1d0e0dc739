package kernel

import (
	"bytes"
	"fmt"
)

// Meminfo is /proc/meminfo in bytes; HugePages fields are counts of pages of
// HugepageSize. MemAvailable exists since 3.14 and may be lower than MemFree.
// In a container without lxcfs the file is the host's.
//
// https://www.kernel.org/doc/html/latest/filesystems/proc.html#meminfo
type Meminfo struct {
	MemTotal, MemFree, MemAvailable              Num
	Buffers, Cached, SwapCached                  Num
	Active, Inactive                             Num
	ActiveAnon, InactiveAnon                     Num
	ActiveFile, InactiveFile                     Num
	Unevictable, Mlocked                         Num
	SwapTotal, SwapFree                          Num
	Zswap, Zswapped                              Num
	Dirty, Writeback                             Num
	AnonPages, Mapped, Shmem                     Num
	KReclaimable, Slab, SReclaimable, SUnreclaim Num
	KernelStack, PageTables                      Num
	CommitLimit, CommittedAS                     Num
	AnonHugePages, Hugetlb, HugepageSize         Num
	HugePagesTotal, HugePagesFree, HugePagesRsvd Num
	HugePagesSurp                                Num
}

// Meminfo reads /proc/meminfo once.
func (f *FS) Meminfo() (Meminfo, error) { return once(f.MeminfoReader()) }

// MeminfoReader opens /proc/meminfo for repeated reading.
func (f *FS) MeminfoReader() (*Reader[Meminfo], error) {
	return newReader(f.at, "", part[Meminfo]{name: "proc/meminfo", parse: parseMeminfo, single: true})
}

// NodeMeminfo reads the meminfo of one memory node once. The fields that only
// the whole machine has (SwapTotal and the like) stay unknown.
//
// https://www.kernel.org/doc/html/latest/admin-guide/mm/numaperf.html
func (f *FS) NodeMeminfo(node int) (Meminfo, error) {
	name := fmt.Sprintf("sys/devices/system/node/node%d/meminfo", node)
	return once(newReader(f.at, "", part[Meminfo]{name: name, parse: parseMeminfo}))
}

// parseMeminfo reads lines of "KEY: VALUE", which begin with "Node N" in the
// file of a memory node.
func parseMeminfo(m *Meminfo, b []byte) error {
	var bad faults
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = cutLine(b)
		if rest, ok := bytes.CutPrefix(line, []byte("Node ")); ok {
			_, rest = cutField(rest)
			line = bytes.TrimLeft(rest, " ")
		}
		key, value, _ := bytes.Cut(line, []byte{':'})
		if dst := m.amount(key); dst != nil {
			if dst.Value, dst.Known = parseKB(value); !dst.Known {
				bad.add(n, string(key), bytes.TrimSpace(value), wantKB)
			}
		} else if dst := m.pages(key); dst != nil {
			if dst.Value, dst.Known = parseNum(bytes.TrimSpace(value)); !dst.Known {
				bad.add(n, string(key), bytes.TrimSpace(value), wantNumber)
			}
		}
	}
	return bad.err()
}

// amount returns the field for a key whose value is in kB.
func (m *Meminfo) amount(key []byte) *Num {
	switch string(key) {
	case "MemTotal":
		return &m.MemTotal
	case "MemFree":
		return &m.MemFree
	case "MemAvailable":
		return &m.MemAvailable
	case "Buffers":
		return &m.Buffers
	case "Cached":
		return &m.Cached
	case "SwapCached":
		return &m.SwapCached
	case "Active":
		return &m.Active
	case "Inactive":
		return &m.Inactive
	case "Active(anon)":
		return &m.ActiveAnon
	case "Inactive(anon)":
		return &m.InactiveAnon
	case "Active(file)":
		return &m.ActiveFile
	case "Inactive(file)":
		return &m.InactiveFile
	case "Unevictable":
		return &m.Unevictable
	case "Mlocked":
		return &m.Mlocked
	case "SwapTotal":
		return &m.SwapTotal
	case "SwapFree":
		return &m.SwapFree
	case "Zswap":
		return &m.Zswap
	case "Zswapped":
		return &m.Zswapped
	case "Dirty":
		return &m.Dirty
	case "Writeback":
		return &m.Writeback
	case "AnonPages":
		return &m.AnonPages
	case "Mapped":
		return &m.Mapped
	case "Shmem":
		return &m.Shmem
	case "KReclaimable":
		return &m.KReclaimable
	case "Slab":
		return &m.Slab
	case "SReclaimable":
		return &m.SReclaimable
	case "SUnreclaim":
		return &m.SUnreclaim
	case "KernelStack":
		return &m.KernelStack
	case "PageTables":
		return &m.PageTables
	case "CommitLimit":
		return &m.CommitLimit
	case "Committed_AS":
		return &m.CommittedAS
	case "AnonHugePages":
		return &m.AnonHugePages
	case "Hugetlb":
		return &m.Hugetlb
	case "Hugepagesize":
		return &m.HugepageSize
	}
	return nil
}

// pages returns the field for a key whose value is a count of huge pages.
func (m *Meminfo) pages(key []byte) *Num {
	switch string(key) {
	case "HugePages_Total":
		return &m.HugePagesTotal
	case "HugePages_Free":
		return &m.HugePagesFree
	case "HugePages_Rsvd":
		return &m.HugePagesRsvd
	case "HugePages_Surp":
		return &m.HugePagesSurp
	}
	return nil
}
