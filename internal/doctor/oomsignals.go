package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"brink/internal/evidence"
)

// signalKills looks at workers that ended by SIGKILL and that their own server
// did not kill.
func signalKills(l *look, a *answer) {
	var kills []*evidence.Event
	app := ""
	for _, c := range l.crews() {
		for i := range c.lives {
			if w := &c.lives[i]; w.killed() && !c.ownKill(w) {
				kills = append(kills, w.end)
				app = c.subject()
			}
		}
	}
	if len(kills) == 0 {
		return
	}
	if log := l.kernelLogOver(kills); log != "" {
		var w words
		a.suspect(Workers, "SIGKILL ended "+w.count("SIGKILLs", countOf(kills), "worker")+", and the kernel log of the same time ("+log+") has no OOM kill: somebody else sent it.",
			"Who sends signals: the platform's log, a supervisor, audit of kill(2).", &w)
		return
	}
	if none, since := l.noneCounted(kills); none.Known {
		var w words
		a.suspect(Workers, "SIGKILL ended "+w.count("SIGKILLs", countOf(kills), "worker")+", and the kernel counts "+w.count("oom_kill of vmstat", none, "OOM kill")+
			" "+since+", in all cgroups, which no restart of a container resets: somebody else sent it.",
			"Who sends signals: the platform's log, a supervisor, audit of kill(2).", &w)
		return
	}
	f := &Finding{Subject: app}
	f.What = "SIGKILL ended " + f.count("SIGKILLs", countOf(kills), "worker process") + ", and not by their own server's time-out"
	signs := l.memorySigns(f, kills)
	f.What += "; the kernel's OOM killer is the first suspect."
	if len(signs) > 0 {
		f.What += " " + strings.Join(signs, " ")
	}
	f.between(stretch(kills))
	f.What += l.longOver(f, kills[len(kills)-1])
	if len(signs) > 0 {
		f.level(StronglySuggested, "kills from outside and a sign of full memory agree; no line of the kernel is there to prove it")
	} else {
		f.level(Inferred, "a kill from outside that no server and no platform accounts for; no line of the kernel is there to prove it")
	}
	f.Cause = "A worker outgrows the limit of its cgroup or the machine and the kernel kills it. The master replaces it, so the platform sees a container that runs and counts no restart."
	f.not("the server's own time-out", "no WORKER TIMEOUT of the same worker stands before the kill")
	for i := range l.Containers {
		if c := &l.Containers[i]; c.Restarts.AtMost(0) {
			f.not("nothing, since the platform counts no restart", "it counts restarts of the container, not of the workers in it ("+f.n("restarts", c.Restarts)+")")
		}
	}
	for _, path := range l.CgroupPaths() {
		if g := l.lastCgroup(path); g.Memory.EventOOMKill.AtMost(0) {
			f.not("ruled out, since oom_kill is 0", "the counter begins again when the container is started again")
		}
	}
	oomAdvice(l, f)
	f.Settle = []string{"The kernel log (dmesg) of the machine at the time of the kills.", "memory.events of the cgroup, before the next restart."}
	a.found(f)
}

// kernelLogOver names a kernel log that covers the time of all events.
func (l *look) kernelLogOver(events []*evidence.Event) string {
	from, to := stretch(events)
	if from.IsZero() {
		return ""
	}
	for i := range l.Logs {
		log := &l.Logs[i]
		if log.Origin == evidence.FromKernel && !log.From.IsZero() && !log.From.After(from) && !log.To.Before(to) {
			return log.File
		}
	}
	return ""
}

// memorySigns are independent signs that memory was full when workers were
// killed.
func (l *look) memorySigns(f *Finding, kills []*evidence.Event) []string {
	var signs []string
	for _, path := range l.CgroupPaths() {
		m := &l.lastCgroup(path).Memory
		if m.EventMax.Above(0) {
			signs = append(signs, "The cgroup ran into its limit "+f.count("memory.events max", m.EventMax, "time")+".")
		}
		if used := m.Current.PercentOf(m.Max.Value); used.AtLeast(90) && !m.Max.Unlimited {
			signs = append(signs, "It uses "+f.n("used of limit", used)+" of its limit of "+f.n("limit", m.Max.Value)+".")
		}
	}
	for _, metric := range []string{"WorkingSetBytes", "MemoryWorkingSet", "MemoryPercentage"} {
		for _, s := range l.SeriesOf(metric) {
			if from, to, ok := fallNear(s, kills); ok {
				signs = append(signs, fmt.Sprintf("%s falls from %s to %s about then; it is an average over a minute and hides the peak.",
					metric, f.n(metric+" before", from), f.n(metric+" after", to)))
			}
		}
	}
	if l.headroom.Below(noHeadroom) {
		signs = append(signs, "Of the machine's memory "+f.n("available", l.headroom)+" is available.")
	}
	return signs
}

// fallNear finds the largest fall of a series near one of the events.
func fallNear(s *evidence.Series, events []*evidence.Event) (from, to evidence.Value, ok bool) {
	worst := dropShare / 100.0
	for i := 1; i < len(s.Points); i++ {
		p, q := s.Points[i-1], s.Points[i]
		if p.Number <= 0 || 1-q.Number/p.Number < worst || !near(events, p.At, q.At) {
			continue
		}
		worst = 1 - q.Number/p.Number
		source := func(line int) evidence.Source {
			return evidence.Source{File: s.From.File, Line: line, Field: s.From.Field}
		}
		unit := evidence.Unit(s.Unit)
		from, to, ok = evidence.Known(p.Number, unit, source(p.Line)), evidence.Known(q.Number, unit, source(q.Line)), true
	}
	return from, to, ok
}

func near(events []*evidence.Event, from, to time.Time) bool {
	for _, e := range events {
		if !e.At.IsZero() && e.At.After(from.Add(-sideBySide)) && e.At.Before(to.Add(sideBySide)) {
			return true
		}
	}
	return false
}

// silentKills looks at logs of gunicorn before 20.0.5, which says nothing when
// a worker is killed: workers are replaced and no line says why.
func silentKills(l *look, a *answer) {
	for _, c := range l.crews() {
		if c.file == "" || c.tellsEnds() || !quietVersion(c.version) {
			continue
		}
		replaced := c.replacements(l.poolWorkers())
		if len(replaced) < 2 {
			continue
		}
		if none, since := l.noneCounted(replaced); none.Known {
			var w words
			a.suspect(Workers, "Workers are replaced without a line that says how they ended: "+w.count("silent replacements", countOf(replaced), "boot")+
				" that no start explains. The kernel counts "+w.count("oom_kill of vmstat", none, "OOM kill")+" "+since+", in all cgroups: it was not that.",
				"Who sends signals: the platform's log, a supervisor, audit of kill(2).", &w)
			continue
		}
		f := &Finding{Subject: c.subject()}
		n := countOf(replaced)
		f.What = "Workers are replaced without a line that says how they ended: " + f.count("silent replacements", n, "boot") + " that no start explains"
		if c.version != "" {
			f.What += "; gunicorn " + c.version + " does not log that a child was killed"
		}
		f.What += ". They were killed from outside, most likely for want of memory."
		signs := l.memorySigns(f, replaced)
		f.What += strings.TrimRight(" "+strings.Join(signs, " "), " ")
		f.between(stretch(replaced))
		f.level(Inferred, "releases before 20.0.5 are silent about killed children; that these were, follows from boots without an end")
		f.Cause = "A worker needs more than the limit of its cgroup leaves, is killed while it boots or serves, and is booted again."
		f.not("healthy, since the log has only lines of level INFO", "this release has no line for what happened")
		f.not("an exception in the app", "gunicorn logs those, and exits of workers that end by themselves")
		oomAdvice(l, f)
		f.Settle = []string{"memory.events of the cgroup and the kernel log.", "gunicorn 20.1 or later, which says how workers end."}
		a.found(f)
	}
}

// quietVersion reports whether a release does not log killed children; an
// unknown one is taken for such.
func quietVersion(version string) bool {
	if version == "" {
		return true
	}
	var n [3]int
	for i, part := range strings.SplitN(version, ".", 3) {
		n[i], _ = strconv.Atoi(part)
	}
	return n[0] < 20 || n[0] == 20 && n[1] == 0 && n[2] < 5
}

// poolWorkers is how many worker processes the start command asks for.
func (l *look) poolWorkers() evidence.Value {
	if s := l.start(); s != nil {
		return s.Workers
	}
	return evidence.Missing(evidence.NotSeen, "no start command is known")
}

// replacements are the boots of gunicorn's workers that are neither part of a
// start nor follow an end that the log tells.
func (c *crew) replacements(workers evidence.Value) []*evidence.Event {
	var found []*evidence.Event
	var first *evidence.Event
	ends, initial := c.ends(), 0
	for i := range c.lives {
		boot := c.lives[i].boot
		if boot == nil || boot.At.IsZero() || !strings.Contains(boot.Text, "Booting worker") || c.stopping(boot) {
			continue
		}
		if first == nil || c.startedBetween(first, boot) {
			first, initial = boot, 1
			continue
		}
		if workers.Known && float64(initial) < workers.Number || !workers.Known && len(found) == 0 && startPace(first, boot, initial) {
			initial++
			continue
		}
		if e := slices.IndexFunc(ends, func(end *evidence.Event) bool { return accounts(end, boot) }); e >= 0 {
			ends = slices.Delete(ends, e, e+1)
			continue
		}
		found = append(found, boot)
	}
	return found
}

// startPace reports whether a boot can belong to a start that booted n workers
// before it: log times are whole seconds, so they may be one apart at once.
func startPace(first, boot *evidence.Event, n int) bool {
	return boot.At.Sub(first.At)-time.Second <= time.Duration(n)*bootEvery
}

func (c *crew) startedBetween(a, b *evidence.Event) bool {
	return slices.ContainsFunc(c.starts, func(s *evidence.Event) bool {
		return s.From.Line > a.From.Line && s.From.Line < b.From.Line
	})
}

// ends are the ends of workers that the log tells; each accounts for one boot.
func (c *crew) ends() []*evidence.Event {
	var ends []*evidence.Event
	for i := range c.lives {
		w := &c.lives[i]
		if w.timeout != nil {
			ends = append(ends, w.timeout)
		} else if w.end != nil {
			ends = append(ends, w.end)
		}
	}
	return ends
}

// accounts reports whether a boot may make up for an end.
func accounts(end, boot *evidence.Event) bool {
	d := boot.At.Sub(end.At)
	return d >= 0 && d <= graceful
}
