package evidence

import (
	"strings"
	"time"
)

var (
	dockerEvent     = expression(`^container (oom|die|kill|start) ([0-9a-f]{4,64}) \((.*)\)$`)
	dockerEventName = expression(`\bname=([\w.-]+)`)
	dockerEventCode = expression(`\bexitCode=(\d+)`)
	dockerEventRan  = expression(`\bexecDuration=(\d+)`)
	// dockerEventEnd are signals that ask a program to end, or make it.
	dockerEventEnd = expression(`\bsignal=(?:2|3|9|15|SIG(?:INT|QUIT|KILL|TERM))\b`)
)

// dockerEventLine reads what "docker events" prints. An end that somebody asked
// for (kill with a signal, then die), or with exit code 0, is none of a failure.
//
// https://docs.docker.com/reference/cli/docker/system/events/
func dockerEventLine(l *logLine, s *logState) (Event, bool) {
	m := dockerEvent().FindStringSubmatch(l.rest)
	if m == nil {
		return Event{}, false
	}
	e := l.event("", FromDocker)
	e.App = shorten(m[2])
	if name := dockerEventName().FindStringSubmatch(m[3]); name != nil {
		e.App = name[1]
	}
	if s.toldToEnd == nil {
		s.toldToEnd = map[string]bool{}
	}
	switch m[1] {
	case "oom":
		e.Kind = PodOOMKilled
	case "kill":
		s.toldToEnd[m[2]] = dockerEventEnd().MatchString(m[3])
	case "die":
		e.Kind = ContainerExited
		if code := dockerEventCode().FindStringSubmatch(m[3]); code != nil {
			e.Code = l.number(code[1], "exitCode", NoUnit)
		}
		if ran := dockerEventRan().FindStringSubmatch(m[3]); ran != nil {
			e.Elapsed = l.number(ran[1], "execDuration", Seconds)
		}
		if s.toldToEnd[m[2]] || e.Code.Known && e.Code.Number == 0 {
			e.Kind = ContainerStopped
		}
	case "start":
		e.Kind = ContainerStarted
		delete(s.toldToEnd, m[2])
	}
	return e, true
}

// dockerEventText is an event in the form of a line, of what "docker events --format
// json" prints for it; empty for what is none of a container.
func dockerEventText(o object) (text string, at time.Time) {
	if textOf(o["Type"]) != "container" || textOf(o["Action"]) == "" {
		return "", at
	}
	attributes := objectAt(o, "Actor", "Attributes")
	var pairs []string
	for _, key := range []string{"execDuration", "exitCode", "image", "name", "signal"} {
		if value := textOf(attributes[key]); value != "" {
			pairs = append(pairs, key+"="+value)
		}
	}
	at, _ = parseEpoch(firstText(o, "timeNano", "time"))
	id := firstText(objectAt(o, "Actor"), "ID")
	if id == "" {
		id = textOf(o["id"])
	}
	return "container " + textOf(o["Action"]) + " " + id + " (" + strings.Join(pairs, ", ") + ")", at
}
