package doctor

import (
	"cmp"
	"slices"
	"time"

	"brink/internal/evidence"
)

// meanwhile is how far what two logs tell may be apart to be of one time.
const meanwhile = 10 * time.Minute

// backendCall is a call that waits for somebody else: drivers of databases and
// caches, HTTP clients, sockets.
var backendCall = expression(`(?i)pdo|mysql|pgsql|pg_|sqlsrv|oci_|mongo|redis|memcache|predis|doctrine|driver|curl_|guzzle|soap|fsockopen|stream_|fread|fgets|file_get_contents|ldap`)

// holders says which requests hold the workers of a pool, as far as its logs
// name slow ones.
func holders(l *look, f *Finding, p *evidence.Pool) {
	slow := l.slowRequests(p.Name)
	if len(slow) == 0 {
		return
	}
	f.What += " " + slowText(&f.words, slow)
	f.Cause = "Every worker holds a request, and such requests hold one for long."
	f.Now = []string{"Find what " + cmp.Or(mostOften(slow, func(e *evidence.Event) string { return e.Path }), "these requests") + " waits for: " + stackTool(p.Server) + ", the backend's own state."}
	if frame := mostOften(slow, func(e *evidence.Event) string { return e.Frame }); backendCall().MatchString(frame) {
		f.Cause += " The call in which they were seen waits for a backend: it holds the workers."
		f.Now = []string{"See what that backend does (a database's list of queries, their locks and plans)."}
	}
}

// slowRequests are the requests that a server's logs call slow, or that took
// long. Those of another pool are not among them.
func (l *look) slowRequests(pool string) []*evidence.Event {
	return slices.DeleteFunc(l.EventsOf(evidence.SlowRequest), func(e *evidence.Event) bool { return pool != "" && e.App != "" && e.App != pool })
}

// slowText tells of slow requests: how many, how long, which, and in what call.
// Those of a slow log are in the server's log as well, and count once.
func slowText(w *words, slow []*evidence.Event) string {
	frame := mostOften(slow, func(e *evidence.Event) string { return e.Frame })
	told := slices.DeleteFunc(slices.Clone(slow), func(e *evidence.Event) bool { return e.Frame != "" })
	if len(told) == 0 {
		told = slow
	}
	text := "The logs tell of " + w.count("slow requests", countOf(told), "slow request")
	one := countOf(told).AtMost(1)
	path := mostOften(told, func(e *evidence.Event) string { return e.Path })
	longest := slices.MaxFunc(told, func(x, y *evidence.Event) int { return cmp.Compare(x.Elapsed.Number, y.Elapsed.Number) })
	switch {
	case path != "" && one:
		text += " to " + path
	case path != "":
		text += ", most often to " + path
	}
	switch {
	case longest.Elapsed.Known && one:
		text += " that took " + w.n("longest request", longest.Elapsed)
	case longest.Elapsed.Known:
		text += ", the longest of " + w.n("longest request", longest.Elapsed)
	}
	if frame != "" {
		text += ", in " + frame
	}
	return text + "."
}

// slowAlone tells of slow requests where nothing says what their pool did.
func slowAlone(l *look, a *answer) {
	slow := l.slowRequests("")
	if len(slow) == 0 {
		return
	}
	var w words
	a.suspect(Workers, slowText(&w, slow)+" Whether they hold all workers is not told.",
		"How many workers there are and how many are busy (a status page, brink watch), and the server's own log of the same time.", &w)
}

// mostOften is the text that most events have, the first of several; empty if
// none has any.
func mostOften(events []*evidence.Event, of func(*evidence.Event) string) string {
	count := map[string]int{}
	best := ""
	for _, e := range events {
		if text := of(e); text != "" {
			if count[text]++; count[text] > count[best] {
				best = text
			}
		}
	}
	return best
}

// proxyGaveUp tells what a proxy saw of the same server meanwhile.
func proxyGaveUp(l *look, f *Finding) {
	late := slices.DeleteFunc(l.EventsOf(evidence.UpstreamTimeout), func(e *evidence.Event) bool {
		return f.Since != nil && !e.At.IsZero() && e.At.Sub(*f.Since).Abs() > meanwhile
	})
	switch {
	case len(late) == 0:
	case len(l.Pools) > 1:
		f.What += " The proxy gave up " + f.count("requests given up by the proxy", countOf(late), "request") + " of all its servers meanwhile."
	default:
		f.What += " The proxy before it gave up " + f.count("requests given up by the proxy", countOf(late), "request") + " meanwhile."
	}
}

// noConnections adds that the threads of a server wait for a connection of the
// pool to its database, where the logs of the same time say so.
func noConnections(l *look, f *Finding) {
	late := slices.DeleteFunc(l.connectionWaits(), func(e *evidence.Event) bool {
		return f.Since != nil && !e.At.IsZero() && e.At.Sub(*f.Since).Abs() > meanwhile
	})
	if len(late) == 0 {
		return
	}
	f.What += " " + connectionText(f, late)
	f.Cause = "Each worker holds a request that waits for a connection to the database: all of that pool are in use. " + connectionCause
	f.Now = connectionNow()
	f.Properly = append(connectionProperly(), "More workers would only wait as well.")
}
