package doctor

import (
	"brink/internal/evidence"
)

// globalCause says what was used up when the whole machine was out of memory.
func globalCause(l *look, f *Finding, last *evidence.Event) string {
	what := "The machine's memory, and its swap if it has any, were used up"
	switch swap := last.Swap.Else(l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.SwapTotal })); {
	case swap.AtMost(0):
		f.see("Total swap", swap)
		what = "The machine's memory was used up, and it has no swap"
	case swap.Above(0):
		what = "The machine's memory and its swap of " + f.n("Total swap", swap) + " were used up"
	}
	return what + "; the kernel takes the process with the highest score, which need not be the one that grew."
}

// globalAdvice says what to do about kills for want of the machine's memory, in
// which no limit had a part.
func globalAdvice(l *look, f *Finding) {
	f.Now = []string{"Stop or move what is not needed; see what grew (ps by RSS, systemd-cgtop -m)."}
	if workers := l.poolWorkers(); workers.Above(1) {
		f.Now = append(f.Now, "It runs "+f.count("workers", workers, "worker")+": fewer of them need less, each brings its own copy of what the app holds.")
	}
	f.Properly = []string{"Let everything that runs on the machine fit together at its peak: workers × peak memory of one, for every app, beside the system's share. Or a larger machine.",
		"Give each service a limit (MemoryMax=, a container's), so that what grows is killed and not its neighbour.",
		"If a worker grows without end, find the leak; --max-requests only hides it."}
}

// deathsOf adds the workers that a server's log has as ended by SIGKILL, not its
// own, where a cgroup has counted as many kills or more.
func (l *look) deathsOf(f *Finding, count evidence.Value) {
	var deaths []*evidence.Event
	for _, c := range l.crews() {
		for i := range c.lives {
			if w := &c.lives[i]; w.killed() && !c.ownKill(w) {
				deaths = append(deaths, w.end)
			}
		}
	}
	if n := countOf(deaths); len(deaths) == 0 || n.Number > count.Number {
		return
	}
	f.What += " The server's log has " + f.count("workers ended by SIGKILL", countOf(deaths), "worker") + " that ended by SIGKILL, and not its own."
	if from, to := stretch(deaths); len(l.Readings) < 2 && !from.IsZero() {
		f.between(from, to)
	}
}
