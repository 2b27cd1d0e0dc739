package evidence

import (
	"path"
	"strings"
)

var (
	systemdKilled = expression(`^(\S+\.(?:service|scope|slice)): A process of this unit has been killed by the OOM killer`)
	systemdResult = expression(`^(\S+\.(?:service|scope)): Failed with result 'oom-kill'`)
	oomdKilled    = expression(`^Killed (\S+) due to memory (?:pressure|used)(?: for \S+ being (\d+(?:\.\d+)?)%)?`)
	earlyoomKills = expression(`^sending SIG(?:TERM|KILL) to process (\d+) (?:uid \d+ )?"?([^":]+)"?: (?:oom_score|badness) \d+(?:, (?:oom_score_adj -?\d+, )?VmRSS (\d+) MiB)?`)
	systemMention = expression(`systemd-oomd killed \d+ process|^low memory! at or below SIG`)
	unitEnded     = expression(`^(\S+\.service): Main process exited, code=(exited|killed|dumped), status=(\d+)`)
	unitRestart   = expression(`^(\S+\.service): Scheduled restart job, restart counter is at (\d+)`)
	unitGivenUp   = expression(`^(\S+\.service): Start request repeated too quickly`)
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
		m := oomdKilled().FindStringSubmatch(text)
		e.App = m[1]
		if m[2] != "" {
			e.Pressure = l.number(m[2], "memory pressure", Percent)
		}
		s.killedUnit = path.Base(e.App) // the unit's own line follows
	case earlyoomKills().MatchString(text):
		m := earlyoomKills().FindStringSubmatch(text)
		e.App, e.PID, e.Comm = "", atoi(m[1]), m[2]
		if m[3] != "" {
			e.AnonRSS = l.number(m[3], "VmRSS", Bytes).Times(1<<20, Bytes)
		}
	case systemMention().MatchString(text):
		e.Kind = ""
	case unitEnded().MatchString(text), unitRestart().MatchString(text), unitGivenUp().MatchString(text):
		return unitLine(l, s, text), true
	default:
		return Event{}, false
	}
	return e, true
}

// unitLine reads how a service ends and is started again. Only an end after
// which systemd itself starts it again is one: a job that is done, and a service
// that an operator stops, end as well.
//
// https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html#Restart=
func unitLine(l *logLine, s *logState, text string) Event {
	e := l.event("", FromSystem)
	switch {
	case unitEnded().MatchString(text):
		m := unitEnded().FindStringSubmatch(text)
		if s.unitCode == nil {
			s.unitCode = map[string]Value{}
		}
		delete(s.unitCode, m[1])
		if m[2] == "exited" {
			s.unitCode[m[1]] = l.number(m[3], "status", NoUnit)
		}
	case unitRestart().MatchString(text):
		m := unitRestart().FindStringSubmatch(text)
		e.App, e.Counter = m[1], l.number(m[2], "restart counter", Events)
		e.Kind, e.Code, e.Reason = ContainerExited, s.unitCode[e.App], "Scheduled restart job"
	default:
		e.App = unitGivenUp().FindStringSubmatch(text)[1]
		e.Kind, e.Reason = BackOff, "Start request repeated too quickly"
	}
	return e
}
