package doctor

import (
	"cmp"
	"slices"
	"strings"

	"brink/internal/evidence"
)

// uneven judges a pool that tells about each worker: requests may wait at some
// while others are free.
func uneven(a *answer, p *evidence.Pool) *Finding {
	queued, free, waiting, idle := 0.0, 0.0, 0, 0
	var from []evidence.Source
	for _, m := range p.Members {
		if m.Queued.Above(0) {
			queued += m.Queued.Number
			waiting++
			from = append(from, m.From)
		}
		if m.Free.Above(0) {
			free += m.Free.Number
			idle++
		}
	}
	var w words
	n := func(x int) evidence.Value { return evidence.Known(float64(x), evidence.Events, p.From) }
	q := evidence.Known(queued, evidence.Events, from...)
	if queued == 0 {
		a.fine(Workers, poolName(p)+" has "+w.n("workers", n(len(p.Members)))+" workers, of which "+w.n("workers with room", n(idle))+" have room, and nothing waits.", &w)
		return nil
	}
	if queued < float64(len(p.Members)) && idle > 0 || queued < 2 {
		a.cannotTell(Workers, poolName(p)+" has "+w.n("queued", q)+" requests waiting in one look; one look proves nothing.", "The same statistics ten times, a second apart.", &w)
		return nil
	}
	f := &Finding{Subject: poolName(p)}
	if idle > 0 {
		f.What = poolName(p) + " is unevenly loaded: " + f.n("queued", q) + " requests wait at " + f.n("workers with a queue", n(waiting)) + " of " + f.n("workers", n(len(p.Members))) +
			" workers while " + f.n("workers with room", n(idle)) + " are free."
		f.Cause = "Connections stay with the worker that accepted them (kept alive, or taken in ahead of need), and wait there while others have nothing to do."
		f.not("all workers exhausted", f.n("workers with room", n(idle))+" workers could take a request at once; more workers would not empty the queues of the others")
		f.not("fine, since there is room in sum", "what waits cannot move to where the room is")
		f.Now = []string{"Let a worker accept only what it can serve (Puma: wait_for_less_busy_worker, queue_requests false behind a proxy)."}
		f.Properly = []string{"Spread connections at the proxy (least connections, shorter keep-alive to the backend).", "Several threads per worker even a queue out; count their memory."}
	} else {
		f.What = "All " + f.n("workers", n(len(p.Members))) + " workers of " + poolName(p) + " are taken and " + f.n("queued", q) + " requests wait."
		f.Cause = "More requests come, or each holds a worker longer, than the pool can take. What holds them is not in the statistics."
		f.Now = []string{"Find what the requests wait for (slow log, a thread dump)."}
		f.Properly = []string{"More threads or workers if requests wait rather than compute; count the memory of each."}
		f.not("a network fault", "the requests have arrived: they wait inside the server")
	}
	f.level(Observed, "the server's own statistics, at one instant; that it lasts was not seen")
	f.Span = "at the one instant that was read"
	f.Settle = []string{"The same statistics ten times, a second apart."}
	return f
}

// slowInjection judges a pool that adds threads slowly beyond a minimum.
//
// https://stackexchange.github.io/StackExchange.Redis/Timeouts
func slowInjection(l *look, a *answer, p *evidence.Pool) *Finding {
	if !(p.Busy.Number > p.Min.Number) || p.Min.AtMost(0) {
		if p.Busy.Above(0) || p.Name == "WORKER" {
			var w words
			a.note(Workers, p.Server+" "+p.Name+": "+w.n(p.Name+" Busy", p.Busy)+" busy, not above its minimum of "+w.n(p.Name+" Min", p.Min)+".", &w)
		}
		return nil
	}
	f := &Finding{Subject: p.Server, ownCause: true}
	f.What = "The " + p.Server + " is starved: " + f.n(p.Name+" Busy", p.Busy) + " threads are busy where " + f.n(p.Name+" Min", p.Min) + " are given at once; each further one is added slowly."
	if late := l.EventsOf(evidence.ClientTimeout); len(late) > 0 {
		e := late[len(late)-1]
		if e.Elapsed.Known && e.Limit.Known {
			f.What += " An answer was noticed after " + f.n("elapsed", e.Elapsed) + " against a time-out of " + f.n("time-out", e.Limit) + "."
		}
		f.between(stretch(late))
	}
	f.level(Observed, "the client library prints the pool's state with its time-out")
	f.Cause = "Work that blocks (sync over async, .Result, .Wait) holds the threads. Above the minimum the pool adds one or two a second, and answers that have come wait for a thread."
	f.not("a slow server or network at the other end", "the time-out passed here while no thread was free to read the answer")
	f.not("enough threads, since many are 'Free'", "Free counts to the maximum, which is reached only slowly")
	f.Now = []string{"Raise the minimum (ThreadPool.SetMinThreads, DOTNET_ThreadPool_MinThreads) as a stopgap."}
	f.Properly = []string{"Make the calls asynchronous all the way down."}
	f.Settle = []string{"dotnet-counters: ThreadPool queue length and thread count over a minute.", "What the other end itself measured in the same minute."}
	return f
}

// loggedPool judges a pool as the server's own log or statistics had it.
func loggedPool(l *look, a *answer, p *evidence.Pool) *Finding {
	full := l.queueFull(p)
	limit := l.limitLines(p)
	allBusy := p.Busy.Above(0) && (p.Idle.AtMost(0) || p.Workers.Known && p.Busy.Number >= p.Workers.Number)
	var w words
	switch {
	case allBusy && p.Queued.AtMost(0) && len(full)+len(limit) == 0:
		a.cannotTell(Workers, poolName(p)+" had all "+w.n("busy", p.Busy)+" workers busy in one look, and nothing waited ("+w.n("queued", p.Queued)+"): one look proves nothing.", "The same statistics ten times, a second apart.", &w)
		return nil
	case len(full) > 0, allBusy && (len(limit) > 0 || p.Max.Known && p.Busy.Number >= p.Max.Number || p.Queued.Above(0)):
	case allBusy:
		a.cannotTell(Workers, poolName(p)+" had all "+w.n("busy", p.Busy)+" workers busy in one line; it may add more, and one look proves nothing.", "The lines around it, or its status page ten times.", &w)
		return nil
	case p.Busy.Known && p.Idle.Above(0):
		a.fine(Workers, poolName(p)+" had "+w.n("busy", p.Busy)+" workers busy and "+w.n("idle", p.Idle)+" idle.", &w)
		return nil
	default:
		return nil
	}
	f := &Finding{Subject: poolName(p)}
	switch {
	case allBusy:
		f.What = poolName(p) + " has no worker left: " + f.n("busy", p.Busy) + " are busy"
		if p.Idle.Known {
			f.What += ", " + f.n("idle", p.Idle) + " idle"
		}
	default:
		f.What = poolName(p) + " cannot keep up with " + f.count("workers", p.Workers, "worker")
	}
	if len(limit) > 0 {
		f.What += "; it has reached its limit of " + f.n("limit", limit[len(limit)-1].Limit)
	} else if p.Max.Known && p.Max.Number != p.Workers.Number {
		f.What += "; its limit is " + f.n("limit", p.Max)
	}
	f.see("queued", p.Queued)
	f.What += "."
	if len(full) > 0 {
		e := full[len(full)-1]
		f.What += " Its listen queue is full as a consequence (" + f.n("queue", e.Queue) + " of a backlog of " + f.n("backlog", e.Limit) + "; the kernel lets one more in)."
		f.not("a backlog that is too small", "a longer queue only makes requests wait longer; they are taken out too slowly")
	}
	f.between(stretch(slices.Concat(full, limit)))
	f.level(Observed, "the server's own log or statistics say so")
	loggedAdvice(l, f, p)
	return f
}

// queueFull are the lines of the pool's server about a full listen queue.
func (l *look) queueFull(p *evidence.Pool) []*evidence.Event {
	var found []*evidence.Event
	for _, e := range l.EventsOf(evidence.QueueFull) {
		if e.From.File == p.From.File {
			found = append(found, e)
		}
	}
	return found
}

// limitLines are the lines in which the pool's server says that it is full.
func (l *look) limitLines(p *evidence.Pool) []*evidence.Event {
	var found []*evidence.Event
	for _, e := range l.EventsOf(evidence.PoolAtLimit) {
		if e.From.File == p.From.File && (e.App == "" || p.Name == "" || e.App == p.Name) {
			found = append(found, e)
		}
	}
	return found
}

// poolConfig is the configuration of a pool, nil if none was seen.
func (l *look) poolConfig(name string) *evidence.PoolConfig {
	for i := range l.Config.Pools {
		if c := &l.Config.Pools[i]; c.Name == name || name == "" || c.Name == "" {
			return c
		}
	}
	return nil
}

// atLimit judges servers that say no more than that they are full.
func atLimit(l *look) *Finding {
	limit := slices.DeleteFunc(l.EventsOf(evidence.PoolAtLimit), func(e *evidence.Event) bool { return e.Reason == evidence.SinceStart })
	full := l.EventsOf(evidence.QueueFull)
	if len(limit) == 0 {
		return behindQueue(l, full)
	}
	last := limit[len(limit)-1]
	if last.Reason == evidence.MaxConnections {
		return fullDatabase(limit)
	}
	p := &evidence.Pool{Server: cmp.Or(l.writer(last), "The server"), Name: last.App}
	f := &Finding{Subject: last.App}
	f.What = strings.TrimSpace(p.Server+" "+p.Name) + " has reached its limit of workers"
	if last.Limit.Known {
		f.What += " (" + f.n("limit", last.Limit) + ")"
	}
	if last.Reason != "" {
		f.What += " (" + last.Reason + ")"
	}
	f.What += ", and says so in " + f.count("lines", countOf(limit), "line") + "."
	f.between(stretch(slices.Concat(limit, full)))
	f.level(Observed, "the server's own log says so")
	loggedAdvice(l, f, p)
	return f
}

// behindQueue judges a server that says that its listen queue is full, and not
// how many workers it has.
func behindQueue(l *look, full []*evidence.Event) *Finding {
	if len(full) == 0 {
		return waitingInside(l)
	}
	last := full[len(full)-1]
	if last.Limit.Below(smallBacklog) {
		return nil // a queue as short as that fills by itself
	}
	f := &Finding{}
	f.What = "The server does not take requests out of its queue: " + f.n("queue", last.Queue) + " of a backlog of " + f.n("backlog", last.Limit) +
		" wait, and it says so in " + f.count("lines", countOf(full), "line") + "."
	f.between(stretch(full))
	f.level(Inferred, "a queue that stays full behind a backlog of that size; the workers themselves were not seen")
	p := &evidence.Pool{Server: l.writer(last), Name: last.App}
	if n := l.workersOf(last); n.Known {
		f.What += " It has " + f.count("workers", n, "worker") + "."
	}
	loggedAdvice(l, f, p)
	f.not("a backlog that is too small", "a longer queue only makes requests wait longer")
	return f
}

// starvedLines: one late heartbeat may be a start or a pause of the machine.
const starvedLines = 3

// waitingInside judges what waits for something inside the app: a connection of
// a pool, or a thread.
func waitingInside(l *look) *Finding {
	var starved []*evidence.Event
	late := l.connectionWaits()
	for _, e := range l.EventsOf(evidence.AppError) {
		if e.Reason == "thread pool starvation" {
			starved = append(starved, e)
		}
	}
	f := &Finding{}
	queued := l.queuedInside()
	switch {
	case len(queued) > 0:
		f.What = "All threads of the server are busy, and requests wait behind them: " + f.n("task queue depth", deepest(queued).Queue) + " at most, in " + f.count("lines", countOf(queued), "line") + "."
		f.Cause = "Requests hold the threads longer than new ones take to come. What holds them is not in this log."
		f.Now = []string{"Find what the requests wait for: py-spy dump, the times of requests, the backend's own state."}
		f.Properly = []string{"If they wait rather than compute, more threads (--threads); time-outs for calls to backends."}
		f.not("a burst", "the queue was there from the first of these lines to the last")
	case len(late) > 0:
		f.What = connectionText(f, late)
		f.Cause = connectionCause
		f.Now, f.Properly = connectionNow(), connectionProperly()
		f.not("a database that cannot be reached", "a connection from the pool was waited for, not a connect")
	case len(starved) >= starvedLines:
		f.What = "The thread pool is starved, by the server's own word, in " + f.count("lines", countOf(starved), "line") + "."
		f.Cause = "Work that blocks (sync over async) holds the threads; further ones are added slowly."
		f.Now = []string{"Raise the minimum of threads as a stopgap."}
		f.Properly = []string{"Make the blocking calls asynchronous."}
		f.not("too little CPU", "possible too: see CPU use and quota of the same minute")
	default:
		return nil
	}
	f.between(stretch(slices.Concat(queued, late, starved)))
	f.level(Observed, "the app's own log says so")
	f.Settle = []string{"A thread dump while it lasts."}
	return f
}

// waitressThreads are those that waitress has unless it is told otherwise.
//
// https://docs.pylonsproject.org/projects/waitress/en/stable/arguments.html
const waitressThreads = 4

// queuedInside are the lines about requests that wait inside a server, if a
// whole round of them waited for as long as a queue must last to tell something.
// The server writes such a line for every request that it queues, in a burst too.
func (l *look) queuedInside() []*evidence.Event {
	threads := float64(waitressThreads)
	if s := l.start(); s != nil && s.Threads.Above(0) {
		threads = s.Threads.Number
	}
	round := slices.DeleteFunc(l.EventsOf(evidence.RequestsQueued), func(e *evidence.Event) bool { return !e.Queue.AtLeast(threads) })
	from, to := stretch(round)
	if to.Sub(from).Seconds() < ageAlone {
		return nil
	}
	return round
}

// deepest is the event with the longest queue.
func deepest(events []*evidence.Event) *evidence.Event {
	return slices.MaxFunc(events, func(x, y *evidence.Event) int { return cmp.Compare(x.Queue.Number, y.Queue.Number) })
}
