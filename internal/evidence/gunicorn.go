package evidence

import (
	"strconv"
	"strings"
)

var (
	gunicornHead    = expression(`^\[(\d+)\] \[(DEBUG|INFO|WARNING|ERROR|CRITICAL)\] (.*)$`)
	gunicornOldHead = expression(`^(DEBUG|INFO|WARNING|ERROR|CRITICAL)?\s*(?:gunicorn[\w.]*:?)?\s*((?:Booting worker|Worker|WORKER TIMEOUT|Listening at|Starting gunicorn).*)$`)
	gunicornStart   = expression(`^Starting gunicorn ([\d.]+\w*)`)
	gunicornListen  = expression(`^(?:Control socket )?[Ll]istening at: ?(\S+)`)
	gunicornPID     = expression(`\(?pid:? ?:?(\d+)\)?`)
	gunicornKilled  = expression(`^Worker \(pid:(\d+)\) was sent (SIG\w+|code (\d+))!`)
	gunicornSignal  = expression(`^Worker with pid (\d+) was terminated due to signal (\d+)`)
	gunicornExited  = expression(`^Worker \(pid:? ?(\d+)\) exited with code:? (\d+)`)
	gunicornExiting = expression(`^Worker exiting \(pid: (\d+)\)`)
	gunicornHandle  = expression(`^Handling signal: (\w+)`)
	gunicornShut    = expression(`^Shutting down: Master`)
	// gunicornTorn is the end of a line whose beginning another one took.
	gunicornTorn = expression(`.\d{2}:\d{2}:\d{2} [+-]\d{4}\] \[\d+\] \[[A-Z]+\]`)
)

// gunicornLine reads the log of gunicorn 0.x to 23. Before 20.0.5 it says
// nothing about a worker that was killed; 20.0.5 and 20.1 word it differently,
// and 21 gives the wait status as a code. Two processes write without a lock,
// so lines may be torn into each other.
//
// https://github.com/benoitc/gunicorn/blob/master/gunicorn/arbiter.py (reap_workers)
func gunicornLine(l *logLine, s *logState) (Event, bool) {
	message := ""
	if m := gunicornHead().FindStringSubmatch(l.rest); m != nil {
		message = m[3]
	} else if m := gunicornOldHead().FindStringSubmatch(l.rest); m != nil {
		message = m[2]
	} else {
		return Event{}, false
	}
	return gunicornMessage(l, s, message), true
}

func gunicornMessage(l *logLine, s *logState, message string) Event {
	e := l.event("", FromServer)
	switch {
	case gunicornStart().MatchString(message):
		s.version = gunicornStart().FindStringSubmatch(message)[1]
		e.Kind, e.Version = ServerStarted, s.version
	case strings.HasPrefix(message, "Control socket"):
		// Since 24: where its own commands go, not requests.
	case gunicornListen().MatchString(message):
		e.Kind = Listening
		e.Address, e.Port = hostPort(gunicornListen().FindStringSubmatch(message)[1])
	case strings.HasPrefix(message, "Booting worker"):
		e.Kind, e.PID = WorkerBoot, gunicornPIDOf(message)
	case strings.HasPrefix(message, "WORKER TIMEOUT"):
		e.Kind, e.PID = WorkerTimeout, gunicornPIDOf(message)
	case gunicornKilled().MatchString(message):
		m := gunicornKilled().FindStringSubmatch(message)
		e.PID = atoi(m[1])
		gunicornStatus(&e, l, m[2], m[3])
	case gunicornSignal().MatchString(message):
		m := gunicornSignal().FindStringSubmatch(message)
		e.Kind, e.PID, e.Signal = WorkerSignalled, atoi(m[1]), atoi(m[2])
	case gunicornExited().MatchString(message):
		m := gunicornExited().FindStringSubmatch(message)
		e.Kind, e.PID, e.Code = WorkerExit, atoi(m[1]), l.number(m[2], "code", NoUnit)
		if m[2] == "3" {
			e.Kind = WorkerBootFailed
		}
	case strings.HasPrefix(message, "Worker failed to boot"), strings.Contains(message, "Reason: Worker failed to boot"):
		e.Kind, e.Code = WorkerBootFailed, Known(3, NoUnit, l.from())
	case strings.Contains(message, "Reason: App failed to load"):
		e.Kind, e.Code = AppLoadFailed, Known(4, NoUnit, l.from())
	case strings.HasPrefix(message, "Exception in worker process"):
		e.Kind, e.Reason = AppError, "exception in a worker"
	case gunicornExiting().MatchString(message):
		e.Kind, e.PID = WorkerExit, atoi(gunicornExiting().FindStringSubmatch(message)[1])
	case strings.HasPrefix(message, "Connection in use"):
		e.Kind, e.Address = AddressInUse, strings.TrimPrefix(message, "Connection in use: ")
	case gunicornHandle().MatchString(message):
		e.Kind, e.Reason = ServerStopping, gunicornHandle().FindStringSubmatch(message)[1]
		if e.Reason == "winch" || e.Reason == "hup" || e.Reason == "usr1" {
			e.Kind = ""
		}
	case gunicornShut().MatchString(message):
		e.Kind = ServerStopping
	}
	return e
}

// gunicornStatus reads "SIGKILL" or "code N": a number below 128 is a signal
// with the core bit taken off, one above is 128 + signal, as 134 for SIGABRT.
func gunicornStatus(e *Event, l *logLine, word, code string) {
	e.Kind = WorkerSignalled
	if code == "" {
		e.Signal = signalNumber(word)
		return
	}
	e.Code = l.number(code, "code", NoUnit)
	e.Signal = atoi(code) & 0x7f
}

func gunicornPIDOf(message string) int {
	if m := gunicornPID().FindStringSubmatch(message); m != nil {
		return atoi(m[1])
	}
	return 0
}

var signalNames = map[string]int{
	"SIGHUP": 1, "SIGINT": 2, "SIGQUIT": 3, "SIGILL": 4, "SIGABRT": 6, "SIGBUS": 7, "SIGFPE": 8, "SIGKILL": 9,
	"SIGUSR1": 10, "SIGSEGV": 11, "SIGUSR2": 12, "SIGPIPE": 13, "SIGALRM": 14, "SIGTERM": 15,
}

// signalNumber is Linux's number of a signal, 0 for one that is not known.
func signalNumber(name string) int { return signalNames[strings.ToUpper(name)] }

// atoi reads digits that a pattern has matched; too many make 0.
func atoi(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// hostPort takes an address apart: "http://[::]:80", "0.0.0.0:8000 (1)",
// "unix:/run/app.sock".
func hostPort(text string) (address string, port int) {
	text = strings.TrimSpace(text)
	text, _, _ = strings.Cut(text, " ")
	if rest, ok := strings.CutPrefix(text, "unix:"); ok {
		return strings.TrimPrefix(rest, "//"), 0
	}
	if _, rest, ok := strings.Cut(text, "://"); ok {
		text = rest
	}
	text, _, _ = strings.Cut(text, "/")
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		if n, err := strconv.ParseUint(text[i+1:], 10, 16); err == nil {
			return text, int(n)
		}
	}
	return text, 0
}
