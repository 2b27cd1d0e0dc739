package evidence

import (
	"fmt"
	"strings"
)

var (
	topMemory = expression(`^(?:([KMGT])iB )?(Mem|Swap) ?: `)
	topAmount = expression(`([\d.,]+)([kmg]?)\+? +(total|free|buffers|cached|avail Mem)`)
)

// topMemoryLine takes in one of top's two lines about memory. Releases before
// 3.3.10 have no "avail Mem", and the size of the cache behind the swap.
func topMemoryLine(m *Meminfo, from Source, text string) bool {
	head := topMemory().FindStringSubmatch(text)
	if head == nil {
		return false
	}
	factor := map[string]float64{"": 1 << 10, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}[head[1]]
	found := false
	for _, a := range topAmount().FindAllStringSubmatch(text, -1) {
		from.Field = head[2] + " " + a[3]
		scale := factor
		switch a[2] {
		case "m":
			scale = 1 << 20
		case "g":
			scale = 1 << 30
		}
		v := parsedNumber(strings.Replace(a[1], ",", ".", 1), Bytes, from).Times(scale, Bytes)
		switch {
		case a[3] == "avail Mem":
			m.MemAvailable = v
		case a[3] == "cached":
			m.Cached = v
		case a[3] == "buffers":
			m.Buffers = v
		case head[2] == "Mem" && a[3] == "total":
			m.MemTotal = v
		case head[2] == "Mem":
			m.MemFree = v
		case a[3] == "total":
			m.SwapTotal = v
		default:
			m.SwapFree = v
		}
		found = true
	}
	return found
}

// keepMemory makes a reading of what a tool said of memory, and is false where that
// cannot be; one that has the kernel's own file stays as it is.
func (b *builder) keepMemory(f *file, m *Meminfo) bool {
	if most := max(m.MemAvailable.Number, m.MemFree.Number); m.MemTotal.Known && most > m.MemTotal.Number {
		b.strange(f, fmt.Sprintf("more memory is free or available than there is: %.0f of %.0f MiB", most/(1<<20), m.MemTotal.Number/(1<<20)))
		return false
	}
	if m.SwapTotal.Known && m.SwapFree.Above(m.SwapTotal.Number) {
		b.strange(f, fmt.Sprintf("more swap is free than there is: %.0f of %.0f MiB", m.SwapFree.Number/(1<<20), m.SwapTotal.Number/(1<<20)))
		return false
	}
	r := Reading{Name: listenersOnly + readingOf(f.name), Meminfo: *m}
	b.c.Readings = append(b.c.Readings, r)
	return true
}
