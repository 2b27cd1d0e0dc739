package doctor

import (
	"slices"
	"strings"

	"brink/internal/evidence"
)

// aboutMemory are the modes that say themselves why memory is refused.
var aboutMemory = []Mode{StrictOvercommit, OOMKill, SwapThrash, FileThrash, MemoryPressure}

// memoryRefused says that programs were refused memory, where no finding says why.
// The kernel refuses what is obviously more than there is in every mode but 1.
//
// https://docs.kernel.org/mm/overcommit-accounting.html
func memoryRefused(l *look, r *Report) {
	said := only(refusals(l), func(e *evidence.Event) bool { return !noThreads().MatchString(e.Text) })
	if len(said) == 0 || slices.ContainsFunc(r.Findings, func(f Finding) bool { return slices.Contains(aboutMemory, f.Mode) || saysSame(&f, said) }) {
		return
	}
	var w words
	a := &answer{}
	a.suspect(Memory, "A program was refused memory (ENOMEM), and says so in "+w.count("refusals", countOf(said), "line")+
		": it asked for more at once than the kernel would promise, as the fork of a large process does, or has a limit of its own (ulimit -v, the number of its mappings).",
		"vm.overcommit_memory, Committed_AS and MemAvailable at that moment, and how large the program is.", &w)
	r.Unsure = append(r.Unsure, a.unsure...)
}

// saysSame reports whether a finding rests on one of some lines.
func saysSame(f *Finding, lines []*evidence.Event) bool {
	return slices.ContainsFunc(f.Numbers, func(n Number) bool {
		return slices.ContainsFunc(n.From, func(s evidence.Source) bool {
			return slices.ContainsFunc(lines, func(e *evidence.Event) bool { return e.From.File == s.File && e.From.Line == s.Line })
		})
	})
}

// noThreads are words of programs that could not make a thread or a process: Java,
// Python, Ruby, Go and the C library's own word for EAGAIN.
var noThreads = expression(`(?i)unable to create (?:new )?native thread|can't start new thread|can't create Thread|pthread_create failed|` +
	`failed to create new OS thread|fork\S*:? .*Resource temporarily unavailable`)

// threadsRefused suspects a limit of threads and processes: where a program could not
// make one, which is no want of memory, whatever the runtime calls it, and where
// a cgroup has as many as it may.
//
// setrlimit(2) (RLIMIT_NPROC), https://docs.kernel.org/admin-guide/cgroup-v2.html (pids.max)
func threadsRefused(l *look, r *Report) {
	a := &answer{}
	var w words
	full := l.fullOfTasks(&w)
	none := only(l.EventsOf(evidence.AppError, evidence.AppLoadFailed, evidence.AppProgress, evidence.WorkerBootFailed), func(e *evidence.Event) bool {
		return e.Reason != evidence.RefusedMemory && noThreads().MatchString(e.Text)
	})
	switch {
	case len(none) == 0 && full == "":
		return
	case len(none) == 0:
		a.suspect(Workers, full+" What needs another thread or process fails.", "The logs of what runs in it (EAGAIN, Resource temporarily unavailable), and its threads by name (ps -L).", &w)
	case full != "":
		a.suspect(Starts, "A program cannot make further threads, and says so in "+w.count("threads refused", countOf(none), "line")+". "+full+
			" It is no want of memory, whatever the runtime calls it.",
			"Its threads by name (ps -L, jstack): whether they grow without end, or the limit is too small.", &w)
	default:
		a.suspect(Starts, "A program cannot make further threads, and says so in "+w.count("threads refused", countOf(none), "line")+
			": their number is limited (pids.max of the cgroup, TasksMax= of the unit, ulimit -u of the user). It is no want of memory, whatever the runtime calls it.",
			"pids.current, pids.max and pids.events of its cgroup, and its threads by name (ps -L, jstack).", &w)
	}
	r.Unsure = append(r.Unsure, a.unsure...)
}

// fullOfTasks tells of a cgroup that has as many tasks as it may, or was refused some
// between the readings; otherwise it is empty.
func (l *look) fullOfTasks(w *words) string {
	for _, path := range l.CgroupPaths() {
		g := l.lastCgroup(path)
		p := &g.PIDs
		lately := l.Delta(cgroup(path, func(g *evidence.Cgroup) evidence.Value { return g.PIDs.Refused }))
		if !p.Max.Known || p.Max.Unlimited || !lately.Above(0) && !p.Current.AtLeast(p.Max.Number) {
			continue
		}
		text := cgroupName(g) + " has " + w.n("pids.current", p.Current) + " of the " + w.n("pids.max", p.Max.Value) + " tasks that it may, threads included"
		if lately.Above(0) {
			text += "; " + w.count("pids.events max", lately, "fork") + were(lately) + " refused between the readings"
		} else if p.Refused.Above(0) {
			text += "; " + w.count("pids.events max", p.Refused, "fork") + were(p.Refused) + " refused since it was made"
		}
		return strings.ToUpper(text[:1]) + text[1:] + "."
	}
	return ""
}
