package evidence

import (
	"bytes"
	"strings"
)

// uptimeLine is what uptime prints, and what w and top begin with: three averages,
// with the decimal comma of some languages.
//
// https://man7.org/linux/man-pages/man1/uptime.1.html
var uptimeLine = expression(`^(?:top\b.*|\d{1,2}:\d\d(?::\d\d)?(?: [AP]M)? +up .*)load averages?: +(\d+[.,]\d+),? +(\d+[.,]\d+),? +(\d+[.,]\d+)$`)

// loadAverages takes the load out of such a line.
func loadAverages(m *Machine, from Source, text string) bool {
	found := uptimeLine().FindStringSubmatch(text)
	if found == nil {
		return false
	}
	from.Field = "load average"
	for i, v := range []*Value{&m.Load1, &m.Load5, &m.Load15} {
		*v = parsedNumber(strings.Replace(found[i+1], ",", ".", 1), NoUnit, from)
	}
	return true
}

// parseUptime reads what uptime prints, once or several times, and w.
func (b *builder) parseUptime(f *file) bool {
	first, rest, _ := bytes.Cut(bytes.TrimSpace(f.data), []byte{'\n'})
	if !uptimeLine().Match(bytes.TrimSpace(first[:min(len(first), 512)])) {
		return false
	}
	next, _, _ := bytes.Cut(bytes.TrimSpace(rest), []byte{'\n'})
	if len(next) > 0 && !bytes.HasPrefix(next, []byte("USER ")) && !uptimeLine().Match(bytes.TrimSpace(next[:min(len(next), 512)])) {
		return false
	}
	r := emptyReading(listenersOnly + readingOf(f.name))
	n := 0
	for line := range bytes.Lines(f.data) {
		n++
		loadAverages(&r.Machine, Source{File: f.name, Line: n}, string(bytes.TrimSpace(line[:min(len(line), 512)])))
	}
	b.c.Readings = append(b.c.Readings, r)
	b.input(f, "uptime", "")
	return true
}
