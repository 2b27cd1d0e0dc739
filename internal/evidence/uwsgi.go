package evidence

import "strings"

var (
	uwsgiFull    = expression(`\*\*\* uWSGI listen queue of socket "([^"]*)" \(fd: \d+\) full !!! \((\d+)/(\d+)\) \*\*\*`)
	uwsgiCores   = expression(`^mapped \d+ bytes \(\d+ KB\) for (\d+) cores?`)
	uwsgiStart   = expression(`\*\*\* Starting uWSGI ([\w.+-]+)`)
	uwsgiSpawn   = expression(`spawned uWSGI worker (\d+) (?:\(and the only\) )?\(pid: (\d+), cores: (\d+)\)`)
	uwsgiAgain   = expression(`Respawned uWSGI worker \d+ \(new pid: (\d+)\)`)
	uwsgiEnded   = expression(`worker \d+ killed successfully \(pid: (\d+)\)`)
	uwsgiLived   = expression(`worker \d+ lifetime reached`)
	uwsgiDied    = expression(`DAMN ! worker (\d+) \(pid: (\d+)\) died(?:, killed by signal (\d+))?`)
	uwsgiHara    = expression(`HARAKIRI ON WORKER (\d+) \(pid: (\d+)`)
	uwsgiBound   = expression(`socket \d+ bound to (?:TCP|UNIX) address (\S+)`)
	uwsgiNoApp   = expression(`no python application found|unable to load app|no app loaded`)
	uwsgiMode    = expression(`^\*\*\* Operational MODE: (.*) \*\*\*`)
	uwsgiRequest = expression(`^\[pid: \d+\|app: `)
	uwsgiReady   = expression(`WSGI app \d+ \(mountpoint='[^']*'\) ready in (\d+) seconds`)
)

// uwsgiLine reads uWSGI's log. The full queue is told once a second while it
// lasts; the kernel lets it hold one more than the backlog.
//
// https://uwsgi-docs.readthedocs.io/en/latest/articles/TheArtOfGracefulReloading.html
func uwsgiLine(l *logLine, s *logState) (Event, bool) {
	text := l.text
	e := l.event("", FromServer)
	switch {
	case uwsgiFull().MatchString(text):
		m := uwsgiFull().FindStringSubmatch(text)
		e.Kind = QueueFull
		e.Address, e.Port = hostPort(m[1])
		e.Queue, e.Limit = l.number(m[2], "queue", Events), l.number(m[3], "backlog", Events)
	case uwsgiCores().MatchString(text):
		cores := l.number(uwsgiCores().FindStringSubmatch(text)[1], "cores", Events)
		s.pools = append(s.pools, Pool{
			Name: l.app, Server: "uwsgi", Seen: PoolLog, At: l.at, From: l.from(), Workers: cores, Max: cores,
			Busy: notTold(l), Idle: notTold(l), Queued: notTold(l),
		})
	case uwsgiStart().MatchString(text):
		s.version = uwsgiStart().FindStringSubmatch(text)[1]
		e.Kind, e.Version = ServerStarted, s.version
	case uwsgiSpawn().MatchString(text):
		e.Kind, e.PID = WorkerBoot, atoi(uwsgiSpawn().FindStringSubmatch(text)[2])
	case uwsgiAgain().MatchString(text):
		e.Kind, e.PID = WorkerBoot, atoi(uwsgiAgain().FindStringSubmatch(text)[1])
	case uwsgiEnded().MatchString(text):
		e.Kind, e.PID = WorkerExit, atoi(uwsgiEnded().FindStringSubmatch(text)[1])
	case uwsgiDied().MatchString(text):
		m := uwsgiDied().FindStringSubmatch(text)
		e.Kind, e.PID, e.Signal = WorkerExit, atoi(m[2]), atoi(m[3])
		if e.Signal > 0 {
			e.Kind = WorkerSignalled
		}
	case uwsgiHara().MatchString(text):
		e.Kind, e.PID = WorkerTimeout, atoi(uwsgiHara().FindStringSubmatch(text)[2])
	case uwsgiBound().MatchString(text):
		e.Kind = Listening
		e.Address, e.Port = hostPort(uwsgiBound().FindStringSubmatch(text)[1])
	case uwsgiReady().MatchString(text):
		e.Kind, e.Elapsed = WorkerReady, l.number(uwsgiReady().FindStringSubmatch(text)[1], "seconds", Seconds)
	case uwsgiNoApp().MatchString(text):
		e.Kind = AppLoadFailed
	case uwsgiTook().MatchString(text), uwsgiHarakir().MatchString(text):
		uwsgiSlow(l, &e)
	case uwsgiMode().MatchString(text), uwsgiRequest().MatchString(text), uwsgiLived().MatchString(text), strings.Contains(text, "uWSGI"), strings.Contains(text, "uwsgi"):
	default:
		return Event{}, false
	}
	return e, true
}

func notTold(l *logLine) Value { return Missing(Absent, "the line does not tell", l.from()) }
