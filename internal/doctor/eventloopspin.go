package doctor

import (
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
	for i := range r.Listeners {
		s := &r.Listeners[i]
		lasts := l.leastQueue(s).AtLeast(leftBehind)
		if !s.Full() && !lasts || !loopProgram(s.Process) {
			continue
		}
		for j := range l.Processes {
			p := &l.Processes[j]
			if s.PID > 0 && p.PID != s.PID || s.PID == 0 && !loopProgram(p.Name) {
				continue
			}
			if isStopped(p.State) { // its share of the CPU may be that of its whole life
				var w words
				a.suspect(Workers, p.Name+" is stopped (state T), and its accept queue holds "+w.n("accept queue", s.Queue)+": a signal (SIGSTOP, ctrl-Z) or a debugger holds it.",
					"Who stopped it. kill -CONT lets it go.", &w)
				return
			}
			if !p.CPU.AtLeast(spinning) {
				continue
			}
			a.found(l.spinFinding(s, p, lasts))
			return
		}
	}
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
