package experiment

import (
	"fmt"
	"strconv"
	"strings"

	"brink/internal/phrase"
)

// Server names what serves the app: "gunicorn sync", "brink", "node", or the
// program of a command.
func (a App) Server() string {
	switch a.Runtime {
	case "flask":
		return "gunicorn " + a.WorkerClass
	case "asgi":
		return "uvicorn"
	case "go":
		return "brink"
	case "command":
		if len(a.Command) > 0 {
			return a.Command[0]
		}
	}
	return a.Runtime
}

// SubstituteWith makes another runtime serve in the app's place, with as many
// workers and the same limits.
func (a *App) SubstituteWith(runtime string) {
	a.Runtime, a.Command, a.WorkerClass, a.Threads, a.Build = runtime, nil, "", 1, false
	if runtime == "flask" {
		a.WorkerClass = "sync"
	}
}

// AppsText lists the step's apps in a few words, such as
// "api (gunicorn sync, 4 workers), web-1 to web-6 (node, 1 worker)".
func (s Step) AppsText() string {
	all := runs(s.Apps, func(a App) (name, text string) { return a.Name, a.text() })
	for i, r := range all {
		all[i].text = fmt.Sprintf("%s (%s)", r.names(), r.text)
	}
	return joined(all) + s.startText()
}

// text says what serves the app and how large it is.
func (a App) text() string {
	size := phrase.Plural(a.Workers, "worker")
	if a.Threads > 1 {
		size = fmt.Sprintf("%d×%d threads", a.Workers, a.Threads)
	}
	if a.AllocMB > 0 {
		size += fmt.Sprintf(", %d MB", a.AllocMB)
	}
	if a.Deploy == "container" {
		size += ", container"
		if a.MemoryLimitMB > 0 {
			size += fmt.Sprintf(" of %d MB", a.MemoryLimitMB)
		}
	}
	return a.Server() + ", " + size
}

// run is a row of copies that follow each other and say the same.
type run struct{ first, last, text string }

func (r run) names() string {
	if r.first == r.last {
		return r.first
	}
	return r.first + " to " + r.last
}

func runs[T any](list []T, of func(T) (name, text string)) []run {
	var all []run
	for _, x := range list {
		name, text := of(x)
		if n := len(all); n > 0 && all[n-1].text == text && follows(name, all[n-1].last) {
			all[n-1].last = name
			continue
		}
		all = append(all, run{name, name, text})
	}
	return all
}

// follows tells whether the app of that name is the next copy after another.
func follows(name, last string) bool {
	i := strings.LastIndexByte(last, '-')
	number, err := strconv.Atoi(last[i+1:])
	return err == nil && name == fmt.Sprintf("%s-%d", last[:max(i, 0)], number+1)
}

func joined(all []run) string {
	texts := make([]string, len(all))
	for i, r := range all {
		texts[i] = r.text
	}
	return strings.Join(texts, ", ")
}

// startText says how several apps are started, where that is not one after
// another.
func (s Step) startText() string {
	switch {
	case s.Start == "" || len(s.Apps) < 2:
		return ""
	case s.Start == "staggered":
		return fmt.Sprintf(", started %s apart", s.Stagger)
	}
	return ", started together"
}

// TrafficText lists the step's streams in a few words, such as
// "5 at once: /thread-hold?secs=1".
func (s Step) TrafficText() string {
	all := runs(s.Traffic, func(t Traffic) (name, text string) { return t.App, t.shape() + ": " + t.Path })
	for i, r := range all {
		if len(s.Apps) > 1 {
			all[i].text += " at " + r.names()
		}
	}
	text := joined(all)
	if s.Pressure.MB > 0 {
		text += fmt.Sprintf(", under a pressure of %d MB touched every %s", s.Pressure.MB, s.Pressure.Every)
	}
	return text
}

// shape says how many requests come, and how.
func (t Traffic) shape() string {
	var text string
	switch t.Kind {
	case "batch":
		if t.Stagger == 0 {
			return fmt.Sprintf("%d at once", t.Count)
		}
		return fmt.Sprintf("%d, %s apart", t.Count, t.Stagger)
	case "sequential":
		return fmt.Sprintf("%d in a row", t.Count)
	case "steady":
		text = fmt.Sprintf("one every %s", t.Every)
	default:
		text = fmt.Sprintf("%v/s %s", t.Rate, t.Arrivals)
	}
	if t.Duration > 0 {
		text += " for " + t.Duration.String()
	}
	if t.Count > 0 {
		text += fmt.Sprintf(", at most %d", t.Count)
	}
	return text
}
