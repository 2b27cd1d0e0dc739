package evidence

import (
	"bytes"
	"fmt"
	"strings"
)

// sysctlLine is a line of "sysctl -a" or "sysctl NAME…". A file of settings for
// it has the same form and comments beside; what stands there need not hold.
//
// https://man7.org/linux/man-pages/man8/sysctl.8.html
var sysctlLine = expression(`^(?:((?:vm|kernel|net|fs|user|dev|abi|debug|crypto|sunrpc)\.[\w./:@*-]+)( ?)= ?(.*)|(?:sysctl|error): .*)$`)

// sysctlKept are the settings that are read, with the numbers that they can be.
//
// https://docs.kernel.org/admin-guide/sysctl/vm.html
// https://docs.kernel.org/admin-guide/sysctl/net.html
var sysctlKept = map[string]struct{ least, most float64 }{
	"vm.overcommit_memory":      {0, 2},
	"vm.swappiness":             {0, 200},
	"vm.watermark_scale_factor": {1, 3000},
	"net.core.somaxconn":        {0, 1<<31 - 1},
	"kernel.osrelease":          {},
}

// parseSysctl reads what sysctl prints as the files of /proc/sys that it shows.
func (b *builder) parseSysctl(f *file) bool {
	if strings.HasSuffix(f.base(), ".conf") {
		return false
	}
	var kept []*file
	var refused refusals
	seen, n, tight := 0, 0, false
	for line := range bytes.Lines(f.data) {
		n++
		text := strings.TrimSpace(string(line[:min(len(line), mostLine)]))
		if text == "" {
			continue
		}
		m := sysctlLine().FindStringSubmatch(text)
		if m == nil {
			return false
		}
		seen++
		key, value := m[1], m[3]
		if _, ok := sysctlKept[key]; !ok {
			continue
		}
		tight = tight || m[2] == ""
		if fault := sysctlFault(key, value); fault != "" {
			refused.add(Source{File: f.name, Line: n}, fault)
			continue
		}
		kept = append(kept, &file{name: key, data: []byte(value + "\n")})
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
	refused.tell(b, f.name)
	note := ""
	switch {
	case len(kept) == 0:
		note = "it shows none of the settings that bear on a finding"
	case tight:
		note = "without blanks around = it may be a file of settings, which need not hold"
	}
	b.input(f, "sysctl", note)
	return true
}

// sysctlFault says what a setting cannot be, empty if it can.
func sysctlFault(key, value string) string {
	can := sysctlKept[key]
	if can.most == 0 {
		return ""
	}
	if v := parsedNumber(value, NoUnit, Source{}); v.AtLeast(can.least) && v.AtMost(can.most) {
		return ""
	}
	return fmt.Sprintf("%s is %q, and it is a number from %.0f to %.0f", key, shorten(value), can.least, can.most)
}
