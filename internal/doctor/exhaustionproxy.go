package doctor

import (
	"cmp"
	"slices"

	"brink/internal/evidence"
)

// queuedAtProxy judges a proxy that holds requests back since each server behind it
// has as many as it may (maxconn): it lasts, and one has waited for longer than
// chance explains. A burst fills the queue too, and empties it within a moment.
//
// https://docs.haproxy.org/3.0/configuration.html#5.2-maxconn
func queuedAtProxy(l *look) *Finding {
	queued := l.EventsOf(evidence.QueuedAtProxy)
	long := slices.DeleteFunc(slices.Clone(queued), func(e *evidence.Event) bool { return !e.Elapsed.AtLeast(ageAlone) })
	from, to := stretch(long)
	if len(long) < 2 || to.Sub(from).Seconds() < ageAlone {
		return nil
	}
	worst := slices.MaxFunc(long, func(x, y *evidence.Event) int { return cmp.Compare(x.Elapsed.Number, y.Elapsed.Number) })
	lost := slices.DeleteFunc(slices.Clone(queued), func(e *evidence.Event) bool { return e.Reason == "" })
	f := &Finding{Subject: worst.App}
	f.What = "Requests wait in the proxy for a free place at the servers of " + worst.App + ": " + f.count("queued at the proxy", countOf(queued), "line") + " with a queue, " +
		f.n("queue", deepest(queued).Queue) + " ahead at most, the longest wait " + f.n("longest wait", worst.Elapsed)
	if len(lost) > 0 {
		f.What += ", and " + f.count("given up in the queue", countOf(lost), "request") + " given up before their turn"
	}
	f.What += "."
	f.between(from, to)
	f.level(Inferred, "the proxy's log has the queue and the waits; that the servers' workers are held follows from their places being taken")
	f.Cause = "Every place that the proxy may use at the servers (maxconn) holds a request. What the requests wait for there is not in this log."
	f.not("a burst", "waits of "+decimals(ageAlone)+" s and more go on from the first to the last of these lines")
	f.not("a network fault", "the requests have not left the proxy yet")
	f.Now = []string{"Compare the wait for an answer (Tr) with what the server's own log says: long answers hold the places.", "Look at the backend that the servers call."}
	f.Properly = []string{"More workers at the servers, counting the memory of each, and maxconn to match.", "Time-outs for calls to backends."}
	f.Settle = []string{"The state of the servers' workers in the same minutes (brink watch).", "Whether maxconn is below the servers' workers: then the proxy's own setting is the limit."}
	return f
}
