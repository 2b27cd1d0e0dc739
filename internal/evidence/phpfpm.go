package evidence

import "strings"

var (
	fpmHead   = expression(`^(DEBUG|NOTICE|WARNING|ERROR|ALERT): (.*)$`)
	fpmPool   = expression(`\[pool ([^\]]+)\]`)
	fpmMax    = expression(`server reached (?:pm\.)?max_children setting \((\d+)\)`)
	fpmBusy   = expression(`seems busy .*there are (\d+) idle, and (\d+) total children`)
	fpmState  = expression(`currently (\d+) active children, (\d+) spare children, (\d+) running children`)
	fpmSignal = expression(`child (\d+) exited on signal (\d+)`)
	fpmExit   = expression(`child (\d+) exited with code (\d+)`)
	fpmStart  = expression(`child (\d+) started`)
	fpmSlow   = expression(`child (\d+), script .* \(request: .*\) (?:execution timed out|executing too slow) \(([\d.]+) sec\)`)
)

// phpfpmLine reads php-fpm's log. At log level debug it tells every second how
// many children a pool has.
//
// https://www.php.net/manual/en/install.fpm.configuration.php
func phpfpmLine(l *logLine, s *logState) (Event, bool) {
	m := fpmHead().FindStringSubmatch(l.rest)
	if m == nil || !strings.Contains(m[2], "[pool ") && !strings.Contains(m[2], "fpm") {
		return Event{}, false
	}
	message := m[2]
	e := l.event("", FromServer)
	if p := fpmPool().FindStringSubmatch(message); p != nil {
		e.App = p[1]
	}
	switch {
	case fpmMax().MatchString(message):
		e.Kind, e.Limit = PoolAtLimit, l.number(fpmMax().FindStringSubmatch(message)[1], "max_children", Events)
	case fpmBusy().MatchString(message):
		n := fpmBusy().FindStringSubmatch(message)
		e.Kind, e.Idle = PoolState, l.number(n[1], "idle", Events)
		e.Active = l.number(n[2], "total", Events).Minus(e.Idle)
	case fpmState().MatchString(message):
		n := fpmState().FindStringSubmatch(message)
		e.Kind = PoolState
		e.Active, e.Idle = l.number(n[1], "active", Events), l.number(n[2], "spare", Events)
		s.keepPool(l, e, l.number(n[3], "running", Events))
	case fpmSignal().MatchString(message):
		n := fpmSignal().FindStringSubmatch(message)
		e.Kind, e.PID, e.Signal = WorkerSignalled, atoi(n[1]), atoi(n[2])
	case fpmExit().MatchString(message):
		n := fpmExit().FindStringSubmatch(message)
		e.Kind, e.PID, e.Code = WorkerExit, atoi(n[1]), l.number(n[2], "code", NoUnit)
	case fpmSlow().MatchString(message):
		n := fpmSlow().FindStringSubmatch(message)
		e.Kind, e.PID, e.Elapsed = WorkerTimeout, atoi(n[1]), l.number(n[2], "time", Seconds)
		if strings.Contains(message, "too slow") {
			e.Kind = SlowRequest
			if p := fpmSlowPath().FindStringSubmatch(message); p != nil {
				e.Path = pathOf(p[1])
			}
		}
	case fpmStart().MatchString(message):
		e.Kind, e.PID = WorkerBoot, atoi(fpmStart().FindStringSubmatch(message)[1])
	case strings.HasPrefix(message, "fpm is running"):
		e.Kind = ServerStarted
	case strings.Contains(message, "Terminating"):
		e.Kind = ServerStopping
	}
	return e, true
}

// keepPool keeps the latest state of each pool that the log tells.
func (s *logState) keepPool(l *logLine, e Event, workers Value) {
	p := Pool{
		Name: e.App, Server: "php-fpm", Seen: PoolLog, At: l.at, From: l.from(),
		Workers: workers, Busy: e.Active, Idle: e.Idle, Queued: Missing(Absent, "the line does not tell", l.from()),
	}
	for i := range s.pools {
		if s.pools[i].Name == p.Name && s.pools[i].Server == p.Server {
			s.pools[i] = p
			return
		}
	}
	s.pools = append(s.pools, p)
}
