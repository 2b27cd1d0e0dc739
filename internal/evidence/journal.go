package evidence

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	// journalFull is short-full and with-unit: the day of the week, and a zone.
	journalFull = expression(`^\pL{2,4}\.? (\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(?:\.\d{1,6})?) ([A-Z]{3,5}|[+-]\d{2}(?:\d{2})?) (\S+ \S+?(?:\[\d+\])?: )`)
	// journalBoot is short-monotonic and short-delta. What dmesg prints has neither
	// the machine's name nor the process that wrote it.
	journalBoot = expression(`^\[ *(\d+\.\d{6})(?: <[^>]{1,20}>)?\] ([^\s\[]*[^\s\[:] (?:kernel|[\w.@/-]+\[\d+\]): )`)
	journalUnix = expression(`^(\d{10}\.\d{6}) (\S+ [\w.@/-]+(?:\[\d+\])?: )`)

	// kernelLevel is what dmesg -x puts before a line, and kernelApart what tells how
	// long after the line before it is, as -d, -e and -H have it.
	kernelLevel = expression(`^(?:kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local\d) *:(?:emerg|alert|crit|err|warn|notice|info|debug) *: `)
	kernelApart = expression(`^\[(?:([^<\]]{1,40}) <|<) *-?\d+\.\d{6} *>\] ?`)
	kernelDay   = expression(`^\[(?:[A-Z][a-z]{2} ?\d{1,2} \d{2}:\d{2}| *\+\d+\.\d{6})\] ?`)
)

// unwrapJournal brings a line of journalctl or dmesg in one of their less usual
// forms into the usual one.
//
// https://www.freedesktop.org/software/systemd/man/latest/journalctl.html#-o
// https://man7.org/linux/man-pages/man1/dmesg.1.html
func (l *logLine) unwrapJournal(text string) string {
	// Looking at single bytes first keeps long logs of others cheap.
	const shortest = 20
	if len(text) < shortest {
		return text
	}
	if text[0] >= 'a' && text[0] <= 'z' && strings.IndexByte(text[:shortest], ':') > 0 {
		text = text[len(kernelLevel().FindString(text)):]
	}
	if text == "" {
		return text
	}
	switch c := text[0]; {
	case c == '[':
		return l.unwrapBoot(text)
	case c >= '0' && c <= '9':
		return journalUnixTime(text)
	case c < 'A' || c >= 'a' && c <= 'z':
		return text
	}
	return journalFullTime(text)
}

// journalFullTime takes the day of the week off, and makes a zone of the kind that is
// read of one that has a name, whose hours nobody tells.
func journalFullTime(text string) string {
	const longest = 9 // of a day of the week, in bytes
	i := strings.IndexByte(text[:min(len(text), longest)], ' ')
	if i < 0 || i+1 >= len(text) || text[i+1] < '0' || text[i+1] > '9' {
		return text
	}
	m := journalFull().FindStringSubmatchIndex(text)
	if m == nil {
		return text
	}
	zone := text[m[4]:m[5]]
	switch {
	case zone[0] != '+' && zone[0] != '-':
		zone = "Z"
	case len(zone) == 3:
		zone += "00"
	}
	return text[m[2]:m[3]] + zone + " " + text[m[6]:]
}

func journalUnixTime(text string) string {
	const seconds = 10 // digits of a time since 1970
	if len(text) <= seconds || text[seconds] != '.' {
		return text
	}
	if m := journalUnix().FindStringSubmatchIndex(text); m != nil {
		if at, ok := parseEpoch(text[m[2]:m[3]]); ok {
			return at.Format(time.RFC3339Nano) + " " + text[m[4]:]
		}
	}
	return text
}

// unwrapBoot takes off a time since boot in front of what the journal has, and puts
// a time in dmesg's usual place.
func (l *logLine) unwrapBoot(text string) string {
	if m := journalBoot().FindStringSubmatchIndex(text); m != nil {
		if s, err := strconv.ParseFloat(text[m[2]:m[3]], 64); err == nil && s < 1e10 {
			l.bootSeconds = s
		}
		_, program, _ := strings.Cut(text[m[4]:m[5]], " ")
		program, _, _ = strings.Cut(strings.TrimSuffix(program, ": "), "[")
		if l.program = program; program != "kernel" {
			l.app = program
		}
		return text[m[5]:]
	}
	if m := kernelApart().FindStringSubmatchIndex(text); m != nil && m[2] >= 0 {
		return "[" + text[m[2]:m[3]] + "] " + text[m[1]:]
	}
	return text
}

// withoutGap takes off how long after the line before it a kernel's line is.
func withoutGap(text string) (string, bool) {
	for _, e := range []func() *regexp.Regexp{kernelApart, kernelDay} {
		if m := e().FindString(text); m != "" {
			return text[len(m):], true
		}
	}
	return text, false
}

// unknownBoot stands before a kernel's line without a time of its own.
const unknownBoot = "[    0.000000] "

// journalEntry is an entry of the journal as fields; those that are read.
type journalEntry struct {
	line                                                    int // of the message
	message, transport, identifier, realtime, sinceBoot, at string
}

func (e *journalEntry) set(n int, key, value string) {
	switch key {
	case "MESSAGE":
		e.line, e.message = n, value
	case "_TRANSPORT":
		e.transport = value
	case "SYSLOG_IDENTIFIER":
		e.identifier = value
	case "__REALTIME_TIMESTAMP":
		e.realtime = value
	case "_SOURCE_MONOTONIC_TIMESTAMP":
		e.sinceBoot = value
	case "__MONOTONIC_TIMESTAMP":
		if e.sinceBoot == "" {
			e.sinceBoot = value
		}
	}
}

// tell hands an entry on as a line.
func (e *journalEntry) tell(r *logReader) {
	if e.message == "" {
		return
	}
	at, ok := parseEpoch(e.realtime)
	if !ok {
		at, _ = parseISO(e.at)
	}
	text, app := e.message, e.identifier
	if e.transport == "kernel" || e.identifier == "kernel" {
		r.origin, app = FromKernel, ""
		text = kernelStamp(e.sinceBoot) + text
	}
	for line := range strings.Lines(text) {
		r.line(e.line, strings.TrimRight(line, "\r\n"), at, app)
	}
}

// kernelStamp makes dmesg's time of the microseconds since boot of an entry.
func kernelStamp(micros string) string {
	if v := parsedNumber(micros, Micros, Source{}); v.AtLeast(0) {
		return fmt.Sprintf("[%12.6f] ", v.Number/1e6)
	}
	return unknownBoot
}

// verboseHead begins an entry of "journalctl -o verbose".
var verboseHead = expression(`^\pL{2,4}\.? (\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(?:\.\d{1,6})?)(?: \S+)? \[s=[0-9a-f]+;`)

// parseJournal reads the journal's entries as fields, a line each: what
// "journalctl -o verbose" and "-o export" print.
//
// https://systemd.io/JOURNAL_EXPORT_FORMATS/
func (b *builder) parseJournal(f *file) bool {
	first, _, _ := bytes.Cut(bytes.TrimSpace(f.data), []byte{'\n'})
	first = first[:min(len(first), 512)]
	if !bytes.HasPrefix(first, []byte("__CURSOR=")) && !verboseHead().Match(first) {
		return false
	}
	r := b.newLog(f.name)
	var e journalEntry
	n := 0
	for line := range bytes.Lines(f.data) {
		if n++; n > mostLines {
			b.gap(HasServerLog, TooMuch, "a log may have 2,000,000 lines", Source{File: f.name, Line: n})
			break
		}
		text := strings.TrimSpace(string(line[:min(len(line), mostLine)]))
		if m := verboseHead().FindStringSubmatch(text); m != nil {
			e.tell(r)
			e = journalEntry{at: m[1]}
			continue
		}
		if key, value, ok := strings.Cut(text, "="); ok {
			if key == "__CURSOR" {
				e.tell(r)
				e = journalEntry{}
			}
			e.set(n, key, value)
		}
	}
	e.tell(r)
	r.close()
	b.input(f, "journal, as fields", "")
	return true
}

// dmesgJSON reads "dmesg --json".
//
// https://man7.org/linux/man-pages/man1/dmesg.1.html
func dmesgJSON(b *builder, f *file, v any) (string, bool) {
	list := listAt(v, "dmesg")
	if len(list) == 0 || at(list[0], "msg") == nil {
		return "", false
	}
	r := b.newLog(f.name)
	r.log.As, r.origin = "kernel log", FromKernel
	for i, one := range list[:min(len(list), mostLines)] {
		text := unknownBoot
		if s := jsonNumber(f, one, Seconds, "", "time"); s.AtLeast(0) {
			text = fmt.Sprintf("[%12.6f] ", s.Number)
		}
		r.line(i+1, text+textOf(at(one, "msg")), time.Time{}, "")
	}
	r.close()
	return "kernel log, JSON", true
}
