package doctor

import (
	"slices"
	"strings"
	"time"

	"brink/internal/evidence"
)

const (
	// stallLeast is in seconds: what a health check that does nothing takes when
	// it takes this long is waiting for its turn.
	stallLeast = 5
	// fastShare is the share of checks that must be fast, in percent, for the
	// slow ones to be stalls of moments and not the usual.
	fastShare = 80
	// fastMost is in seconds.
	fastMost = 1
	// roomInMemory is in percent of the limit, below which memory is no suspect.
	roomInMemory = 80
	// loopOldest is in seconds that a connection has not been accepted. A loop
	// that turns accepts within milliseconds, whatever else is busy; only a
	// collection of garbage may take tenths of a second.
	loopOldest = 2
	// loopBusy is in CPUs over the readings, a part of which it may have turned.
	loopBusy = 0.4
)

var eventLoopBlocked = Rule{
	Mode: EventLoopBlocked,
	Needs: anyOf(evidence.HasRequests, evidence.HasPools, evidence.HasPlatformLog, evidence.HasContainers, evidence.HasListeners,
		evidence.HasServerLog, evidence.HasMetrics),
	Judge: func(l *look, a *answer) {
		for i := range l.Pools {
			if p := &l.Pools[i]; p.Seen == evidence.PoolLive && isLoop(p) && !startedAnew(p) {
				liveLoop(l, a, p)
			}
		}
		for i := range l.Requests {
			rareStalls(l, a, &l.Requests[i])
		}
		saidStalls(l, a)
		phaseStalls(l, a)
		starvedProbe(l, a)
		spinningLoop(l, a)
	},
}

// isLoop reports whether one thread serves all requests of a server.
func isLoop(p *evidence.Pool) bool {
	return slices.Contains([]string{"Node.js", "uvicorn", "gunicorn uvicorn", "gunicorn gevent"}, p.Server)
}

func liveLoop(l *look, a *answer, p *evidence.Pool) {
	if stoppedPool(a, p) {
		return
	}
	queue := evidence.Known(0, evidence.Events)
	for i := range p.Sockets {
		queue = queue.Plus(p.Sockets[i].Queue)
	}
	var w words
	if !queue.Above(0) || !p.Oldest.AtLeast(loopOldest) {
		if queue.Known && len(p.Sockets) > 0 {
			a.fine(Workers, "The loop of "+poolName(p)+" takes in what comes: its accept queue holds "+w.n("accept queue", queue)+", and nothing has waited there for long.", &w)
		}
		return
	}
	f := &Finding{Subject: poolName(p), places: addresses(p)}
	f.What = "The event loop of " + poolName(p) + " does not turn: " + f.count("accept queue", queue, "connection") + " in its accept queue, the oldest for " + f.n("oldest", p.Oldest)
	busy := p.CPU.AtLeast(loopBusy)
	if p.CPU.Known {
		f.What += "; it uses " + f.n("CPU of the pool", p.CPU) + " CPUs"
	}
	f.What += "."
	f.over(l)
	f.atLeast(l, p.Oldest)
	f.level(Observed, "the kernel has the queue and the age of what waits in it")
	if busy {
		f.Cause = "Something computes on the loop without a break (JSON, cryptography, a long loop, garbage collection)."
	} else {
		f.Cause = "Something on the loop waits without giving the turn away (a synchronous call, a child process that is waited for)."
	}
	// One that wants a CPU and gets none would use some; one that has it is busy
	// by itself.
	f.notBy = []Mode{CPUContention}
	f.not("too few workers", "a loop accepts at once whatever is busy behind it; it is the loop itself that stands")
	loopAdvice(f)
	a.found(f)
}

// rareStalls looks at health checks: nearly all are fast, and a few take as
// long as something blocks.
func rareStalls(l *look, a *answer, r *evidence.Requests) {
	fast, slow, all, longest, timeOuts := l.checks(r)
	if !all.AtLeast(20) {
		return
	}
	share := fast.PercentOf(all)
	var w words
	switch {
	case !slow.Above(0):
		if share.AtLeast(95) {
			a.fine(Traffic, "Health checks: "+w.n("fast", share)+" of "+w.n("checks", all)+" were fast, and none took long.", &w)
		}
		return
	case !share.AtLeast(fastShare):
		a.suspect(Traffic, w.n("stalled", slow)+" of "+w.n("checks", all)+" health checks took "+w.n("longest", longest)+" or timed out; what kept them waiting is not in them.",
			"What the server and the machine did in these minutes: its log, its workers or loop, memory and CPU.", &w)
		return
	case l.poolSize().Known:
		a.suspect(Workers, w.n("stalled", slow)+" of "+w.n("checks", all)+" health checks took "+w.n("longest", longest)+" or timed out: all "+w.count("workers", l.poolSize(), "worker")+" may have been busy then.",
			"The requests of these moments, and brink watch.", &w)
		return
	}
	f := &Finding{}
	f.What = "The app stands still at moments: " + f.n("fast", share) + " of " + f.n("checks", all) + " health checks were fast, but " + f.n("stalled", slow) + " took " + f.n("longest", longest) + " or ran into their time-out"
	if timeOuts.Above(0) {
		f.What += " (" + f.n("time-outs", timeOuts) + " of them)"
	}
	f.What += "."
	silence := l.longestSilence()
	if silence.AtLeast(stallLeast) {
		f.What += " A log is silent for " + f.n("silence", silence) + "."
	}
	f.between(r.From, r.To)
	f.level(Inferred, "a check that does nothing and takes this long has waited for its turn; what held it was not seen")
	f.Cause = "Something rare blocks the loop or its only thread: a synchronous call, a large parse, a collection of garbage."
	f.not("healthy, since nearly all are fast", "mean and 95th percentile do not show it; the maximum does")
	f.not("a machine that stands still", "cannot be ruled out without readings of the kernel from the same time")
	loopAdvice(f)
	a.found(f)
}

// checks counts health checks of a file: those that were fast, those that took
// stallLeast or more, and all.
func (l *look) checks(r *evidence.Requests) (fast, slow, all, longest, timeOuts evidence.Value) {
	zero := evidence.Known(0, evidence.Events)
	fast, slow, all, timeOuts = zero, zero, zero, zero
	longest = evidence.Missing(evidence.NotSeen, "none took long")
	worst := func(v evidence.Value) {
		if v.Known && (!longest.Known || v.Number > longest.Number) {
			longest = v
		}
	}
	for _, b := range r.Buckets {
		if !b.Count.Known {
			continue
		}
		all = all.Plus(b.Count)
		switch {
		case b.TimeOut:
			slow, timeOuts = slow.Plus(b.Count), timeOuts.Plus(b.Count)
			worst(b.Least)
		case b.Least.AtLeast(stallLeast):
			slow = slow.Plus(b.Count)
			worst(b.Most.Else(b.Least))
		case b.Most.AtMost(fastMost):
			fast = fast.Plus(b.Count)
		}
	}
	if len(r.Buckets) > 0 {
		return fast, slow, all, longest, timeOuts
	}
	for i := range r.List {
		q := &r.List[i]
		// Inside, other requests may take long by themselves; from outside, those
		// that ask for something in particular.
		if !healthPath().MatchString(q.Path) && (!r.Outside || q.Asks) {
			continue
		}
		one := evidence.Known(1, evidence.Events, evidence.Source{File: r.File, Line: q.Line})
		all.Number++
		late := strings.Contains(strings.ToLower(q.Outcome), "timeout") || strings.Contains(strings.ToLower(q.Outcome), "timed out")
		switch {
		case q.Seconds >= stallLeast && !healthPath().MatchString(q.Path) && served(r, q):
			all.Number-- // it is slow by itself, and no health check
		case late || q.Seconds >= stallLeast:
			slow = slow.Plus(one)
			if late {
				timeOuts = timeOuts.Plus(one)
			}
			if q.Seconds >= 0 {
				worst(evidence.Known(q.Seconds, evidence.Seconds, one.From...))
			}
		case q.Seconds >= 0 && q.Seconds <= fastMost:
			fast.Number++
		}
	}
	at := evidence.Source{File: r.File}
	fast.From, all.From = []evidence.Source{at}, []evidence.Source{at}
	return fast, slow, all, longest, timeOuts
}

// inside is how far within another a request must lie for it to have been served
// while the other was, clocks being what they are.
const inside = 250 * time.Millisecond

// served reports whether others of the same app began and ended quickly while a
// request was under way: a loop that stands still serves nobody.
func served(r *evidence.Requests, slow *evidence.Request) bool {
	began := slow.At.Add(-time.Duration(slow.Seconds * float64(time.Second)))
	n := 0
	for i := range r.List {
		q := &r.List[i]
		if q.App != slow.App || q.Seconds < 0 || q.Seconds > fastMost || q.At.IsZero() {
			continue
		}
		start := q.At.Add(-time.Duration(q.Seconds * float64(time.Second)))
		if start.After(began.Add(inside)) && q.At.Before(slow.At.Add(-inside)) {
			n++
		}
	}
	return n >= 2
}

// healthPath are paths that do nothing but answer.
var healthPath = expression(`(?i)^/(?:api/)?(?:health|healthz|healthcheck|ping|live|livez|liveness|ready|readyz|readiness|up)/?$`)

// longestSilence is the longest time without a line in a server's log.
func (l *look) longestSilence() evidence.Value {
	best := evidence.Missing(evidence.NotSeen, "no log with times")
	for i := range l.Logs {
		if v := l.Logs[i].Silence; l.Logs[i].Origin == evidence.FromServer && v.Known && (!best.Known || v.Number > best.Number) {
			best = v
		}
	}
	return best
}

// starvedProbe looks at processes that live, have memory, and do not answer their
// health checks in time, app by app.
func starvedProbe(l *look, a *answer) {
	late := probeTimeouts(l)
	apps := appsOf(late)
	if len(late) == 0 || len(apps) > severalApps || l.poolSize().Known || len(l.Pools) > 0 || len(l.EventsOf(evidence.OOMKill)) > 0 {
		return
	}
	for _, app := range apps {
		if _, small := l.smallQuota(app); small || len(about(l.EventsOf(evidence.PodOOMKilled), app)) > 0 || l.endedItself(app) || l.startsSlowly(app) != nil {
			continue
		}
		a.found(starvedFinding(l, app, only(late, func(e *evidence.Event) bool { return e.App == app })))
	}
}

// severalApps is how many may get late answers for a loop of their own to be behind
// that: of more, no one loop is.
const severalApps = 2

// containersOf are the containers of an app; the only one there is may have
// another name.
func (l *look) containersOf(app string) []*evidence.Container {
	var all []*evidence.Container
	for i := range l.Containers {
		if c := &l.Containers[i]; sameProgram(c.Name, app) {
			all = append(all, c)
		}
	}
	if len(all) == 0 && len(l.Containers) == 1 {
		all = append(all, &l.Containers[0])
	}
	return all
}

// endedItself reports whether a container of an app was ended for want of memory,
// or by another end than a signal to end.
func (l *look) endedItself(app string) bool {
	return slices.ContainsFunc(l.containersOf(app), func(c *evidence.Container) bool {
		return c.OOMKilled == evidence.Yes || c.LastReason == "OOMKilled" || c.LastExitCode.Above(0) && c.LastExitCode.Number != 137 && c.LastExitCode.Number != 143
	})
}

// usedOfLimit is the share of its limit that the only cgroup with one holds: of
// several, nothing tells which is the app's.
func (l *look) usedOfLimit() evidence.Value {
	used, limits := evidence.Missing(evidence.NotSeen, "no limit is known"), 0
	for _, path := range l.CgroupPaths() {
		if m := &l.lastCgroup(path).Memory; m.Max.Known && !m.Max.Unlimited {
			used = m.Current.PercentOf(m.Max.Value)
			limits++
		}
	}
	if limits > 1 {
		return evidence.Missing(evidence.CannotTell, "several cgroups have a limit")
	}
	return used
}

func starvedFinding(l *look, app string, late []*evidence.Event) *Finding {
	f := &Finding{Subject: app}
	used := l.usedOfLimit()
	f.What = "The process lives and does not answer its health check in time (" + f.count("health check time-outs", countOf(late), "time-out") + " seen)"
	containers := l.containersOf(app)
	for _, c := range containers {
		if c.Restarts.Above(0) {
			f.What += "; it was restarted " + f.count("restarts", c.Restarts, "time")
		}
		if c.LastExitCode.Known {
			f.What += ", and ended with exit code " + f.n("exit code", c.LastExitCode)
			if c.LastReason != "" {
				f.What += " (" + c.LastReason + ")"
			}
		}
		f.Subject = c.Name
	}
	f.What += "."
	if p := l.strictProbe(); p != nil {
		f.What += " The check waits " + f.n("probe time-out", p.Timeout) + "."
	}
	if used.Known {
		f.What += " Memory is at " + f.n("used of limit", used) + " of its limit."
	}
	f.between(stretch(late))
	f.level(Inferred, "late answers of a process that lives; that its loop stood still was not seen itself")
	f.Cause = "Its loop, or its only thread, is busy or gets no CPU for longer than the check waits. The platform ends it with SIGTERM, and it exits in order."
	f.not("a crash of the code", "it ended because its checks got no answer in time; a crash leaves no unanswered checks before it")
	if used.Below(roomInMemory) {
		f.not("out of memory", f.n("used of limit", used)+" of the limit is used, and no kill is reported")
	}
	for _, c := range containers {
		if c.LastExitCode.AtMost(0) {
			f.not("done with its work, since it exits with 0", "it exits in order because it is told to; then it is started again")
		}
	}
	f.Now = []string{"Give the check a time-out of several seconds and more failures, so that a busy process is not killed."}
	f.Properly = []string{"Answer the check from a thread of its own, or take long work off the loop.", "See that the node has CPU to spare, and that a quota does not stop it."}
	f.Settle = []string{"Event loop delay (perf_hooks monitorEventLoopDelay, or asyncio's debug mode).", "cpu.stat (nr_throttled) and /proc/pressure/cpu of the node at the same time."}
	return f
}

// smallQuota finds a CPU quota below one CPU: of a cgroup, or of an app's container.
func (l *look) smallQuota(app string) (evidence.Value, bool) {
	for _, path := range l.CgroupPaths() {
		if q := l.lastCgroup(path).CPU.QuotaCPUs(); q.Known && q.Below(1) {
			return q, true
		}
	}
	for _, c := range l.containersOf(app) {
		if c.CPULimit.Known && c.CPULimit.Below(1) {
			return c.CPULimit, true
		}
	}
	return evidence.Missing(evidence.NotSeen, "no quota is known"), false
}

// strictProbe finds the health check with the shortest time-out.
func (l *look) strictProbe() *evidence.Probe {
	var best *evidence.Probe
	try := func(p *evidence.Probe) {
		if p.Timeout.Known && (best == nil || p.Timeout.Number < best.Timeout.Number) {
			best = p
		}
	}
	for i := range l.Config.Probes {
		try(&l.Config.Probes[i])
	}
	for i := range l.Containers {
		for j := range l.Containers[i].Probes {
			try(&l.Containers[i].Probes[j])
		}
	}
	return best
}

func loopAdvice(f *Finding) {
	f.Now = []string{"Take a stack while it stands (py-spy dump, node --cpu-prof, kill -USR1 and the inspector).", "Run a second process beside it, so that one that stands does not stop everything."}
	f.Properly = []string{"Move the blocking call to a thread or process (asyncio.to_thread, worker_threads), or use its asynchronous form.", "Alert on the maximum of loop delay, not on the mean of latencies."}
	f.Settle = []string{"Event loop delay over time, and the app's log around the silent moments."}
}
