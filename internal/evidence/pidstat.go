package evidence

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// pidstatHead is the heading of a section, or with -h of all in one.
var pidstatHead = expression(`^(?:# *Time|(\d{2}:\d{2}:\d{2})(?: ([AP]M))?) +((?:UID|USER) +(?:PID|TGID) .* Command)$`)

// parsePidstat reads what pidstat prints of processes: CPU (-u) and memory (-r), of
// the last look at each. Without an interval it has the mean since the boot.
//
// https://man7.org/linux/man-pages/man1/pidstat.1.html
func (b *builder) parsePidstat(f *file) bool {
	if len(f.data) > 8<<20 {
		return false
	}
	p := pidstat{file: f.name, place: map[int]int{}}
	n := 0
	for line := range bytes.Lines(f.data) {
		n++
		text := strings.TrimSpace(string(line[:min(len(line), 4096)]))
		if n == 1 && !strings.HasPrefix(text, "Linux ") && !pidstatHead().MatchString(text) {
			return false
		}
		p.line(n, text)
	}
	if len(p.list) == 0 {
		return false
	}
	b.c.Processes = append(b.c.Processes, p.list...)
	note := ""
	if p.cut > 0 {
		note = fmt.Sprintf("%d processes beyond the first %d were not read", p.cut, mostListed)
	}
	b.input(f, "pidstat", note)
	return true
}

// pidstat is what was read of pidstat so far.
type pidstat struct {
	file    string
	columns []string
	began   string // the time of the heading
	list    []Process
	place   map[int]int // in the list, by pid
	cut     int
}

func (p *pidstat) line(n int, text string) {
	if m := pidstatHead().FindStringSubmatch(text); m != nil {
		p.columns, p.began = strings.Fields(m[3]), m[1]
		return
	}
	m := sarRow().FindStringSubmatch(text)
	if m == nil || len(p.columns) == 0 {
		return
	}
	words := strings.Fields(m[3])
	pid := slices.IndexFunc(p.columns, func(c string) bool { return c == "PID" || c == "TGID" })
	if len(words) < len(p.columns) || !isPID(words[pid]) {
		return
	}
	one := p.process(n, atoi(words[pid]))
	if one == nil {
		return
	}
	for i, c := range p.columns {
		from := Source{File: p.file, Line: n, Field: c}
		v := parsedNumber(strings.Replace(words[i], ",", ".", 1), Percent, from)
		switch c {
		case "%CPU":
			if one.CPU = v; m[1] == p.began {
				one.CPU = Missing(CannotTell, "without an interval it is since the boot", from)
			}
		case "RSS":
			v.Unit = Bytes
			one.RSS = v.Times(1024, Bytes)
		case "Command":
			one.Name = shorten(strings.TrimPrefix(words[i], "|__"))
		}
	}
}

// process is the one with a pid, made where it is new; nil where there are too many.
func (p *pidstat) process(n, pid int) *Process {
	i, ok := p.place[pid]
	switch {
	case ok:
	case len(p.list) >= mostListed:
		p.cut++
		return nil
	default:
		i = len(p.list)
		p.place[pid] = i
		p.list = append(p.list, Process{PID: pid, From: Source{File: p.file, Line: n}})
	}
	return &p.list[i]
}
