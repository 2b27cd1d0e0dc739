package evidence

// MaxConnections is the reason of a [PoolAtLimit] of a database that has no
// connection left for a client.
const MaxConnections = "max_connections"

// databaseFull is what clients are told: PostgreSQL's 53300, MySQL's 1040 and
// 1203, Redis's limit of clients.
//
// https://dev.mysql.com/doc/refman/8.4/en/too-many-connections.html
var databaseFull = expression(`sorry, too many clients already|remaining connection slots are reserved for|` +
	`\b1040\b.{0,12}Too many connections|ER_CON_COUNT_ERROR|max_user_connections|max number of clients reached`)

// databaseFullLine reads what the log of a client has of a database that turns
// it away.
func databaseFullLine(l *logLine, _ *logState) (Event, bool) {
	if !databaseFull().MatchString(l.text) {
		return Event{}, false
	}
	e := l.event(PoolAtLimit, FromServer)
	e.Reason = MaxConnections
	return e, true
}
