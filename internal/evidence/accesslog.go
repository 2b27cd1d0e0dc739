package evidence

import (
	"strings"
	"time"
)

var (
	// accessRow is the common log format, with what others put behind it.
	accessRow = expression(`^(?:\S+ )?\S+ \S+ \S+ \[(\d{2}/[A-Z][a-z]{2}/\d{4}[: ]\d{2}:\d{2}:\d{2}(?: [+-]\d{4})?)\] "(?:[A-Z]+ )?(\S*)[^"]*" (\d{3}) (?:\d+|-)(.*)$`)
	// accessTook is how long it took, in s, where the format names it: nobody tells
	// of a bare number what it is of.
	accessTook = expression(`\b(?:rt|request_time)[=:] ?"?(\d+\.\d{3})\b`)
)

// accessLine reads the access log of nginx, Apache, gunicorn and Werkzeug: requests
// with their status, and mostly without how long they took.
//
// https://httpd.apache.org/docs/2.4/logs.html#accesslog
// https://nginx.org/en/docs/http/ngx_http_log_module.html
func accessLine(l *logLine, s *logState) (Event, bool) {
	m := accessRow().FindStringSubmatch(l.text)
	if m == nil {
		return Event{}, false
	}
	for _, layout := range []string{"02/Jan/2006:15:04:05 -0700", "02/Jan/2006 15:04:05"} {
		if at, err := time.Parse(layout, m[1]); err == nil {
			l.at = at.UTC()
		}
	}
	q := Request{At: l.at, App: l.app, Path: pathOf(m[2]), Asks: strings.Contains(m[2], "?"), Status: atoi(m[3]), Seconds: -1, Line: l.n}
	if took := accessTook().FindStringSubmatch(m[4]); took != nil {
		q.Seconds = l.number(took[1], "request_time", Seconds).Number
	}
	s.requests.add(q)
	return Event{}, true
}
