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
		if field := nstatField(to, words[0]); field != nil {
			*field = parsedNumber(words[1], Events, Source{File: f.name, Line: n, Field: words[0]})
			found = true
		}
	}
	if !found {
		return false
	}
	b.c.Readings = append(b.c.Readings, r)
	b.input(f, "nstat", nstatNote)
	return true
}

const nstatNote = "the numbers may be since nstat was last run, not since boot"

// nstatField is the field of a counter by nstat's name, which begins with that of
// its table.
func nstatField(to reflect.Value, name string) *Value {
	short := strings.TrimPrefix(strings.TrimPrefix(name, "TcpExt"), "Tcp")
	if short == name {
		return nil
	}
	for _, n := range []string{short, "TCP" + short} {
		if field := to.FieldByName(n); field.IsValid() {
			return field.Addr().Interface().(*Value)
		}
	}
	return nil
}

// nstatJSON reads "nstat --json".
//
// https://man7.org/linux/man-pages/man8/nstat.8.html
func nstatJSON(b *builder, f *file, v any) (string, bool) {
	counters := objectAt(v, "kernel")
	r := Reading{Name: listenersOnly + readingOf(f.name)}
	to := reflect.ValueOf(&r.Netstat).Elem()
	found := false
	for _, name := range sortedKeys(counters) {
		if field := nstatField(to, name); field != nil {
			*field = jsonNumber(f, counters, Events, "kernel", name)
			found = true
		}
	}
	if found {
		b.c.Readings = append(b.c.Readings, r)
	}
	return "nstat", found
}

var (
	netstatCount = expression(`^\s*(\d+) (\S.*)$`)
	netstatNamed = expression(`^\s*(\w+): (\d+)$`)
	// netstatWords are what net-tools calls the counters.
	//
	// https://sourceforge.net/p/net-tools/code/ci/master/tree/statistics.c
	netstatWords = map[string]string{
		"times the listen queue of a socket overflowed": "ListenOverflows",
		"SYNs to LISTEN sockets dropped":                "ListenDrops",
		"SYNs to LISTEN sockets ignored":                "ListenDrops",
		"SYN cookies sent":                              "SyncookiesSent",
		"SYN cookies received":                          "SyncookiesRecv",
		"invalid SYN cookies received":                  "SyncookiesFailed",
		"active connection openings":                    "ActiveOpens",
		"active connections openings":                   "ActiveOpens",
		"passive connection openings":                   "PassiveOpens",
		"failed connection attempts":                    "AttemptFails",
		"connection resets received":                    "EstabResets",
		"connections established":                       "CurrEstab",
		"segments retransmitted":                        "RetransSegs",
		"segments retransmited":                         "RetransSegs",
		"connections reset due to early user close":     "TCPAbortOnClose",
		"connections aborted due to memory pressure":    "TCPAbortOnMemory",
		"connections aborted due to timeout":            "TCPAbortOnTimeout",
	}
)

// parseNetstat reads what "netstat -s" says of accept queues and connections, in
// totals since boot.
//
// https://man7.org/linux/man-pages/man8/netstat.8.html
func (b *builder) parseNetstat(f *file) bool {
	if len(f.data) > 1<<20 || !bytes.Contains(f.data, []byte("TcpExt:")) && !bytes.Contains(f.data, []byte(" LISTEN sockets ")) {
		return false
	}
	r := Reading{Name: listenersOnly + readingOf(f.name)}
	to := reflect.ValueOf(&r.Netstat).Elem()
	found, n := bytes.Contains(f.data, []byte("TcpExt:")), 0
	for line := range bytes.Lines(f.data) {
		n++
		text := strings.TrimRight(string(line[:min(len(line), 512)]), "\r\n ")
		name, count, words := "", "", ""
		if m := netstatCount().FindStringSubmatch(text); m != nil {
			name, count, words = netstatWords[m[2]], m[1], m[2]
		} else if m := netstatNamed().FindStringSubmatch(text); m != nil {
			name, count, words = m[1], m[2], m[1]
		}
		if field := to.FieldByName(name); field.IsValid() {
			field.Set(reflect.ValueOf(parsedNumber(count, Events, Source{File: f.name, Line: n, Field: words})))
			found = true
		}
	}
	if !found {
		return false
	}
	b.c.Readings = append(b.c.Readings, r)
	b.input(f, "netstat -s", "")
	return true
}
