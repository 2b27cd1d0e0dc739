package evidence

import "strings"

var (
	pumaHead    = expression(`^(?:\[(\d+)\] )?(?:\* |- |! |Puma |=== puma)(.*)$`)
	pumaWorker  = expression(`Worker (\d+) \(PID: (\d+)\) booted(?: in ([\d.]+)s)?, phase: (\d+)`)
	pumaTimeout = expression(`Terminating timed out worker(?: \([Ww]orker(?: \d+)? failed to (check in|boot) within (\d+) seconds\))?: (\d+)`)
	pumaListen  = expression(`Listening on (\S+)`)
	pumaThreads = expression(`(?:Min threads|Max threads): \d+`)
	pumaWorkers = expression(`\bWorkers: (\d+)`)
	pumaVersion = expression(`[Pp]uma version: ([\d.]+)`)
	pumaStop    = expression(`Gracefully stopping|Goodbye`)
)

// pumaLine reads Puma's log.
//
// https://github.com/puma/puma/blob/master/lib/puma/cluster.rb
func pumaLine(l *logLine, s *logState) (Event, bool) {
	if pumaHead().FindString(l.text) == "" && pumaHead().FindString(l.rest) == "" {
		return Event{}, false
	}
	e := l.event("", FromServer)
	switch {
	case pumaWorker().MatchString(l.text):
		m := pumaWorker().FindStringSubmatch(l.text)
		e.Kind, e.PID = WorkerReady, atoi(m[2])
		if m[3] != "" {
			e.Elapsed = l.number(m[3], "booted in", Seconds)
		}
	case pumaTimeout().MatchString(l.text):
		m := pumaTimeout().FindStringSubmatch(l.text)
		e.Kind, e.PID = WorkerTimeout, atoi(m[3])
		if m[1] != "" {
			e.Limit = l.number(m[2], m[1], Seconds)
		}
	case pumaListen().MatchString(l.text):
		e.Kind = Listening
		e.Address, e.Port = hostPort(pumaListen().FindStringSubmatch(l.text)[1])
	case pumaVersion().MatchString(l.text):
		s.version = pumaVersion().FindStringSubmatch(l.text)[1]
		e.Kind, e.Version = ServerStarted, s.version
	case pumaWorkers().MatchString(l.text):
		s.workers = l.number(pumaWorkers().FindStringSubmatch(l.text)[1], "Workers", Events)
	case pumaThreads().MatchString(l.text), strings.Contains(l.text, "Puma starting"):
	case pumaStop().MatchString(l.text):
		e.Kind = ServerStopping
	default:
		return Event{}, false
	}
	return e, true
}
