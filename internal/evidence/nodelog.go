package evidence

import "strings"

var (
	nodeHeap   = expression(`FATAL ERROR: .*(?:JavaScript heap out of memory|Allocation failed)`)
	nodeInUse  = expression(`EADDRINUSE: address already in use (\S+)`)
	listenURL  = expression(`\b(https?://[\w.\[\]:-]*:\d{2,5})\b`)
	listenLine = expression(`(?i)\b(?:listening|running|started|server is up)\b.*?\b(?:on|at)?\b.*?(?:port:? ?|https?://[\w.\[\]:-]*:|:)(\d{2,5})\b`)
	// viteLine is Vite's, which binds to what it prints; others print the same
	// words without its arrow, and bind to all addresses nevertheless.
	viteLine = expression(`^\s*(?:➜|>)\s+(?:Local|Network):\s+(https?://\S+)`)
	nodeLoad = expression(`^Error: Cannot find module|^SyntaxError:|ERR_MODULE_NOT_FOUND`)
)

// nodeLine reads what Node.js writes when it ends by itself.
func nodeLine(l *logLine, _ *logState) (Event, bool) {
	e := l.event("", FromServer)
	switch {
	case nodeHeap().MatchString(l.text):
		e.Kind, e.Reason = AppError, "JavaScript heap out of memory"
	case nodeInUse().MatchString(l.text):
		e.Kind, e.Address = AddressInUse, nodeInUse().FindStringSubmatch(l.text)[1]
	case nodeLoad().MatchString(l.text):
		e.Kind = AppLoadFailed
	default:
		return Event{}, false
	}
	return e, true
}

// listeningLine reads the line with which most programs say where they listen.
//
// https://vite.dev/config/server-options.html#server-host
func listeningLine(l *logLine, _ *logState) (Event, bool) {
	if m := viteLine().FindStringSubmatch(l.text); m != nil {
		e := l.event(Listening, FromServer)
		e.Address, e.Port = hostPort(m[1])
		return e, e.Port > 0
	}
	if text := strings.ToLower(l.text); !strings.Contains(text, "listening") && !strings.Contains(text, "running on") {
		return Event{}, false
	}
	m := listenLine().FindStringSubmatch(l.text)
	if m == nil {
		return Event{}, false
	}
	e := l.event(Listening, FromServer)
	e.Port = atoi(m[1])
	if u := listenURL().FindStringSubmatch(l.text); u != nil {
		e.Address, e.Port = hostPort(u[1])
	}
	return e, true
}
