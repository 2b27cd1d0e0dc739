package doctor

import (
	"slices"
	"strings"
	"time"

	"brink/internal/evidence"
)

// try is what is known of one app's attempts to start.
type try struct {
	app                                  string
	late, pinged, exits, waits, ready    []*evidence.Event
	failed, inUse, pull, listens, speaks []*evidence.Event
	created, errors                      []*evidence.Event
	nameless                             bool // beside apps with names
}

// startLimit is App Service's own limit for a container's start, in s, where
// WEBSITES_CONTAINER_START_TIME_LIMIT does not say otherwise (to 1800).
//
// https://learn.microsoft.com/azure/app-service/reference-app-settings
const (
	startLimit   = 230
	limitSetting = "WEBSITES_CONTAINER_START_TIME_LIMIT"
)

// tries gathers, per app, what platform and server say about starts. What a
// console says without a name may be anybody's: it counts for every app, but for a
// failure to load, which is told once, of the only app or of none.
func (l *look) tries() []*try {
	var all []*try
	place := map[string]*try{}
	of := func(app string) *try {
		t := place[app]
		if t == nil {
			t = &try{app: app}
			place[app] = t
			all = append(all, t)
		}
		return t
	}
	for _, e := range l.EventsOf(evidence.StartTimeout, evidence.PingFailed, evidence.ContainerExited, evidence.StartWaiting, evidence.ContainerReady,
		evidence.ContainerCreated, evidence.PullFailed) {
		if e.Origin != evidence.FromSystem { // a unit that systemd starts again is no platform's start
			of(siteName(e.App)).take(e)
		}
	}
	for _, e := range l.EventsOf(evidence.AppLoadFailed, evidence.WorkerBootFailed, evidence.AddressInUse) {
		of(whoFailed(all, e)).take(e)
	}
	if len(all) == 0 {
		of("")
	}
	listens := l.EventsOf(evidence.Listening)
	errors := l.EventsOf(evidence.AppError)
	speaks := l.EventsOf(evidence.AppProgress, evidence.WorkerBoot, evidence.WorkerReady, evidence.ServerStarted)
	for _, t := range all {
		mine := func(e *evidence.Event) bool { return len(all) == 1 || sameProgram(e.App, t.app) }
		t.listens, t.speaks, t.errors = only(listens, mine), only(speaks, mine), only(errors, mine)
		t.nameless = t.app == "" && len(all) > 1
	}
	return all
}

// whoFailed names the app of which a line tells that it could not be loaded.
func whoFailed(all []*try, e *evidence.Event) string {
	if e.App == "" && len(all) == 1 {
		return all[0].app
	}
	for _, t := range all {
		if e.App != "" && t.app != "" && sameProgram(e.App, t.app) {
			return t.app
		}
	}
	return siteName(e.App)
}

func (t *try) take(e *evidence.Event) {
	switch e.Kind {
	case evidence.StartTimeout:
		t.late = append(t.late, e)
	case evidence.PingFailed:
		t.pinged = append(t.pinged, e)
	case evidence.ContainerExited:
		t.exits = append(t.exits, e)
	case evidence.StartWaiting:
		t.waits = append(t.waits, e)
	case evidence.ContainerReady:
		t.ready = append(t.ready, e)
	case evidence.ContainerCreated:
		t.created = append(t.created, e)
	case evidence.PullFailed:
		t.pull = append(t.pull, e)
	case evidence.AddressInUse:
		t.inUse = append(t.inUse, e)
	default:
		t.failed = append(t.failed, e)
	}
}

var containerSuffix = expression(`_\d+(_[0-9a-f]{4,})?$`)

// siteName is a site's name without what the platform adds for each container:
// app1_0_3f2a9c1d.
func siteName(container string) string { return containerSuffix().ReplaceAllString(container, "") }

// limit is the start limit that holds, and whether a setting says so.
func (l *look) startLimit() (evidence.Value, bool) {
	if s, ok := l.Config.Setting(limitSetting); ok && s.Value.Known {
		v := s.Value
		v.Unit = evidence.Seconds
		return v, true
	}
	return evidence.Known(startLimit, evidence.Seconds), false
}

// recovered reports whether the app got up after its last failure.
func (t *try) recovered() bool {
	_, failed := stretch(slices.Concat(t.late, t.pinged, t.exits, t.pull))
	_, up := stretch(t.ready)
	return !failed.IsZero() && up.After(failed)
}

// reloaded reports whether the server came to listen again after it last failed
// to load the app or to get its port.
func (t *try) reloaded() bool {
	_, failed := stretch(slices.Concat(t.failed, t.inUse))
	_, up := stretch(t.listens)
	return !failed.IsZero() && up.After(failed.Add(time.Minute))
}

// lasted is how long the last failed start took.
func (t *try) lasted() evidence.Value {
	for _, list := range [][]*evidence.Event{t.exits, t.late, t.waits} {
		for i := len(list) - 1; i >= 0; i-- {
			if list[i].Elapsed.Known {
				return list[i].Elapsed
			}
		}
	}
	return evidence.Missing(evidence.NotSeen, "no line tells how long it took")
}

// asked is the port that the platform asks, 0 if no line tells.
func (t *try) asked() (int, evidence.Source) {
	for _, list := range [][]*evidence.Event{t.pinged, t.created} {
		for i := len(list) - 1; i >= 0; i-- {
			if list[i].Port > 0 {
				return list[i].Port, list[i].From
			}
		}
	}
	return 0, evidence.Source{}
}

// askedBySetting is the port that a setting names, 0 if none does.
//
// https://learn.microsoft.com/azure/app-service/reference-app-settings
func (l *look) askedBySetting() (int, evidence.Source) {
	for _, name := range []string{"WEBSITES_PORT", "PORT"} {
		if s, ok := l.Config.Setting(name); ok && s.Value.Above(0) {
			return int(s.Value.Number), s.From
		}
	}
	return 0, evidence.Source{}
}

// door is where the app listens.
type door struct {
	port     int
	loopback bool
	from     evidence.Source
}

// doors are the places where the app listens, by its log or by the sockets that
// were seen.
func (l *look) doors(t *try) []door {
	var all []door
	add := func(d door) {
		if d.port > 0 && !slices.ContainsFunc(all, func(have door) bool { return have.port == d.port && have.loopback == d.loopback }) {
			all = append(all, d)
		}
	}
	for _, e := range t.listens {
		add(door{e.Port, loopback(e.Address), e.From})
	}
	if r := l.Last(); r != nil {
		for i := range r.Listeners {
			s := &r.Listeners[i]
			if !s.Unix && s.Port != 2222 { // App Service's own ssh
				at := evidence.Source{Field: "LISTEN " + s.Address}
				if len(s.Queue.From) > 0 {
					at.File, at.Line = s.Queue.From[0].File, s.Queue.From[0].Line
				}
				add(door{s.Port, loopback(s.Address), at})
			}
		}
	}
	return all
}

func loopback(address string) bool {
	return strings.HasPrefix(address, "127.") || strings.HasPrefix(address, "localhost") || strings.HasPrefix(address, "[::1]")
}

// works reports whether the app said anything of its own before it was ended,
// and nothing of an error: it was alive while the platform waited.
func (t *try) works() bool {
	_, ended := stretch(slices.Concat(t.late, t.pinged))
	spoke := slices.ContainsFunc(t.speaks, func(e *evidence.Event) bool { return ended.IsZero() || !e.At.After(ended) })
	return spoke && len(t.failed)+len(t.inUse)+len(t.errors) == 0
}

// within reports whether two values agree within a share.
func within(a, b evidence.Value, share float64) bool {
	return a.Known && b.Known && a.Number >= b.Number*(1-share) && a.Number <= b.Number*(1+share)
}

// gap is the time from one event to another, 0 without times.
func gap(a, b *evidence.Event) time.Duration {
	if a.At.IsZero() || b.At.IsZero() {
		return 0
	}
	return b.At.Sub(a.At)
}
