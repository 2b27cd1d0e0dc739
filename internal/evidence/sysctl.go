package evidence

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// sysctlLine is a line of "sysctl -a" or "sysctl NAME…". A file of settings for
// it has the same form and comments beside; what stands there need not hold.
//
// https://man7.org/linux/man-pages/man8/sysctl.8.html
var sysctlLine = expression(`^(?:(?:vm|kernel|net|fs|user|dev|abi|debug|crypto|sunrpc)\.[\w./:@*-]+ = ?.*|sysctl: .*)$`)

// sysctlKept are the settings that are read.
var sysctlKept = []string{
	"vm.overcommit_memory", "vm.swappiness", "vm.watermark_scale_factor", "kernel.osrelease", "net.core.somaxconn",
}

// parseSysctl reads what sysctl prints as the files of /proc/sys that it shows.
func (b *builder) parseSysctl(f *file) bool {
	if strings.HasSuffix(f.base(), ".conf") {
		return false
	}
	var kept []*file
	seen := 0
	for line := range bytes.Lines(f.data) {
		text := strings.TrimSpace(string(line[:min(len(line), mostLine)]))
		if text == "" {
			continue
		}
		if !sysctlLine().MatchString(text) {
			return false
		}
		seen++
		key, value, ok := strings.Cut(text, " = ")
		if ok && slices.Contains(sysctlKept, key) {
			kept = append(kept, &file{name: key, data: []byte(value + "\n")})
		}
	}
	if seen == 0 {
		return false
	}
	dir := strings.Trim(strings.TrimSuffix(f.name, f.base()), "/")
	for _, part := range kept {
		rel := "proc/sys/" + strings.ReplaceAll(part.name, ".", "/")
		part.name = fmt.Sprintf("%s (%s)", f.name, part.name)
		b.kernel.add(place{group: dir, rel: rel}, part)
	}
	note := ""
	if len(kept) == 0 {
		note = "it shows none of the settings that bear on a finding"
	}
	b.input(f, "sysctl", note)
	return true
}
