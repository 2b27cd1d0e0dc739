package evidence

import "strings"

var (
	dotnetListen = expression(`Now listening on: (\S+)`)
	redisTimeout = expression(`RedisTimeoutException|Timeout (?:awaiting response|performing \w+)`)
	redisElapsed = expression(`(\d+)ms elapsed`)
	redisLimit   = expression(`timeout is (\d+)ms`)
	redisPool    = expression(`(IOCP|WORKER): \(Busy=(\d+),Free=(\d+),Min=(\d+),Max=(\d+)\)`)
	kestrelSlow  = expression(`thread pool starvation|heartbeat has been running for`)
)

// dotnetLine reads what ASP.NET Core and StackExchange.Redis write. The latter
// prints the state of the thread pool with each time-out: threads beyond Min
// are added one or two a second.
//
// https://stackexchange.github.io/StackExchange.Redis/Timeouts
func dotnetLine(l *logLine, s *logState) (Event, bool) {
	e := l.event("", FromServer)
	switch {
	case dotnetListen().MatchString(l.text):
		e.Kind = Listening
		e.Address, e.Port = hostPort(dotnetListen().FindStringSubmatch(l.text)[1])
	case redisTimeout().MatchString(l.text):
		e.Kind, e.Reason = ClientTimeout, "Redis"
		if m := redisElapsed().FindStringSubmatch(l.text); m != nil {
			e.Elapsed = l.number(m[1], "elapsed", Millis).Times(1e-3, Seconds)
		}
		if m := redisLimit().FindStringSubmatch(l.text); m != nil {
			e.Limit = l.number(m[1], "timeout", Millis).Times(1e-3, Seconds)
		}
		for _, m := range redisPool().FindAllStringSubmatch(l.text, 2) {
			s.pools = append(s.pools, threadPool(l, m))
		}
	case kestrelSlow().MatchString(l.text):
		e.Kind, e.Reason = AppError, "thread pool starvation"
	case strings.Contains(l.text, "Microsoft.Hosting.Lifetime"), strings.HasPrefix(l.text, "Application started. Press Ctrl+C"):
	default:
		return Event{}, false
	}
	return e, true
}

// threadPool makes a pool of "NAME: (Busy=,Free=,Min=,Max=)".
func threadPool(l *logLine, m []string) Pool {
	return Pool{
		Name: m[1], Server: ".NET ThreadPool", Seen: PoolLog, At: l.at, From: l.from(),
		Busy: l.number(m[2], m[1]+" Busy", Events), Idle: l.number(m[3], m[1]+" Free", Events),
		Min: l.number(m[4], m[1]+" Min", Events), Max: l.number(m[5], m[1]+" Max", Events),
		Workers: Missing(CannotTell, "it has between Busy and Max threads", l.from()), Queued: notTold(l),
		Note: "threads beyond Min are added slowly, so Free says nothing",
	}
}
