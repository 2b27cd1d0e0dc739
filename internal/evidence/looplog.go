package evidence

var (
	vertxBlocked = expression(`Thread Thread\[(?:#\d+,)?(vert\.x-eventloop-thread-\d+)[^\]]*\](?:=Thread\[[^\]]*\])? has been blocked for (\d+) ms, time limit is (\d+)`)
	asyncioSlow  = expression(`Executing <(?:Task|Handle|TimerHandle)\b.*> took (\d+\.\d+) seconds`)
)

// loopLine reads what event loops say of themselves: Vert.x while one is held,
// once a second, and asyncio in debug mode afterwards. Worker threads of Vert.x
// may block; they are left out.
//
// https://vertx.io/docs/vertx-core/java/#_running_blocking_code,
// https://docs.python.org/3/library/asyncio-dev.html#debug-mode
func loopLine(l *logLine, _ *logState) (Event, bool) {
	e := l.event(LoopBlocked, FromServer)
	if m := vertxBlocked().FindStringSubmatch(l.text); m != nil {
		e.Comm = m[1]
		e.Elapsed = l.number(m[2], "blocked for", Millis).Times(1e-3, Seconds)
		e.Limit = l.number(m[3], "time limit", Millis).Times(1e-3, Seconds)
		return e, true
	}
	if m := asyncioSlow().FindStringSubmatch(l.text); m != nil {
		e.Elapsed = l.number(m[1], "took", Seconds)
		return e, true
	}
	return Event{}, false
}
