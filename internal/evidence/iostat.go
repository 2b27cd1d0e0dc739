package evidence

import (
	"bytes"
	"strings"
)

// parseIostat reads what iostat prints of the CPUs; no rule asks for its devices. Its
// first report is the average since boot, unless -y leaves that out, which nothing in
// it tells.
//
// https://man7.org/linux/man-pages/man1/iostat.1.html
func (b *builder) parseIostat(f *file) bool {
	if len(f.data) > 8<<20 || !bytes.Contains(f.data[:min(len(f.data), 4<<10)], []byte("avg-cpu:")) {
		return false
	}
	var list []Activity
	var columns []string
	r := emptyReading(listenersOnly + readingOf(f.name))
	n := 0
	for line := range bytes.Lines(f.data) {
		n++
		text := strings.TrimSpace(string(line[:min(len(line), 1024)]))
		words := strings.Fields(text)
		switch {
		case sarCPUs().MatchString(text):
			r.Machine.CPUs = parsedNumber(sarCPUs().FindStringSubmatch(text)[1], Events, Source{File: f.name, Line: n})
		case strings.HasPrefix(text, "avg-cpu:"):
			columns = words[1:]
		case len(columns) > 0 && len(words) == len(columns) && len(list) < mostListed:
			a := iostatRow(Source{File: f.name, Line: n}, columns, words)
			a.SinceBoot = len(list) == 0
			list = append(list, a)
			columns = nil
		}
	}
	if len(list) == 0 {
		return false
	}
	b.c.Activities = append(b.c.Activities, list...)
	b.c.Readings = append(b.c.Readings, r)
	b.input(f, "iostat", "its first report is the average since boot")
	return true
}

func iostatRow(from Source, columns, words []string) Activity {
	a := emptyActivity("iostat", from)
	for i, c := range columns {
		from.Field = c
		v := parsedNumber(strings.Replace(words[i], ",", ".", 1), Percent, from)
		a.share(strings.TrimPrefix(c, "%"), v)
	}
	return a
}
