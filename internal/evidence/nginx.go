package evidence

import "strings"

var (
	nginxHead     = expression(`^\[(debug|info|notice|warn|error|crit|alert|emerg)\] (\d+)#(\d+): (?:\*\d+ )?(.*)$`)
	nginxErrno    = expression(`\((\d+): [^)]*\)`)
	nginxUpstream = expression(`upstream: "([^"]*)"`)
	nginxConnect  = expression(`connect\(\) to (\S+) failed`)
)

// nginxLine reads nginx's error log. EAGAIN (11) from connect is a unix socket
// whose accept queue is full: no counter of the kernel shows it.
//
// https://nginx.org/en/docs/ngx_core_module.html#error_log
func nginxLine(l *logLine, _ *logState) (Event, bool) {
	m := nginxHead().FindStringSubmatch(l.rest)
	if m == nil {
		return Event{}, false
	}
	message := m[4]
	e := l.event("", FromServer)
	if n := nginxErrno().FindStringSubmatch(message); n != nil {
		e.Code = l.number(n[1], "errno", NoUnit)
	}
	if u := nginxUpstream().FindStringSubmatch(message); u != nil {
		e.Address, e.Port = upstreamAddress(u[1])
	}
	if c := nginxConnect().FindStringSubmatch(message); c != nil {
		e.Address, e.Port = hostPort(c[1])
	}
	switch {
	case strings.Contains(message, "connect() to") && e.Code.Known && e.Code.Number == 11:
		e.Kind = UpstreamBusy
	case strings.Contains(message, "connect() to"), strings.Contains(message, "connect() failed"):
		e.Kind = UpstreamRefused
	case strings.Contains(message, "upstream timed out"):
		e.Kind = UpstreamTimeout
	case strings.Contains(message, "upstream prematurely closed"), strings.Contains(message, "recv() failed (104"):
		e.Kind = UpstreamClosed
	case strings.Contains(message, "no live upstreams"):
		e.Kind = NoUpstream
	case strings.Contains(message, "worker_connections are not enough"):
		e.Kind, e.Reason = PoolAtLimit, "worker_connections"
	case strings.Contains(message, "exited on signal 9"):
		e.Kind, e.Signal = WorkerSignalled, 9
	case strings.Contains(message, "bind() to") && e.Code.Known && e.Code.Number == 98:
		e.Kind = AddressInUse
	}
	return e, true
}

// upstreamAddress reads "fastcgi://unix:/run/fcgi.sock:" and "http://IP:PORT/x".
func upstreamAddress(text string) (string, int) {
	if _, rest, ok := strings.Cut(text, "unix:"); ok {
		path, _, _ := strings.Cut(rest, ":")
		return path, 0
	}
	return hostPort(text)
}
