package evidence

import "strings"

var (
	celeryHead  = expression(`^(?:: )?(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)/\w[\w-]*\] (.*)$`)
	celeryExit  = expression(`^Process '([^']+)' pid:(\d+) exited with '(?:signal (\d+) \(|exitcode (-?\d+))`)
	celeryLost  = expression(`Task handler raised error: .*WorkerLostError\('?"?Worker exited prematurely: (?:signal (\d+) |\(?exitcode:? (-?\d+))`)
	celeryLimit = expression(`^Hard time limit \((\d+(?:\.\d+)?)s\) exceeded for `)
	celeryStop  = expression(`^worker: (?:Warm|Cold) shutdown`)
)

// celeryState is what a log of Celery has said so far.
type celeryState struct {
	// limits counts tasks that ran into their hard limit, whose process has not
	// been reported as ended: Celery itself kills it.
	limits int
	named  bool // it tells which process ended, so the task's own line is a repeat
}

// celeryLine reads the log of a Celery worker. A child that is lost is told
// twice, by its process and by its task; releases before 4 tell of the task
// alone. A hard time limit kills the child with SIGKILL, which is no sign of
// memory.
//
// https://docs.celeryq.dev/en/stable/userguide/workers.html#time-limits
func celeryLine(l *logLine, s *logState) (Event, bool) {
	if strings.HasPrefix(l.text, "billiard.exceptions.") {
		return l.event("", FromServer), true // the end of a traceback
	}
	if celeryStop().MatchString(l.text) {
		return l.event(ServerStopping, FromServer), true
	}
	m := celeryHead().FindStringSubmatch(l.rest)
	if m == nil {
		return Event{}, false
	}
	e := l.event("", FromServer)
	switch message := m[1]; {
	case celeryExit().MatchString(message):
		m := celeryExit().FindStringSubmatch(message)
		e.PID = atoi(m[2])
		s.celery.named = true
		s.celery.ended(&e, l, m[3], m[4])
	case celeryLost().MatchString(message):
		if m := celeryLost().FindStringSubmatch(message); !s.celery.named {
			s.celery.ended(&e, l, m[1], m[2])
		}
	case celeryLimit().MatchString(message):
		s.celery.limits++
	case strings.Contains(message, "raised unexpected:"):
		e.Kind = AppError
	}
	return e, true
}

// ended fills in how a process ended. Exit codes below 0 are signals.
func (s *celeryState) ended(e *Event, l *logLine, signal, code string) {
	e.Kind, e.Signal = WorkerSignalled, atoi(signal)
	if negative, ok := strings.CutPrefix(code, "-"); ok {
		e.Signal = atoi(negative)
	} else if code != "" {
		e.Kind, e.Code = WorkerExit, l.number(code, "exitcode", NoUnit)
	}
	if e.Signal == 9 && s.limits > 0 {
		s.limits--
		e.Kind = WorkerTimeout
	}
}
