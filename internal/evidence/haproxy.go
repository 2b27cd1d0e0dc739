package evidence

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The HTTP log format is client, accept date, frontend, backend and server, five
// timers, status, bytes, captured cookies, termination state, five counts of
// connections, the queues of server and backend, captured headers, request. The TCP
// format has three timers, bytes and two letters of the state, and then the same
// counts and queues.
//
// https://docs.haproxy.org/3.0/configuration.html#8.2.2
// https://docs.haproxy.org/3.0/configuration.html#8.2.3
const (
	haproxyHead   = `^(?:\S*:\d+|unix:\S*|\S+) \[(\d{2}/[A-Z][a-z]{2}/\d{4}:\d{2}:\d{2}:\d{2}(?:\.\d{3})?)\] (\S+) (\S+)/(\S+) `
	haproxyCounts = ` (-?\d+)/(-?\d+)/(-?\d+)/(-?\d+)/\+?(-?\d+) (-?\d+)/(-?\d+)`
)

var (
	haproxyHTTP = expression(haproxyHead + `(-?\d+)/(-?\d+)/(-?\d+)/(-?\d+)/\+?(-?\d+) (-?\d{1,3}) \+?(?:\d+) \S+ \S+ ([A-Za-z-]{4})` + haproxyCounts + `(?: \{[^}]*\})*(?: "(.*)"?)?`)
	haproxyTCP  = expression(haproxyHead + `(-?\d+)/(-?\d+)/\+?(-?\d+) \+?(?:\d+) ([A-Za-z-]{2})` + haproxyCounts + `\s*$`)
)

// haproxyRow is what a line of either format tells.
type haproxyRow struct {
	backend, server string
	state           string // two letters, or four of HTTP
	// timers are in ms, the total the last; -1 stands for what it did not come to.
	timers []Value
	// counts are of connections: in the process, its frontend, backend and server,
	// retries, and in the queues of server and backend.
	counts []Value
}

var (
	haproxyHTTPTimers = []string{"TR", "Tw", "Tc", "Tr", "Ta"}
	haproxyTCPTimers  = []string{"Tw", "Tc", "Tt"}
	haproxyCountNames = []string{"actconn", "feconn", "beconn", "srv_conn", "retries", "srv_queue", "backend_queue"}
)

// haproxyLine reads HAProxy's log of HTTP requests and that of TCP connections,
// which tells the queues and the ends and nothing of requests.
func haproxyLine(l *logLine, s *logState) (Event, bool) {
	if m := haproxyHTTP().FindStringSubmatch(l.text); m != nil {
		return haproxyRequest(l, s, m), true
	}
	m := haproxyTCP().FindStringSubmatch(l.text)
	if m == nil {
		return Event{}, false
	}
	r := haproxyRowOf(l, m, haproxyTCPTimers, m[8], m[9:])
	if fault := r.fault(haproxyTCPTimers); fault != "" {
		s.refuse(l, fault)
		return Event{}, true
	}
	if r.state == "sD" { // an idle connection, and nothing of a late answer
		r.state = "--"
	}
	return r.event(l), true
}

func haproxyRequest(l *logLine, s *logState, m []string) Event {
	r := haproxyRowOf(l, m, haproxyHTTPTimers, m[11], m[12:])
	if fault := r.fault(haproxyHTTPTimers); fault != "" {
		s.refuse(l, fault)
		return Event{}
	}
	q := Request{App: r.backend, Status: atoi(m[10]), Seconds: -1, Line: l.n, At: l.at}
	if total := r.total(); total.AtLeast(0) {
		q.Seconds = total.Number / 1000
		if !q.At.IsZero() {
			q.At = q.At.Add(time.Duration(total.Number) * time.Millisecond)
		}
	}
	q.Path, q.Asks = haproxyPath(m[19])
	if r.state[0] == 's' {
		q.Outcome = "timeout"
	}
	s.requests.add(q)
	return r.event(l)
}

// haproxyRowOf takes what both formats have out of a match; the zone of its time
// the line does not tell.
func haproxyRowOf(l *logLine, m, timers []string, state string, counts []string) *haproxyRow {
	r := &haproxyRow{backend: shorten(m[3]), server: m[4], state: state}
	if at, err := time.Parse("02/Jan/2006:15:04:05", m[1]); err == nil {
		l.at = at.UTC()
	}
	for i, name := range timers {
		r.timers = append(r.timers, l.number(m[5+i], name, Millis))
	}
	for i, name := range haproxyCountNames {
		r.counts = append(r.counts, l.number(counts[i], name, Events))
	}
	return r
}

func (r *haproxyRow) total() Value { return r.timers[len(r.timers)-1] }

// waited is how long it was in the queue, in ms.
func (r *haproxyRow) waited() Value {
	if len(r.timers) == len(haproxyHTTPTimers) {
		return r.timers[1]
	}
	return r.timers[0]
}

func (r *haproxyRow) retries() Value { return r.counts[4] }

// ahead is what was before it in the queues.
func (r *haproxyRow) ahead() Value { return r.counts[5].Plus(r.counts[6]) }

// fault says what cannot be in a line, empty if nothing is. The timers follow each
// other within the total, but for the first of HTTP's: in a format of one's own it
// may be Tq, which has the idle time before a request, too. A count of connections
// has 32 bits.
//
// https://docs.haproxy.org/3.0/configuration.html#8.4
func (r *haproxyRow) fault(timers []string) string {
	const (
		mostCount = 1<<32 - 1
		mostTimer = 30 * 365 * 86400 * 1000 // HAProxy is no older than that
	)
	within := slices.DeleteFunc(slices.Clone(timers[:len(timers)-1]), func(name string) bool { return name == haproxyHTTPTimers[0] })
	parts := 0.0
	for i, v := range r.timers {
		if !v.AtLeast(-1) || v.Number > mostTimer {
			return fmt.Sprintf("%s is %.0f ms, and a timer is -1 where it did not come to that, or 0 and more", timers[i], v.Number)
		}
		if slices.Contains(within, timers[i]) {
			parts += max(v.Number, 0)
		}
	}
	const rounding = 5 // a millisecond for each
	if total := r.total(); total.AtLeast(0) && parts > total.Number+rounding {
		return fmt.Sprintf("%s is %.0f ms, and it is at least the sum of %s, which is %.0f ms", timers[len(timers)-1], total.Number, strings.Join(within, " + "), parts)
	}
	for i, v := range r.counts {
		if !v.AtLeast(0) || v.Number > mostCount {
			return fmt.Sprintf("%s is %.0f, and it counts from 0 to %d", haproxyCountNames[i], v.Number, mostCount)
		}
	}
	return ""
}

// event is what the line tells of the servers behind the proxy, or of its queue:
// the first letters of the state say who ended it and in which phase. Retries that
// came to a connection in the end are of a server that was refusing connections or
// let none in.
//
// https://docs.haproxy.org/3.0/configuration.html#8.5
func (r *haproxyRow) event(l *logLine) Event {
	e := l.event(haproxyEnd(r.state, r.server), FromServer)
	e.App, e.Address = r.backend, r.server
	if r.server == "<NOSRV>" {
		e.Address = ""
	}
	switch {
	case e.Kind != "":
	case r.ahead().Above(0) || r.state[1] == 'Q':
		r.queued(&e)
	case r.retries().Above(0):
		e.Kind, e.Counter = ConnectRetried, r.retries()
	}
	return e
}

func (r *haproxyRow) queued(e *Event) {
	waited, total := r.waited(), r.total()
	e.Kind, e.Queue, e.Elapsed = QueuedAtProxy, r.ahead(), waited.Times(1e-3, Seconds)
	if !waited.AtLeast(0) {
		e.Elapsed = Missing(CannotTell, "the request left the queue before its turn", waited.From...)
	}
	if r.state[:2] != "sQ" {
		return
	}
	e.Reason = "queue time-out"
	if total.AtLeast(0) {
		e.Elapsed = total.Times(1e-3, Seconds)
	}
}

// haproxyEnd says what a termination state tells of the server behind the proxy: s
// is a time-out of the server's side, S the server itself; Q the queue, C the
// connect, H the wait for an answer, D the answer.
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
