package evidence

import "strings"

var (
	acaHead  = expression(`^(Warning|Normal|Error) +(\w+) +(.*)$`)
	acaProbe = expression(`(?i)\b(liveness|readiness|startup)\b`)
	acaTimes = expression(`(\d+) consecutive times`)
	acaAfter = expression(`after (\d+) seconds`)
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
	case "ProbeFailed":
		e.Kind = ProbeFailed
		if n := acaAfter().FindStringSubmatch(message); n != nil {
			e.Limit = l.number(n[1], "after", Seconds)
		}
	case "ContainerTerminated", "KillingContainer", "Killing":
		e.Kind = ContainerKilled
		if m := platformCode().FindStringSubmatch(message); m != nil {
			e.Code = l.number(m[1], "exit code", NoUnit)
		}
		if strings.Contains(message, "OOM") {
			e.Kind = PodOOMKilled
		}
		if strings.Contains(message, "ProbeFailure") {
			e.Reason = "ProbeFailure"
		}
	case "ContainerCreated":
		e.Kind = ContainerCreated
	case "ContainerStarted":
		e.Kind = ContainerStarted
	case "ContainerBackOff", "BackOff", "CrashLoopBackOff":
		e.Kind = BackOff
	case "ReplicaUnhealthy", "PullingImageFailed", "ImagePullFailure":
		e.Kind = PlatformNote
	default:
		if kind != "Normal" {
			e.Kind = PlatformNote
		}
	}
	return e
}
