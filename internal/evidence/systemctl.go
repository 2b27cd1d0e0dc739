package evidence

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"
)

// unitProperties are those of a unit that are read.
var unitProperties = []string{
	"Id", "ActiveState", "SubState", "Result", "NRestarts", "ExecMainCode", "ExecMainStatus", "ControlGroup",
	"MemoryCurrent", "MemoryPeak", "MemoryHigh", "MemoryMax", "MemorySwapMax", "MemorySwapCurrent", "CPUUsageNSec", "CPUQuotaPerSecUSec",
}

// property is one of a unit and where it stands.
type property struct {
	text string
	from Source
}

type unit map[string]property

// parseUnitShow reads what "systemctl show" prints of units, in whole or of the
// properties that were asked for; a blank line stands between two of them.
//
// https://www.freedesktop.org/software/systemd/man/latest/systemctl.html
// https://www.freedesktop.org/software/systemd/man/latest/org.freedesktop.systemd1.html
func (b *builder) parseUnitShow(f *file) bool {
	const fewest = 2 // of the properties, for it to be of systemctl
	if len(f.data) > 8<<20 {
		return false
	}
	var units []unit
	known, n := 0, 0
	one := unit{}
	for line := range bytes.Lines(f.data) {
		n++
		text := strings.TrimSpace(string(line[:min(len(line), mostLine)]))
		key, value, ok := strings.Cut(text, "=")
		switch {
		case text == "":
			units, one = append(units, one), unit{}
		case !ok || !unitKey().MatchString(key):
			return false
		case slices.Contains(unitProperties, key):
			known++
			one[key] = property{value, Source{File: f.name, Line: n, Field: key}}
		}
	}
	if known < fewest {
		return false
	}
	r := emptyReading(listenersOnly + readingOf(f.name))
	for _, u := range append(units, one) {
		u.take(b, &r)
	}
	b.c.Readings = append(b.c.Readings, r)
	b.input(f, "systemctl show", "")
	return true
}

var unitKey = expression(`^[A-Z][A-Za-z0-9]+$`)

// take takes in a unit: its state as that of a container, and its cgroup.
func (u unit) take(b *builder, r *Reading) {
	if len(u) == 0 {
		return
	}
	name := shorten(u["Id"].text)
	path := shorten(strings.Trim(u["ControlGroup"].text, "/"))
	if name == "" {
		if name = path[strings.LastIndexByte(path, '/')+1:]; name == "" {
			name = "a unit"
		}
	}
	if path == "" {
		path = name
	}
	if g := u.cgroup(path, name); (g.Memory.Current.Known || g.CPU.UsageMicros.Known) && len(r.Cgroups) < mostCgroups {
		r.Cgroups = append(r.Cgroups, g)
	}
	if u["ActiveState"].text == "" && u["NRestarts"].text == "" && u["Result"].text == "" {
		return
	}
	c := Container{Name: name, Platform: FromSystem, From: u["ActiveState"].from, State: unitState(u["ActiveState"].text, u["SubState"].text), OOMKilled: Unsure}
	if c.From.File == "" {
		c.From = u["NRestarts"].from
	}
	if result := u["Result"].text; result != "" && result != "success" {
		c.LastReason = shorten(result)
		if result == "oom-kill" {
			c.OOMKilled = Yes
		}
	}
	c.Restarts = u.number("NRestarts", Events)
	switch u["ExecMainCode"].text {
	case unitExited:
		c.LastExitCode = u.number("ExecMainStatus", NoUnit)
	case unitKilled, unitDumped:
		c.LastSignal = u.number("ExecMainStatus", NoUnit)
	}
	c.MemoryLimit = u.limit("MemoryMax").Value
	b.c.Containers = append(b.c.Containers, c)
}

// How the main process of a unit has ended, as siginfo_t has it (sigaction(2)).
const unitExited, unitKilled, unitDumped = "1", "2", "3"

// unitState is a unit's state in the words of containers.
func unitState(active, sub string) string {
	switch {
	case active == "active" && sub != "exited":
		return "running"
	case active == "activating" && sub == "auto-restart":
		return "restarting"
	}
	return shorten(active)
}

func (u unit) cgroup(path, name string) Cgroup {
	g := Cgroup{Path: path, Server: name}
	m := &g.Memory
	m.Current, m.Peak, m.SwapCurrent = u.number("MemoryCurrent", Bytes), u.number("MemoryPeak", Bytes), u.number("MemorySwapCurrent", Bytes)
	m.Max, m.High, m.SwapMax = u.limit("MemoryMax"), u.limit("MemoryHigh"), u.limit("MemorySwapMax")
	g.CPU.UsageMicros = u.number("CPUUsageNSec", Micros).Times(1e-3, Micros)
	quota := u["CPUQuotaPerSecUSec"]
	switch span, err := time.ParseDuration(strings.ReplaceAll(quota.text, " ", "")); {
	case quota.text == "":
	case quota.text == "infinity":
		g.CPU.QuotaMicros = Limit{Unlimited: true, Value: Missing(Absent, "there is no quota", quota.from)}
	case err != nil || span <= 0:
		g.CPU.QuotaMicros = Limit{Value: Missing(Unreadable, "it is no span of time", quota.from)}
	default:
		g.CPU.QuotaMicros = Limit{Value: Known(float64(span.Microseconds()), Micros, quota.from)}
		g.CPU.PeriodMicros = Known(1e6, Micros, quota.from)
	}
	return g
}

// number reads a count. What is not accounted for is "[not set]", or the largest
// number that there is.
func (u unit) number(key string, of Unit) Value {
	const notSet = 1 << 63
	p, ok := u[key]
	if !ok {
		return Missing(Absent, "it was not asked for", Source{Field: key})
	}
	if v := parsedNumber(p.text, of, p.from); !v.AtLeast(notSet) && p.text != "[not set]" {
		return v
	}
	return Missing(Absent, "systemd does not account for it", p.from)
}

// limit reads a limit, which is infinity where there is none.
func (u unit) limit(key string) Limit {
	if p := u[key]; p.text == "infinity" {
		return Limit{Unlimited: true, Value: Missing(Absent, "there is no limit", p.from)}
	}
	v := u.number(key, Bytes)
	return Limit{Value: v}
}

var (
	unitHead   = expression(`^[●○×↻*] (\S+\.(?:service|scope|slice))(?: - |$)`)
	unitActive = expression(`^Active: (\S+)(?: \((?:Result: )?([\w-]+)\))?`)
	unitMemory = expression(`^Memory: ([\d.]+[BKMGT])`)
	unitParts  = expression(`\b(swap max|swap peak|high|max|peak|limit): ([\d.]+[BKMGT])`)
	unitMain   = expression(`^Main PID: .*\(code=(exited, status=(\d+)|(?:killed|dumped), signal=([A-Z]+))`)
	// unitAmounts are the properties that the parts of the line about memory are of.
	unitAmounts = map[string]string{"high": "MemoryHigh", "max": "MemoryMax", "limit": "MemoryMax", "peak": "MemoryPeak", "swap max": "MemorySwapMax"}
)

// parseUnitStatus reads what "systemctl status" prints of units: the state, memory
// against its limits, and the lines of the journal behind.
//
// https://www.freedesktop.org/software/systemd/man/latest/systemctl.html#status%20PATTERN%E2%80%A6%7CPID%E2%80%A6%5D
func (b *builder) parseUnitStatus(f *file) bool {
	first, _, _ := bytes.Cut(bytes.TrimSpace(f.data), []byte{'\n'})
	if !unitHead().Match(bytes.TrimSpace(first[:min(len(first), mostLine)])) {
		return false
	}
	log := b.newLog(f.name)
	log.log.As, log.origin = "systemctl status", FromSystem
	r := emptyReading(listenersOnly + readingOf(f.name))
	one := unit{}
	inLog, n := false, 0
	for line := range bytes.Lines(f.data) {
		if n++; n > mostLines {
			break
		}
		text := strings.TrimSpace(string(line[:min(len(line), mostLine)]))
		switch m := unitHead().FindStringSubmatch(text); {
		case m != nil:
			one.take(b, &r)
			one, inLog = unit{"Id": {m[1], Source{File: f.name, Line: n}}}, false
		case text == "":
			inLog = true
		case inLog:
			log.line(n, text, time.Time{}, "")
		default:
			one.status(text, Source{File: f.name, Line: n})
		}
	}
	one.take(b, &r)
	log.close()
	b.c.Readings = append(b.c.Readings, r)
	b.input(f, "systemctl status", "")
	return true
}

// status takes in a line about a unit, as the properties that it stands for.
func (u unit) status(text string, from Source) {
	set := func(key, value string) { u[key] = property{value, from} }
	bytesOf := func(key, amount string) {
		from.Field = key
		if v := systemdSize(amount, from); v.Known {
			u[key] = property{strconv.FormatFloat(v.Number, 'f', -1, 64), from}
		}
	}
	switch {
	case unitActive().MatchString(text):
		m := unitActive().FindStringSubmatch(text)
		from.Field = "Active"
		set("ActiveState", m[1])
		if m[1] == "failed" || m[1] == "activating" && m[2] != "auto-restart" {
			set("Result", m[2])
		} else {
			set("SubState", m[2])
		}
	case unitMemory().MatchString(text):
		bytesOf("MemoryCurrent", unitMemory().FindStringSubmatch(text)[1])
		for _, m := range unitParts().FindAllStringSubmatch(text, -1) {
			if key := unitAmounts[m[1]]; key != "" {
				bytesOf(key, m[2])
			}
		}
	case unitMain().MatchString(text):
		from.Field = "Main PID"
		m := unitMain().FindStringSubmatch(text)
		if m[2] != "" {
			set("ExecMainCode", unitExited)
			set("ExecMainStatus", m[2])
		} else if n := signalNumber("SIG" + m[3]); n > 0 {
			set("ExecMainCode", unitKilled)
			set("ExecMainStatus", strconv.Itoa(n))
		}
	case strings.HasPrefix(text, "CGroup: "):
		from.Field = "CGroup"
		set("ControlGroup", strings.TrimPrefix(text, "CGroup: "))
	}
}

// systemdSize reads an amount as systemd prints it, in powers of 1024.
func systemdSize(text string, from Source) Value {
	factor := 1.0
	for range strings.IndexByte("BKMGT", text[len(text)-1]) {
		factor *= 1024
	}
	return parsedNumber(text[:len(text)-1], Bytes, from).Times(factor, Bytes)
}
