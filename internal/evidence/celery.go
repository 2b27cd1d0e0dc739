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
	// limits are those of the tasks that ran into their hard limit, whose process
	// has not been reported as ended: Celery itself kills it.
	limits []Event
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
		limit := l.event(WorkerTimeout, FromServer)
		limit.Limit = l.number(celeryLimit().FindStringSubmatch(message)[1], "hard time limit", Seconds)
		s.celery.limits = append(s.celery.limits, limit)
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
	if e.Signal == 9 && len(s.limits) > 0 {
		e.Kind, e.Limit = WorkerTimeout, s.limits[0].Limit
		s.limits = s.limits[1:]
	}
}

// tell makes an event of the tasks that ran into their limit in a log that has not
// the ends of their processes, as what grep has left of one.
func (s *celeryState) tell(b *builder) {
	if n := len(s.limits); n > 0 {
		e := s.limits[n-1]
		e.Times = Known(float64(n), Events, s.limits[0].From, e.From)
		b.event(e)
	}
}
