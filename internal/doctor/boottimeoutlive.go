package doctor

import (
	"slices"
	"strings"

	"brink/internal/evidence"
)

// shortLife is in seconds. A worker whose place another takes sooner has not been
// recycled by any number of requests that anyone sets, and not by a deployment;
// gunicorn's time-out is 30 s unless told. A guess.
const shortLife = 300

// startedAnew reports whether all workers of a gunicorn have given way to others
// after a short life, and none was seen to serve: its master does that to workers
// that do not end their boot within its time-out. Of other servers nothing says
// that it is a time-out.
//
// murder_workers and manage_workers in gunicorn/arbiter.py.
func startedAnew(p *evidence.Pool) bool {
	if p.Seen != evidence.PoolLive || !strings.HasPrefix(p.Server, "gunicorn") || !p.Replaced.Above(0) {
		return false
	}
	served := p.BusyShare.Known && !p.BusyShare.AtMost(0)
	return !served && !p.Rate.Above(0) && p.LivedMost.AtMost(shortLife) && (p.Stayed.AtMost(0) || p.Queued.Above(0))
}

// liveBoots looks at workers whose processes change between the looks. The kernel
// counts connections for a whole network namespace: where that alone keeps a server
// from being told apart from one that serves, and another of the same kind beside it
// is in such a loop by what is its own, both are said to be.
func liveBoots(l *look, a *answer) {
	var shown, untold []*evidence.Pool
	for i := range l.Pools {
		switch p := &l.Pools[i]; {
		case !startedAnew(p):
		case !l.roundAfterRound(p):
			l.suspectBoots(a, p)
		case l.noneServed(p):
			a.found(l.liveBootFinding(p))
			shown = append(shown, p)
		default:
			untold = append(untold, p)
		}
	}
	for _, p := range untold {
		if len(shown) > 0 {
			a.found(l.likeTheOther(p, shown[0]))
		} else {
			l.suspectBoots(a, p)
		}
	}
}

func (l *look) suspectBoots(a *answer, p *evidence.Pool) {
	var w words
	text := "It looks like " + string(BootTimeoutLoop) + ": " + w.count("workers replaced", p.Replaced, "worker") + " of " + poolName(p) +
		" ended between the looks and another took the place, after " + w.n("longest life", p.LivedMost) + " at most, and none was seen to serve."
	if l.roundAfterRound(p) {
		text += " " + l.whoseIntake(p, &w)
	}
	a.suspect(Workers, strings.TrimSpace(text), "The server's own log (WORKER TIMEOUT, or that it reloads), and --for several times as long.", &w)
}

// roundAfterRound reports whether workers that took another's place have given way
// as well, and each lived as long as the others: more were replaced than there
// are.
func (l *look) roundAfterRound(p *evidence.Pool) bool {
	return p.Replaced.AtLeast(bootRounds) && p.Replaced.Number > p.Workers.Else(evidence.Known(float64(len(p.Members)), evidence.Events)).Number &&
		p.LivedMost.Minus(p.LivedLeast).AtMost(alikeWithin.Seconds())
}

// noneServed reports whether connections were left waiting, or too few came for
// each worker that ended to have served one. Without either, workers may have been
// ended in order after what they served.
func (l *look) noneServed(p *evidence.Pool) bool {
	return p.QueuedShare.AtLeast(queuedShare) || p.Queued.AtLeast(1) && p.Oldest.Number >= p.LivedMost.Number && p.Oldest.Known ||
		p.Replaced.Minus(l.takenIn(p)).Above(0)
}

// takenIn is how many connections all servers of the network namespace took out of
// their queues between the readings: those that the kernel counted, without those
// by which the queues have grown. It is missing for a server that is not in this
// namespace or is behind a unix socket, which the counter does not have.
func (l *look) takenIn(p *evidence.Pool) evidence.Value {
	s, ok := l.Span()
	if !ok || behindUnix(p) || !listens(s.To, p) {
		return evidence.Missing(evidence.CannotTell, "no counter has its connections", p.From)
	}
	taken := l.Delta(func(r *evidence.Reading) evidence.Value { return r.Netstat.PassiveOpens })
	for i := range s.To.Listeners {
		to := &s.To.Listeners[i]
		if to.Unix || !to.Queue.Known {
			continue
		}
		before := 0.0
		if from := s.From.Listener(to.Address); from != nil {
			if !from.Queue.Known {
				continue
			}
			before = from.Queue.Number
		}
		taken.Number -= to.Queue.Number - before
	}
	taken.Number = max(taken.Number, 0)
	return taken
}

// listens reports whether a pool's sockets are among those of a reading. Readings
// without any are taken for those of its namespace.
func listens(r *evidence.Reading, p *evidence.Pool) bool {
	return len(r.Listeners) == 0 || slices.ContainsFunc(p.Sockets, func(s evidence.Listener) bool { return r.Listener(s.Address) != nil })
}

// whoseIntake says why connections do not tell whether a server serves.
func (l *look) whoseIntake(p *evidence.Pool, w *words) string {
	if taken := l.takenIn(p); taken.Known {
		return "All servers of the network namespace took in " + w.count("connections taken in", taken, "connection") + " meanwhile; whose they were, the kernel does not count."
	}
	if behindUnix(p) {
		return "The kernel does not count connections to unix sockets."
	}
	return ""
}

// behindUnix reports whether a pool takes connections that no counter has.
func behindUnix(p *evidence.Pool) bool {
	for i := range p.Sockets {
		if p.Sockets[i].Unix {
			return true
		}
	}
	return len(p.Sockets) == 0
}

func (l *look) liveBootFinding(p *evidence.Pool) *Finding {
	f := l.bootsAnew(p)
	rule := "the processes changed from look to look after the same time, and requests were left waiting"
	recycled := "requests wait and none was taken in"
	if !p.Queued.Above(0) {
		taken := l.takenIn(p)
		rule = "the processes changed from look to look after the same time, and none took in a connection"
		recycled = "none took in a request"
		if taken.Above(0) {
			some := f.count("connections taken in", taken, "connection") + " in all, fewer than workers ended"
			rule = "the processes changed from look to look after the same time, and all servers of the network namespace took in " + some
			recycled = "there were " + some
		}
	}
	f.level(StronglySuggested, rule+"; that it is a time-out, only the server's log says")
	f.not("workers that end in order after so many requests", recycled)
	return f
}

// likeTheOther tells of a server of which no connection tells, beside one that is
// replaced in the same way and leaves its requests waiting.
func (l *look) likeTheOther(p, other *evidence.Pool) *Finding {
	f := l.bootsAnew(p)
	why := l.whoseIntake(p, &f.words)
	f.What += strings.TrimRight(" "+why, " ")
	f.level(Inferred, "its processes changed from look to look after the same time, as those of "+poolName(other)+" did; that none of the connections was its own, nothing tells")
	f.not("workers that end in order after so many requests", "cannot be ruled out; those of "+poolName(other)+" are replaced in the same way and serve none")
	return f
}

// bootsAnew is what holds of every server whose workers do not end their boot.
func (l *look) bootsAnew(p *evidence.Pool) *Finding {
	f := &Finding{Subject: poolName(p), places: addresses(p)}
	f.What = "The workers of " + poolName(p) + " are started again and again and none was seen to serve: " + f.count("workers replaced", p.Replaced, "worker") +
		" ended between the looks, each with another in its place, after " + f.n("shortest life", p.LivedLeast) + " to " + f.n("longest life", p.LivedMost) + "."
	if p.Queued.Above(0) {
		f.What += " " + f.count("queued", p.Queued, "request")
		if p.Queued.Above(1) {
			f.What += " wait for one."
		} else {
			f.What += " waits for one."
		}
	}
	f.see("workers", p.Workers)
	f.see("workers of the first look that stayed", p.Stayed)
	f.over(l)
	f.Cause = "gunicorn kills a worker that does not report within --timeout, and importing the app or filling its memory counts. Killing and booting again costs the machine the same memory and CPU once more."
	f.not("idle workers", "an idle worker stays; of these none outlived "+f.n("longest life", p.LivedMost))
	f.not("out of memory kills", "cannot be ruled out by the processes alone, but such kills do not come at the same age")
	f.Now = []string{"Raise --timeout above the time of a boot (600 while this lasts).", "Read the server's log: WORKER TIMEOUT stands before each end."}
	f.Properly = []string{"Shorten the boot: load less at import, or --preload so that it is loaded once.",
		"Fewer workers: each imports the app and fills its memory again."}
	f.Settle = []string{"The server's own log of the same minutes.", "How long one boot takes with the machine to itself."}
	return f
}
