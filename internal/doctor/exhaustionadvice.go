package doctor

import (
	"slices"

	"brink/internal/evidence"
)

// loggedAdvice says of a pool that is used up why, as far as the logs tell, and
// what to do, in the words of its server.
func loggedAdvice(l *look, f *Finding, p *evidence.Pool) {
	f.Cause = "Every worker holds a request. What holds them (a slow backend, long work, or simply more requests than the pool is made for) is not in this log."
	f.not("a fault of the proxy or the network", "the requests arrive; there is nobody to take them")
	if p.Server == "Tomcat" {
		f.not("too much traffic", "threads that all wait for a database look the same at two users; the log does not tell how many came")
		f.Now = []string{"Take a thread dump (jstack) while it lasts: what all threads wait for, and whether it is a connection pool or a database."}
		f.Properly = []string{"Bound and pool the connections to the backend, and give them time-outs.", "A larger pool of threads helps only if they compute; if they wait, more of them wait."}
	} else {
		f.Now = []string{"Find what the requests wait for: " + stackTool(p.Server) + ", the backend's own state."}
		f.Properly = []string{"If they wait rather than compute, more workers or threads: measure the memory of one, and let workers × that fit beside everything else.",
			"Time-outs for calls to backends; long work out of requests."}
	}
	f.Settle = []string{"A stack of every worker at the same moment.", "Requests per second and their times in the same minutes."}
	if c := l.poolConfig(p.Name); c != nil {
		f.see("pm.max_children", c.MaxChildren)
	}
	holders(l, f, p)
	noConnections(l, f)
	proxyGaveUp(l, f)
}

// stackTool names what shows in which call the workers of a server are.
func stackTool(server string) string {
	switch server {
	case "php-fpm":
		return "the slow log (request_slowlog_timeout)"
	case "uwsgi":
		return "py-spy dump, the stats server (--stats), requests above --log-slow"
	case "Puma", "Unicorn":
		return "a stack of each thread (rbspy dump)"
	case "Apache error", "Apache":
		return "the status page (mod_status), the backend's log"
	case "gunicorn", "waitress", "uvicorn":
		return "py-spy dump"
	}
	return "a stack of each worker (py-spy, jstack, the slow log of php-fpm)"
}

// writer is the server whose log an event is from.
func (l *look) writer(e *evidence.Event) string {
	for i := range l.Logs {
		if l.Logs[i].File == e.From.File && l.Logs[i].As != "console" {
			return l.Logs[i].As
		}
	}
	return ""
}

// workersOf is how many workers the server booted that wrote an event, since its
// last start; missing where its log does not begin with one.
func (l *look) workersOf(e *evidence.Event) evidence.Value {
	var boots []*evidence.Event
	started := false
	for _, x := range l.EventsOf(evidence.ServerStarted, evidence.WorkerBoot, evidence.WorkerExit, evidence.WorkerSignalled) {
		switch {
		case x.From.File != e.From.File:
		case x.Kind == evidence.ServerStarted:
			boots, started = nil, true
		case x.Kind == evidence.WorkerBoot:
			boots = append(boots, x)
		default:
			boots = slices.DeleteFunc(boots, func(b *evidence.Event) bool { return b.PID == x.PID })
		}
	}
	if !started || len(boots) == 0 {
		return evidence.Missing(evidence.NotSeen, "the log does not tell of its start")
	}
	return countOf(boots)
}

// connectionWaits are time-outs of requests that waited for a connection of a
// pool.
func (l *look) connectionWaits() []*evidence.Event {
	return slices.DeleteFunc(l.EventsOf(evidence.ClientTimeout), func(e *evidence.Event) bool { return e.Reason != evidence.ConnectionFromPool })
}

// connectionText tells of requests that waited for a connection.
func connectionText(f *Finding, late []*evidence.Event) string {
	text := "Requests wait for a connection to the database and get none: " + f.count("connection time-outs", countOf(late), "time-out")
	last := late[len(late)-1]
	if last.Elapsed.Known {
		text += ", each after " + f.n("waited", last.Elapsed)
	}
	if i := slices.IndexFunc(late, func(e *evidence.Event) bool { return e.Limit.Known }); i >= 0 {
		text += ", from a pool of " + f.n("pool size", late[i].Limit)
	}
	if most := deepest(late).Queue; most.Known {
		text += ", for which up to " + f.n("waiting for a connection", most) + " wait at once"
	}
	return text + "."
}

const connectionCause = "All connections of the pool are in use: queries that take long, connections that are not given back, or more workers than connections."

func connectionNow() []string {
	return []string{"See which queries run (the database's list of sessions), and how long."}
}

func connectionProperly() []string {
	return []string{"Give queries a time-out; find the code that keeps connections.", "More connections only if the database has room for them: instances × pool must stay below its maximum."}
}
