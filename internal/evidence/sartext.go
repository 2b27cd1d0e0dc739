package evidence

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
)

var (
	sarHead = expression(`^(\d{2}:\d{2}:\d{2})(?: ([AP]M))?\s+((?:CPU|kbmemfree|kbswpfree|pswpin/s|runq-sz|pgpgin/s)\s.*)$`)
	sarCPUs = expression(`^Linux .*\((\d+) CPU\)$`)
	sarRow  = expression(`^(\d{2}:\d{2}:\d{2})(?: ([AP]M))?\s+(\S.*)$`)
)

// sarLately is how long before its last row a row of sar may be and still be about
// now: a file of sar covers a day, and has a row for ten minutes.
const sarLately = 10 * time.Minute

// parseSar reads what sar prints of CPUs (-u), memory (-r), swap (-S, -W), queues
// (-q) and paging (-B), in any order.
//
// https://man7.org/linux/man-pages/man1/sar.1.html
func (b *builder) parseSar(f *file) bool {
	if len(f.data) > 8<<20 || !startsSar(f.data) {
		return false
	}
	s := sar{file: f.name, r: emptyReading(listenersOnly + readingOf(f.name)), place: map[time.Duration]int{}}
	n := 0
	for line := range bytes.Lines(f.data) {
		n++
		s.line(n, strings.TrimSpace(string(line[:min(len(line), 1024)])))
	}
	s.end()
	if len(s.activities) == 0 && !s.r.Meminfo.MemFree.Known && !s.r.Meminfo.SwapFree.Known && !s.r.Machine.Load1.Known {
		return false
	}
	b.c.Activities = append(b.c.Activities, s.activities...)
	b.c.Readings = append(b.c.Readings, s.r)
	note := ""
	if s.before > 0 {
		note = fmt.Sprintf("%d rows are more than ten minutes before its last, and are not about now", s.before)
	}
	b.input(f, "sar", note)
	return true
}

// startsSar reports whether a file begins as sar does: with its line about the
// machine and a heading, or the heading alone.
func startsSar(data []byte) bool {
	n := 0
	for line := range bytes.Lines(data[:min(len(data), 4<<10)]) {
		text := bytes.TrimSpace(line)
		switch {
		case len(text) == 0 || n == 0 && bytes.HasPrefix(text, []byte("Linux ")) && bytes.HasSuffix(text, []byte("CPU)")):
		case sarHead().Match(text):
			return true
		default:
			return false
		}
		n++
	}
	return false
}

// sar is what was read of sar so far.
type sar struct {
	file       string
	r          Reading
	columns    []string
	rows       []sarLine // of the section that is read
	activities []Activity
	place      map[time.Duration]int // of an activity, by its time of day
	before     int                   // rows that are not about now
}

// sarLine is one row of a section.
type sarLine struct {
	n      int
	at     time.Duration // time of day
	lasted time.Duration // since the row before; 0 if that is not told
	words  []string
}

func (s *sar) line(n int, text string) {
	if m := sarCPUs().FindStringSubmatch(text); m != nil {
		s.r.Machine.CPUs = parsedNumber(m[1], Events, Source{File: s.file, Line: n})
		return
	}
	if m := sarHead().FindStringSubmatch(text); m != nil {
		columns := strings.Fields(m[3])
		if strings.Join(columns, " ") != strings.Join(s.columns, " ") {
			s.end()
		}
		s.columns = columns
		if len(s.rows) == 0 {
			s.rows = append(s.rows, sarLine{n: n, at: timeOfDay(m[1], m[2])})
		}
		return
	}
	m := sarRow().FindStringSubmatch(text)
	if m == nil || len(s.columns) == 0 {
		return
	}
	if strings.Contains(text, "RESTART") { // of the machine: what was before is of another boot
		s.rows = []sarLine{{n: n, at: timeOfDay(m[1], m[2])}}
		return
	}
	words := strings.Fields(m[3])
	if !numeric(strings.Replace(words[len(words)-1], ",", ".", 1)) { // the heading of a section that is not read
		s.end()
		return
	}
	if len(words) != len(s.columns) || s.columns[0] == "CPU" && words[0] != "all" {
		return
	}
	row := sarLine{n: n, at: timeOfDay(m[1], m[2]), words: words}
	if len(s.rows) > 0 {
		row.lasted = since(s.rows[len(s.rows)-1].at, row.at)
	}
	if len(s.rows) == mostListed { // the later half is more than ten minutes, at a row a second
		const half = mostListed / 2
		s.rows = append(s.rows[:0], s.rows[half:]...)
		s.before += half
	}
	s.rows = append(s.rows, row)
}

// timeOfDay reads "12:10:01" and "12:10:01 AM".
func timeOfDay(text, half string) time.Duration {
	layout := "15:04:05"
	if half != "" {
		layout, text = "03:04:05 PM", text+" "+half
	}
	at, err := time.Parse(layout, text)
	if err != nil {
		return 0
	}
	return time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute + time.Duration(at.Second())*time.Second
}

// since is how long one time of day is after another.
func since(from, to time.Duration) time.Duration {
	const day = 24 * time.Hour
	return (to - from + day) % day
}

// end takes in the section that was read: what is about now.
func (s *sar) end() {
	last, first := len(s.rows)-1, len(s.rows)
	// Times of day come again, so that ages are added up.
	for age := time.Duration(0); first > 1 && age < sarLately; first-- {
		age += s.rows[first-1].lasted
	}
	s.before += max(first-1, 0)
	for i := first; i <= last; i++ {
		s.take(&s.rows[i], i == last)
	}
	s.rows, s.columns = nil, nil
}

// take takes in a row: levels of the last one, and rates.
func (s *sar) take(row *sarLine, last bool) {
	value := func(column string, unit Unit) Value {
		from := Source{File: s.file, Line: row.n, Field: column}
		for i, c := range s.columns {
			if c == column {
				return parsedNumber(strings.Replace(row.words[i], ",", ".", 1), unit, from)
			}
		}
		return Missing(Absent, "sar does not have the column", from)
	}
	kib := func(column string) Value { return value(column, Bytes).Times(1024, Bytes) }
	switch s.columns[0] {
	case "kbmemfree":
		if last {
			sarMemory(&s.r.Meminfo, kib, value)
		}
		return
	case "kbswpfree":
		if last {
			s.r.Meminfo.SwapFree, s.r.Meminfo.SwapTotal = kib("kbswpfree"), kib("kbswpfree").Plus(kib("kbswpused"))
		}
		return
	}
	a := s.activity(row)
	switch s.columns[0] {
	case "CPU":
		a.User = value("%user", Percent).Else(value("%usr", Percent)).Plus(value("%nice", Percent))
		a.System = value("%system", Percent).Else(value("%sys", Percent))
		if value("%irq", Percent).Known {
			a.System = a.System.Plus(value("%irq", Percent)).Plus(value("%soft", Percent))
		}
		a.Idle, a.IOWait, a.Steal = value("%idle", Percent), value("%iowait", Percent), value("%steal", Percent)
	case "pswpin/s":
		a.SwapIn, a.SwapOut = value("pswpin/s", Pages.PerSecond()), value("pswpout/s", Pages.PerSecond())
	case "pgpgin/s":
		a.BlockIn, a.BlockOut = value("pgpgin/s", KiB.PerSecond()), value("pgpgout/s", KiB.PerSecond())
		a.ScanKswapd, a.ScanDirect = value("pgscank/s", Pages.PerSecond()), value("pgscand/s", Pages.PerSecond())
	case "runq-sz":
		a.Runnable, a.Blocked = value("runq-sz", Events), value("blocked", Events)
		if last {
			m := &s.r.Machine
			m.Load1, m.Load5, m.Load15 = value("ldavg-1", NoUnit), value("ldavg-5", NoUnit), value("ldavg-15", NoUnit)
		}
	}
}

// sarMemory takes the levels of a row of -r. What is used is without the cache
// since sysstat 12, so that only its share tells how much there is in all.
func sarMemory(m *Meminfo, kib func(string) Value, value func(string, Unit) Value) {
	m.MemFree, m.MemAvailable = kib("kbmemfree"), kib("kbavail")
	m.Buffers, m.Cached, m.CommittedAS, m.Dirty = kib("kbbuffers"), kib("kbcached"), kib("kbcommit"), kib("kbdirty")
	if used, share := kib("kbmemused"), value("%memused", Percent); used.Known && share.Above(0) {
		m.MemTotal = Known(100*used.Number/share.Number, Bytes, slices.Concat(used.From, share.From)...)
	}
}

// activity is that of the time of a row, which several sections tell of.
func (s *sar) activity(row *sarLine) *Activity {
	if i, ok := s.place[row.at]; ok {
		return &s.activities[i]
	}
	at := Source{File: s.file, Line: row.n}
	a := emptyActivity("sar", at)
	if row.lasted > 0 {
		a.Seconds = Known(row.lasted.Seconds(), Seconds, at)
	}
	// mpstat without an interval has its heading and its row at one time.
	//
	// https://man7.org/linux/man-pages/man1/mpstat.1.html
	a.SinceBoot = row.lasted == 0
	s.place[row.at] = len(s.activities)
	s.activities = append(s.activities, a)
	return &s.activities[len(s.activities)-1]
}
