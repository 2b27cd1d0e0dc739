package doctor

import (
	"slices"
	"strings"

	"brink/internal/evidence"
)

// countedEnds says how often an app ended: by the lines that are here, and by
// the platform's own count, of which they are a part.
func countedEnds(l *look, f *Finding, name string, ends []*evidence.Event) string {
	c := l.containerOf(name)
	code, signal, restarts := evidence.Value{}, evidence.Value{}, evidence.Value{}
	text := ""
	if len(ends) > 0 {
		last := ends[len(ends)-1]
		code, restarts = last.Code, last.Counter
		if last.Signal > 0 {
			signal = evidence.Known(float64(last.Signal), evidence.NoUnit, last.From)
		}
		text = " (" + f.count("ends", countOf(ends), "end") + " here"
	}
	if c != nil {
		code, restarts = code.Else(c.LastExitCode).Else(c.ExitCode), restarts.Else(c.Restarts)
	}
	if code.Known && text == "" {
		text = " (the last time with exit code " + f.n("exit code", code)
	} else if code.Known {
		text += ", the last with exit code " + f.n("exit code", code)
	} else if signal.Known && text != "" {
		text += ", the last by signal " + signalName(f.n("signal", signal))
	}
	if text != "" {
		text += ")"
	}
	if restarts.Known {
		text += ", " + f.count("restarts", restarts, "time") + " by the platform's own count"
	}
	return text
}

// containerOf is the container of an app or a pod that was restarted most, nil
// if none is told of.
func (l *look) containerOf(name string) *evidence.Container {
	var most *evidence.Container
	for _, c := range l.distinctContainers() {
		if name != "" && c.Name != "" && sameProgram(c.Name, name) && c.Restarts.Known && (most == nil || c.Restarts.Number > most.Restarts.Number) {
			most = c
		}
	}
	return most
}

// distinctContainers are the containers of the case, each once: of what several
// inputs tell of one (docker ps and docker inspect, kubectl get and describe),
// that which counts the most restarts, or the first.
func (l *look) distinctContainers() []*evidence.Container {
	var all []*evidence.Container
	for i := range l.Containers {
		c := &l.Containers[i]
		at := slices.IndexFunc(all, func(d *evidence.Container) bool {
			return c.Name != "" && d.Name != "" && (d.Name == c.Name || strings.HasPrefix(d.Name, c.Name+"/") || strings.HasPrefix(c.Name, d.Name+"/"))
		})
		switch {
		case at < 0:
			all = append(all, c)
		case !all[at].Restarts.Known || c.Restarts.Above(all[at].Restarts.Number) || strings.HasPrefix(c.Name, all[at].Name+"/") && c.Restarts.AtLeast(all[at].Restarts.Number):
			all[at] = c
		}
	}
	return all
}

// otherLoops judges the containers that loop beside those of which the events
// tell.
func otherLoops(l *look, a *answer, told []string) {
	for _, c := range l.distinctContainers() {
		if slices.ContainsFunc(told, func(name string) bool { return sameProgram(c.Name, name) }) {
			continue
		}
		if c.Reason == "CrashLoopBackOff" {
			a.found(containerLoop(l, c))
		}
	}
}

// names reports whether a finding names a number.
func (w *words) names(name string) bool {
	return slices.ContainsFunc(w.numbers, func(n Number) bool { return n.Name == name })
}

// faults are the signals that a program brings on itself.
var faults = map[float64]string{4: "4 (ILL)", 6: "6 (ABRT)", 7: "7 (BUS)", 8: "8 (FPE)", 11: "11 (SEGV)"}

// endedBy names the signal of an exit code above 128 that is the program's own fault.
func (f *Finding) endedBy() (signal string, ok bool) {
	for _, n := range f.words.numbers {
		switch n.Name {
		case "exit code":
			signal, ok = faults[n.Value-128]
		case "signal":
			signal, ok = faults[n.Value]
		}
	}
	return signal, ok
}

// killedOutright reports whether the last end that is told was by SIGKILL, which no
// program brings on itself.
func (f *Finding) killedOutright() bool {
	return slices.ContainsFunc(f.words.numbers, func(n Number) bool {
		return n.Name == "exit code" && n.Value == 137 || n.Name == "signal" && n.Value == 9
	})
}

// loopCause tells why it ends, as far as anything tells. end is its last.
func loopCause(l *look, f *Finding, end loopEnd) {
	if endedByUnit(f, end) {
		return
	}
	if kills, late := about(probeKills(l), f.Subject), about(probeTimeouts(l), f.Subject); len(kills)+len(late) > 0 {
		f.Cause = "Its health check ends it: the process lives and does not answer in time."
		if len(late) == 0 {
			f.Cause = "Its health check ends it: the check is refused or answered with an error."
		}
		f.not("a crash of the code", "the platform ends it after failed health checks")
		f.Now = []string{"Give the health check a longer time-out and more failures, and a startup probe."}
		f.Properly = []string{"Find what keeps it from answering: CPU quota, busy workers, a blocked loop."}
		f.Settle = []string{"cpu.stat (nr_throttled) and the workers' state while the health check fails."}
		return
	}
	if kills := about(l.EventsOf(evidence.PodOOMKilled), f.Subject); len(kills) > 0 || end.result == "OOMKilled" {
		f.Cause = "It is killed for want of memory, as the platform says of its last end."
		if len(kills) > 0 {
			f.Cause = "It is killed for want of memory, which the platform told " + f.count("OOM kills", countOf(kills), "time") + "."
		}
		f.not("an exception in the program", "it was ended from outside")
		f.Now = []string{"Give it more memory, or let it run fewer workers."}
		f.Properly = []string{"Set the memory limit by the peak."}
		f.Settle = []string{"The kernel log of the machine: which process, and how large."}
		return
	}
	if f.killedOutright() || slices.ContainsFunc(l.Containers, func(c evidence.Container) bool {
		return sameProgram(c.Name, f.Subject) && c.LastExitCode.Known && c.LastExitCode.Number == 137
	}) {
		f.Cause = "It was ended by SIGKILL (signal 9, exit code 137): for want of memory, or because it did not end in time when it was told to."
		f.not("an exception in the program", "that would leave another exit code")
		f.Now = []string{"Look for an OOM kill in the kernel log of the node, and for failed health checks in the events."}
		f.Properly = []string{"Set the memory limit by the peak; let the program end on SIGTERM."}
		f.Settle = []string{"The kernel log of the node at the time of the end."}
		return
	}
	f.not("a start that is too slow", "it ends; it is not waited for")
	f.Properly = []string{"Start the same image with the same command and settings elsewhere."}
	if end.unit {
		f.Properly = []string{"Start the same command by hand, as the unit's user and with its settings, before it is enabled."}
	}
	if e := l.lastError(f.Subject, end.at); e != nil {
		f.What += quoted(e)
		if neverExecuted(f, e) {
			return
		}
		f.Cause = "It ends by itself, by the error that its own log names."
		f.Now = []string{"Provide what that line names, or correct it."}
		f.Settle = []string{"One start after that was put right."}
		return
	}
	if sig, ok := f.endedBy(); ok {
		faultCause(f, sig, l.faultOf(f.Subject, end.at))
		return
	}
	f.Cause = "It ends by itself; why is not in this evidence."
	f.Now = []string{"Read the last lines of the app's own log before each end."}
	f.Settle = []string{"The app's own log, and the kernel log for OOM kills."}
	if !f.names("exit code") {
		f.Settle = append(f.Settle, "Its exit code.")
	}
}

// signalName adds to a signal's number what it is called, where it is one that a
// program brings on itself.
func signalName(number string) string {
	for n, name := range faults {
		if number == decimals(n) {
			return name
		}
	}
	return number
}
