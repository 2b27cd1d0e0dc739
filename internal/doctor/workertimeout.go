package doctor

import (
	"cmp"
	"slices"

	"brink/internal/evidence"
)

var workerTimeout = Rule{
	Mode:  WorkerTimeout,
	Needs: anyOf(evidence.HasServerLog),
	Judge: judgeWorkerTimeout,
}

// judgeWorkerTimeout looks at workers that their own server gave up, but for
// those that were lost while they booted.
func judgeWorkerTimeout(l *look, a *answer) {
	for _, c := range l.crews() {
		limit, told := c.limit(l)
		booting := map[*life]bool{}
		for _, w := range c.lostInRounds(limit) {
			booting[w] = true
		}
		var gone, killed []*evidence.Event
		for i := range c.lives {
			w := &c.lives[i]
			if w.timeout == nil || booting[w] {
				continue
			}
			gone = append(gone, w.timeout)
			if w.killed() {
				killed = append(killed, w.end)
			}
		}
		if len(gone) == 0 {
			c.quiet(a)
			continue
		}
		f, w := &Finding{Subject: c.subject()}, c.timeouts()
		f.What = "The server" + ofApp(c.subject()) + " gave up " + f.count("worker time-outs", countOf(gone), "worker") + " of its own that " + cmp.Or(w.did, "did not report in time")
		switch {
		case len(killed) == 1 && len(gone) == 1:
			f.see("killed after a time-out", countOf(killed))
			f.What += ", and killed it with SIGKILL"
		case len(killed) > 0:
			f.What += ", and killed " + f.n("killed after a time-out", countOf(killed)) + " of them with SIGKILL"
		}
		f.What += ": " + cmp.Or(w.took, "a request or a boot took longer than the server's time-out")
		f.between(stretch(gone))
		f.level(Observed, "the server's own log says so")
		if v := latestLimit(gone); v.Known {
			f.What += " of " + f.n("the server's time-out", v)
		} else if told && l.start() != nil {
			f.see("--timeout", l.start().Timeout)
		}
		f.What += "."
		timeoutAdvice(l, f, c, killed)
		a.found(f)
	}
}

// latestLimit is the last limit that lines about workers that were given up name,
// missing if none does: a log may be of two releases, of which one names it.
func latestLimit(gone []*evidence.Event) evidence.Value {
	for _, e := range slices.Backward(gone) {
		if e.Limit.Known {
			return e.Limit
		}
	}
	return evidence.Missing(evidence.NotSeen, "no line names the limit")
}

// ofApp names an app behind a noun, where it has a name.
func ofApp(app string) string {
	if app == "" {
		return ""
	}
	return " of " + app
}

// quiet says that a log tells of no worker that was lost. Releases of gunicorn
// that do not log it cannot be asked, nor can a log without a start.
func (c *crew) quiet(a *answer) {
	if !c.tellsEnds() && (c.version == "" || quietVersion(c.version)) || len(c.lives) == 0 {
		return
	}
	booted := 0
	for i := range c.lives {
		w := &c.lives[i]
		switch {
		case w.timeout != nil:
			return
		case w.end == nil:
		case w.end.Kind == evidence.WorkerBootFailed || w.end.Code.Above(0):
			if !c.startedSince(w.end) {
				return
			}
			continue
		case !c.stopping(w.end) && w.end.Kind != evidence.WorkerExit:
			return
		}
		booted++
	}
	if booted == 0 {
		return
	}
	var w words
	boots := evidence.Known(float64(booted), evidence.Events, evidence.Source{File: c.file})
	text := w.count("boots", boots, "worker")
	if c.app != "" {
		text += " of " + c.app
	}
	a.fineOf(c.app, Workers, text+" booted, and none was killed or given up in this log.", &w)
}

// startedSince reports whether the server was started again after something
// happened.
func (c *crew) startedSince(e *evidence.Event) bool {
	return slices.ContainsFunc(c.starts, func(s *evidence.Event) bool {
		if s.At.IsZero() || e.At.IsZero() {
			return s.From.File == e.From.File && s.From.Line > e.From.Line
		}
		return s.At.After(e.At)
	})
}
