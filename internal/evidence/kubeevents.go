package evidence

import (
	"strings"
	"time"
)

var (
	kubeAvailable = expression(`low on resource: memory\..*\bavailable: (\d+(?:[KMG]i?)?)\b`)
	kubeEvent     = expression(`^\s*(?:(\d+[smhd](?:\d+[smh])?(?: \(x(\d+) over [^)]*\))?)\s+)?(Warning|Normal)\s+([A-Z]\w+)\s+(.*)$`)
	kubeAge       = expression(`^(\d+[smhd](?:\d+[smh])?)(?: \(x(\d+) over [^)]*\))?\s+`)
	kubeFrom      = expression(`^((?:kubelet|default-scheduler|[\w-]+-controller)(?:, \S+)?|pod/\S+|[a-z][\w.-]*/\S+)\s+`)
	kubeProbe     = expression(`^(Liveness|Readiness|Startup) probe (failed|errored)`)
	kubeHTTP      = expression(`HTTP probe failed with statuscode: (\d+)`)
	kubeURL       = expression(`"https?://([^/"]+)`)
)

// kubeEventLine reads a line of "kubectl describe" or "kubectl get events": ages
// are relative, so the events carry no time.
func kubeEventLine(l *logLine, _ *logState) (Event, bool) {
	m := kubeEvent().FindStringSubmatch(l.text)
	if m == nil {
		if strings.HasPrefix(l.text, "No resources found") {
			return Event{}, true
		}
		return Event{}, false
	}
	rest := m[5]
	age, times := m[1], m[2]
	if a := kubeAge().FindStringSubmatch(rest); a != nil {
		age, rest = a[1], rest[len(a[0]):]
		if a[2] != "" {
			times = a[2]
		}
	}
	app := ""
	for {
		f := kubeFrom().FindStringSubmatch(rest)
		if f == nil {
			break
		}
		if object, ok := strings.CutPrefix(f[1], "pod/"); ok {
			app = object
		}
		rest = rest[len(f[0]):]
	}
	e := kubeEventOf(l, m[3], m[4], rest)
	age, _, _ = strings.Cut(age, " ")
	e.Ago = ageOf(age, l.from())
	if times != "" {
		e.Times = l.number(times, "times", Events)
	}
	if app != "" {
		e.App = app
	}
	return e, true
}

// kubeEventOf gives an event of Kubernetes its meaning by its reason.
//
// https://github.com/kubernetes/kubernetes/blob/master/pkg/kubelet/events/event.go
func kubeEventOf(l *logLine, kind, reason, message string) Event {
	e := l.event("", FromKubernetes)
	e.Reason = reason
	switch reason {
	case "Unhealthy", "ProbeWarning", "ProbeError":
		kubeProbeFailed(&e, l, message)
	case "Killing":
		e.Kind = ContainerKilled
		if p := acaProbe().FindStringSubmatch(message); p != nil {
			e.Probe = strings.ToLower(p[1])
		} else if strings.HasPrefix(message, "Stopping container") {
			e.Kind = ContainerStopped // deleted, moved or replaced
		}
	case "BackOff":
		e.Kind = BackOff
		if strings.Contains(message, "pulling image") {
			e.Kind = PullFailed
		}
	case "OOMKilling", "SystemOOM":
		e.Kind = PodOOMKilled
	case "Created":
		e.Kind = ContainerCreated
	case "Started":
		e.Kind = ContainerStarted
	case "FailedScheduling":
		e.Kind, e.Reason = ScheduleFailed, message
	case "Evicted":
		e.Kind, e.Reason = Evicted, message
		if m := kubeAvailable().FindStringSubmatch(message); m != nil {
			from := l.from()
			from.Field = "available"
			e.Available = parsedSize(m[1], from)
		}
	case "NodeHasInsufficientMemory":
		e.Kind = NodeShort
	case "NodeHasSufficientMemory":
		e.Kind = NodeEnough
	case "Failed", "ErrImagePull":
		e.Kind = PlatformNote
		if strings.Contains(message, "pull") {
			e.Kind = PullFailed
		}
	default:
		if kind == "Warning" {
			e.Kind = PlatformNote
		}
	}
	return e
}

func kubeProbeFailed(e *Event, l *logLine, message string) {
	e.Kind = ProbeFailed
	if p := kubeProbe().FindStringSubmatch(message); p != nil {
		e.Probe = strings.ToLower(p[1])
	}
	if u := kubeURL().FindStringSubmatch(message); u != nil {
		e.Address, e.Port = hostPort(u[1])
	}
	if c := kubeHTTP().FindStringSubmatch(message); c != nil {
		e.Code = l.number(c[1], "statuscode", NoUnit)
	}
	e.Reason = refusal(message, e.Reason)
	if e.Code.Known {
		e.Reason = "status"
	}
}

// refusal is how a health check failed, or what else it is called.
func refusal(message, otherwise string) string {
	switch {
	case strings.Contains(message, "deadline exceeded"), strings.Contains(message, "timed out"), strings.Contains(message, "timeout"):
		return "timeout"
	case strings.Contains(message, "connection refused"):
		return "refused"
	case strings.Contains(message, "connection reset"):
		return "reset"
	}
	return otherwise
}

// kubeTime reads a time of the API.
func kubeTime(text string) time.Time {
	at, ok := parseTime(text)
	if !ok {
		return time.Time{}
	}
	return at
}
