package evidence

// slowLeast is how long, in s, a request of uWSGI's log takes to be told as slow:
// longer than a person waits. uWSGI itself calls none slow; this is a guess.
const slowLeast = 5

var (
	uwsgiTook    = expression(`\} \[[^\]]*\] ([A-Z]+) (\S+) => generated \d+ bytes in (\d+) msecs`)
	uwsgiHarakir = expression(`HARAKIRI \[core \d+\] \S+ - ([A-Z]+) (\S+) since \d+`)

	fpmSlowHead   = expression(`^\s*\[pool ([^\]]+)\] pid (\d+)$`)
	fpmSlowScript = expression(`^script_filename = (\S+)$`)
	fpmSlowFrame  = expression(`^\[0x[0-9a-f]{4,16}\] (\S.*)$`)
	fpmSlowPath   = expression(`\(request: "[A-Z]+ (\S+)"\)`)
)

// uwsgiSlow reads a request that took long, and the one in which a worker was
// when uWSGI gave it up.
//
// https://uwsgi-docs.readthedocs.io/en/latest/LogFormat.html
func uwsgiSlow(l *logLine, e *Event) {
	if m := uwsgiTook().FindStringSubmatch(l.text); m != nil {
		if took := l.number(m[3], "msecs", Millis).Times(1e-3, Seconds); took.AtLeast(slowLeast) {
			e.Kind, e.Path, e.Elapsed = SlowRequest, pathOf(m[2]), took
		}
		return
	}
	if m := uwsgiHarakir().FindStringSubmatch(l.text); m != nil {
		e.Kind, e.Path = SlowRequest, pathOf(m[2])
	}
}

// fpmSlowState is the entry of php-fpm's slow log that is being read.
type fpmSlowState struct {
	open   bool
	event  Event
	script string
}

// fpmSlowLine reads php-fpm's slow log: a line for the pool, one for the script,
// and one for each frame of its stack, the innermost first.
//
// https://www.php.net/manual/en/install.fpm.configuration.php (slowlog)
func fpmSlowLine(l *logLine, s *logState) (Event, bool) {
	k := &s.fpmSlow
	if m := fpmSlowHead().FindStringSubmatch(l.rest); m != nil {
		*k = fpmSlowState{open: true, event: l.event(SlowRequest, FromServer)}
		k.event.App, k.event.PID = shorten(m[1]), atoi(m[2])
		return Event{}, true
	}
	if m := fpmSlowScript().FindStringSubmatch(l.text); m != nil {
		k.script = shorten(redactText(m[1]))
		return Event{}, true
	}
	m := fpmSlowFrame().FindStringSubmatch(l.text)
	if m == nil {
		return Event{}, false
	}
	if !k.open {
		return Event{}, true // a frame further out
	}
	e := k.event
	e.Path, e.Frame = k.script, shorten(redactText(m[1]))
	*k = fpmSlowState{}
	return e, true
}
