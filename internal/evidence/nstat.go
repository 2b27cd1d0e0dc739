package evidence

import (
	"bytes"
	"reflect"
	"strings"
)

// parseNstat reads what nstat prints: "TcpExtListenDrops  35  0.0". Without -a
// the numbers are since nstat was last run, with it since boot.
//
// https://man7.org/linux/man-pages/man8/nstat.8.html
func (b *builder) parseNstat(f *file) bool {
	if len(f.data) > 1<<20 || !bytes.Contains(f.data, []byte("TcpExt")) && !bytes.HasPrefix(f.data, []byte("#kernel")) {
		return false
	}
	r := Reading{Name: listenersOnly + readingOf(f.name)}
	to := reflect.ValueOf(&r.Netstat).Elem()
	found, n := false, 0
	for line := range bytes.Lines(f.data) {
		n++
		words := strings.Fields(string(line[:min(len(line), 512)]))
		if len(words) < 2 {
			continue
		}
		name := strings.TrimPrefix(strings.TrimPrefix(words[0], "TcpExt"), "Tcp")
		field := to.FieldByName(name)
		if !field.IsValid() || name == words[0] {
			if field = to.FieldByName("TCP" + name); !field.IsValid() || name == words[0] {
				continue
			}
		}
		field.Set(reflect.ValueOf(parsedNumber(words[1], Events, Source{File: f.name, Line: n, Field: words[0]})))
		found = true
	}
	if !found {
		return false
	}
	b.c.Readings = append(b.c.Readings, r)
	b.input(f, "nstat", "the numbers may be since nstat was last run, not since boot")
	return true
}

var netstatOverflow = expression(`^\s*(\d+) (times the listen queue of a socket overflowed|SYNs to LISTEN sockets (?:dropped|ignored))`)

// parseNetstat reads what "netstat -s" says of accept queues, in totals since
// boot.
//
// https://man7.org/linux/man-pages/man8/netstat.8.html
func (b *builder) parseNetstat(f *file) bool {
	if len(f.data) > 1<<20 || !bytes.Contains(f.data, []byte("TcpExt:")) && !bytes.Contains(f.data, []byte(" LISTEN sockets ")) {
		return false
	}
	r := Reading{Name: listenersOnly + readingOf(f.name)}
	found, n := bytes.Contains(f.data, []byte("TcpExt:")), 0
	for line := range bytes.Lines(f.data) {
		n++
		m := netstatOverflow().FindStringSubmatch(string(line[:min(len(line), 512)]))
		if m == nil {
			continue
		}
		found = true
		v := parsedNumber(m[1], Events, Source{File: f.name, Line: n, Field: m[2]})
		if strings.HasPrefix(m[2], "times") {
			r.Netstat.ListenOverflows = v
		} else {
			r.Netstat.ListenDrops = v
		}
	}
	if !found {
		return false
	}
	b.c.Readings = append(b.c.Readings, r)
	b.input(f, "netstat -s", "")
	return true
}
