package evidence

import "strings"

var (
	tomcatBusy    = expression(`(?:SEVERE|WARNING|ERROR)?:? ?All threads \((\d+)\) are currently busy, waiting\. Increase maxThreads \((\d+)\)`)
	tomcatMax     = expression(`Maximum number of threads \((\d+)\) created for connector with address .* and port \[?(\d+)`)
	tomcatStart   = expression(`Server startup in \[?(\d+)\]? ?(?:ms|milliseconds)`)
	tomcatListen  = expression(`Starting ProtocolHandler \[?"?([\w.-]+)"?\]?`)
	tomcatVersion = expression(`Server version(?: name)?: +Apache Tomcat/([\d.]+)`)
	javaOOM       = expression(`java\.lang\.OutOfMemoryError(?:: (.*))?`)
	tomcatRecord  = expression(`^(?:SEVERE|WARNING|INFO|FINE): |org\.apache\.(?:catalina|tomcat|coyote)\.`)
)

// tomcatLine reads the log of Tomcat and what a JVM below it says. Old releases
// write a record on two lines: the time and class, then the message.
func tomcatLine(l *logLine, s *logState) (Event, bool) {
	e := l.event("", FromServer)
	switch {
	case tomcatBusy().MatchString(l.text):
		m := tomcatBusy().FindStringSubmatch(l.text)
		e.Kind, e.Active, e.Limit = PoolAtLimit, l.number(m[1], "busy", Events), l.number(m[2], "maxThreads", Events)
		s.keepTomcat(l, e)
	case tomcatMax().MatchString(l.text):
		m := tomcatMax().FindStringSubmatch(l.text)
		e.Kind, e.Limit, e.Port = PoolAtLimit, l.number(m[1], "maxThreads", Events), atoi(m[2])
	case javaOOM().MatchString(l.text):
		e.Kind, e.Reason = AppError, "java.lang.OutOfMemoryError"
	case tomcatStart().MatchString(l.text):
		e.Kind = WorkerReady
		e.Elapsed = l.number(tomcatStart().FindStringSubmatch(l.text)[1], "startup", Millis).Times(1e-3, Seconds)
	case tomcatVersion().MatchString(l.text):
		s.version = tomcatVersion().FindStringSubmatch(l.text)[1]
		e.Kind, e.Version = ServerStarted, s.version
	case tomcatListen().MatchString(l.text):
		e.Kind = Listening
		name := tomcatListen().FindStringSubmatch(l.text)[1]
		if i := strings.LastIndexByte(name, '-'); i >= 0 {
			e.Address, e.Port = name, atoi(name[i+1:])
		}
	case tomcatRecord().MatchString(l.text):
		if strings.HasPrefix(l.text, "SEVERE") {
			e.Kind = AppError
		}
	default:
		return Event{}, false
	}
	// The message of an old record stands on the line after its time.
	if e.At.IsZero() {
		e.At = s.before
	}
	s.before = l.at
	return e, true
}

func (s *logState) keepTomcat(l *logLine, e Event) {
	p := Pool{
		Server: "Tomcat", Seen: PoolLog, At: l.at, From: l.from(), Workers: e.Limit, Busy: e.Active, Max: e.Limit,
		Idle: e.Limit.Minus(e.Active), Queued: notTold(l),
	}
	for i := range s.pools {
		if s.pools[i].Server == p.Server {
			s.pools[i] = p
			return
		}
	}
	s.pools = append(s.pools, p)
}
