package record

import (
	"context"
	"database/sql"
	_ "embed" // the queries
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var (
	//go:embed queries/memory-and-cpu-trend.sql
	memoryAndCPUTrend string
	//go:embed queries/startup-failures.sql
	startupFailures string
	//go:embed queries/restarts.sql
	restarts string
)

// Query is a question that can be asked of any record.
type Query struct {
	// Name is how the command line calls it.
	Name string `json:"name"`
	// Description is one sentence.
	Description string `json:"description"`
	SQL         string `json:"sql"`
}

// Queries returns the questions that ship with brink: the twins in SQL of the
// KQL that is asked of Azure, over views with the columns of Azure's tables.
func Queries() []Query {
	return []Query{parseQuery(memoryAndCPUTrend), parseQuery(startupFailures), parseQuery(restarts)}
}

// parseQuery reads the two head lines of a query's file.
func parseQuery(text string) Query {
	q := Query{SQL: text}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "-- name: "); ok {
			q.Name = name
		}
		if description, ok := strings.CutPrefix(line, "-- description: "); ok {
			q.Description = description
		}
	}
	return q
}

// Query runs one statement that reads, and returns its columns and rows.
// Values are int64, float64, string, []byte or nil; the row is reused and is
// valid until the next one. Ranging over the rows, once, releases the query,
// as does the end of ctx. A statement that would do more than read gets
// ErrRefused.
func (r *Reader) Query(ctx context.Context, text string) ([]string, iter.Seq2[[]any, error], error) {
	db, err := r.readOnly()
	if err != nil {
		return nil, nil, err
	}
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return nil, nil, queryError(err)
	}
	columns, err := rows.Columns()
	if err == nil && len(columns) == 0 {
		err = errors.New("a query must return rows: this one is empty or returns none")
	}
	if err != nil {
		return nil, nil, errors.Join(err, rows.Close())
	}
	return columns, values(rows, len(columns)), nil
}

func values(rows *sql.Rows, columns int) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		defer rows.Close()
		row, dest := make([]any, columns), make([]any, columns)
		for i := range row {
			dest[i] = &row[i]
		}
		for rows.Next() {
			if err := rows.Scan(dest...); err != nil {
				yield(nil, queryError(err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, queryError(err))
		}
	}
}

func queryError(err error) error {
	code := resultCode(err)
	// A function that is refused comes as a plain error, known by its text.
	if code == sqlite3.SQLITE_AUTH || code == sqlite3.SQLITE_READONLY ||
		code == sqlite3.SQLITE_ERROR && strings.Contains(err.Error(), "not authorized") {
		return ErrRefused
	}
	return fmt.Errorf("query: %w", err)
}

// readOnly opens connections on which SQLite itself refuses all but reading.
func (r *Reader) readOnly() (*sql.DB, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.queryDB != nil {
		return r.queryDB, nil
	}
	params := url.Values{"_query_only": {"1"}}
	maps.Copy(params, r.params)
	name, err := dsn(r.source, params)
	if err != nil {
		return nil, err
	}
	d := &sqlite.Driver{}
	d.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, _ string) error {
		return conn.(sqlite.AuthorizerRegisterer).RegisterAuthorizer(mayRead)
	})
	r.queryDB = sql.OpenDB(connector{d, name})
	r.queryDB.SetMaxOpenConns(connections)
	return r.queryDB, nil
}

// readingPragmas only tell; the others are settings or have effects.
var readingPragmas = map[string]bool{
	"table_info": true, "table_xinfo": true, "table_list": true, "index_list": true, "index_info": true,
	"index_xinfo": true, "foreign_key_list": true, "function_list": true, "compile_options": true,
}

// mayRead lets a statement read tables and call functions and nothing else.
// See https://www.sqlite.org/c3ref/set_authorizer.html. VACUUM INTO, which
// would write another file, attaches it and is refused for that.
func mayRead(action sqlite.AuthorizerActionCode, arg1, arg2, _, _ string) sqlite.AuthorizerReturnCode {
	switch action {
	case sqlite.AuthSelect, sqlite.AuthRead, sqlite.AuthRecursive:
		return sqlite.AuthorizerOK
	case sqlite.AuthFunction:
		if !strings.EqualFold(arg2, "load_extension") {
			return sqlite.AuthorizerOK
		}
	case sqlite.AuthPragma:
		if readingPragmas[strings.ToLower(arg1)] {
			return sqlite.AuthorizerOK
		}
	}
	return sqlite.AuthorizerDeny
}
