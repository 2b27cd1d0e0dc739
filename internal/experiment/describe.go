package experiment

import (
	"fmt"
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
// "api (gunicorn sync, 4 workers)".
func (s Step) AppsText() string {
	all := make([]string, len(s.Apps))
	for i, a := range s.Apps {
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
		all[i] = fmt.Sprintf("%s (%s, %s)", a.Name, a.Server(), size)
	}
	return strings.Join(all, ", ") + s.startText()
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
	all := make([]string, len(s.Traffic))
	for i, t := range s.Traffic {
		all[i] = t.shape() + ": " + t.Path
		if len(s.Apps) > 1 {
			all[i] += " at " + t.App
		}
	}
	text := strings.Join(all, ", ")
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
