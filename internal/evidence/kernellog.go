package evidence

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	kmsgPrefix   = expression(`^[\s>|]*(?:<\d+>|\w+ *:\w+ *: )?\[ *(\d+\.\d{1,9})\](?: ?\[ *[TC]\d+\])? ?`)
	kmsgDated    = expression(`^\[([^\]\d]{1,12} [^\]]{8,40})\] `)
	kmsgMonthDay = expression(`(\d{1,2}月|\pL{3,9})\.? +(\d{1,2}) (\d{2}):(\d{2}):(\d{2}) (\d{4})`)

	oomSummary = expression(`^oom-kill:constraint=(CONSTRAINT_\w+),.*?,task_memcg=([^,]*),task=(.*),pid=(\d+),uid=\d+`)
	oomMemcg   = expression(`,oom_memcg=([^,]*),`)
	oomKilled  = expression(`^(?:(Memory cgroup out of memory|Out of memory)(?: \(oom_kill_allocating_task\))?: )?Killed process (\d+)(?: |, UID \d+, )\((.*?)\),? (?:total-vm|vsz)`)
	oomAnonRSS = expression(`anon-rss:(\d+)kB`)
	oomLimit   = expression(`^Task in (\S+) killed as a result of limit of (\S+)`)
	oomUsage   = expression(`^memory: usage \d+kB, limit (\d+)kB`)
	oomSwap    = expression(`^Total swap = (\d+)kB`)
	oomInvoked = expression(`^(.{1,15}) invoked oom-killer: `)
	oomBefore  = expression(`^(Memory cgroup out of memory|Out of memory): Kill process (\d+) \((.*)\) score`)
	hungTask   = expression(`^INFO: task (.*):(\d+) blocked for more than (\d+) seconds`)
	synFlood   = expression(`^(?:\w+: ){0,2}[Pp]ossible SYN flooding on port (?:\S*:)?(\d+)`)
	faulted    = expression(`^(?:traps: )?(\S.{0,14})\[(\d+)\]:? (?:(segfault) at [0-9a-f]|(general protection)(?: fault)? ip:|trap ([a-z0-9 ]+?) ip:|(unhandled exception): )`)
	faultedIn  = expression(` in ([^\s\[]+)\[[0-9a-f]+(?:,[0-9a-f]+)?\+[0-9a-f]+\]`)
	oomContext = expression(`^(?:Mem-Info|Node \d+ |Free swap  = |Total swap = |\d+ pages RAM|oom_reaper:|Tasks state|memory: usage \d+kB|swap: usage \d+kB|Memory cgroup stats|CPU: \d+ PID: |Call Trace:|Hardware name:)`)
)

// kernelLogState is what an OOM report, which is many lines, has said so far.
type kernelLogState struct {
	constraint     string // memcg, global, what boundTo makes; empty if not told
	told           bool   // something of note was the kernel's: the log is its own
	cgroup         string
	limit          Value  // of the cgroup, bytes
	swap           Value  // of the machine, bytes
	summary        *Event // told, but the line about the kill has not come
	summarySeconds float64
}

// kernelLine reads dmesg, the journal's kernel lines and /dev/kmsg as text. The
// words of an OOM kill changed in 3.x, 4.19 and 5.x; whether it was the whole
// machine or a cgroup that was out of memory stands in the summary, in the
// line about the limit, or in the first words. Programs quote these words too, so
// that a line must begin with them.
//
// https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/mm/oom_kill.c
func kernelLine(l *logLine, s *logState) (Event, bool) {
	if l.program != "" && l.program != "kernel" {
		return Event{}, false
	}
	text, stamped := withoutTime(l)
	e, ok := kernelText(l, text, stamped || s.kernel.told && l.bootSeconds >= 0, s)
	s.kernel.told = s.kernel.told || e.Kind != ""
	return e, ok
}

// kernelText reads a line without the kernel's own time; stamped says that it
// had one.
func kernelText(l *logLine, text string, stamped bool, s *logState) (Event, bool) {
	k := &s.kernel
	e := l.event("", FromKernel)
	e.Text = strings.TrimSpace(l.text)
	has := func(word string, expression func() *regexp.Regexp) bool {
		return strings.Contains(text, word) && expression().MatchString(text)
	}
	switch {
	case has("oom-kill:", oomSummary):
		k.flushTo(s.b)
		k.readSummary(l, text)
	case has("Killed process ", oomKilled):
		return k.killed(e, l, text), true
	case has("Kill process ", oomBefore):
		k.constraint = constraintOf(oomBefore().FindStringSubmatch(text)[1])
	case has("Task in ", oomLimit):
		k.constraint, k.cgroup = "memcg", oomLimit().FindStringSubmatch(text)[2]
	case has(" invoked oom-killer: ", oomInvoked):
		k.constraint, k.cgroup, k.limit, k.swap = "", "", Value{}, Value{}
		e.Kind, e.Comm = OOMInvoked, oomInvoked().FindStringSubmatch(text)[1]
	case has("memory: usage ", oomUsage):
		k.limit = oomLimitOf(l, text)
	case has("Total swap = ", oomSwap):
		k.swap = l.number(oomSwap().FindStringSubmatch(text)[1], "Total swap", Bytes).Times(1024, Bytes)
	case has("INFO: task ", hungTask):
		m := hungTask().FindStringSubmatch(text)
		e.Kind, e.Comm, e.PID, e.Elapsed = HungTask, m[1], atoi(m[2]), l.number(m[3], "blocked for", Seconds)
	case has("SYN flooding", synFlood):
		e.Kind, e.Port = SynFlood, atoi(synFlood().FindStringSubmatch(text)[1])
	case has("[", faulted):
		m := faulted().FindStringSubmatch(text)
		e.Kind, e.Comm, e.PID, e.Reason = Faulted, m[1], atoi(m[2]), m[3]+m[4]+m[5]+m[6]
		if in := faultedIn().FindStringSubmatch(text); in != nil {
			e.Frame = in[1]
		}
	case stamped, oomContext().MatchString(text):
	default:
		return Event{}, false
	}
	return e, true
}

// kernelEvent says quickly whether a line may be one that kernelLine has a use
// for.
func kernelEvent(line []byte) bool {
	if bytes.Contains(line, []byte("ill")) {
		for _, word := range [...]string{"oom-kill", "Killed process", "Kill process", "killed as a result of limit"} {
			if bytes.Contains(line, []byte(word)) {
				return true
			}
		}
	}
	for _, word := range [...]string{"blocked for more than", "SYN flooding", " segfault at ", "traps: "} {
		if bytes.Contains(line, []byte(word)) {
			return true
		}
	}
	return false
}

// withoutTime takes the kernel's own time off a line.
func withoutTime(l *logLine) (text string, stamped bool) {
	if m := kmsgPrefix().FindStringSubmatchIndex(l.text); m != nil {
		written := l.text[m[2]:m[3]]
		if s, err := strconv.ParseFloat(written, 64); err == nil && s > 0 && s < 1e10 {
			l.bootSeconds = s
		}
		// With fewer decimals than the kernel writes it may be any program's time.
		return l.text[m[1]:], len(written)-strings.IndexByte(written, '.') > 3
	}
	if m := kmsgDated().FindStringSubmatchIndex(l.text); m != nil && l.at.IsZero() {
		if at, ok := localDate(l.text[m[2]:m[3]]); ok {
			l.at = at
			return l.text[m[1]:], true
		}
	}
	if text, ok := withoutGap(l.text); ok {
		return text, true
	}
	return strings.TrimSpace(l.rest), false
}

func (k *kernelLogState) readSummary(l *logLine, text string) {
	m := oomSummary().FindStringSubmatch(text)
	e := l.event(OOMKill, FromKernel)
	e.Comm, e.PID, e.Cgroup = m[3], atoi(m[4]), m[2]
	k.constraint = "global"
	switch m[1] {
	case "CONSTRAINT_MEMCG":
		k.constraint = "memcg"
	case "CONSTRAINT_MEMORY_POLICY", "CONSTRAINT_CPUSET":
		k.constraint = boundTo(m[1], text)
	}
	if c := oomMemcg().FindStringSubmatch(text); c != nil {
		k.cgroup = c[1]
		e.Cgroup = c[1]
	}
	e.OOMGlobal = k.global()
	k.sized(&e)
	k.summary, k.summarySeconds = &e, l.bootSeconds
}

// killed is the line about the kill, with what the lines before have told.
func (k *kernelLogState) killed(e Event, l *logLine, text string) Event {
	m := oomKilled().FindStringSubmatch(text)
	e.Kind, e.PID, e.Comm = OOMKill, atoi(m[2]), m[3]
	if rss := oomAnonRSS().FindStringSubmatch(text); rss != nil {
		e.AnonRSS = l.number(rss[1], "anon-rss", Bytes).Times(1024, Bytes)
	}
	s := k.summary
	summed := s != nil && s.PID == e.PID
	if m[1] != "" && !(summed && s.Reason != "") {
		k.constraint = constraintOf(m[1]) // which is the same for all of the machine and for some nodes
	}
	if summed {
		e.Cgroup = s.Cgroup
		k.summary = nil
	} else if k.constraint == "memcg" {
		e.Cgroup = k.cgroup
	}
	e.OOMGlobal = k.global()
	k.sized(&e)
	return e
}

func constraintOf(words string) string {
	if strings.HasPrefix(words, "Memory cgroup") {
		return "memcg"
	}
	return "global"
}

func (k *kernelLogState) global() Tri {
	switch k.constraint {
	case "":
		return Unsure
	case "global":
		return Yes
	}
	return No
}

// flush takes in a summary whose kill the log does not have.
func (k *kernelLogState) flush(r *logReader) { k.flushTo(r.b) }

func (k *kernelLogState) flushTo(b *builder) {
	if k.summary == nil {
		return
	}
	if i := b.event(*k.summary); i >= 0 && k.summary.At.IsZero() && k.summarySeconds >= 0 {
		b.booted[i] = k.summarySeconds
	}
	k.summary = nil
}

// months are the beginnings of the months' names in languages that dmesg -T
// and journals have been seen in.
var months = map[string]time.Month{
	"jan": 1, "ene": 1, "gen": 1, "feb": 2, "fév": 2, "fev": 2, "mar": 3, "mär": 3, "mrz": 3, "maa": 3, "apr": 4, "avr": 4, "abr": 4,
	"may": 5, "mai": 5, "maj": 5, "mei": 5, "mag": 5, "jun": 6, "juin": 6, "giu": 6, "jul": 7, "juil": 7, "lug": 7,
	"aug": 8, "aoû": 8, "ago": 8, "sep": 9, "set": 9, "oct": 10, "okt": 10, "out": 10, "ott": 10, "nov": 11,
	"dec": 12, "dez": 12, "déc": 12, "dic": 12,
}

// localDate reads the date of dmesg -T whatever language it is in.
func localDate(text string) (time.Time, bool) {
	m := kmsgMonthDay().FindStringSubmatch(text)
	if m == nil {
		return time.Time{}, false
	}
	month := time.Month(0)
	if digits, ok := strings.CutSuffix(m[1], "月"); ok {
		month = time.Month(atoi(digits))
	} else {
		name := []rune(strings.ToLower(m[1]))
		for _, n := range []int{4, 3} {
			if found, ok := months[string(name[:min(n, len(name))])]; ok {
				month = found
				break
			}
		}
	}
	if month < 1 || month > 12 {
		return time.Time{}, false
	}
	at := time.Date(atoi(m[6]), month, atoi(m[2]), atoi(m[3]), atoi(m[4]), atoi(m[5]), 0, time.UTC)
	return at, plausible(at)
}
