package evidence

import "strings"

var (
	uvicornHead    = expression(`^(?:INFO|ERROR|WARNING|CRITICAL): {2,}(.*)$`)
	uvicornStarted = expression(`^Started (?:parent|server) process \[(\d+)\]`)
	uvicornRunning = expression(`^Uvicorn running on (\S+)`)
	uvicornDied    = expression(`^Child process \[(\d+)\] died`)
)

// uvicornLine reads the log of uvicorn.
func uvicornLine(l *logLine, _ *logState) (Event, bool) {
	m := uvicornHead().FindStringSubmatch(l.rest)
	if m == nil {
		return Event{}, false
	}
	e := l.event("", FromServer)
	switch message := m[1]; {
	case uvicornStarted().MatchString(message):
		e.Kind, e.PID = WorkerBoot, atoi(uvicornStarted().FindStringSubmatch(message)[1])
	case uvicornRunning().MatchString(message):
		e.Kind = Listening
		e.Address, e.Port = hostPort(uvicornRunning().FindStringSubmatch(message)[1])
	case uvicornDied().MatchString(message):
		e.Kind, e.PID = WorkerExit, atoi(uvicornDied().FindStringSubmatch(message)[1])
	case strings.HasPrefix(message, "Application startup complete"):
		e.Kind = WorkerReady
	case strings.HasPrefix(message, "Application startup failed"):
		e.Kind = AppLoadFailed
	case strings.HasPrefix(message, "Shutting down"):
		e.Kind = ServerStopping
	}
	return e, true
}
