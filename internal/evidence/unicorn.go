package evidence

var (
	unicornHead    = expression(`^(?:[DIWEF], \[\S+ #(\d+)\]\s+(?:DEBUG|INFO|WARN|ERROR|FATAL) -- : )?((?:worker|reaped|master|listening|Refreshing Gem|executing|forked child).*)$`)
	unicornReady   = expression(`^worker=(\d+) ready`)
	unicornSpawned = expression(`^worker=\d+ spawned pid=(\d+)`)
	unicornTimeout = expression(`^worker=\d+ PID:(\d+) timeout \(\d+s > (\d+)s\), killing`)
	unicornReaped  = expression(`^reaped #<Process::Status: pid (\d+) (?:exit (\d+)|SIG\w+ \(signal (\d+)\))`)
	unicornListen  = expression(`^listening on addr=(\S+)`)
)

// unicornLine reads the log of Unicorn. A worker says that it is ready under its
// own pid; the master tells of the others.
//
// https://yhbt.net/unicorn/Unicorn/Configurator.html#method-i-timeout
func unicornLine(l *logLine, _ *logState) (Event, bool) {
	m := unicornHead().FindStringSubmatch(l.text)
	if m == nil || m[1] == "" {
		return Event{}, false
	}
	e, text := l.event("", FromServer), m[2]
	switch {
	case unicornReady().MatchString(text):
		e.Kind, e.PID = WorkerReady, atoi(m[1])
	case unicornSpawned().MatchString(text):
		e.Kind, e.PID = WorkerBoot, atoi(unicornSpawned().FindStringSubmatch(text)[1])
	case unicornTimeout().MatchString(text):
		t := unicornTimeout().FindStringSubmatch(text)
		e.Kind, e.PID, e.Limit = WorkerTimeout, atoi(t[1]), l.number(t[2], "timeout", Seconds)
	case unicornReaped().MatchString(text):
		r := unicornReaped().FindStringSubmatch(text)
		e.Kind, e.PID, e.Signal = WorkerExit, atoi(r[1]), atoi(r[3])
		if e.Signal > 0 {
			e.Kind = WorkerSignalled
		} else {
			e.Code = l.number(r[2], "exit", NoUnit)
		}
	case unicornListen().MatchString(text):
		e.Kind = Listening
		e.Address, e.Port = hostPort(unicornListen().FindStringSubmatch(text)[1])
	}
	return e, true
}
