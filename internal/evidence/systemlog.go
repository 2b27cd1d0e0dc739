package evidence

import "strings"

var (
	systemdKilled = expression(`^(\S+\.(?:service|scope|slice)): A process of this unit has been killed by the OOM killer`)
	systemdResult = expression(`^(\S+\.(?:service|scope)): Failed with result 'oom-kill'`)
	oomdKilled    = expression(`^Killed (\S+) due to memory (?:pressure|used)`)
	earlyoomKills = expression(`^sending SIG(?:TERM|KILL) to process (\d+) (?:uid \d+ )?"?([^":]+)"?: (?:oom_score|badness) \d+(?:, (?:oom_score_adj -?\d+, )?VmRSS (\d+) MiB)?`)
	systemMention = expression(`systemd-oomd killed \d+ process|^low memory! at or below SIG`)
)

// systemLine reads what the machine's own services say of kills for want of
// memory: systemd of its units, and systemd-oomd and earlyoom, which kill before
// the kernel has to.
//
// https://www.freedesktop.org/software/systemd/man/latest/systemd-oomd.service.html
func systemLine(l *logLine, s *logState) (Event, bool) {
	text := strings.TrimSpace(l.rest)
	e := l.event(PodOOMKilled, FromSystem)
	e.Reason = l.app
	switch {
	case systemdKilled().MatchString(text):
		e.App = systemdKilled().FindStringSubmatch(text)[1]
		s.killedUnit = e.App
	case systemdResult().MatchString(text):
		e.App = systemdResult().FindStringSubmatch(text)[1]
		if s.killedUnit == e.App {
			e.Kind = "" // told already
		}
		s.killedUnit = ""
	case oomdKilled().MatchString(text):
		e.App = oomdKilled().FindStringSubmatch(text)[1]
	case earlyoomKills().MatchString(text):
		m := earlyoomKills().FindStringSubmatch(text)
		e.App, e.PID, e.Comm = "", atoi(m[1]), m[2]
		if m[3] != "" {
			e.AnonRSS = l.number(m[3], "VmRSS", Bytes).Times(1<<20, Bytes)
		}
	case systemMention().MatchString(text):
		e.Kind = ""
	default:
		return Event{}, false
	}
	return e, true
}
