package doctor

import (
	"cmp"
	"strings"

	"brink/internal/evidence"
)

const (
	// spinning is in percent of one CPU.
	spinning = 90
	// leftBehind is how many connections wait in front of a loop at every look for
	// it not to turn, or to be far behind. Node.js and libuv accept until nothing
	// is left whenever the loop turns, so that a queue of this length is what came
	// during one turn; how many is a guess.
	//
	// https://docs.libuv.org/en/v1.x/design.html
	leftBehind = 10
)

// spinningLoop looks at an accept queue in front of a program with one loop that
// keeps a CPU busy: a full one, or one that is long at each of several looks.
func spinningLoop(l *look, a *answer) {
	r := l.Last()
	if r == nil {
		return
	}
	var all []*evidence.Listener
	for i := range r.Listeners {
		s := &r.Listeners[i]
		if loopProgram(s.Process) && (s.Full() || l.leastQueue(s).AtLeast(leftBehind)) {
			all = append(all, s)
		}
	}
	for _, s := range all {
		p := l.loopOf(s)
		switch {
		case p == nil:
		case isStopped(p.State): // its share of the CPU may be that of its whole life
			var w words
			a.suspect(Workers, p.Name+" is stopped (state T), and its accept queue holds "+w.n("accept queue", s.Queue)+": a signal (SIGSTOP, ctrl-Z) or a debugger holds it.",
				"Who stopped it. kill -CONT lets it go.", &w)
		case p.CPU.AtLeast(spinning):
			f := l.spinFinding(s, p, l.leastQueue(s).AtLeast(leftBehind))
			if s.PID == 0 && len(all) > 1 {
				f.level(Correlated, "several loops have such a queue, and which of their processes is the busy one, nothing here tells: it is said of each")
			}
			a.found(f)
		}
	}
}

// loopOf is the process behind a listener: that of its pid, or the busiest of its
// kind where the source has no pid, one that is stopped if none spins; nil if none
// is seen.
func (l *look) loopOf(s *evidence.Listener) *evidence.Process {
	var best, stopped *evidence.Process
	for i := range l.Processes {
		p := &l.Processes[i]
		switch {
		case s.PID > 0 && p.PID == s.PID:
			return p
		case s.PID > 0 || !loopProgram(p.Name):
		case isStopped(p.State):
			stopped = cmp.Or(stopped, p)
		case best == nil || p.CPU.Known && !best.CPU.AtLeast(p.CPU.Number):
			best = p
		}
	}
	if best == nil || stopped != nil && !best.CPU.AtLeast(spinning) {
		return stopped
	}
	return best
}

func (l *look) spinFinding(s *evidence.Listener, p *evidence.Process, lasts bool) *Finding {
	f := &Finding{Subject: s.Address, places: []string{s.Address}}
	f.What = "The event loop of " + p.Name + " does not turn: its process uses " + f.n("CPU", p.CPU) + " of a CPU, and its accept queue "
	if lasts {
		f.What += "holds " + f.n("accept queue", s.Queue) + " connections, and " + f.n("least accept queue", l.leastQueue(s)) + " or more at every look."
		f.over(l)
		f.level(Inferred, "a queue that a loop would empty at each turn was long at several looks, and its process is busy; what it does was not seen")
	} else {
		f.What += "is full (" + f.n("accept queue", s.Queue) + " of " + f.n("backlog", s.Backlog) + ")."
		f.Span = "at the one instant that was read"
		f.level(Inferred, "a full queue and a busy loop at one instant; how long it stood was not seen")
	}
	f.Cause = "Something computes on the loop without a break."
	f.not("a backlog that is too small", "a loop that turns accepts within milliseconds")
	loopAdvice(f)
	return f
}

// leastQueue is the least that a listener's queue held at two looks or more.
func (l *look) leastQueue(s *evidence.Listener) evidence.Value {
	least, looks := evidence.Missing(evidence.OneReading, "it was looked at once"), 0
	for i := range l.Readings {
		at := l.Readings[i].Listener(s.Address)
		if at == nil || !at.Queue.Known {
			continue
		}
		if looks++; looks == 1 || at.Queue.Number < least.Number {
			least = at.Queue
		}
	}
	if looks < 2 {
		return evidence.Missing(evidence.OneReading, "it was looked at once")
	}
	return least
}

func loopProgram(name string) bool {
	return strings.HasPrefix(name, "node") || strings.Contains(name, "uvicorn")
}
