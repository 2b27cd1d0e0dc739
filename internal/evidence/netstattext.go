package evidence

import (
	"bytes"
	"strings"
)

// parseNetstatSockets reads the listening TCP sockets of "netstat -lnt" and its like.
// What it shows as Recv-Q of a listener is its queue; the backlog it does not tell.
//
// https://man7.org/linux/man-pages/man8/netstat.8.html
func (b *builder) parseNetstatSockets(f *file) bool {
	var columns string
	n, known := 0, false
	var list []Listener
	for line := range bytes.Lines(f.data) {
		n++
		text := string(line[:min(len(line), 1024)])
		switch {
		case strings.HasPrefix(text, "Active Internet connections"):
			known = true
		case strings.HasPrefix(text, "Proto Recv-Q Send-Q Local Address"):
			known, columns = true, text
		case !known && strings.TrimSpace(text) != "":
			return false
		case columns != "" && strings.HasPrefix(text, "tcp") && len(list) < mostSockets:
			if l, ok := netstatListener(f.name, n, strings.Fields(text)); ok {
				list = append(list, l)
			}
		}
	}
	if columns == "" {
		return false
	}
	b.c.Readings = append(b.c.Readings, Reading{Name: listenersOnly + readingOf(f.name), Listeners: list})
	note := "it does not tell the backlogs: ss -ltn does"
	if len(list) == 0 {
		note = "it shows no listening socket"
	}
	b.input(f, "listening sockets (netstat)", note)
	return true
}

func netstatListener(file string, n int, words []string) (Listener, bool) {
	const state, program = 5, 6
	if len(words) <= state || words[state] != "LISTEN" {
		return Listener{}, false
	}
	at := Source{File: file, Line: n, Field: "Recv-Q"}
	l := Listener{Address: shorten(words[3]), Queue: parsedNumber(words[1], Events, at), Backlog: Missing(Absent, "netstat does not tell the backlog", at)}
	_, l.Port = hostPort(words[3])
	if len(words) > program {
		if pid, name, ok := strings.Cut(words[program], "/"); ok {
			l.PID, l.Process = atoi(pid), shorten(strings.TrimSuffix(name, ":"))
		}
	}
	return l, true
}
