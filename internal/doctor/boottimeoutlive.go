package doctor

import (
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

// liveBoots looks at workers whose processes change between the looks.
func liveBoots(l *look, a *answer) {
	for i := range l.Pools {
		p := &l.Pools[i]
		if !startedAnew(p) {
			continue
		}
		if l.roundAfterRound(p) && l.noneServed(p) {
			a.found(l.liveBootFinding(p))
			continue
		}
		var w words
		a.suspect(Workers, "It looks like "+string(BootTimeoutLoop)+": "+w.count("workers replaced", p.Replaced, "worker")+" of "+poolName(p)+
			" ended between the looks and another took the place, after "+w.n("longest life", p.LivedMost)+" at most, and none was seen to serve.",
			"The server's own log (WORKER TIMEOUT, or that it reloads), and --for several times as long.", &w)
	}
}

// roundAfterRound reports whether workers that took another's place have given way
// as well, and each lived as long as the others: more were replaced than there
// are.
func (l *look) roundAfterRound(p *evidence.Pool) bool {
	return p.Replaced.AtLeast(bootRounds) && p.Replaced.Number > p.Workers.Else(evidence.Known(float64(len(p.Members)), evidence.Events)).Number &&
		p.LivedMost.Minus(p.LivedLeast).AtMost(alikeWithin.Seconds())
}

// noneServed reports whether connections were left waiting, or none came. Without
// either, workers may have been ended in order after what they served.
func (l *look) noneServed(p *evidence.Pool) bool {
	opened := l.Delta(func(r *evidence.Reading) evidence.Value { return r.Netstat.PassiveOpens })
	return p.QueuedShare.AtLeast(queuedShare) || p.Queued.AtLeast(1) && p.Oldest.Number >= p.LivedMost.Number && p.Oldest.Known ||
		opened.AtMost(0) && !behindUnix(p)
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
	f := &Finding{Subject: poolName(p), places: addresses(p)}
	f.What = "The workers of " + poolName(p) + " are started again and again and none serves: " + f.count("workers replaced", p.Replaced, "worker") +
		" ended between the looks, each with another in its place, after " + f.n("shortest life", p.LivedLeast) + " to " + f.n("longest life", p.LivedMost) + "."
	if p.Queued.Above(0) {
		f.What += " " + f.count("queued", p.Queued, "request") + " wait for one."
	}
	f.see("workers", p.Workers)
	f.see("workers of the first look that stayed", p.Stayed)
	f.over(l)
	f.level(StronglySuggested, "the processes changed from look to look after the same time, and none took in a connection; that it is a time-out, only the server's log says")
	f.Cause = "gunicorn kills a worker that does not report within --timeout, and importing the app or filling its memory counts. Killing and booting again costs the machine the same memory and CPU once more."
	f.not("idle workers", "an idle worker stays; of these none outlived "+f.n("longest life", p.LivedMost))
	f.not("workers that end in order after so many requests", "none took in a request")
	f.not("out of memory kills", "cannot be ruled out by the processes alone, but such kills do not come at the same age")
	f.Now = []string{"Raise --timeout above the time of a boot (600 while this lasts).", "Read the server's log: WORKER TIMEOUT stands before each end."}
	f.Properly = []string{"Shorten the boot: load less at import, or --preload so that it is loaded once.",
		"Fewer workers: each imports the app and fills its memory again."}
	f.Settle = []string{"The server's own log of the same minutes.", "How long one boot takes with the machine to itself."}
	return f
}
