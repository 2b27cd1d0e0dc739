package evidence

var waitressDepth = expression(`\bTask queue depth is (\d+)`)

// waitressLine reads how many requests wait in waitress because all of its
// threads are busy.
//
// https://docs.pylonsproject.org/projects/waitress/en/stable/logging.html
func waitressLine(l *logLine, _ *logState) (Event, bool) {
	m := waitressDepth().FindStringSubmatch(l.text)
	if m == nil {
		return Event{}, false
	}
	e := l.event(RequestsQueued, FromServer)
	e.Queue = l.number(m[1], "Task queue depth", Events)
	return e, true
}
