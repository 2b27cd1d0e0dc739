package evidence

import "strings"

var (
	platformHead    = expression(`^(INFO|WARN|WARNING|ERROR|FATAL) +- +(.*)$`)
	platformElapsed = expression(`Elapsed time = (\d+(?:\.\d+)?) sec`)
	platformStarted = expression(`[Cc]ontainer (\S+) for site \S+ initialized successfully and is ready to serve`)
	platformWaiting = expression(`Waiting for response to warmup request for container (\S+?)\.`)
	platformLate    = expression(`[Cc]ontainer (\S+) (?:for site \S+ )?did(?: not|n't) start within (?:the )?expected time limit(?: of (\d+) ?s)?`)
	platformPing    = expression(`[Cc]ontainer (\S+) did(?: not|n't) respond to HTTP pings on port: (\d+)`)
	platformExited  = expression(`[Cc]ontainer (\S+) (?:for site \S+ )?has exited`)
	platformCode    = expression(`(?i)exit(?:ed with)? code:? (-?\d+)`)
	platformCreate  = expression(`docker run .*-p (\d+):(\d+)`)
	platformPort    = expression(`-e (?:WEBSITES_PORT|PORT)=(\d+)`)
	platformName    = expression(`--name (\S+)`)
	platformStop    = expression(`Stopping (?:container|site|old)|stopping site|Site: \S+ stopped|State: Stopping`)
	platformRestart = expression(`(?i)container is running again|restarting container|recycling|will be restarted|Container restart`)
)

// dockerLogLine reads App Service's docker log, in both of its forms of time.
// "Elapsed time" at the limit says that nothing ever answered.
//
// https://learn.microsoft.com/azure/app-service/troubleshoot-diagnostic-logs
func dockerLogLine(l *logLine, s *logState) (Event, bool) {
	m := platformHead().FindStringSubmatch(l.rest)
	if m == nil {
		if l.at.IsZero() {
			return Event{}, false
		}
		return siteMessage(l, s, l.rest)
	}
	if e, ok := siteMessage(l, s, m[2]); ok && e.Kind != "" {
		return e, true
	}
	return platformMessage(l, m[1], m[2]), true
}

// platformMessage reads the message of a docker log's line or of a row of
// AppServicePlatformLogs.
func platformMessage(l *logLine, level, message string) Event {
	e := l.event("", FromPlatform)
	if m := platformElapsed().FindStringSubmatch(message); m != nil {
		e.Elapsed = l.number(m[1], "Elapsed time", Seconds)
	}
	if m := platformCode().FindStringSubmatch(message); m != nil {
		e.Code = l.number(m[1], "exit code", NoUnit)
	}
	named := func(kind EventKind, app string) { e.Kind, e.App = kind, app }
	switch {
	case platformLate().MatchString(message):
		m := platformLate().FindStringSubmatch(message)
		named(StartTimeout, m[1])
		if m[2] != "" {
			e.Limit = l.number(m[2], "limit", Seconds)
		}
	case platformPing().MatchString(message):
		m := platformPing().FindStringSubmatch(message)
		named(PingFailed, m[1])
		e.Port = atoi(m[2])
	case platformExited().MatchString(message):
		named(ContainerExited, platformExited().FindStringSubmatch(message)[1])
	case platformWaiting().MatchString(message):
		named(StartWaiting, platformWaiting().FindStringSubmatch(message)[1])
	case platformStarted().MatchString(message):
		named(ContainerReady, platformStarted().FindStringSubmatch(message)[1])
	case platformCreate().MatchString(message):
		e.Kind = ContainerCreated
		e.Port = atoi(platformCreate().FindStringSubmatch(message)[2])
		if m := platformPort().FindStringSubmatch(message); m != nil {
			e.Port = atoi(m[1])
		}
		if m := platformName().FindStringSubmatch(message); m != nil {
			e.App = m[1]
		}
		e.Text = "docker run …" // its settings are secrets
	default:
		platformOther(&e, level, message)
	}
	return e
}

func platformOther(e *Event, level, message string) {
	switch {
	case platformRestart().MatchString(message):
		e.Kind, e.Reason = ContainerStarted, "restart"
	case platformStop().MatchString(message):
		e.Kind = ContainerStopped
	case strings.Contains(message, "ImagePull"), strings.Contains(message, "Image pull failed"), strings.Contains(message, "pulling image failed"):
		e.Kind = PullFailed
	case strings.Contains(message, "OOMKilled"), strings.Contains(message, "out of memory"):
		e.Kind, e.Reason = PodOOMKilled, "out of memory"
	case strings.EqualFold(level, "ERROR"), strings.EqualFold(level, "WARN"), strings.EqualFold(level, "WARNING"), strings.EqualFold(level, "FATAL"), strings.EqualFold(level, "Critical"):
		e.Kind = PlatformNote
	}
}
