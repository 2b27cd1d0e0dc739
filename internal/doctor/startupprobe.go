package doctor

import (
	"cmp"
	"slices"

	"brink/internal/evidence"
)

// slowProbe is a start that its startup probe ended, again and again.
type slowProbe struct {
	app           string
	failed, kills []*evidence.Event
	own           []*evidence.Event // what the app wrote of itself
	limit         evidence.Value    // s that the probe allows
	container     *evidence.Container
}

// startupProbe is the health check that every other waits for: until it has
// succeeded once, neither liveness nor readiness are asked.
//
// https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/
const startupProbe = "startup"

// startsSlowly returns what shows that an app was still at its start when its
// startup probe ended it: only that probe has failed, and the app's own log shows it
// at work and no error. Without such a log it may as well listen elsewhere or hang;
// nil then.
func (l *look) startsSlowly(app string) *slowProbe {
	failed := about(l.EventsOf(evidence.ProbeFailed), app)
	if len(failed) == 0 || slices.ContainsFunc(failed, func(e *evidence.Event) bool { return e.Probe != startupProbe }) {
		return nil
	}
	s := &slowProbe{app: app, failed: failed, kills: about(probeKills(l), app)}
	if len(s.kills) == 0 || len(about(l.EventsOf(evidence.AppError, evidence.AppLoadFailed, evidence.AddressInUse, evidence.Listening), app)) > 0 {
		return nil
	}
	s.own = about(l.EventsOf(evidence.AppProgress, evidence.WorkerBoot, evidence.ServerStarted), app)
	if len(s.own) == 0 {
		return nil
	}
	for _, c := range l.containersOf(app) {
		s.container = c
	}
	s.limit = l.startupLimit(s.container)
	return s
}

// startupLimit is for how long a container's startup probe lets a start take, in s,
// or that of the settings where they have one such limit alone.
func (l *look) startupLimit(c *evidence.Container) evidence.Value {
	probes := l.Config.Probes
	if c != nil && len(c.Probes) > 0 {
		probes = c.Probes
	}
	limit := evidence.Missing(evidence.NotSeen, "the probe's settings are not told")
	for i := range probes {
		if probes[i].Kind != startupProbe {
			continue
		}
		one := allowedBy(&probes[i])
		if limit.Known && limit.Number != one.Number {
			return evidence.Missing(evidence.CannotTell, "several probes differ")
		}
		limit = one
	}
	return limit
}

// allowedBy is for how long a probe lets a start take, in s.
func allowedBy(p *evidence.Probe) evidence.Value {
	if !p.Period.Known || !p.Failure.Known {
		return evidence.Missing(evidence.NotSeen, "period and failures are not both told")
	}
	all := p.Period.Number*p.Failure.Number + p.Delay.Number
	return evidence.Known(all, evidence.Seconds, slices.Concat(p.Period.From, p.Failure.From)...)
}

func judgeStartupProbes(l *look, a *answer) {
	for _, app := range appsOf(l.EventsOf(evidence.ProbeFailed)) {
		if s := l.startsSlowly(app); s != nil {
			a.found(s.finding())
		}
	}
}

func (s *slowProbe) finding() *Finding {
	f := &Finding{Subject: s.app}
	f.What = cmp.Or(s.app, "The app") + " was still starting when its startup probe ended it (" + f.count("ended by the startup probe", countOf(s.kills), "time") +
		"): it was alive and at work until then."
	if s.limit.Known {
		f.What += " The probe allows a start " + f.n("time that the startup probe allows", s.limit) + "."
	}
	if c := s.container; c != nil && c.Restarts.Above(0) {
		f.What += " It was restarted " + f.count("restarts", c.Restarts, "time") + "."
	}
	f.n("startup probes that failed", countOf(s.failed))
	f.n("lines of its own", countOf(s.own))
	f.between(stretch(s.own))
	f.level(Inferred, "it wrote to its log, with no error and no exit of its own, until it was ended; that it would have come up was not seen")
	f.Cause = "Its start (loading a model, filling caches, migrations) takes longer than the startup probe allows (period × failures), and each new attempt begins again from nothing."
	f.not("a wrong port", "it has not said yet that it listens; no port differs")
	f.not("a crash", "it is ended from outside, in order, and no error stands in its log")
	f.Now = []string{"Raise failureThreshold of the startup probe, so that failures × period is above the time of a start."}
	f.Properly = []string{"Listen first and load afterwards, or keep what is loaded in the image.", "See whether CPU or memory is short while it starts: a quota alone makes starts several times longer."}
	f.Settle = []string{"One start with the probe's limit raised: how long it takes."}
	return f
}
