package doctor

import (
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
	limit, told := l.workerLimit()
	for _, c := range l.crews() {
		booting := map[*life]bool{}
		if lost := c.lostBooting(limit); len(lost) >= bootRounds && generations(lost) {
			for _, w := range lost {
				booting[w] = true
			}
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
		f := &Finding{Subject: c.subject()}
		f.What = "The server" + ofApp(c.subject()) + " gave up " + f.count("worker time-outs", countOf(gone), "worker") + " of its own that did not report in time"
		if len(killed) > 0 {
			f.What += ", and killed " + f.n("killed after a time-out", countOf(killed)) + " of them with SIGKILL"
		}
		f.What += ": a request or a boot took longer than the server's time-out."
		f.between(stretch(gone))
		f.level(Observed, "the server's own log says so")
		f.Cause = "A sync worker serves one request at a time and cannot report while it does. What held it (a slow backend, a long computation, a machine short of memory) is not in the log."
		if told {
			f.see("--timeout", l.start().Timeout)
		} else {
			f.see("the server's time-out", gone[len(gone)-1].Limit)
		}
		if len(killed) > 0 {
			f.not("out of memory", "SIGKILL came from the server itself, right after WORKER TIMEOUT of the same worker; the words 'Perhaps out of memory?' are printed for every SIGKILL")
		}
		f.not("a crash of the program", "the server ended the worker because it did not report in time, and says so")
		f.Now = []string{"Find the request that takes so long (access log, APM), or the backend that it waits for.",
			"Raise --timeout only if requests may really take that long."}
		f.Properly = []string{"Give calls to backends a time-out shorter than the worker's.", "Move long work out of requests, or use threads (gthread), which report while they work."}
		f.Settle = []string{"A stack of the worker while it hangs (py-spy dump).", "Times of the requests just before the time-out."}
		a.found(f)
	}
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
	for i := range c.lives {
		if w := &c.lives[i]; w.timeout != nil || w.end != nil && !c.stopping(w.end) && w.end.Kind != evidence.WorkerExit {
			return
		}
	}
	var w words
	boots := evidence.Known(float64(len(c.lives)), evidence.Events, evidence.Source{File: c.file})
	a.fine(Workers, w.count("boots", boots, "worker")+" booted, and none was killed or given up in this log.", &w)
}
