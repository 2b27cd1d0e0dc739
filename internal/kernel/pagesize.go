package kernel

import (
	"math"
	"os"
)

// PageSize is the size of a page in bytes and how it is known.
type PageSize struct {
	Bytes   uint64
	Assumed bool // nothing in the captured tree shows it
}

// PageSize returns the size of the pages that vmstat and stat count in: this
// machine's, or that of the machine where the tree was captured. The latter
// follows from fields that meminfo gives in kB and vmstat in pages; where these
// do not settle it, 4,096 is assumed and the result says so.
func (f *FS) PageSize() PageSize {
	if f.live {
		return PageSize{Bytes: uint64(os.Getpagesize())}
	}
	// Fields that could not be read are unknown and take no part.
	m, _ := f.Meminfo()
	v, _ := f.Vmstat()
	size := uint64(0)
	for _, c := range [...]struct{ bytes, pages Num }{
		{m.Mapped, v.NrMapped},
		{m.Shmem, v.NrShmem},
		{m.PageTables, v.NrPageTablePages},
	} {
		s, ok := pageSizeFrom(c.bytes, c.pages)
		if !ok {
			continue
		}
		if size != 0 && size != s {
			return PageSize{Bytes: 4096, Assumed: true}
		}
		size = s
	}
	if size == 0 {
		return PageSize{Bytes: 4096, Assumed: true}
	}
	return PageSize{Bytes: size}
}

// pageSizeFrom returns the power of two nearest to bytes/pages if it is a page
// size of Linux (4 to 64 KiB). The two files are not read at the same instant,
// so small counts prove nothing.
func pageSizeFrom(bytes, pages Num) (uint64, bool) {
	const enough = 64
	if !bytes.Known || !pages.Known || pages.Value < enough || bytes.Value == 0 {
		return 0, false
	}
	exp := math.Round(math.Log2(float64(bytes.Value) / float64(pages.Value)))
	if exp < 12 || exp > 16 {
		return 0, false
	}
	return 1 << uint(exp), true
}
