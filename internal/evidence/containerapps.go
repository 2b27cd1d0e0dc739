package evidence

import (
	"strings"
	"time"
)

var (
	acaHead  = expression(`^(Warning|Normal|Error) +(\w+) +(.*)$`)
	acaProbe = expression(`(?i)\b(liveness|readiness|startup)\b`)
	acaTimes = expression(`(\d+) consecutive times`)
	// acaDialled is where Go's dialler was refused.
	acaDialled = expression(`\bdial tcp (\S+:\d+):`)
	acaAfter   = expression(`after (\d+) seconds`)
)

// containerAppsLine reads the system log of Container Apps as the portal and
// the command line print it: TIME TYPE REASON MESSAGE.
//
// https://learn.microsoft.com/azure/container-apps/log-monitoring
func containerAppsLine(l *logLine, _ *logState) (Event, bool) {
	m := acaHead().FindStringSubmatch(l.rest)
	if m == nil || l.at.IsZero() {
		return Event{}, false
	}
	return containerAppsRow(l, m[1], m[2], m[3]), true
}

// containerAppsObject takes in a line of "az containerapp logs show --type
// system", which is an object.
func (r *logReader) containerAppsObject(n int, o object, at time.Time) {
	message := firstText(o, "Msg")
	l := &logLine{n: n, file: r.log.File, text: message, rest: message, at: at, bootSeconds: -1, app: shorten(firstText(o, "ReplicaName", "ContainerAppName"))}
	r.log.Lines++
	r.log.As, r.origin, r.log.Origin = "Container Apps system log", FromPlatform, FromPlatform
	r.covers(l)
	e := containerAppsRow(l, firstText(o, "Type"), firstText(o, "Reason"), message)
	if times := l.number(firstText(o, "Count"), "Count", Events); times.Above(0) {
		e.Times = times
	}
	if e.Kind != "" {
		r.takeCounted(e, l)
	}
}

func containerAppsRow(l *logLine, kind, reason, message string) Event {
	e := l.event("", FromPlatform)
	e.Reason = reason
	if p := acaProbe().FindStringSubmatch(message); p != nil {
		e.Probe = strings.ToLower(p[1])
	}
	if n := acaTimes().FindStringSubmatch(message); n != nil {
		e.Times = l.number(n[1], "consecutive times", Events)
	}
	switch reason {
	case "ProbeFailed", "ReplicaUnhealthy":
		e.Kind, e.Reason = ProbeFailed, refusal(message, reason)
		if d := acaDialled().FindStringSubmatch(message); d != nil {
			e.Address, e.Port = hostPort(d[1])
		}
		if n := acaAfter().FindStringSubmatch(message); n != nil {
			e.Limit = l.number(n[1], "after", Seconds)
		}
	case "ContainerTerminated", "KillingContainer", "Killing", "StoppingContainer":
		e.Kind = ContainerKilled
		if m := platformCode().FindStringSubmatch(message); m != nil {
			e.Code = l.number(m[1], "exit code", NoUnit)
		}
		if strings.Contains(message, "OOM") {
			e.Kind = PodOOMKilled
		}
		switch {
		case strings.Contains(message, "ProbeFailure"):
			e.Reason = "ProbeFailure"
		case reason == "StoppingContainer" && e.Probe == "":
			e.Kind = ContainerStopped
		}
	case "ContainerCreated":
		e.Kind = ContainerCreated
	case "ContainerStarted":
		e.Kind = ContainerStarted
	case "ContainerBackOff", "BackOff", "CrashLoopBackOff":
		e.Kind = BackOff
	case "PullingImageFailed", "ImagePullFailure", "ImagePullUnauthorized":
		e.Kind = PullFailed
	default:
		if kind != "Normal" {
			e.Kind = PlatformNote
		}
	}
	return e
}

// containerAppsConsole is the app's own line of what "az containerapp logs show"
// prints: behind the letter of the container runtime, F for a whole line and P for a
// part. Its first lines are the tool's.
//
// https://learn.microsoft.com/azure/container-apps/log-streaming
func containerAppsConsole(text string) string {
	if strings.HasPrefix(text, "Connecting to the container '") || strings.HasPrefix(text, "Successfully Connected to container: ") {
		return ""
	}
	if len(text) > 1 && (text[0] == 'F' || text[0] == 'P') && text[1] == ' ' {
		return text[2:]
	}
	return text
}
