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
	// refusedOften: a health check that is refused a few times is a start; one
	// that is refused until it kills, or this often, found nobody.
	refusedOften = 5
	// refusedLate: one refusal is enough if the server has come to listen
	// elsewhere, or the container was started, this long before: six times the
	// usual period of a check.
	//
	// https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/ (periodSeconds)
	refusedLate = time.Minute
)

// judgeRefusals judges health checks that find nobody listening, app by app.
func judgeRefusals(l *look, a *answer) {
	refused := only(l.EventsOf(evidence.ProbeFailed), func(e *evidence.Event) bool { return e.Reason == "refused" })
	if len(l.EventsOf(evidence.OOMKill)) > 0 {
		return
	}
	for _, app := range appsOf(refused) {
		if len(about(l.EventsOf(evidence.PodOOMKilled), app)) == 0 {
			l.judgeRefused(a, app, only(refused, func(e *evidence.Event) bool { return e.App == app }))
		}
	}
}

func (l *look) judgeRefused(a *answer, app string, refused []*evidence.Event) {
	last := refused[len(refused)-1]
	doors := l.doors(&try{listens: about(l.EventsOf(evidence.Listening), app)})
	asked, _ := l.portAsked(last)
	away := elsewhere(doors, asked)
	n := countOf(refused)
	switch {
	case len(about(probeKills(l), app)) == 0 && l.isReady(app) && l.neverRestarted(app):
		if n.AtLeast(refusedOften) {
			var w words
			a.note(Starts, "The health check of "+cmp.Or(app, "the container")+" was refused "+w.count("refused checks", n, "time")+"; it is ready now and was never restarted, so that was its start.", &w)
		}
	case l.startsSlowly(app) != nil: // slowStart tells of it
	case len(about(probeKills(l), app)) > 0, n.AtLeast(refusedOften), away && !l.isReady(app) && l.longUp(last):
		a.found(refusedProbe(l, refused, doors))
	case l.isReady(app):
	default:
		var w words
		text := "The health check of " + cmp.Or(app, "the container") + " was refused " + w.count("refused checks", n, "time")
		if asked > 0 {
			text += " on port " + strconv.Itoa(asked)
		}
		settle := "The same events a minute later: whether it is refused again. The container's state (kubectl get pod), and ss -ltn inside it."
		if away {
			a.suspect(Starts, text+"; the app's log names port "+portNames(&w, doors)+" instead. It may have been starting still.", settle, &w)
			return
		}
		a.cannotTell(Starts, text+", which a start does as well.", settle, &w)
	}
}

// portAsked is the port that a check asked: its line's own, or that of the setting
// of Container Apps, whose checks ask it where they name none; 0 if nothing tells.
//
// https://learn.microsoft.com/azure/container-apps/health-probes (default configuration)
func (l *look) portAsked(check *evidence.Event) (int, evidence.Source) {
	if check.Port > 0 {
		return check.Port, check.From
	}
	if s, ok := l.Config.Setting(evidence.TargetPort); ok && s.Value.Above(0) {
		return int(s.Value.Number), s.From
	}
	return 0, evidence.Source{}
}

// isReady reports whether a container of a pod is told to be ready.
func (l *look) isReady(pod string) bool {
	return slices.ContainsFunc(l.Containers, func(c evidence.Container) bool {
		return c.Ready == evidence.Yes && (pod == "" || strings.HasPrefix(c.Name, pod))
	})
}

// neverRestarted reports whether no container of a pod was restarted.
func (l *look) neverRestarted(pod string) bool {
	return !slices.ContainsFunc(l.containersOf(pod), func(c *evidence.Container) bool { return !c.Restarts.AtMost(0) })
}

// longUp reports whether something listened, or the container had been started,
// long before a check was refused.
func (l *look) longUp(refused *evidence.Event) bool {
	for _, e := range l.EventsOf(evidence.Listening, evidence.ContainerStarted) {
		if gap(e, refused) >= refusedLate || e.Ago.Minus(refused.Ago).AtLeast(refusedLate.Seconds()) {
			return true
		}
	}
	return false
}

func refusedProbe(l *look, refused []*evidence.Event, doors []door) *Finding {
	last := refused[len(refused)-1]
	f := &Finding{Subject: last.App}
	f.What = "The health check finds nobody listening"
	asked, askedAt := l.portAsked(last)
	if asked > 0 {
		f.n("port asked", evidence.Known(float64(asked), evidence.NoUnit, askedAt))
		f.What += " on port " + strconv.Itoa(asked)
	}
	f.What += ": it was refused " + f.count("refused checks", countOf(refused), "time")
	kills := about(probeKills(l), last.App)
	if len(kills) > 0 {
		f.What += ", and the platform ends the container for it"
	}
	f.What += "."
	away := elsewhere(doors, asked)
	if away {
		f.What += " The app listens on port " + portNames(&f.words, doors) + " instead."
	}
	inside := len(doors) > 0 && len(doors) <= fewDoors && !slices.ContainsFunc(doors, func(d door) bool { return !d.loopback })
	if inside && !away {
		f.What += " The app listens on port " + portNames(&f.words, doors) + " of the loopback address only."
	}
	f.between(stretch(refused))
	if len(kills) > 0 || countOf(refused).AtLeast(refusedOften) {
		f.level(Observed, "the platform's own events say so; why nobody listens, they do not say")
	} else {
		f.level(StronglySuggested, "the app's log names another port than the check asks, and it was up long before the check was refused")
	}
	f.Cause = "The app listens on another port or on loopback, has not come to listen yet, or has ended."
	if away {
		f.Cause = "The check asks another port than the one on which the app listens."
	}
	if inside {
		f.Cause = "What listens on the loopback address only is reached by nobody from outside its container; the check comes from outside."
		f.Now = []string{"Bind to 0.0.0.0 (ASPNETCORE_URLS, --host, HOST)."}
	}
	f.not("a process that is too slow to answer", "a refusal is immediate: the kernel has no socket to give it to")
	f.Now = append(f.Now, "Compare the check's port with the port in the app's log (ss -ltn inside the container).", "If the start takes long, give it a startup probe.")
	f.Properly = []string{"Take port and check from one setting."}
	f.Settle = []string{"The app's log, and ss -ltn inside the container."}
	return f
}

// fewDoors: with more of them, nothing tells which is the app's.
const fewDoors = 3

// elsewhere reports whether the places where something listens are few, and none
// is the port that is asked.
func elsewhere(doors []door, asked int) bool {
	return asked > 0 && len(doors) > 0 && len(doors) <= fewDoors && !slices.ContainsFunc(doors, func(d door) bool { return d.port == asked })
}

func portNames(w *words, doors []door) string {
	var names []string
	for _, d := range doors {
		w.n("port listened on", evidence.Known(float64(d.port), evidence.NoUnit, d.from))
		names = append(names, strconv.Itoa(d.port))
	}
	return strings.Join(names, ", ")
}
