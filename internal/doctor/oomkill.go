package doctor

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"brink/internal/evidence"
)

const (
	// dropShare: a working set that falls by this much from one point to the
	// next, in percent, lost a process.
	dropShare = 40
	// sideBySide is how far apart a kill and a sign of memory may be.
	sideBySide = 3 * time.Minute
	// bootEvery is the longest that gunicorn takes from one boot to the next when
	// it starts: it sleeps up to 0.1 s between two forks (arbiter.py,
	// spawn_workers). Twice as much again is allowed for the fork.
	bootEvery = 300 * time.Millisecond
)

var oomKill = Rule{
	Mode: OOMKill,
	Needs: anyOf(evidence.HasKernelLog, evidence.HasServerLog, evidence.HasPlatformLog, evidence.HasContainers, evidence.HasCgroupMem,
		evidence.HasVmstat),
	Judge: judgeOOM,
}

func judgeOOM(l *look, a *answer) {
	kernel, before := l.latelyKernel(justNow, evidence.OOMKill)
	if len(kernel) > 0 || recurring(l, before) {
		kernel, before = append(before, kernel...), nil
	}
	platform := l.EventsOf(evidence.PodOOMKilled)
	var told []*evidence.Container
	for i := range l.Containers {
		if c := &l.Containers[i]; c.OOMKilled == evidence.Yes || c.Reason == "OOMKilled" || c.LastReason == "OOMKilled" {
			told = append(told, c)
		}
	}
	path, count := l.killedInCgroup()
	if len(before) > 0 {
		var w words
		last := before[len(before)-1]
		a.note(Memory, "The kernel's log has "+w.count("OOM kills before", countOf(before), "OOM kill")+lastOf(len(before))+nameOf(last)+" "+l.ago(last)+": that is over.", &w)
	}
	switch {
	case len(kernel) > 0:
		a.found(kernelKill(l, kernel))
	case count.Above(0):
		a.found(counterKill(l, path, count))
	case len(platform)+len(told) > 0:
		a.found(platformKill(l, platform, told))
	default:
		signalKills(l, a)
		silentKills(l, a)
	}
}

// lastOf stands before the name of the last of several, or of the only one.
func lastOf(n int) string {
	if n == 1 {
		return ", of "
	}
	return ", the last of "
}

// killedInCgroup finds a cgroup whose counter of kills rose, or is not 0.
func (l *look) killedInCgroup() (string, evidence.Value) {
	for _, path := range l.CgroupPaths() {
		get := cgroup(path, func(g *evidence.Cgroup) evidence.Value { return g.Memory.EventOOMKill })
		if v := l.Delta(get).Else(l.Latest(get)); v.Above(0) {
			return path, v
		}
	}
	return "", evidence.Missing(evidence.NotSeen, "no cgroup counted a kill")
}

func kernelKill(l *look, kills []*evidence.Event) *Finding {
	f := &Finding{}
	last := kills[len(kills)-1]
	if last.PID > 0 {
		f.n("pid", evidence.Known(float64(last.PID), evidence.NoUnit, last.From))
	}
	who := nameOf(last)
	n := countOf(kills)
	switch {
	case last.OOMGlobal == evidence.Yes:
		f.What = "The kernel killed " + who + " because the whole machine was out of memory"
	case boundNodes(last) != "":
		f.What = "The kernel killed " + who + " because the NUMA nodes that it is bound to were out of memory (" + last.Reason + ")"
	case last.OOMGlobal == evidence.No:
		f.What = "The kernel killed " + who + " because its cgroup was at its limit"
		if last.Cgroup != "" {
			f.What += " (" + last.Cgroup + ")"
		}
	default:
		f.What = "The kernel killed " + who + " for want of memory"
	}
	if n.Above(1) {
		f.What += ", the last of " + f.count("OOM kills", n, "kill")
		if victims := victimsOf(kills); victims.Above(1) {
			f.What += ", in " + f.n("apps or programs killed", victims) + " different apps or programs"
		}
	}
	f.What += "."
	if last.AnonRSS.Known {
		f.What += " It held " + f.n("anon-rss", last.AnonRSS)
		if limit := last.MemoryLimit.Else(l.memoryLimit()); limit.Known && last.OOMGlobal != evidence.Yes && boundNodes(last) == "" {
			f.What += " of a limit of " + f.n("limit", limit)
		}
		f.What += "."
	}
	f.between(stretch(kills))
	f.sinceBoot(kills[0], last)
	f.What += l.longOver(f, last)
	f.level(Observed, "the kernel's own log says so")
	switch {
	case last.OOMGlobal == evidence.Yes:
		f.Cause = globalCause(l, f, last)
	case boundNodes(last) != "":
		boundKill(l, f, last)
	case last.OOMGlobal == evidence.No:
		f.Cause = "What runs in the cgroup needs more than its limit. Only the cgroup is short of memory, not the machine."
	default:
		f.Cause = "Memory was used up. Whether that of the machine or only what a cgroup may have is not told."
	}
	f.not("a crash of the program", "the kernel's line names the killer")
	l.blindPlatform(f)
	switch {
	case last.OOMGlobal == evidence.Yes:
		globalAdvice(l, f)
	case boundNodes(last) == "":
		oomAdvice(l, f)
	}
	f.Settle = []string{"Memory of each process over the hour before: which one grew."}
	return f
}

// victimsOf counts the different apps, or programs where no app is told, of kills.
func victimsOf(kills []*evidence.Event) evidence.Value {
	names := map[string]bool{}
	var from []evidence.Source
	for _, e := range kills {
		if name := cmp.Or(e.App, e.Comm); name != "" && !names[name] {
			names[name] = true
			from = append(from, e.From)
		}
	}
	return evidence.Known(float64(len(names)), evidence.Events, from...)
}

const (
	// again kills of one program within so long, the last not too long ago, are
	// no thing of the past.
	again       = 3
	againWithin = 24 * time.Hour
	againSince  = 2 * time.Hour
)

// recurring reports whether old kills are part of a state that lasts.
func recurring(l *look, before []*evidence.Event) bool {
	if len(before) < again {
		return false
	}
	last := before[len(before)-1]
	n := 0
	for _, e := range before {
		if age, ok := l.age(e); ok && e.Comm == last.Comm && age <= againWithin {
			n++
		}
	}
	age, ok := l.age(last)
	return n >= again && ok && age <= againSince
}

// longOver says of an event that was long before the end of the evidence that it
// lies in the past; otherwise it is empty.
func (l *look) longOver(f *Finding, e *evidence.Event) string {
	_, to := l.Interval()
	left := to.Sub(e.At)
	if e.At.IsZero() {
		left = l.logGoesOn(e)
	}
	if left <= justNow {
		return ""
	}
	f.not("a state that lasts", "the evidence goes on for "+lasting(left)+" after it without another; whether memory is short now, it does not tell")
	return " That was " + lasting(left) + " before the evidence ends, and none followed."
}

// logGoesOn is for how long the kernel's log goes on after an event of it, by the
// kernel's own time; 0 where that is not told.
func (l *look) logGoesOn(e *evidence.Event) time.Duration {
	for i := range l.Logs {
		if log := &l.Logs[i]; log.File == e.From.File && log.Uptime.Known && e.Uptime.Known {
			return time.Duration((log.Uptime.Number - e.Uptime.Number) * float64(time.Second))
		}
	}
	return 0
}

// sinceBoot says when events were that have the kernel's own time alone.
func (f *Finding) sinceBoot(first, last *evidence.Event) {
	if f.Span != "" || !first.Uptime.Known || !last.Uptime.Known {
		return
	}
	text := func(v evidence.Value) string { return lasting(time.Duration(v.Number * float64(time.Second))) }
	f.Span = text(first.Uptime)
	if first != last {
		f.Span += " to " + text(last.Uptime)
	}
	f.Span += " after the boot"
}

// ago says when an event was.
func (l *look) ago(e *evidence.Event) string {
	if !e.At.IsZero() {
		return "at " + e.At.UTC().Format("2006-01-02 15:04:05")
	}
	age, _ := l.age(e)
	return lasting(age.Round(time.Minute)) + " before the last reading"
}

// nameOf names the process that an event is about.
func nameOf(e *evidence.Event) string {
	who := "a process"
	if e.PID > 0 {
		who = "process " + strconv.Itoa(e.PID)
	}
	if e.Comm != "" {
		who += " (" + e.Comm + ")"
	} else if e.App != "" {
		who += " of " + e.App
	}
	return who
}

// blindPlatform says what the platform and the counters show of a kill: nothing,
// when the process was not the container's first or the cgroup is a new one.
func (l *look) blindPlatform(f *Finding) {
	for i := range l.Containers {
		c := &l.Containers[i]
		if c.OOMKilled == evidence.No {
			f.not("no OOM, since the platform says OOMKilled=false", "that flag is about the container's first process; here a child was killed, or the flag is of the start after it")
		}
	}
	for _, path := range l.CgroupPaths() {
		if g := l.lastCgroup(path); g.Memory.EventOOMKill.AtMost(0) {
			f.not("no OOM, since memory.events counts none", "the counters are those of the present cgroup, which began again at 0 with the restart")
			break
		}
	}
	for _, s := range l.SeriesOf("RestartCount") {
		if s.Max().Known {
			f.see("RestartCount", s.Max())
		}
	}
}

func counterKill(l *look, path string, count evidence.Value) *Finding {
	g := l.lastCgroup(path)
	f := &Finding{Subject: subjectOf(g)}
	f.What = "The kernel counts " + f.count("memory.events oom_kill", count, "kill") + " in " + cgroupName(g) + " because it was at its memory limit"
	if g.Memory.Max.Known && !g.Memory.Max.Unlimited {
		f.What += " of " + f.n("limit", g.Memory.Max.Value)
	}
	f.What += "."
	f.level(Observed, "the cgroup's own counter says so")
	f.over(l)
	if len(l.Readings) < 2 {
		f.Span = "at some time since the cgroup was made"
	}
	l.deathsOf(f, count)
	f.Cause = "What runs in the cgroup needs more than its limit."
	f.not("a machine that is out of memory", "the counter is of kills at the cgroup's own limit")
	oomAdvice(l, f)
	f.Settle = []string{"The kernel log: which process, when, and how large."}
	return f
}

func platformKill(l *look, events []*evidence.Event, containers []*evidence.Container) *Finding {
	f := &Finding{}
	switch {
	case len(containers) > 0:
		f.Subject = containers[0].Name
		f.What = calledAll(containers) + " killed for want of memory"
		if len(events) > 0 {
			f.What += ", in " + f.count("OOM kills", countOf(events), "event")
		}
	case events[len(events)-1].Origin == evidence.FromSystem:
		last := events[len(events)-1]
		f.Subject = last.App
		f.What = cmp.Or(last.Reason, "The system's log") + " reports " + f.count("OOM kills", countOf(events), "kill") + " for want of memory" + lastOf(len(events)) + nameOf(last)
		if last.AnonRSS.Known {
			f.What += ", which held " + f.n("VmRSS", last.AnonRSS)
		}
		if last.Pressure.Known {
			f.What += ", when work stood still for memory " + f.n("memory pressure", last.Pressure) + " of the time"
		}
	default:
		f.What = "The platform reports " + f.count("OOM kills", countOf(events), "kill") + " for want of memory"
	}
	f.What += "."
	for i := range l.Containers {
		c := &l.Containers[i]
		if slices.Contains(containers, c) || len(about(events, c.Name)) > 0 {
			f.see("memory limit", c.MemoryLimit)
			f.see("restarts", c.Restarts)
		}
	}
	f.between(stretch(events))
	if len(events) > 0 && len(containers) == 0 {
		f.What += l.longOver(f, events[len(events)-1])
	}
	f.level(Observed, "the platform's own account says so")
	f.Cause = "The container needs more than its memory limit."
	if len(containers) > 0 {
		f.Cause = called(containers[0]) + " needs more than its memory limit."
	}
	f.not("a crash of the program", "the platform names the reason")
	oomAdvice(l, f)
	if len(containers) == 0 && beforeKernel(events[len(events)-1]) {
		f.Cause = "More is in use than fits into the machine, or into the slice that is watched: the killer of the user space acts before the kernel has to, by what waits or what is left."
		f.not("a memory limit of its own", "this killer looks at the machine or a slice, not at the limit of what it kills")
		f.Now = []string{"See what grew (systemd-cgtop -m, ps by RSS); what was killed is the largest, and need not be the cause."}
	}
	f.Settle = []string{"The kernel log of the node: which process, and how large."}
	return f
}

// calledAll begins the sentence of who was killed, and who says so.
func calledAll(killed []*evidence.Container) string {
	who, noun := "The platform reports that", "container"
	if killed[0].Platform == evidence.FromSystem {
		who, noun = "systemd reports that", "unit"
	}
	if len(killed) == 1 {
		name := called(killed[0])
		return who + " " + strings.ToLower(name[:1]) + name[1:] + " was"
	}
	var names []string
	for _, c := range killed {
		if c.Name != "" {
			names = append(names, c.Name)
		}
	}
	return who + " " + plural(noun) + " were (" + strings.Join(names, ", ") + ")"
}

// beforeKernel reports whether a kill is of systemd-oomd or earlyoom.
func beforeKernel(e *evidence.Event) bool {
	return e.Origin == evidence.FromSystem && (e.Reason == "systemd-oomd" || e.Reason == "earlyoom")
}

// memoryLimit is the limit that holds for the app, as far as the evidence
// tells.
func (l *look) memoryLimit() evidence.Value {
	for _, path := range l.CgroupPaths() {
		if m := l.lastCgroup(path).Memory.Max; m.Known && !m.Unlimited {
			return m.Value
		}
	}
	for i := range l.Containers {
		if v := l.Containers[i].MemoryLimit; v.Above(0) {
			return v
		}
	}
	return evidence.Missing(evidence.NotSeen, "no limit is known")
}

// oomAdvice says what to do about kills; advice on workers counts their memory.
func oomAdvice(l *look, f *Finding) {
	f.Now = []string{"Give it more memory, or let it run fewer workers: each worker brings its own copy of what the app holds."}
	if workers := l.poolWorkers(); workers.Above(1) {
		text := "It runs " + f.count("workers", workers, "worker")
		if limit := l.memoryLimit(); limit.Known {
			each := evidence.Known(limit.Number/workers.Number, evidence.Bytes, append(limit.From, workers.From...)...)
			text += ": each may take " + f.n("limit per worker", each) + " of the limit at most, its peak included"
		}
		f.Now = append(f.Now, text+".")
	}
	f.Properly = []string{"Set the limit to workers × peak memory of one, plus the master and a reserve; measure the peak, for averages of a minute hide it.",
		"If a worker grows without end, find the leak; --max-requests only hides it.",
		"Watch memory.events and the server's log: the platform's restart count does not show this."}
}
