package evidence

import (
	"bytes"
	"fmt"
	"path"
	"strings"
)

var vmstatSum = expression(`^ *(\d+) (?:([KkMm]) )?([a-zA-Z][a-zA-Z -]+)$`)

// vmstatSums are the lines that are read, in the form of the kernel's files that they
// are from. What it calls swap cache is that of files.
var vmstatSums = map[string]struct{ rel, form string }{
	"total memory":      {"proc/meminfo", "MemTotal: %s kB"},
	"active memory":     {"proc/meminfo", "Active: %s kB"},
	"inactive memory":   {"proc/meminfo", "Inactive: %s kB"},
	"free memory":       {"proc/meminfo", "MemFree: %s kB"},
	"buffer memory":     {"proc/meminfo", "Buffers: %s kB"},
	"swap cache":        {"proc/meminfo", "Cached: %s kB"},
	"total swap":        {"proc/meminfo", "SwapTotal: %s kB"},
	"free swap":         {"proc/meminfo", "SwapFree: %s kB"},
	"paged in":          {"proc/vmstat", "pgpgin %s"},
	"paged out":         {"proc/vmstat", "pgpgout %s"},
	"pages swapped in":  {"proc/vmstat", "pswpin %s"},
	"pages swapped out": {"proc/vmstat", "pswpout %s"},
}

// parseVmstatSums reads "vmstat -s": levels of memory, and totals since boot, of which
// two of them tell rates. Memory in other units than KiB is left out.
//
// https://man7.org/linux/man-pages/man8/vmstat.8.html
func (b *builder) parseVmstatSums(f *file) bool {
	head := f.data[:min(len(f.data), 4<<10)]
	if len(f.data) > 64<<10 || !bytes.Contains(head, []byte(" total memory")) || !bytes.Contains(head, []byte(" pages swapped in")) {
		return false
	}
	lines := map[string][]string{} // of each file, where they stood
	n := 0
	for line := range bytes.Lines(f.data) {
		n++
		m := vmstatSum().FindStringSubmatch(strings.TrimRight(string(line[:min(len(line), 256)]), "\r\n "))
		if m == nil || m[2] != "" && m[2] != "K" {
			continue
		}
		if to, ok := vmstatSums[m[3]]; ok {
			blank := make([]string, n-1-len(lines[to.rel]))
			lines[to.rel] = append(append(lines[to.rel], blank...), fmt.Sprintf(to.form, m[1]))
		}
	}
	if len(lines) == 0 {
		return false
	}
	group := path.Dir(f.name)
	if group == "." {
		group = ""
	}
	for _, rel := range sortedKeys(lines) {
		b.kernel.add(place{group: group, rel: rel}, &file{name: f.name, data: []byte(strings.Join(lines[rel], "\n") + "\n")})
	}
	b.input(f, "vmstat -s", "")
	return true
}
