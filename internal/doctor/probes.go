package doctor

import (
	"strings"

	"brink/internal/evidence"
)

// probeKills are ends of containers by their health check.
func probeKills(l *look) []*evidence.Event {
	return only(l.EventsOf(evidence.ContainerKilled), func(e *evidence.Event) bool {
		return e.Probe != "" || e.Reason == "ProbeFailure" || strings.Contains(e.Text, "probe")
	})
}

// probeTimeouts are health checks that got no answer in time; one that was
// refused is something else: nobody listens.
func probeTimeouts(l *look) []*evidence.Event {
	return only(l.EventsOf(evidence.ProbeFailed), func(e *evidence.Event) bool {
		text := strings.ToLower(e.Text)
		return e.Reason == "timeout" || strings.Contains(text, "timed out") || strings.Contains(text, "deadline exceeded") || strings.Contains(text, "timeout")
	})
}

// about keeps the events of an app, and those that name none.
func about(events []*evidence.Event, app string) []*evidence.Event {
	return only(events, func(e *evidence.Event) bool { return sameProgram(e.App, app) })
}

// appsOf are the apps of events, in the order in which they come.
func appsOf(events []*evidence.Event) []string {
	var apps []string
	seen := map[string]bool{}
	for _, e := range events {
		if !seen[e.App] {
			seen[e.App] = true
			apps = append(apps, e.App)
		}
	}
	return apps
}
