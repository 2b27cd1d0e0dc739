package evidence

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"
)

// logLine is one line of a log without what shippers put before it.
type logLine struct {
	n    int
	text string // with the time that the program wrote itself
	rest string // without it
	at   time.Time
	app  string // of the prefix that docker compose or kubectl adds
	file string
	// program is what syslog says wrote it, empty where it has not passed syslog.
	program string
	// bootSeconds is a kernel log's time, -1 if there is none.
	bootSeconds float64
}

func (l *logLine) from() Source { return Source{File: l.file, Line: l.n} }

// event begins an event of the line.
func (l *logLine) event(kind EventKind, origin Origin) Event {
	return Event{At: l.at, Kind: kind, Origin: origin, App: l.app, From: l.from(), Text: strings.TrimSpace(l.text)}
}

// number makes a value of a number in the line, missing if it is none.
func (l *logLine) number(text, field string, unit Unit) Value {
	from := l.from()
	from.Field = field
	return parsedNumber(text, unit, from)
}

// lineFormat knows the lines of one program.
type lineFormat struct {
	as     string
	origin Origin
	// hints are words of which one is in each of the program's lines. Looking
	// for them first keeps long logs of others cheap.
	hints []string
	// line takes in a line; ok says that it is one of this program's, and an
	// event without a kind that it says nothing of interest.
	line func(l *logLine, s *logState) (e Event, ok bool)
}

func (f *lineFormat) mayBe(text string) bool {
	for _, h := range f.hints {
		if strings.Contains(text, h) {
			return true
		}
	}
	return false
}

// logState is what the lines of one file have said so far.
type logState struct {
	b       *builder
	version string
	workers Value // how many the server says that it has
	before  time.Time
	kernel  kernelLogState
	celery  celeryState
	// killedUnit is the unit of which systemd last told an OOM kill.
	killedUnit string
	unitEnds   map[string]*unitEnd
	toldToEnd  map[string]bool // containers that docker sent a signal
	compose    composeState
	counted    []int // events whose lines repeat a running count, by their place
	sites      map[string]*siteState
	namings    []siteNaming
	fpmSlow    fpmSlowState
	pools      []Pool
	requests   Requests // of a log that has a line for each
	refused    refusals
}

// lineFormats are tried in this order on each line.
var lineFormats = []lineFormat{
	{"kernel log", FromKernel, []string{"[", "oom-kill", "Kill", "Mem-Info", "swap", "pages RAM", "Node ", "limit of", "blocked for", "SYN flood"}, kernelLine},
	{"system log", FromSystem, []string{"OOM killer", "oom-kill", "due to memory", "sending SIG", "systemd-oomd", "low memory!", "Main process exited", "Failed with result", "Watchdog timeout", "Scheduled restart job", "Start request repeated"}, systemLine},
	{"Celery", FromServer, []string{"MainProcess", "PoolWorker", "/Beat]", "worker: ", "billiard."}, celeryLine},
	{"event loop", FromServer, []string{"has been blocked for", "Executing <"}, loopLine},
	{"connection pool", FromServer, poolHints, dbPoolLine},
	{"application start", FromServer, []string{"Started ", "started in ", "Startup completed"}, appStartedLine},
	{"gunicorn", FromServer, []string{"] [", "orker", "WORKER", "gunicorn", "Listening at"}, gunicornLine},
	{"uvicorn", FromServer, []string{"INFO: ", "ERROR: ", "WARNING: ", "CRITICAL: "}, uvicornLine},
	{"App Service docker log", FromPlatform, []string{"INFO ", "WARN", "ERROR ", "FATAL ", "Site", "ontainer", "Pulling image", "Starting ", "Image", "Establishing", "site"}, dockerLogLine},
	{"nginx error", FromServer, []string{"#"}, nginxLine},
	{"HAProxy", FromServer, []string{"] "}, haproxyLine},
	{accessLog, FromServer, []string{`] "`}, accessLine},
	{"php-fpm", FromServer, []string{"[pool ", "fpm"}, phpfpmLine},
	{"php-fpm slow log", FromServer, []string{"[pool ", "script_filename = ", "[0x"}, fpmSlowLine},
	{"uwsgi", FromServer, []string{"WSGI", "uwsgi", "HARAKIRI", "DAMN", "bound to", "MODE", "mapped ", "[pid: ", "load", "application found", "lifetime reached", "killed successfully"}, uwsgiLine},
	{"Puma", FromServer, []string{"Puma", "uma version", "booted", "timed out worker", "Listening on", "threads:", "Workers:", "Gracefully", "Goodbye"}, pumaLine},
	{"Unicorn", FromServer, []string{"worker=", "master ", "Gem list"}, unicornLine},
	{"waitress", FromServer, []string{"Task queue depth"}, waitressLine},
	{"Apache error", FromServer, []string{"error]", "notice]", "warn]", "crit]", "info]", "emerg]", "alert]", "debug]"}, apacheLine},
	{"Tomcat", FromServer, []string{"threads", "OutOfMemory", "startup", "Tomcat", "Protocol", "org.apache", "SEVERE", "WARNING: ", "INFO: ", "FINE: "}, tomcatLine},
	{".NET", FromServer, []string{"listening on", "Redis", "Timeout ", "pool starvation", "heartbeat", "Microsoft.Hosting", "Application started"}, dotnetLine},
	{"PostgreSQL", FromServer, []string{":  "}, postgresLine},
	{"client of a database", FromServer, []string{"too many clients", "slots are reserved", "Too many connections", "ER_CON_COUNT", "max_user_connections", "max number of clients"}, databaseFullLine},
	{"docker compose", FromDocker, []string{" exited with code ", "racefully ", "Aborting on container exit"}, composeLine},
	{"docker events", FromDocker, []string{"container "}, dockerEventLine},
	{"Container Apps system log", FromPlatform, []string{"Warning", "Normal", "Error"}, containerAppsLine},
	{"Kubernetes events", FromKubernetes, []string{"Warning", "Normal", "No resources found"}, kubeEventLine},
	{"Node.js", FromServer, []string{"FATAL ERROR", "EADDRINUSE", "Cannot find module", "SyntaxError", "ERR_MODULE"}, nodeLine},
	{"kernel log", FromKernel, []string{"["}, dmesgLine},
	{"console", FromServer, []string{"istening", "LISTENING", "unning on", "Local:", "Network:"}, listeningLine},
}

// accessLog is the format of lines that many programs write among their own: a log
// is named for it only where nothing else is in it.
const accessLog = "access log"

const (
	mostLine  = 8 << 10
	mostLines = 2_000_000
)

// logReader reads the lines of one log, from a file or the cells of a table.
type logReader struct {
	b      *builder
	began  int // how many events the case had before
	state  logState
	log    Log
	hits   map[string]int
	origin Origin // of lines that no format knows
	first  *logLine
	last   *logLine
	// lastAt is the time of the latest line that has one.
	lastAt time.Time
	// descending counts lines that are older than the one before: exports may
	// have the newest first.
	descending, ascending int
}

func (b *builder) newLog(file string) *logReader {
	return &logReader{
		b: b, began: len(b.c.Events), hits: map[string]int{}, origin: FromServer,
		state: logState{b: b}, log: Log{File: file, Uptime: Missing(NotSeen, "no line has the kernel's own time"), Silence: Missing(NotSeen, "the lines carry no time", Source{File: file})},
	}
}

// parseLog reads a file of lines; ok is false if no program's lines are in it
// and nothing says that it is a log.
func (b *builder) parseLog(f *file) bool {
	sum := sha256.Sum256(f.data)
	if had, ok := b.logs[sum]; ok {
		b.strange(f, "it is line for line the same as "+had.toldFrom(f)+" and counts once")
		return true
	}
	r := b.newLog(f.name)
	n := 0
	for line := range bytes.Lines(f.data) {
		if n++; n > mostLines {
			b.gap(HasServerLog, TooMuch, "a log may have 2,000,000 lines", Source{File: f.name, Line: n})
			break
		}
		r.line(n, string(bytes.TrimRight(line[:min(len(line), mostLine)], "\r\n")), time.Time{}, "")
	}
	known := 0
	for _, hits := range r.hits {
		known += hits
	}
	if known == 0 && !namedLog(f.base()) && r.lastAt.IsZero() {
		return false
	}
	r.close()
	// Short logs of two instances may well have the same words at the same second.
	const plenty = 10
	if r.log.Uptime.Known || !r.lastAt.IsZero() && (r.log.Lines >= plenty || r.log.Origin == FromKernel) {
		b.logs[sum] = f
	}
	b.input(f, r.log.As, "")
	return true
}

// namedLog says that a file's name calls it a log.
func namedLog(base string) bool {
	base = strings.ToLower(base)
	for _, word := range []string{"log", "console", "stdout", "stderr", "dmesg", "catalina", "journal"} {
		if strings.Contains(base, word) {
			return true
		}
	}
	return strings.HasSuffix(base, ".out")
}

// line takes in one line. at and app are what a table's other columns say.
func (r *logReader) line(n int, text string, at time.Time, app string) {
	r.log.Lines++
	l := unwrap(n, r.log.File, text)
	if l.at.IsZero() {
		l.at = at
	}
	if app != "" {
		l.app = app
	}
	r.state.compose.speaks(l)
	if strings.TrimSpace(l.text) == "" {
		return
	}
	r.covers(l)
	for i := range lineFormats {
		format := &lineFormats[i]
		if !format.mayBe(l.text) {
			continue
		}
		dated := !l.at.IsZero()
		e, ok := format.line(l, &r.state)
		if !ok {
			continue
		}
		if !dated {
			r.spans(l.at)
		}
		if l.bootSeconds >= 0 {
			r.log.Uptime = Known(l.bootSeconds, Seconds, l.from())
		}
		r.hits[format.as]++
		if e.Kind == "" && format.origin == FromServer && refusedMemory(l.text) {
			e = l.event(AppError, FromServer)
		}
		if e.Kind != "" {
			r.take(e, l)
		}
		return
	}
	if strings.Contains(l.text, "] [") && gunicornTorn().MatchString(l.text) {
		r.log.Garbled++
		return
	}
	if appErrorText(l.text) || shellErrorText(l.rest) {
		r.take(l.event(AppError, FromServer), l)
		return
	}
	if r.first == nil {
		r.first = l
	}
	r.last = l
}

// kernelMessage is a line of the kernel's own buffer, the n-th.
type kernelMessage struct {
	n      int
	micros uint64 // since boot
	text   string
}

// stamped is the line as dmesg shows it.
func (m *kernelMessage) stamped() string {
	return fmt.Sprintf("[%5d.%06d] %s", m.micros/1e6, m.micros%1e6, m.text)
}

// kernelLine takes in a line of the kernel's own buffer, which nobody has put
// anything before.
func (r *logReader) kernelLine(m *kernelMessage) {
	l := &logLine{n: m.n, file: r.log.File, text: m.stamped(), rest: m.text, bootSeconds: float64(m.micros) / 1e6}
	if e, ok := kernelText(l, m.text, true, &r.state); ok && e.Kind != "" {
		r.take(e, l)
	}
}

// take takes in an event of a line, and returns its place, -1 if there are so many
// that only their number is kept.
func (r *logReader) take(e Event, l *logLine) int {
	i := r.b.event(e)
	if i >= 0 && l.at.IsZero() && l.bootSeconds >= 0 {
		r.b.booted[i] = l.bootSeconds
	}
	return i
}

// covers notes the time that the log covers and its longest silence.
func (r *logReader) covers(l *logLine) {
	if l.at.IsZero() {
		return
	}
	r.spans(l.at)
	if !r.lastAt.IsZero() {
		gap, began := l.at.Sub(r.lastAt), r.lastAt
		if gap < 0 {
			r.descending++
			gap, began = -gap, l.at
		} else if gap > 0 {
			r.ascending++
		}
		if s := gap.Seconds(); !r.log.Silence.Known || s > r.log.Silence.Number {
			r.log.Silence = Known(s, Seconds, l.from())
			r.log.SilenceAt = began
		}
	}
	r.lastAt = l.at
}

// spans widens the time that the log covers.
func (r *logReader) spans(at time.Time) {
	if at.IsZero() {
		return
	}
	if r.log.From.IsZero() || at.Before(r.log.From) {
		r.log.From = at
	}
	if at.After(r.log.To) {
		r.log.To = at
	}
}

// appErrorText says that a line of a program that is not known names an error.
func appErrorText(text string) bool {
	for _, word := range []string{"Traceback (most recent call last)", "Exception", "Error:", "ERROR", "FATAL", "fatal:", "panic:"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// close names the log by the program that most of its lines are of, and keeps
// the first and the last line of the app's own.
func (r *logReader) close() {
	r.state.kernel.flush(r)
	r.state.celery.tell(r.b)
	r.state.endOnce(r.began, r.log.File)
	r.state.sinceLast()
	r.state.nameEvents(r.began)
	best, name := 0, "console"
	for _, format := range lineFormats {
		if hits := r.hits[format.as]; hits > best && format.as != accessLog {
			best, name = hits, format.as
			r.log.Origin = format.origin
		}
	}
	if best == 0 && r.hits[accessLog] > 0 {
		name = accessLog
	}
	if r.log.As == "" {
		r.log.As = name
	}
	if r.log.Origin == "" {
		r.log.Origin = r.origin
	}
	r.log.Version, r.log.Workers = r.state.version, r.state.workers
	r.state.refused.tell(r.b, r.log.File)
	if r.first != nil {
		r.take(r.first.event(AppProgress, FromServer), r.first)
	}
	if r.last != nil && r.last != r.first {
		r.take(r.last.event(AppProgress, FromServer), r.last)
	}
	r.b.c.Logs = append(r.b.c.Logs, r.log)
	r.b.c.Pools = append(r.b.c.Pools, r.state.pools...)
	if q := r.state.requests; len(q.List) > 0 {
		q.File, q.As = r.log.File, r.log.As
		r.b.c.Requests = append(r.b.c.Requests, q)
	}
}
