package doctor

import (
	"sort"
	"time"

	"brink/internal/evidence"
)

// smallPool: with no more workers than this, one or two slow requests are
// enough to leave nobody for a health check.
const smallPool = 2

// probedPool judges a small pool whose health check gets no answer: the check
// waits for a worker like any request.
func probedPool(l *look) *Finding {
	size, late, kills := l.poolSize(), probeTimeouts(l), probeKills(l)
	if !size.AtMost(smallPool) || len(late) == 0 {
		return nil
	}
	f := &Finding{}
	f.What = "A pool of " + f.count("workers", size, "worker") + " is exhausted: its health check gets no answer while a request holds it (" + f.count("health check time-outs", countOf(late), "time-out") + ")"
	if len(kills) > 0 {
		f.What += ", and the platform then kills a process that works"
		if d := gap(late[0], kills[0]); d > 0 {
			f.What += ", " + f.n("from first time-out to kill", evidence.Known(d.Seconds(), evidence.Seconds, late[0].From, kills[0].From)) + " after the first"
		}
	}
	f.What += "."
	if v := l.slowestAnswer(); v.Known {
		f.see("slowest health answer", v)
	}
	f.between(stretch(append(late, kills...)))
	f.level(Inferred, "the size of the pool and health checks that time out were seen; that a request held the worker follows from both")
	f.Cause = "With so few workers one slow request is enough: the check waits behind it, and three late answers end the process with the request in it."
	f.not("a crash of the app", "it is ended from outside, by its health check")
	f.not("out of memory", "nothing here shows a kill for want of memory")
	f.Now = []string{"Give the check a longer time-out and more failures than the longest request takes."}
	f.Properly = []string{"More workers, or threads (--threads), which share the memory of one; each further worker needs as much memory as the first.", "Take long work out of requests."}
	f.Settle = []string{"Request times around the check's time-outs.", "brink watch while it happens: whether the worker is busy."}
	return f
}

const (
	// platformQueue requests in the platform's queue, in queuePoints points of
	// the metric that follow each other, are no burst.
	platformQueue = 5
	queuePoints   = 3
	// queueCPU is in percent: with less, requests wait for something else.
	queueCPU = 60
)

// queuedAtPlatform judges the platform's own queue of requests: it lasts, and
// the CPU is not what they wait for.
func queuedAtPlatform(l *look) *Finding {
	for _, metric := range []string{"HttpQueueLength", "RequestsInApplicationQueue", "RequestQueueLength"} {
		for _, s := range l.SeriesOf(metric) {
			n := 0
			for i := len(s.Points) - 1; i >= 0 && s.Points[i].Number >= platformQueue; i-- {
				n++
			}
			cpu := evidence.Missing(evidence.NotSeen, "no metric")
			for _, c := range l.SeriesOf("CpuPercentage") {
				cpu = c.Last()
			}
			if n < queuePoints || !cpu.Below(queueCPU) {
				continue
			}
			f := &Finding{}
			f.What = "Requests queue in front of the app (" + metric + " " + f.n(metric, s.Last()) + ", at most " + f.n("highest "+metric, s.Max()) + ") while the CPU is at " + f.n("CpuPercentage", cpu) + "."
			f.betweenSamples(s.Points[len(s.Points)-n:])
			f.level(Inferred, "a queue that lasts and a CPU that is not busy; the workers themselves were not seen")
			f.Cause = "All workers hold a request and wait for something that is not the CPU: a backend, a lock, a slow client."
			f.not("too small a machine", "the CPU has room; a larger one would wait as well")
			f.Now = []string{"Find the requests that take longest (TimeTaken in AppServiceHTTPLogs), and the backend that they wait for."}
			f.Properly = []string{"More workers or threads if requests wait; count the memory of each worker.", "Time-outs for calls to backends."}
			f.Settle = []string{"The start command (number of workers), and requests by path and time in the same minutes."}
			return f
		}
	}
	return nil
}

// crowd looks at the requests of an app whose pool is known: how many were in
// progress at once, by when they ended and how long they took.
func crowd(l *look, a *answer) {
	size := l.poolSize()
	if !size.Known {
		return
	}
	for i := range l.Requests {
		r := &l.Requests[i]
		most, at, line := overlap(r.List)
		if most == 0 {
			continue
		}
		var w words
		peak := evidence.Known(float64(most), evidence.Events, evidence.Source{File: r.File, Line: line})
		queued := behindOthers(r.List, at, int(size.Number))
		if peak.Number < 2*size.Number && !queued {
			a.fine(Workers, "At most "+w.n("requests at once", peak)+" requests were in progress at once, with "+w.n("workers", size)+" workers.", &w)
			continue
		}
		f := &Finding{}
		f.What = "Up to " + f.n("requests at once", peak) + " requests were in progress at once, and the app serves " + f.n("workers", size) + ": the others waited for a worker."
		f.between(at, at)
		f.level(Inferred, "counted from when requests ended and how long they took, against the start command")
		f.Cause = "More requests at once than workers. What held the workers is not in this log."
		f.not("a slow network", "the front end counts from when it has the request")
		f.Now = []string{"Find the requests that take longest (path, backend)."}
		f.Properly = []string{"More workers, counting the memory of each, or threads, which share it (gthread, gevent for work that waits).", "Time-outs for calls to backends."}
		f.Settle = []string{"CPU in the same minutes: low means that workers wait."}
		a.found(f)
	}
}

// behindOthers reports whether, of the requests in progress at an instant, those
// beyond the size of the pool took about twice as long as those that filled it:
// ceil(K / W) × D.
func behindOthers(list []evidence.Request, at time.Time, size int) bool {
	var took []float64
	for i := range list {
		q := &list[i]
		if q.At.IsZero() || q.Seconds < 1 {
			continue
		}
		begun := q.At.Add(-time.Duration(q.Seconds * float64(time.Second)))
		if !begun.After(at) && !q.At.Before(at) {
			took = append(took, q.Seconds)
		}
	}
	if size < 1 || len(took) <= size {
		return false
	}
	sort.Float64s(took)
	return took[size] >= 1.6*took[size/2]
}

// overlap finds the most requests in progress at once, that lasted longer than
// a moment.
func overlap(list []evidence.Request) (most int, at time.Time, line int) {
	type edge struct {
		at   time.Time
		step int
		line int
	}
	var edges []edge
	for i := range list {
		q := &list[i]
		if q.At.IsZero() || q.Seconds < 0.2 {
			continue
		}
		edges = append(edges, edge{q.At.Add(-time.Duration(q.Seconds * float64(time.Second))), 1, q.Line}, edge{q.At, -1, q.Line})
	}
	sort.Slice(edges, func(i, j int) bool {
		if !edges[i].at.Equal(edges[j].at) {
			return edges[i].at.Before(edges[j].at)
		}
		return edges[i].step < edges[j].step
	})
	now := 0
	for _, e := range edges {
		if now += e.step; now > most {
			most, at, line = now, e.at, e.line
		}
	}
	return most, at, line
}
