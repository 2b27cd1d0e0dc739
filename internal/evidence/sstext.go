package evidence

import (
	"bytes"
	"slices"
	"strings"
)

var (
	ssProcess = expression(`users:\(\("([^"]*)",pid=(\d+)`)
	// ssBare is a row where the heading was left out (ss -H).
	ssBare = expression(`^(?:(tcp|u_str|u_seq) +)?LISTEN +\d+ +\d+ +\S+[:/@]\S* `)
)

// parseSS reads what ss prints of listening sockets, with or without the column
// Netid, the process and the heading. Recv-Q of a listener is its queue, Send-Q the
// limit.
//
// https://man7.org/linux/man-pages/man8/ss.8.html
func (b *builder) parseSS(f *file) bool {
	first, _, _ := bytes.Cut(f.data, []byte{'\n'})
	headed := bytes.Contains(first, []byte("Recv-Q")) && bytes.Contains(first, []byte("Local Address"))
	bare := ssBare().FindSubmatch(bytes.TrimLeft(first[:min(len(first), mostLine)], " "))
	if !headed && bare == nil || bytes.HasPrefix(first, []byte("Proto ")) {
		return false
	}
	netid := bytes.HasPrefix(bytes.TrimSpace(first), []byte("Netid")) || bare != nil && len(bare[1]) > 0
	var list []Listener
	n := 0
	for line := range bytes.Lines(f.data) {
		if n++; n == 1 && headed {
			continue
		}
		if l, ok := ssLine(f.name, n, string(line[:min(len(line), 4096)]), netid); ok && len(list) < mostSockets {
			list = append(list, l)
		}
	}
	b.c.Readings = append(b.c.Readings, Reading{Name: listenersOnly + readingOf(f.name), Listeners: list})
	note := ""
	if len(list) == 0 {
		note = "it shows no listening socket"
	}
	b.input(f, "listening sockets (ss)", note)
	return true
}

const (
	mostSockets = 10_000
	// listenersOnly marks a reading that has only listeners: it is merged with
	// the reading whose name follows.
	listenersOnly = "\x00listeners "
)

func ssLine(file string, n int, line string, netid bool) (Listener, bool) {
	words := strings.Fields(line)
	if netid && len(words) > 0 {
		if words[0] == "u_str" || words[0] == "u_seq" || words[0] == "tcp" {
			words = words[1:]
		} else {
			return Listener{}, false
		}
	}
	if len(words) < 4 || words[0] != "LISTEN" {
		return Listener{}, false
	}
	at := Source{File: file, Line: n}
	queue, limit := at, at
	queue.Field, limit.Field = "Recv-Q", "Send-Q"
	l := Listener{Address: shorten(words[3]), Queue: parsedNumber(words[1], Events, queue), Backlog: parsedNumber(words[2], Events, limit)}
	if strings.HasPrefix(words[3], "/") || strings.HasPrefix(words[3], "@") {
		l.Unix = true
	} else {
		_, l.Port = hostPort(strings.Replace(words[3], "%", "", 1))
	}
	if m := ssProcess().FindStringSubmatch(line); m != nil {
		l.Process, l.PID = m[1], atoi(m[2])
	}
	return l, true
}

// readingOf is the reading that a file lies in: "b/t1/ss.txt" is of t1.
func readingOf(name string) string {
	for part := range strings.SplitSeq(name, "/") {
		if readingName().MatchString(part) {
			return part
		}
	}
	return ""
}

// listsListeners reports whether a file has listed sockets.
func (b *builder) listsListeners() bool {
	for i := range b.c.Readings {
		if strings.HasPrefix(b.c.Readings[i].Name, "\x00") {
			return true
		}
	}
	return false
}

// mergeListeners puts sockets that a file listed into the reading they belong
// to: the one named, or the last. Where tools alone have looked, the same sockets
// a second time are a second look.
func (b *builder) mergeListeners() {
	var rest []Reading
	var lists []Reading
	for _, r := range b.c.Readings {
		if strings.HasPrefix(r.Name, "\x00") {
			lists = append(lists, r)
		} else {
			rest = append(rest, r)
		}
	}
	tools := len(rest) == 0
	for _, l := range lists {
		_, name, _ := strings.Cut(l.Name, " ")
		to := -1
		for i := range rest {
			if rest[i].Name == name || name == "" {
				to = i
			}
		}
		if to < 0 || tools && name == "" && rest[to].hasAny(l.Listeners) {
			rest = append(rest, emptyReading(name))
			to = len(rest) - 1
		}
		rest[to].absorb(&l)
	}
	b.c.Readings = rest
}

// hasAny reports whether a reading has one of the listeners already.
func (r *Reading) hasAny(listeners []Listener) bool {
	return slices.ContainsFunc(listeners, func(l Listener) bool { return r.Listener(l.Address) != nil })
}

// absorb takes in what a text told of a reading. ss knows the backlog, which
// the text tables of the kernel do not.
func (r *Reading) absorb(o *Reading) {
	for _, l := range o.Listeners {
		if was := r.Listener(l.Address); was != nil && !was.Backlog.Known {
			*was = l
			continue
		}
		r.Listeners = append(r.Listeners, l)
	}
	if o.Meminfo.MemTotal.Known && !r.Meminfo.MemTotal.Known {
		r.Meminfo = o.Meminfo
	}
	for _, g := range o.Cgroups {
		if r.Cgroup(g.Path) == nil {
			r.Cgroups = append(r.Cgroups, g)
		}
	}
	if o.Machine.Load1.Known && !r.Machine.Load1.Known {
		r.Machine.Load1, r.Machine.Load5, r.Machine.Load15 = o.Machine.Load1, o.Machine.Load5, o.Machine.Load15
	}
	if o.Machine.CPUs.Known && !r.Machine.CPUs.Known {
		r.Machine.CPUs = o.Machine.CPUs
	}
	if o.Netstat.ListenDrops.Known || o.Netstat.ListenOverflows.Known || o.Netstat.TCPTimeouts.Known {
		r.Netstat = o.Netstat
	}
}
