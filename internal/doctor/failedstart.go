package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"brink/internal/evidence"
)

var failedStart = Rule{
	Mode:  FailedStart,
	Needs: anyOf(evidence.HasPlatformLog, evidence.HasServerLog, evidence.HasContainers),
	Judge: func(l *look, a *answer) {
		neverRan(l, a)
		judgeRefusals(l, a)
		for _, t := range l.tries() {
			judgeStart(l, a, t)
		}
	},
}

// judgeStart tells why an app did not get up: what it says itself counts most,
// then where it listens, then that it ended, and last that it never answered.
func judgeStart(l *look, a *answer, t *try) {
	trouble := len(t.late) + len(t.pinged) + len(t.exits) + len(t.pull) + len(t.failed) + len(t.inUse)
	switch {
	case trouble == 0:
		if len(t.ready) > 0 {
			var w words
			text := strings.TrimSpace("The app "+t.app) + " got up"
			if v := t.ready[len(t.ready)-1].Elapsed; v.Known {
				text += " after " + w.n("start time", v)
			}
			a.fineOf(t.app, Starts, text+".", &w)
		}
	case t.recovered():
		var w words
		a.note(Starts, "The app "+t.app+" failed to start and got up later ("+w.count("failed starts", countOf(slices.Concat(t.late, t.exits)), "failure")+").", &w)
	case t.reloaded():
		var w words
		a.note(Starts, "The app could not be loaded at some time ("+w.count("load failures", countOf(slices.Concat(t.failed, t.inUse)), "line")+"), and listened again later.", &w)
	case len(t.failed) > 0:
		a.found(loadFailure(l, t))
	case len(t.inUse) > 0:
		a.found(portTaken(t))
	case len(t.pull) > 0:
		a.found(noImage(t))
	case len(t.late)+len(t.pinged) > 0:
		judgeSilence(l, a, t)
	case len(t.exits) > 0 && len(t.ready) == 0 && !l.killedForMemory(t) && !l.ranBefore(t):
		a.found(earlyExit(l, t))
	case l.unclearEnd(t):
		var w words
		last := t.exits[len(t.exits)-1]
		a.suspect(Starts, "The container "+t.app+" ended with exit code "+w.n("exit code", last.Code)+"; whether it was still starting, and why, is not told.",
			"The last lines of its own log (docker logs), and its events from the start on.", &w)
	}
}

// unclearEnd reports whether docker tells of an end with a fault of which neither a
// loop nor the container's state tells.
func (l *look) unclearEnd(t *try) bool {
	n := len(t.exits)
	return n > 0 && n < loopExits && t.app != "" && t.exits[n-1].Origin == evidence.FromDocker && t.exits[n-1].Code.Above(0) && t.exits[n-1].Code.Below(128) &&
		len(t.ready) == 0 && !l.killedForMemory(t) && l.containerOf(t.app) == nil
}

// killedForMemory reports whether each end of an app is a kill for want of memory,
// of which another rule tells.
func (l *look) killedForMemory(t *try) bool {
	kills := about(l.EventsOf(evidence.PodOOMKilled), t.app)
	return !slices.ContainsFunc(t.exits, func(e *evidence.Event) bool {
		return !slices.ContainsFunc(kills, func(k *evidence.Event) bool { return !k.At.IsZero() && gap(k, e).Abs() < memoryKill })
	})
}

// ranBefore reports whether an app had run for longer than any start before each of
// its ends, so that these are no failures to start. docker and compose tell of every
// end, whether or not it was a start: of theirs something must tell how long it ran.
func (l *look) ranBefore(t *try) bool {
	starts := only(l.EventsOf(evidence.ContainerStarted), func(e *evidence.Event) bool { return siteName(e.App) == t.app })
	return !slices.ContainsFunc(t.exits, func(e *evidence.Event) bool {
		ran := e.Elapsed
		for _, s := range starts {
			if d := gap(s, e); d > 0 && !e.Elapsed.Known {
				ran = evidence.Known(d.Seconds(), evidence.Seconds, s.From, e.From) // since the last of them
			}
		}
		return !ran.AtLeast(slowBoot) && (ran.Known || e.Origin != evidence.FromDocker)
	})
}

// memoryKill is how far the platform's word of a kill may be from that of the end.
const memoryKill = 10 * time.Second

func loadFailure(l *look, t *try) *Finding {
	f := &Finding{Subject: t.app}
	last := t.failed[len(t.failed)-1]
	f.What = "The app cannot be loaded: " + f.count("load failures", countOf(t.failed), "line") + " of the server's log"
	if t.nameless {
		f.What += ", which does not say of which app"
	}
	if last.Code.Known {
		f.What += ", with exit code " + f.n("exit code", last.Code)
	}
	f.What += "."
	f.between(stretch(t.failed))
	f.level(Observed, "the server's own log says so")
	f.Cause = "An import, a setting or a module name that is wrong, or a file that is missing."
	if last.Code.Known {
		f.Cause = strings.TrimSuffix(f.Cause, ".") + ": gunicorn's codes 3 and 4 mean that a worker or the app could not be loaded."
	}
	f.not("too little memory", "that would be a signal, and no error that the program prints")
	f.not("a slow start", "it ended by itself")
	f.Now = []string{"Read the lines around these in the same log: the exception names the file."}
	f.Settle = []string{"The traceback in the console log."}
	e := last
	if e.Error == "" {
		e = l.lastError(cmp.Or(last.App, t.app), last.At)
	}
	if e != nil {
		f.What += quoted(e)
		f.Now = []string{"Provide what that line names, or correct the name."}
		f.Settle = []string{"One start after that was put right."}
	}
	f.Properly = []string{"Start the same image with the same command elsewhere before it is deployed."}
	return f
}

func portTaken(t *try) *Finding {
	f := &Finding{Subject: t.app}
	f.What = "The server cannot listen: its address is in use (" + t.inUse[len(t.inUse)-1].Address + ", " + f.count("refused binds", countOf(t.inUse), "line") + ")."
	f.between(stretch(t.inUse))
	f.level(Observed, "the server's own log says so")
	f.Cause = "Another process has the port: an old copy that still runs, or two commands that start the same server."
	f.not("a slow start", "it never came to listen")
	f.Now = []string{"Find who listens there (ss -ltnp) and end it."}
	f.Properly = []string{"One process per port; let the old one end before the new one starts."}
	f.Settle = []string{"ss -ltnp on the machine."}
	return f
}

func noImage(t *try) *Finding {
	f := noImageFinding(t.app)
	f.What = "The image cannot be pulled (" + f.count("failed pulls", countOf(t.pull), "line") + ")."
	f.between(stretch(t.pull))
	f.level(Observed, "the platform's own log says so")
	return f
}

// noImageFinding is what holds of every image that cannot be pulled.
func noImageFinding(subject string) *Finding {
	f := &Finding{Subject: subject}
	f.Cause = "A wrong name or tag, missing credentials, or a registry that cannot be reached."
	f.not("the app", "it was never started")
	f.Now = []string{"Pull the same name by hand with the same credentials."}
	f.Properly = []string{"Pin the image by digest, and give the platform an identity that may pull."}
	f.Settle = []string{"The registry's answer in the platform's log."}
	return f
}

func earlyExit(l *look, t *try) *Finding {
	f := &Finding{Subject: t.app}
	f.What = "The app ended by itself while it started"
	lasted := t.lasted()
	if lasted.Known {
		f.What += ", after about " + f.n("lasted", lasted)
	}
	last := t.exits[len(t.exits)-1]
	if last.Code.Known {
		f.What += ", with exit code " + f.n("exit code", last.Code)
	}
	if n := countOf(t.exits); n.Above(1) {
		f.What += ", " + f.n("exits", n) + " times"
	}
	f.What += "."
	f.between(stretch(slices.Concat(t.waits, t.exits)))
	f.level(Observed, "the platform's own log says that the container has exited")
	f.Cause = "A crash or a program that is done at once: a wrong start command, an import error, a missing setting. The platform's log does not say which."
	f.Now = []string{"Read the console log (docker log of the app itself) of those seconds."}
	f.Settle = []string{"The app's console log and its exit code."}
	if e := l.lastError(t.app, last.At); e != nil {
		f.What += quoted(e)
		f.Cause = "It cannot run with what it is given; that line says what is wrong or missing."
		f.Now = []string{"Provide what that line names, or correct the name."}
		f.Settle = []string{"One start after that was put right."}
	}
	limit, _ := l.startLimit()
	if lasted.Below(limit.Number) {
		f.not("a start that took too long", "it ended after "+f.n("lasted", lasted)+", well before any limit")
	} else if !lasted.Known {
		f.not("a start that took too long", "the container ended by itself; the platform did not end it")
	}
	f.Properly = []string{"Start the same image with the same command and settings elsewhere."}
	return f
}

// judgeSilence tells apart what never answered: it listens elsewhere, it is
// still at work, or nothing listens at all.
func judgeSilence(l *look, a *answer, t *try) {
	asked, askedAt := t.asked()
	if asked == 0 {
		asked, askedAt = l.askedBySetting()
	}
	doors := l.doors(t)
	right := slices.IndexFunc(doors, func(d door) bool { return d.port == asked })
	switch {
	case asked > 0 && len(doors) > 0 && right < 0:
		a.found(wrongPort(t, asked, askedAt, doors))
	case right >= 0 && doors[right].loopback:
		a.found(onlyLoopback(t, doors[right]))
	case asked == 0 && len(doors) > 0 && !slices.ContainsFunc(doors, func(d door) bool { return !d.loopback }):
		a.found(onlyLoopback(t, doors[0]))
	case len(t.exits) > 0:
		a.found(earlyExit(l, t))
	case len(doors) == 0 && t.works():
		// Alive and at work until it was ended: a slow start.
	default:
		a.found(neverAnswered(l, t, right >= 0, doors))
	}
}

func wrongPort(t *try, asked int, askedAt evidence.Source, doors []door) *Finding {
	f := &Finding{Subject: t.app, ownCause: true}
	number := func(name string, port int, from evidence.Source) string {
		f.n(name, evidence.Known(float64(port), evidence.NoUnit, from))
		return strconv.Itoa(port)
	}
	f.What = "The app listens on port " + number("port listened on", doors[0].port, doors[0].from) + ", and the platform asks port " + number("port asked", asked, askedAt) + "."
	if v := t.lasted(); v.Known {
		f.What += " It gave up after " + f.n("start time", v) + "."
	}
	f.not("a slow start", "it listens, and not where it is asked: it would never have answered")
	f.between(stretch(slices.Concat(t.late, t.pinged)))
	f.level(Observed, "both ports stand in the evidence")
	f.Cause = "The platform pings the port of its setting, and nothing answers there, however long it waits."
	f.Now = []string{fmt.Sprintf("Set WEBSITES_PORT to %d, or let the app listen on %d (the PORT variable).", doors[0].port, asked)}
	f.Properly = []string{"Read the port from PORT in the app, on all addresses (0.0.0.0)."}
	f.Settle = []string{"One start with the port set right."}
	return f
}

func onlyLoopback(t *try, d door) *Finding {
	f := &Finding{Subject: t.app, ownCause: true}
	f.n("port listened on", evidence.Known(float64(d.port), evidence.NoUnit, d.from))
	f.What = fmt.Sprintf("The app listens on port %d of the loopback address only; nothing from outside the container reaches it.", d.port)
	if v := t.lasted(); v.Known {
		f.What += " The platform gave up after " + f.n("start time", v) + "."
	}
	f.between(stretch(slices.Concat(t.late, t.pinged)))
	f.level(Observed, "the address stands in the evidence")
	f.Cause = "Servers in development mode bind to 127.0.0.1."
	f.not("a slow start", "it listens, where nobody can ask")
	f.Now = []string{"Bind to 0.0.0.0."}
	f.Properly = []string{"Use the server's production command, and test the container from outside it."}
	f.Settle = []string{"One start bound to 0.0.0.0."}
	return f
}

func neverAnswered(l *look, t *try, listens bool, doors []door) *Finding {
	f := &Finding{Subject: t.app}
	limit, set := l.startLimit()
	lasted := t.lasted()
	f.What = "The app never answered the platform's pings"
	if asked, from := t.asked(); asked > 0 {
		f.n("port asked", evidence.Known(float64(asked), evidence.NoUnit, from))
		f.What += " on port " + strconv.Itoa(asked)
	}
	if lasted.Known {
		f.What += ": the platform gave up after " + f.n("start time", lasted)
		if within(lasted, limit, 0.05) {
			f.What += ", which is its limit"
			if set {
				f.What += " of " + f.n(limitSetting, limit)
			}
		}
	}
	f.What += "."
	f.between(stretch(slices.Concat(t.late, t.pinged)))
	f.level(Observed, "the platform's own log says so; why, it does not say")
	asked, _ := t.asked()
	switch {
	case listens:
		f.Cause = "It listens on the port that is asked and does not answer there: it hangs, or it answers no plain HTTP."
	case asked == 0 && len(doors) > 0:
		f.n("port listened on", evidence.Known(float64(doors[0].port), evidence.NoUnit, doors[0].from))
		f.Cause = fmt.Sprintf("It listens on port %d; which port the platform asks is not in this evidence. Another one (WEBSITES_PORT, PORT), or a server that hangs.", doors[0].port)
	default:
		f.followed = "What it follows from kept it from being up in time. Whether it would come to listen otherwise is not told."
		f.Cause = "Most likely nothing listens: the program is no HTTP server, or hangs before it comes to listen. A time that equals the limit says 'never', not 'almost'."
	}
	f.not("a crash", "no line says that the container has exited")
	if set {
		f.not("the default limit of 230 s", "the limit is a setting here, and has been raised already")
	} else if !listens {
		f.not("a slow start", "possible, if the console log shows it at work until the end; there is no such line here")
	}
	f.Now = []string{"See whether anything listens (ss -ltn in the container, or over ssh)."}
	if !set {
		f.Now = append(f.Now, "Read the console log of these minutes.")
	}
	f.Properly = []string{"Let a program without HTTP answer pings on a port of its own, or run it as a job (WebJob, Container Apps job).",
		"Raising the limit helps only who comes to listen later."}
	f.Settle = []string{"The console log of the same minutes, and ss -ltn."}
	return f
}
