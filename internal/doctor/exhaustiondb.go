package doctor

import (
	"slices"

	"brink/internal/evidence"
)

// fullDatabase judges a database that turns clients away because all that it
// allows are connected, by its own log or by theirs.
func fullDatabase(limit []*evidence.Event) *Finding {
	full := slices.DeleteFunc(slices.Clone(limit), func(e *evidence.Event) bool { return e.Reason != evidence.MaxConnections })
	f := &Finding{Subject: full[len(full)-1].App}
	f.What = "The database turns clients away: all connections that it allows (max_connections) are in use, and it says so in " + f.count("lines", countOf(full), "line") + "."
	f.between(stretch(full))
	f.level(Observed, "the database's own words, in its log or its client's")
	f.Cause = "Apps × instances × workers × connections of each is more than the database allows, or connections are held that nobody uses any more. Which, these lines do not tell."
	f.not("a database that cannot be reached", "it answered, with a refusal")
	f.not("a database that is too slow", "possible as the reason why connections are held; the refusal itself comes from their number")
	f.Now = []string{"List who is connected and what each does (pg_stat_activity, SHOW PROCESSLIST, CLIENT LIST): idle ones can be ended.",
		"Stop what opens the most: instances or workers beyond need."}
	f.Properly = []string{"Bound the pool of each process, so that instances × workers × pool stays below max_connections, with a few left for operators.",
		"A pooler in between (PgBouncer, ProxySQL) where that cannot hold. Raising max_connections costs the database memory for each."}
	f.Settle = []string{"The number of connections by client and state, a few times in the same minutes."}
	return f
}
