package doctor

import (
	"fmt"
	"slices"

	"brink/internal/evidence"
)

// One look at a queue proves nothing: it is not empty in 12 % of looks at half
// use and in 42 % at 0.8, on servers in good health. What tells is that it lasts,
// how many wait, and for how long.
const (
	// busyShare and queuedShare are in percent, of the workers and of the looks.
	busyShare   = 95
	queuedShare = 90
	// freeShare: with fewer workers busy than this a queue that is there at every
	// look is none that chance makes.
	freeShare = 50
	// ageOfService: the oldest request has waited this many times what a request
	// takes. At 0.8 of four workers the mean wait is half of it.
	ageOfService = 1.5
	// longWindow is how many times longer than a request the readings must span
	// for half of that to do.
	longWindow = 20
	// ageAlone is in seconds, where how long a request takes is not known, with a
	// whole round queued; without, twice as much. At a use of 0.8 of four workers
	// simulation has it in no window of 1 to 10 s with requests of 0.5 s, and in 0.4
	// % with those of 1 s. A round that has waited for a second is there in 5 % of
	// windows then, and in 0.6 % with requests of 0.5 s.
	ageAlone = 3
	// gaugeLooks is how often the gauge must have looked.
	gaugeLooks = 5
	// sharedPeer is the share of busy workers, in percent, that wait on one far
	// end for it to be the cause.
	sharedPeer = 50
)

var workerExhaustion = Rule{
	Mode:  WorkerExhaustion,
	Needs: anyOf(evidence.HasPools, evidence.HasListeners, evidence.HasServerLog, evidence.HasPlatformLog, evidence.HasRequests, evidence.HasMetrics),
	Judge: func(l *look, a *answer) {
		seen := map[string]bool{}
		for i := range l.Pools {
			p := &l.Pools[i]
			if f := judgePool(l, a, p); f != nil {
				seen[p.Name+p.Server] = true
				a.found(f)
			}
		}
		if len(seen) > 0 {
			return
		}
		if f := atLimit(l); f != nil {
			a.found(f)
			return
		}
		if f := probedPool(l); f != nil {
			a.found(f)
			return
		}
		if f := queuedAtProxy(l); f != nil {
			a.found(f)
			return
		}
		if f := queuedAtPlatform(l); f != nil {
			a.found(f)
			return
		}
		slowAlone(l, a)
		crowd(l, a)
	},
}

// poolName is what sentences call a pool.
func poolName(p *evidence.Pool) string {
	switch {
	case len(p.Sockets) > 0 && p.PID == 0 && p.Seen == evidence.PoolLive:
		return "The server at " + p.Sockets[0].Address
	case len(p.Sockets) > 0:
		return p.Server + " at " + p.Sockets[0].Address
	case p.Name != "":
		return p.Server + " " + p.Name
	}
	return p.Server
}

// addresses are those that a pool listens on.
func addresses(p *evidence.Pool) []string {
	var all []string
	for i := range p.Sockets {
		all = append(all, p.Sockets[i].Address)
	}
	return all
}

// judgePool judges a pool by who counted it.
func judgePool(l *look, a *answer, p *evidence.Pool) *Finding {
	switch {
	case p.Seen == evidence.PoolLive:
		return livePool(l, a, p)
	case len(p.Members) > 0:
		return uneven(a, p)
	case p.Min.Known && p.Busy.Known && !p.Workers.Known:
		return slowInjection(l, a, p)
	}
	return loggedPool(l, a, p)
}

func livePool(l *look, a *answer, p *evidence.Pool) *Finding {
	if isLoop(p) || startedAnew(p) {
		return nil // eventLoopBlocked and bootTimeoutLoop judge them
	}
	if stoppedPool(a, p) {
		return nil
	}
	looked := p.Looks >= gaugeLooks && p.Workers.Known && p.BusyShare.Known
	busy := looked && p.BusyShare.AtLeast(busyShare)
	behind := busy && p.QueuedShare.AtLeast(queuedShare)
	if behind && (l.keptWaiting(p) || l.queuedThroughout(p)) {
		return exhausted(l, p)
	}
	var w words
	switch text := poolName(p) + ": of " + w.count("workers", p.Workers, "worker") + " " + w.n("busy share", p.BusyShare) + " were busy on average"; {
	case p.Oldest.AtLeast(ageAlone) && !busy:
		leftWaiting(a, p, looked)
	case looked && ageless(p) && p.BusyShare.Below(freeShare) && p.Queued.Above(0) && p.QueuedShare.AtLeast(queuedShare):
		a.suspect(Workers, text+", and yet something waited in "+w.n("looks with a queue", p.QueuedShare)+" of the looks ("+w.n("queued", p.Queued)+" at the last): they may be starting, or stand still.",
			"The server's own log, and brink watch --once as root.", &w)
	case !looked:
	case behind && ageless(p) && wholeRound(p):
		a.cannotTell(Workers, text+", and something waited in "+w.n("looks with a queue", p.QueuedShare)+" of the looks; for how long each has waited, unix sockets do not tell.",
			"The times of requests (the access log), and what the proxy in front of it logs.", &w)
	case p.QueuedShare.Known:
		a.fineOf(p.Name, Workers, text+", and something waited in "+w.n("looks with a queue", p.QueuedShare)+" of the looks.", &w)
	case busy:
		a.suspect(Workers, text+"; what waits for them cannot be told.", "Its accept queue and connections: brink watch --once as root.", &w)
	default:
		a.fineOf(p.Name, Workers, text+".", &w)
	}
	return nil
}

// unknownServer is what a live server is called that is none of those known.
const unknownServer = "unknown"

// leftWaiting suspects a server that leaves a request waiting although workers
// are free, or of whose workers nothing is known.
func leftWaiting(a *answer, p *evidence.Pool, looked bool) {
	var w words
	text := poolName(p) + " leaves "
	if p.Server == unknownServer && len(p.Sockets) > 0 {
		text = "The server at " + p.Sockets[0].Address + " leaves "
	}
	if p.Queued.Above(1) {
		text += w.count("queued", p.Queued, "request") + " waiting, the oldest for "
	} else {
		text += "a request waiting, for "
	}
	text += w.n("oldest", p.Oldest) + " so far"
	switch {
	case looked && waitsInside(p):
		text += ", inside a worker that has taken in more than it can serve, while only " + w.n("busy share", p.BusyShare) + " of all were busy on average."
	case looked:
		text += ", and only " + w.n("busy share", p.BusyShare) + " of its workers were busy on average: they may be starting, or stand still."
	default:
		text += "; what its workers do cannot be told."
	}
	a.suspect(Workers, text, "The server's own log, and brink watch --once as root.", &w)
	a.unsure[len(a.unsure)-1].of = p.Name
}

// wholeRound reports whether as many requests are queued as are served at once.
func wholeRound(p *evidence.Pool) bool {
	return p.Queued.Known && p.Queued.Number >= p.Workers.Number
}

// ageless reports whether nothing can tell how long requests have waited: the
// kernel keeps no times of the connections of a unix socket.
func ageless(p *evidence.Pool) bool {
	return !p.Oldest.Known && slices.ContainsFunc(p.Sockets, func(s evidence.Listener) bool { return s.Unix })
}

// stoodStill is in seconds of CPU: a worker that has ended a request and taken the
// next uses several times as much, a WSGI server's about 0.5 ms. One that waits for
// a backend uses none.
const stoodStill = 100e-6

// queuedThroughout reports whether, where nothing tells the age of what waits, it
// has waited for as long as the looks span: no worker ran in that time, so that
// none has taken anything out of the queue, and a round was in it.
func (l *look) queuedThroughout(p *evidence.Pool) bool {
	s, ok := l.Span()
	if !ok || !ageless(p) || !wholeRound(p) || !s.Seconds.AtLeast(ageAlone) || len(p.Members) == 0 {
		return false
	}
	return !slices.ContainsFunc(p.Members, func(m evidence.Member) bool { return !ranFor(s, m.PID).AtMost(stoodStill) })
}

// ranFor is how long the main thread of a process ran between two readings, in s.
func ranFor(s evidence.Span, pid int) evidence.Value {
	is := func(x evidence.Sched) bool { return x.PID == pid }
	from, to := slices.IndexFunc(s.From.Sched, is), slices.IndexFunc(s.To.Sched, is)
	if from < 0 || to < 0 {
		return evidence.Missing(evidence.NotSeen, "it was not looked at twice")
	}
	return s.To.Sched[to].Run.Minus(s.From.Sched[from].Run)
}

// keptWaiting reports whether requests wait for longer than chance explains.
func (l *look) keptWaiting(p *evidence.Pool) bool {
	round := wholeRound(p)
	wait := p.Oldest.Over(p.Service)
	if !wait.Known {
		least := float64(ageAlone)
		if waitsInside(p) { // each process has a queue of its own, which waits longer
			least *= 2
		}
		return round && p.Oldest.AtLeast(least) || p.Oldest.AtLeast(2*least)
	}
	least := ageOfService
	if s, ok := l.Span(); ok && s.Seconds.Over(p.Service).AtLeast(longWindow) {
		least = ageOfService / 2 // the looks are independent of each other then
	}
	return round && wait.AtLeast(least) || wait.AtLeast(2*ageOfService)
}

// waitsInside reports whether requests wait in processes of the pool and none in
// front of it.
func waitsInside(p *evidence.Pool) bool {
	return p.Queued.Above(0) && !slices.ContainsFunc(p.Sockets, func(s evidence.Listener) bool { return !s.Queue.AtMost(0) })
}

// exhausted tells about a pool that was looked at from outside.
func exhausted(l *look, p *evidence.Pool) *Finding {
	f := &Finding{Subject: poolName(p), places: addresses(p)}
	f.What = "All " + f.n("workers", p.Workers) + " workers of " + poolName(p) + " are busy ("
	if p.Workers.AtMost(1) {
		f.What = "The only worker of " + poolName(p) + " is busy ("
	}
	f.What += f.n("busy share", p.BusyShare) + " of the time) and " + f.count("queued", p.Queued, "request") + " wait"
	if p.Oldest.Known {
		f.What += ", the oldest for " + f.n("oldest", p.Oldest)
	}
	f.What += "."
	f.see("looks with a queue", p.QueuedShare)
	f.see("time that a request holds a worker", p.Service)
	f.over(l)
	if p.Oldest.Known {
		f.level(Observed, fmt.Sprintf("counted from outside in %d looks, with the age of what waits", p.Looks))
		f.atLeast(l, p.Oldest)
	} else {
		f.level(StronglySuggested, fmt.Sprintf("counted from outside in %d looks: no worker was free and none ran, and a queue was there; how old it is, unix sockets do not tell", p.Looks))
	}
	backend := held(p, f)
	if p.CPU.Known && !backend {
		if p.CPU.Below(0.5 * max(1, min(p.Workers.Number, l.cpus().Number))) {
			f.notBy = []Mode{CPUContention}
			f.Cause += " Its processes use " + f.n("CPU of the pool", p.CPU) + " CPUs: they wait for something" + waitingIn(p) + "."
		} else {
			f.Cause += " Its processes use " + f.n("CPU of the pool", p.CPU) + " CPUs: they compute."
		}
	}
	if p.Abandoned.Above(0) {
		f.What += " " + f.count("abandoned", p.Abandoned, "client") + " left already; what they asked for will still be served."
	}
	f.not("a burst", "the queue was there in "+f.n("looks with a queue", p.QueuedShare)+" of the looks")
	workerAdvice(l, f, p, backend)
	return f
}

// held says what the busy workers wait on; true if one far end holds most.
func held(p *evidence.Pool, f *Finding) bool {
	busy := 0
	best := evidence.Wait{}
	for _, w := range p.Waits {
		busy += w.Workers
		if w.Peer != "" && w.Workers > best.Workers {
			best = w
		}
	}
	if busy == 0 || best.Workers*100 < sharedPeer*max(busy, int(p.Workers.Number)) {
		f.Cause = "More requests come, or each holds a worker longer, than the pool can take."
		return false
	}
	f.ownCause = true
	n := evidence.Known(float64(best.Workers), evidence.Events, p.From)
	f.Cause = f.n("workers waiting on "+best.Peer, n) + " of the workers wait for an answer of " + best.Peer + ": that backend holds them."
	if !best.Sure {
		f.Cause += " (Which connection they wait on follows from what they have open.)"
	}
	return true
}

func workerAdvice(l *look, f *Finding, p *evidence.Pool, backend bool) {
	if backend {
		f.Now = []string{"Look at the backend: its own load, locks, and connections. More workers would only wait there too."}
		f.Properly = []string{"Calls to backends need a time-out well below the client's patience.", "A circuit breaker, or a smaller pool for the calls that hang, keeps the others alive."}
	} else {
		f.Now = []string{"Find what the requests do that takes so long (access log, py-spy dump of a worker)."}
		text := "More workers or threads, if requests wait rather than compute"
		if each := memoryPerProcess(p); each.Known {
			text += ": each worker process holds about " + f.n("memory per worker process", each)
			if l.available.Known && !l.estimated {
				text += ", and " + f.n("MemAvailable", l.available) + " is available"
			}
			text += ". Threads (gthread) share it."
		} else {
			text += "; count their memory first, each brings its own. Threads (gthread) share it."
		}
		f.Properly = []string{text, "Take long work out of requests."}
	}
	f.Settle = []string{"What the workers wait on: brink watch --once as root.", "Request times by path in the same minutes."}
}

// memoryPerProcess is what one worker process holds. A process with threads is
// as many workers, and holds its memory once.
func memoryPerProcess(p *evidence.Pool) evidence.Value {
	if len(p.Members) == 0 {
		each := p.RSS.Over(p.Workers)
		each.Unit = evidence.Bytes
		return each
	}
	all := 0.0
	for i := range p.Members {
		if !p.Members[i].RSS.Known {
			return p.Members[i].RSS
		}
		all += p.Members[i].RSS.Number
	}
	return evidence.Known(all/float64(len(p.Members)), evidence.Bytes, p.From)
}

// waitingIn names the system call in which most busy workers were seen, where
// none of them says for whom they wait.
func waitingIn(p *evidence.Pool) string {
	best := evidence.Wait{}
	for _, w := range p.Waits {
		if w.Call != "" && w.Workers > best.Workers {
			best = w
		}
	}
	if best.Call == "" {
		return ""
	}
	return fmt.Sprintf(" (%d in %s)", best.Workers, best.Call)
}
