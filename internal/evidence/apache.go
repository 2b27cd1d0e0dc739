package evidence

import "strings"

var (
	apacheHead = expression(`^\[(?:(\w+):)?(?:emerg|alert|crit|error|warn|notice|info|debug)\] (?:\[pid (\d+)(?::tid \d+)?\] )?(.*)$`)
	apacheExit = expression(`child pid (\d+) exit signal .*\((\d+)\)`)
)

// apacheLine reads Apache's error log.
//
// https://httpd.apache.org/docs/2.4/mod/core.html#errorlogformat
func apacheLine(l *logLine, _ *logState) (Event, bool) {
	m := apacheHead().FindStringSubmatch(l.rest)
	if m == nil {
		return Event{}, false
	}
	e := l.event("", FromServer)
	switch message := m[3]; {
	case strings.Contains(message, "server reached MaxRequestWorkers"), strings.Contains(message, "server reached MaxClients"):
		e.Kind, e.Reason = PoolAtLimit, "MaxRequestWorkers"
	case strings.Contains(message, "server seems busy"):
		e.Kind, e.Reason = PoolState, "seems busy"
	case apacheExit().MatchString(message):
		n := apacheExit().FindStringSubmatch(message)
		e.Kind, e.PID, e.Signal = WorkerSignalled, atoi(n[1]), atoi(n[2])
	case strings.Contains(message, "resuming normal operations"):
		e.Kind = ServerStarted
	case strings.Contains(message, "caught SIGTERM"):
		e.Kind, e.Signal = ServerStopping, 15
	case strings.Contains(message, "AH00072"), strings.Contains(message, "could not bind to address"):
		e.Kind = AddressInUse
	case m[1] == "proxy" || m[1] == "proxy_http" || m[1] == "proxy_fcgi":
		e.Kind = apacheProxy(message)
	}
	return e, true
}

func apacheProxy(message string) EventKind {
	switch {
	case strings.Contains(message, "Connection refused"):
		return UpstreamRefused
	case strings.Contains(message, "Resource temporarily unavailable"):
		return UpstreamBusy
	case strings.Contains(message, "timeout"), strings.Contains(message, "timed out"):
		return UpstreamTimeout
	}
	return ""
}
