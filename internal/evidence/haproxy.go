package evidence

import (
	"strings"
	"time"
)

// haproxyHTTP is the HTTP log format: client, accept date, frontend, backend and
// server, five timers, status, bytes, captured cookies, termination state, five
// counts of connections, the queues of server and backend, captured headers,
// request.
//
// https://docs.haproxy.org/3.0/configuration.html#8.2.3
var haproxyHTTP = expression(`^(?:\S*:\d+|unix:\S*|\S+) \[(\d{2}/[A-Z][a-z]{2}/\d{4}:\d{2}:\d{2}:\d{2}(?:\.\d{3})?)\] (\S+) (\S+)/(\S+) (-?\d+)/(-?\d+)/(-?\d+)/(-?\d+)/\+?(-?\d+) (-?\d{1,3}) \+?(\d+) (\S+) (\S+) ([A-Za-z-]{4}) (\d+)/(\d+)/(\d+)/(\d+)/\+?(\d+) (\d+)/(\d+)(?: \{[^}]*\})*(?: "(.*)"?)?`)

// haproxyLine reads HAProxy's log of HTTP requests. The first letters of the
// termination state say who ended it and in which phase: s is a time-out of the
// server's side, S the server itself; Q the queue, C the connect, H the wait for an
// answer, D the answer.
//
// https://docs.haproxy.org/3.0/configuration.html#8.5
func haproxyLine(l *logLine, s *logState) (Event, bool) {
	m := haproxyHTTP().FindStringSubmatch(l.text)
	if m == nil {
		return Event{}, false
	}
	backend, server, state := shorten(m[3]), m[4], m[14]
	accepted, err := time.Parse("02/Jan/2006:15:04:05", m[1])
	if err == nil {
		l.at = accepted.UTC() // whose zone the line does not tell
	}
	q := Request{App: backend, Status: atoi(m[10]), Seconds: -1, Line: l.n, At: l.at}
	if total := l.number(m[9], "Ta", Millis); total.AtLeast(0) {
		q.Seconds = total.Number / 1000
		if !q.At.IsZero() {
			q.At = q.At.Add(time.Duration(total.Number) * time.Millisecond)
		}
	}
	q.Path, q.Asks = haproxyPath(m[22])
	if state[0] == 's' {
		q.Outcome = "timeout"
	}
	s.requests.add(q)
	e := l.event("", FromServer)
	e.App, e.Address = backend, server
	if server == "<NOSRV>" {
		e.Address = ""
	}
	e.Kind = haproxyEnd(state, server)
	waited, ahead := l.number(m[6], "Tw", Millis), l.number(m[20], "srv_queue", Events).Plus(l.number(m[21], "backend_queue", Events))
	if e.Kind == "" && (ahead.Above(0) || state[1] == 'Q') {
		e.Kind, e.Queue = QueuedAtProxy, ahead
		e.Elapsed = waited.Times(1e-3, Seconds)
		if !waited.AtLeast(0) {
			e.Elapsed = Missing(CannotTell, "the request left the queue before its turn", waited.From...)
		}
		if state[:2] == "sQ" {
			e.Reason = "queue time-out"
		}
		if state[:2] == "sQ" && q.Seconds >= 0 {
			e.Elapsed = Known(q.Seconds, Seconds, l.number(m[9], "Ta", Millis).From...)
		}
	}
	return e, true
}

// haproxyEnd says what a termination state tells of the server behind the proxy.
func haproxyEnd(state, server string) EventKind {
	switch state[:2] {
	case "sC", "sH", "sD":
		return UpstreamTimeout
	case "SC":
		if server == "<NOSRV>" {
			return NoUpstream
		}
		return UpstreamRefused
	case "SH", "SD", "SL":
		return UpstreamClosed
	}
	return ""
}

// haproxyPath takes the path out of "GET /x?y HTTP/1.1"; without its query, and
// without the host of an absolute URL.
func haproxyPath(request string) (path string, asks bool) {
	_, rest, _ := strings.Cut(request, " ")
	url, _, _ := strings.Cut(rest, " ")
	return pathOf(url), strings.Contains(url, "?")
}
