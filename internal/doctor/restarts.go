package doctor

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"brink/internal/evidence"
)

const (
	// together is how close the restarts of different apps are in one round.
	together = time.Minute
	// rounds of simultaneous restarts make a cascade: one round may be a
	// deployment or a moved machine.
	rounds = 2
	// loopExits of one app make a crash loop.
	loopExits = 3
)

var restartCascade = Rule{
	Mode:  RestartCascade,
	Needs: anyOf(evidence.HasPlatformLog, evidence.HasMetrics),
	Judge: judgeCascade,
}

// ends are restarts and failed starts, by app.
func (l *look) ends() map[string][]*evidence.Event {
	ends := map[string][]*evidence.Event{}
	for _, e := range l.EventsOf(evidence.ContainerExited, evidence.StartTimeout, evidence.PingFailed, evidence.ContainerKilled, evidence.BackOff, evidence.PodOOMKilled,
		evidence.ContainerStarted) {
		if e.Kind == evidence.PodOOMKilled && (e.Origin != evidence.FromPlatform || l.ranOn(e.App)) {
			continue // one process was killed; docker, systemd and Kubernetes tell of an end apart
		}
		if e.Kind == evidence.ContainerStarted && e.Reason != "restart" && e.Reason != "restarted" {
			continue
		}
		app := siteName(e.App)
		// A time-out and an exit of one attempt stand within seconds.
		if list := ends[app]; len(list) > 0 {
			if d := gap(list[len(list)-1], e); !e.At.IsZero() && d < 5*time.Second {
				continue
			}
		}
		ends[app] = append(ends[app], e)
	}
	return ends
}

// ranOn reports whether the platform counts no restart of an app that runs: what
// was killed in it was not its container.
func (l *look) ranOn(app string) bool {
	c := l.containerOf(app)
	return c != nil && c.Restarts.AtMost(0) && strings.EqualFold(c.State, "running")
}

// cascade is what rounds of restarts there were.
type cascade struct {
	apps   map[string]bool // that were in one
	most   int             // apps in the largest
	rounds int
	ends   []*evidence.Event
}

// rounds finds the moments in which several apps, and most of those that end at
// all, end together. A round is over when one that was in it ends again: under
// a short start limit there are many to a minute.
func (l *look) rounds() cascade {
	c := cascade{apps: map[string]bool{}}
	ends := l.ends()
	app := map[*evidence.Event]string{}
	for name, list := range ends {
		for _, e := range list {
			if !e.At.IsZero() {
				app[e] = name
			}
		}
	}
	all := slices.SortedFunc(maps.Keys(app), func(x, y *evidence.Event) int {
		return cmp.Or(x.At.Compare(y.At), cmp.Compare(app[x], app[y]))
	})
	var round []*evidence.Event // each of another app
	complete := func() bool { return len(round) >= 2 && 2*len(round) >= len(ends) }
	end := func() {
		c.rounds++
		c.most = max(c.most, len(round))
		c.ends = append(c.ends, round...)
		for _, e := range round {
			c.apps[app[e]] = true
		}
		round = nil
	}
	for _, e := range all {
		out := func(x *evidence.Event) bool { return app[x] == app[e] || e.At.Sub(x.At) > together }
		if complete() && slices.ContainsFunc(round, out) {
			end()
		}
		if again := slices.IndexFunc(round, func(x *evidence.Event) bool { return app[x] == app[e] }); again >= 0 {
			round = round[again+1:]
		}
		round = append(slices.DeleteFunc(round, out), e)
	}
	if complete() {
		end()
	}
	if c.rounds < rounds {
		return cascade{}
	}
	return c
}

func judgeCascade(l *look, a *answer) {
	if f := ladderCascade(l); f != nil {
		a.found(f)
		return
	}
	c := l.rounds()
	if c.rounds == 0 {
		return
	}
	f := &Finding{}
	where := []evidence.Source{c.ends[0].From, c.ends[len(c.ends)-1].From}
	f.What = "Apps restart together, again and again: " + f.n("apps in a round", evidence.Known(float64(c.most), evidence.Events, where...)) + " apps in " +
		f.n("rounds", evidence.Known(float64(c.rounds), evidence.Events, where...)) + " rounds, " + f.count("restarts", countOf(c.ends), "restart") + " in all."
	f.between(stretch(c.ends))
	f.level(Observed, "the platform's own log has the restarts, app by app")
	f.not("a fault of one app", "several apps end within a minute of each other, each round")
	cascadeText(f)
	a.found(f)
}

var loopWords = expression(`(?i)crash[ -]?loop|restart[ -]?loop|cascade`)

// ladderCascade looks for a step of a table that was written down as a loop.
func ladderCascade(l *look) *Finding {
	for _, b := range l.ladders() {
		for _, s := range b.steps {
			row := &b.table.Rows[s.row]
			i := slices.IndexFunc(row.Cells, func(c evidence.Cell) bool { return loopWords().MatchString(c.Text) })
			if i < 0 || !s.apps.AtLeast(2) {
				continue
			}
			f := &Finding{}
			f.What = "At " + s.label + " the apps restarted in a loop (" + row.Cells[i].Text + ")"
			if s.memory.Known {
				f.What += ", memory at " + f.n("MemoryPercentage", s.memory)
			}
			if s.cpu.Known {
				f.What += ", CPU at " + f.n("CpuPercentage", s.cpu)
			}
			f.What += "."
			f.see("apps", s.apps)
			f.level(Inferred, "whoever wrote the table saw it; the restarts themselves are not in it")
			f.not("a fault of one app", "the table says it of the step as a whole")
			cascadeText(f)
			return f
		}
	}
	return nil
}

func cascadeText(f *Finding) {
	f.Cause = "All apps start at once and want memory and CPU at once; none gets up in time, all are ended and start again. Errors of requests in this time (503) follow from it."
	f.Now = []string{"Stop some of the apps, at once: fewer must start at a time. Then start them one by one.", "Or move to a larger size. It need not end by itself."}
	f.Properly = []string{"Fewer apps on the plan: keep a fifth of its memory free for starts.", "Longer limits for starts and for workers' boots, so that a slow start is not repeated."}
	f.Settle = []string{"Memory, swap traffic and CPU in the minute after a restart."}
}

var crashLoop = Rule{
	Mode:  CrashLoop,
	Needs: anyOf(evidence.HasPlatformLog, evidence.HasContainers, evidence.HasServerLog),
	Judge: judgeCrashLoop,
}

func judgeCrashLoop(l *look, a *answer) {
	ends, together := l.ends(), l.rounds()
	names := slices.Sorted(maps.Keys(ends))
	var found []string
	for _, name := range names {
		list := ends[name]
		backOff := slices.ContainsFunc(list, func(e *evidence.Event) bool { return e.Kind == evidence.BackOff })
		if !backOff && len(list) < loopExits || together.apps[name] || l.startsSlowly(name) != nil { // others tell of them
			continue
		}
		a.found(loopFinding(l, name, list))
		found = append(found, name)
	}
	if len(found) > 0 {
		otherLoops(l, a, found)
		return
	}
	if f := ownHeap(l); f != nil {
		a.found(f)
		return
	}
	for _, c := range l.crews() {
		if f := crashedWorkers(l, c); f != nil {
			a.found(f)
			return
		}
	}
	for _, c := range l.distinctContainers() {
		judgeRestarts(l, a, c)
	}
}

// judgeRestarts judges what a platform counts of one container.
func judgeRestarts(l *look, a *answer, c *evidence.Container) {
	runs := strings.EqualFold(c.State, "running") && c.OOMKilled != evidence.Yes
	fails := len(about(probeTimeouts(l), c.Name)) > 0 || c.LastExitCode.Above(0) || c.ExitCode.Above(0) || c.State == "restarting"
	var w words
	name := called(c)
	switch {
	case l.startsSlowly(c.Name) != nil: // slowStart tells of it
	case c.Reason == "CrashLoopBackOff" || c.Restarts.AtLeast(loopExits) && fails || c.State == "restarting" && !c.Restarts.Known:
		a.found(containerLoop(l, c))
	case c.Restarts.AtLeast(loopExits) && c.SinceRestart.Below(settledAfter.Seconds()) && pace(c).AtMost(loopPace.Seconds()):
		a.found(pacedLoop(l, c))
	case c.Platform == evidence.FromSystem && strings.EqualFold(c.State, "failed"):
		unitFailed(a, c)
	case hasEnded(c):
		endOnly(a, c)
	case !runs:
	case c.Ready == evidence.No || c.Health == "unhealthy":
		text := name + " runs, and its health check fails"
		if c.Ready == evidence.No {
			text = name + " runs, and is not ready"
		}
		if c.Restarts.Known {
			text += " (" + w.count("restarts", c.Restarts, "restart") + ")"
		}
		a.suspect(Starts, text+"; why is not told.", "Its events and what its health check got (kubectl describe, docker inspect), and its own log.", &w)
	case c.Restarts.AtMost(0):
		a.fine(Starts, name+" runs and was never restarted ("+w.count("restarts", c.Restarts, "restart")+").", &w)
	case c.Restarts.Below(loopExits) && c.Ready != evidence.No && endedInOrder(c):
		text := name + " runs; it was restarted " + w.count("restarts", c.Restarts, "time") + ", the last time after exit code " + w.n("exit code", c.LastExitCode)
		if !c.Started.IsZero() {
			text += ", and runs since " + c.Started.UTC().Format("2006-01-02 15:04:05")
		}
		a.fine(Starts, text+".", &w)
	case c.Restarts.Below(loopExits) && l.settled(c):
		since := w.n("since the last restart", c.SinceRestart) + " ago"
		if !c.Started.IsZero() {
			since = "at " + c.Started.UTC().Format("2006-01-02 15:04:05")
		}
		a.note(Starts, name+" was restarted "+w.count("restarts", c.Restarts, "time")+lastEnd(c, &w)+", the last time "+since+".", &w)
	case c.Restarts.AtLeast(1):
		a.suspect(Starts, name+" runs, and was restarted "+w.count("restarts", c.Restarts, "time")+lastEnd(c, &w)+lastRestart(c, &w),
			"The same state an hour later, its log before the last end ("+lastLog(c)+"), and the events.", &w)
	}
}

// settledAfter is how long a container must have run since its last restart for
// that to be over. The longest back-off is 5 min, and a run of 10 min resets it.
//
// https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy
const settledAfter = 10 * time.Minute

// settled reports whether the evidence reaches so far beyond a container's
// start that its restarts are over.
func (l *look) settled(c *evidence.Container) bool {
	_, to := l.Interval()
	return !c.Started.IsZero() && to.Sub(c.Started) >= settledAfter || c.SinceRestart.AtLeast(settledAfter.Seconds())
}

// endedInOrder reports whether a container's last end was one that it was told
// to make: it exits with 0, or by SIGTERM (143).
func endedInOrder(c *evidence.Container) bool {
	return c.LastExitCode.AtMost(0) && c.LastExitCode.AtLeast(0) || c.LastExitCode.AtLeast(143) && c.LastExitCode.AtMost(143)
}

// lastEnd tells how a container last ended.
func lastEnd(c *evidence.Container, w *words) string {
	text := ""
	if v := c.LastExitCode.Else(c.ExitCode); v.Known {
		text = ", the last time with exit code " + w.n("exit code", v)
	} else if c.LastSignal.Above(0) {
		text = ", the last time by signal " + signalName(w.n("signal", c.LastSignal))
	}
	if c.LastReason != "" {
		text += " (" + c.LastReason + ")"
	}
	return text
}

// crashedWorkers judges workers that ended by a signal that is the program's own
// fault: SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV.
func crashedWorkers(l *look, c *crew) *Finding {
	var crashed []*evidence.Event
	for i := range c.lives {
		w := &c.lives[i]
		if w.end != nil && w.timeout == nil && w.end.Kind == evidence.WorkerSignalled && slices.Contains([]int{4, 6, 7, 8, 11}, w.end.Signal) {
			crashed = append(crashed, w.end)
		}
	}
	if len(crashed) < 2 {
		return nil
	}
	last := crashed[len(crashed)-1]
	f := &Finding{Subject: c.subject()}
	f.What = "Workers crash: " + f.count("crashes", countOf(crashed), "end") + " by signals, the last by " + f.n("signal", evidence.Known(float64(last.Signal), evidence.NoUnit, last.From)) + "." +
		tellFault(l.faultOfPID(last.PID))
	f.between(stretch(crashed))
	f.level(Observed, "the server's own log says so")
	f.Cause = "The program itself does something that the kernel or its library ends: an invalid access (11), an abort (6). Native modules are the first suspect."
	f.not("out of memory", "the OOM killer sends signal 9")
	f.Now = []string{"Get a core or a native stack (coredumpctl, faulthandler)."}
	f.Properly = []string{"Update or replace the module in which it crashes."}
	f.Settle = []string{"A core file, or the kernel log's line about the segfault."}
	return f
}

func loopFinding(l *look, name string, ends []*evidence.Event) *Finding {
	f := &Finding{Subject: name}
	last := ends[len(ends)-1]
	f.What = "The app"
	if last.Origin == evidence.FromSystem {
		f.What = "The unit"
	}
	if name != "" {
		f.What += " " + name
	}
	real := slices.DeleteFunc(slices.Clone(ends), func(e *evidence.Event) bool { return e.Kind == evidence.BackOff })
	f.What += " is started and ends again and again"
	f.What += countedEnds(l, f, name, real)
	if len(real) < len(ends) {
		f.What += "; the platform waits longer before each new start (back-off)"
	}
	f.What += "."
	f.between(stretch(ends))
	f.level(Observed, "the platform's own log has the ends")
	end := loopEnd{at: last.At}
	if len(real) > 0 {
		end = endOf(real[len(real)-1])
	}
	end.at = last.At
	loopCause(l, f, end)
	return f
}

func containerLoop(l *look, c *evidence.Container) *Finding {
	f := &Finding{Subject: c.Name}
	f.What = called(c)
	if c.Restarts.Known {
		f.What += " was restarted " + f.count("restarts", c.Restarts, "time")
	} else {
		f.What += " ends and is started again"
	}
	f.What += lastEnd(c, &f.words) + "."
	f.Span = "in all since it was made; how often now is not told"
	f.level(Observed, "the platform counts it")
	loopCause(l, f, lastEndOf(c))
	return f
}
