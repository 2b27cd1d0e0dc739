package evidence

import (
	"bytes"
	"strings"
)

var psPair = expression(`^\s*(\d+) (/?\S.*)$`)

// parsePS reads ps: with a heading that names the columns, or "RSS COMMAND"
// lines where the file's name says so. Arguments are not kept.
//
// https://man7.org/linux/man-pages/man1/ps.1.html
func (b *builder) parsePS(f *file) bool {
	if len(f.data) > 8<<20 {
		return false
	}
	first, _, _ := bytes.Cut(f.data, []byte{'\n'})
	heading := strings.Fields(string(first[:min(len(first), 512)]))
	named := false
	for _, h := range heading {
		named = named || h == "PID" || h == "COMMAND" || h == "CMD"
	}
	base := strings.ToLower(f.base())
	pairs := !named && strings.HasPrefix(base, "ps") && strings.Contains(base, "rss")
	if !named && !pairs {
		return false
	}
	n, found := 0, false
	for line := range bytes.Lines(f.data) {
		if n++; n == 1 && named {
			continue
		}
		text := string(line[:min(len(line), 4096)])
		p, ok := psLine(f.name, n, heading, text)
		if pairs {
			p, ok = psRSS(f.name, n, text)
		}
		if ok && len(b.c.Processes) < mostSockets {
			b.c.Processes = append(b.c.Processes, p)
			found = true
		}
	}
	if found {
		b.input(f, "processes (ps)", "")
	}
	return found
}

func psLine(file string, n int, heading []string, text string) (Process, bool) {
	words := strings.Fields(text)
	if len(words) < len(heading) || len(words) == 0 {
		return Process{}, false
	}
	p := Process{From: Source{File: file, Line: n}}
	ok := false
	for i, h := range heading {
		at := Source{File: file, Line: n, Field: h}
		switch h {
		case "PID":
			p.PID = atoi(words[i])
			ok = ok || p.PID > 0
		case "STAT", "S":
			p.State = words[i][:1]
		case "%CPU":
			p.CPU = parsedNumber(words[i], Percent, at)
		case "RSS":
			p.RSS = parsedNumber(words[i], Bytes, at).Times(1024, Bytes)
			ok = ok || p.RSS.Known
		case "COMMAND", "CMD", "COMM":
			p.Name = strings.Trim(shorten(words[i]), "[]")
		}
	}
	return p, ok
}

// psRSS reads a line of resident memory in KiB and a command.
func psRSS(file string, n int, text string) (Process, bool) {
	m := psPair().FindStringSubmatch(strings.TrimRight(text, "\r\n"))
	if m == nil {
		return Process{}, false
	}
	at := Source{File: file, Line: n, Field: "rss"}
	name, _, _ := strings.Cut(m[2], " ")
	return Process{Name: shorten(name), RSS: parsedNumber(m[1], Bytes, at).Times(1024, Bytes), From: at}, true
}
