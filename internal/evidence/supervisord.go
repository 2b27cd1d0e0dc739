package evidence

import "strings"

var (
	supervisorHead  = expression(`^(?:INFO|WARN|CRIT|ERRO|DEBG)\s+(exited: |gave up: |spawned: |success: |stopped: |waiting for |received |supervisord started|Included extra file|RPC interface|reaped |exit status |spawnerr: )(.*)$`)
	supervisorExit  = expression(`^(\S+) \((?:exit status (\d+)|terminated by (SIG[A-Z]+)[^;]*); (not )?expected\)`)
	supervisorGave  = expression(`^(\S+) entered FATAL state`)
	supervisorStart = expression(`^'([^']+)' with pid (\d+)`)
)

// supervisorLine reads the log of supervisord. An end that it expects, by the
// program's exitcodes, and one that it was told to make are none of a failure.
//
// http://supervisord.org/subprocess.html#process-states
func supervisorLine(l *logLine, _ *logState) (Event, bool) {
	m := supervisorHead().FindStringSubmatch(l.rest)
	if m == nil || l.at.IsZero() {
		return Event{}, false
	}
	e := l.event("", FromSystem)
	switch rest := m[2]; strings.TrimSpace(m[1]) {
	case "exited:":
		if x := supervisorExit().FindStringSubmatch(rest); x != nil && x[4] != "" {
			e.Kind, e.App, e.Signal = ContainerExited, x[1], signalNumber(x[3])
			if x[2] != "" {
				e.Code = l.number(x[2], "exit status", NoUnit)
			}
		}
	case "gave up:":
		if x := supervisorGave().FindStringSubmatch(rest); x != nil {
			e.Kind, e.App, e.Reason = BackOff, x[1], "too many start retries"
		}
	case "spawned:":
		if x := supervisorStart().FindStringSubmatch(rest); x != nil {
			e.Kind, e.App, e.PID = ContainerStarted, x[1], atoi(x[2])
		}
	}
	return e, true
}
