package evidence

import (
	"regexp"
	"strings"
)

// poolEmpty is what a library says when a request has waited for a connection
// of its pool and got none: a word of it, and where it has them the time waited
// and its unit in s, the size of the pool, and how many more wait.
type poolEmpty struct {
	hint    string
	pattern func() *regexp.Regexp
	unit    float64 // of the first group, in s
}

// poolEmpties are SQLAlchemy, Npgsql, SqlClient, ActiveRecord, Knex, Sequelize,
// Prisma, psycopg's pool, Tomcat's and Commons' DBCP, c3p0 and pgx.
//
// https://docs.sqlalchemy.org/en/20/errors.html#error-3o7r
var poolEmpties = []poolEmpty{
	{"QueuePool limit", expression(`QueuePool limit of size (?P<size>\d+) overflow (?P<more>-?\d+) reached, connection timed out, timeout (?P<wait>\d+(?:\.\d+)?)`), 1},
	{"connection pool has been exhausted", expression(`connection pool has been exhausted, either raise .*(?:Pool Size|PoolSize)[^(]*\(currently (?P<size>\d+)\)(?:.*Timeout\W+\(currently (?P<wait>\d+) seconds\))?`), 1},
	{"obtaining a connection from the pool", expression(`prior to obtaining a connection from the pool`), 1},
	{"could not obtain a", expression(`could not obtain a (?:database )?connection (?:from the pool )?within (?P<wait>\d+(?:\.\d+)?) seconds`), 1},
	{"acquiring a connection", expression(`Timeout acquiring a connection\. The pool is probably full`), 1},
	{"ConnectionAcquireTimeoutError", expression(`SequelizeConnectionAcquireTimeoutError|ConnectionAcquireTimeoutError`), 1},
	{"from the connection pool", expression(`Timed out fetching a new connection from the connection pool(?:.*connection pool timeout: (?P<wait>\d+), connection limit: (?P<size>\d+))?`), 1},
	{"couldn't get a connection", expression(`couldn't get a connection after (?P<wait>\d+(?:\.\d+)?) sec`), 1},
	{"Pool empty. Unable to fetch", expression(`Pool empty\. Unable to fetch a connection in (?P<wait>\d+) seconds, none available\[size:(?P<size>\d+)`), 1},
	{"Cannot get a connection", expression(`Cannot get a connection, (?:pool error:? )?(?:Timeout waiting for idle object|pool exhausted)`), 1},
	{"has timed out", expression(`An attempt by a client to checkout a Connection has timed out`), 1},
	{"Connection is not available", expression(`HikariPool-\d+ - Connection is not available, request timed out after (?P<wait>\d+)ms(?:\.? \(total=(?P<size>\d+), active=\d+, idle=\d+, waiting=(?P<queue>\d+)\))?`), 1e-3},
}

var poolHints = func() []string {
	var hints []string
	for _, p := range poolEmpties {
		hints = append(hints, p.hint)
	}
	return hints
}()

// ConnectionFromPool is the reason of a [ClientTimeout] that waited for a
// connection to a database.
const ConnectionFromPool = "a database connection from the pool"

// dbPoolLine reads what clients of databases say of a pool that is used up.
func dbPoolLine(l *logLine, _ *logState) (Event, bool) {
	for _, p := range poolEmpties {
		if !strings.Contains(l.text, p.hint) {
			continue
		}
		m := p.pattern().FindStringSubmatch(l.text)
		if m == nil {
			continue
		}
		e := l.event(ClientTimeout, FromServer)
		e.Reason = ConnectionFromPool
		for i, name := range p.pattern().SubexpNames() {
			switch {
			case i == 0 || m[i] == "":
			case name == "wait":
				e.Elapsed = l.number(m[i], "timeout", Seconds).Times(p.unit, Seconds)
			case name == "size":
				e.Limit = l.number(m[i], "pool size", Events).Plus(e.Limit.Else(Known(0, Events)))
			case name == "queue":
				e.Queue = l.number(m[i], "waiting", Events)
			case name == "more":
				if more := l.number(m[i], "overflow", Events); more.Above(0) {
					e.Limit = e.Limit.Plus(more)
				}
			}
		}
		return e, true
	}
	return Event{}, false
}

var (
	springStarted    = expression(`\bStarted \S+ in (\d+(?:\.\d+)?) seconds \((?:process running|JVM running) for`)
	quarkusStarted   = expression(`\bstarted in (\d+(?:\.\d+)?)s\.(?: |$)`)
	micronautStarted = expression(`Startup completed in (\d+)ms`)
)

// appStartedLine reads how long a framework says that its start took.
func appStartedLine(l *logLine, _ *logState) (Event, bool) {
	e := l.event(WorkerReady, FromServer)
	for _, known := range []struct {
		pattern *regexp.Regexp
		unit    float64
	}{{springStarted(), 1}, {quarkusStarted(), 1}, {micronautStarted(), 1e-3}} {
		if m := known.pattern.FindStringSubmatch(l.text); m != nil {
			e.Elapsed = l.number(m[1], "started in", Seconds).Times(known.unit, Seconds)
			return e, true
		}
	}
	return Event{}, false
}
