package evidence

import "strings"

var (
	nodeHeap   = expression(`FATAL ERROR: .*(?:JavaScript heap out of memory|Allocation failed)`)
	nodeInUse  = expression(`EADDRINUSE: address already in use (\S+)`)
	nodeListen = expression(`(?i)\b(?:listening|running|started|server is up)\b.*?\b(?:on|at)?\b.*?(?:port:? ?|https?://[\w.\[\]:-]*:|:)(\d{2,5})\b`)
	nodeLoad   = expression(`^Error: Cannot find module|^SyntaxError:|ERR_MODULE_NOT_FOUND`)
)

// nodeLine reads what Node.js writes when it ends by itself, and the line with
// which most programs say where they listen.
func nodeLine(l *logLine, _ *logState) (Event, bool) {
	e := l.event("", FromServer)
	switch {
	case nodeHeap().MatchString(l.text):
		e.Kind, e.Reason = AppError, "JavaScript heap out of memory"
	case nodeInUse().MatchString(l.text):
		e.Kind, e.Address = AddressInUse, nodeInUse().FindStringSubmatch(l.text)[1]
	case nodeLoad().MatchString(l.text):
		e.Kind = AppLoadFailed
	case strings.Contains(strings.ToLower(l.text), "listening") || strings.Contains(strings.ToLower(l.text), "running on"):
		m := nodeListen().FindStringSubmatch(l.text)
		if m == nil {
			return Event{}, false
		}
		e.Kind, e.Port = Listening, atoi(m[1])
	default:
		return Event{}, false
	}
	return e, true
}
