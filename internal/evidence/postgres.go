package evidence

var (
	postgresHead   = expression(`^\[(\d+)\](?: \S+)? (LOG|ERROR|FATAL|WARNING|PANIC|HINT|DETAIL|STATEMENT):  (.*)$`)
	postgresSignal = expression(`^(.*?) \(PID (\d+)\) was terminated by signal (\d+)`)
	postgresFull   = expression(`too many clients already|remaining connection slots are reserved`)
	postgresReady  = expression(`database system is ready to accept connections`)
)

// postgresLine reads PostgreSQL's log: its children are killed as a server's
// workers are.
func postgresLine(l *logLine, _ *logState) (Event, bool) {
	m := postgresHead().FindStringSubmatch(l.rest)
	if m == nil {
		return Event{}, false
	}
	e := l.event("", FromServer)
	switch message := m[3]; {
	case postgresSignal().MatchString(message):
		n := postgresSignal().FindStringSubmatch(message)
		e.Kind, e.Comm, e.PID, e.Signal = WorkerSignalled, n[1], atoi(n[2]), atoi(n[3])
	case postgresFull().MatchString(message):
		e.Kind, e.Reason = PoolAtLimit, MaxConnections
	case postgresReady().MatchString(message):
		e.Kind = WorkerReady
	case m[2] == "FATAL" || m[2] == "PANIC":
		e.Kind = AppError
	}
	return e, true
}
