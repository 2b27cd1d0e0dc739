package evidence

import (
	"cmp"
	"path"
	"strings"
	"time"
)

var (
	systemdKilled = expression(`^(\S+\.(?:service|scope|slice)): A process of this unit has been killed by the OOM killer`)
	systemdResult = expression(`^(\S+\.(?:service|scope)): Failed with result 'oom-kill'`)
	oomdKilled    = expression(`^Killed (\S+) due to memory (?:pressure|used)(?: for \S+ being (\d+(?:\.\d+)?)%)?`)
	earlyoomKills = expression(`^sending SIG(?:TERM|KILL) to process (\d+) (?:uid \d+ )?"?([^":]+)"?: (?:oom_score|badness) \d+(?:, (?:oom_score_adj -?\d+, )?VmRSS (\d+) MiB)?`)
	systemMention = expression(`systemd-oomd killed \d+ process|^low memory! at or below SIG`)
	unitEnded     = expression(`^(\S+\.service): Main process exited, code=(exited|killed|dumped), status=(\d+)`)
	unitResult    = expression(`^(\S+\.service): Failed with result '([\w-]+)'`)
	unitWatchdog  = expression(`^(\S+\.service): Watchdog timeout \(limit ([^)]+)\)`)
	// unitStamp are the units of a span of time as systemd prints it, which Go calls
	// otherwise.
	unitStamp   = strings.NewReplacer(" ", "", "min", "m")
	unitRestart = expression(`^(\S+\.service): Scheduled restart job, restart counter is at (\d+)`)
	unitGivenUp = expression(`^(\S+\.service): Start request repeated too quickly`)
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
	case unitEnded().MatchString(text), unitResult().MatchString(text), unitWatchdog().MatchString(text), unitRestart().MatchString(text), unitGivenUp().MatchString(text):
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
		end := s.unitEnd(m[1])
		if end.code, end.signal = (Value{}), 0; m[2] == "exited" {
			end.code = l.number(m[3], "status", NoUnit)
		} else {
			end.signal = atoi(m[3])
		}
	case unitResult().MatchString(text):
		m := unitResult().FindStringSubmatch(text)
		s.unitEnd(m[1]).result = m[2]
	case unitWatchdog().MatchString(text):
		m := unitWatchdog().FindStringSubmatch(text)
		s.unitEnd(m[1]).limit = l.span(m[2], "Watchdog timeout")
	case unitRestart().MatchString(text):
		m := unitRestart().FindStringSubmatch(text)
		end := s.unitEnd(m[1])
		e.Kind, e.App, e.Counter = ContainerExited, m[1], l.number(m[2], "restart counter", Events)
		e.Code, e.Signal, e.Reason = end.code, end.signal, cmp.Or(end.result, "Scheduled restart job")
		if end.result == "watchdog" {
			e.Limit = end.limit
		}
		delete(s.unitEnds, e.App)
	default:
		e.App = unitGivenUp().FindStringSubmatch(text)[1]
		e.Kind, e.Reason = BackOff, "Start request repeated too quickly"
	}
	return e
}

// unitEnd is what systemd has said of the latest end of a unit.
type unitEnd struct {
	code   Value
	signal int
	result string
	limit  Value // of the watchdog, s
}

func (s *logState) unitEnd(unit string) *unitEnd {
	if s.unitEnds == nil {
		s.unitEnds = map[string]*unitEnd{}
	}
	if s.unitEnds[unit] == nil {
		s.unitEnds[unit] = &unitEnd{}
	}
	return s.unitEnds[unit]
}

// span reads a span of time as systemd prints it: "1min 30s".
func (l *logLine) span(text, field string) Value {
	from := l.from()
	from.Field = field
	d, err := time.ParseDuration(unitStamp.Replace(text))
	if err != nil {
		return Missing(Unreadable, "it is no span of time", from)
	}
	return Known(d.Seconds(), Seconds, from)
}
