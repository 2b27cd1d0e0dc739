package record

import (
	"context"
	"database/sql"
	_ "embed" // the schema
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
)

// applicationID marks a SQLite file as a record ("brnk").
// See https://www.sqlite.org/pragma.html#pragma_application_id.
const applicationID = 0x62726e6b

var (
	//go:embed schema/001.sql
	schema001 string
	//go:embed schema/002.sql
	schema002 string
	//go:embed schema/views.sql
	views string
)

// migrations[i] leads from schema i to schema i+1; the views are made anew
// after the last of them.
var migrations = []string{schema001, schema002}

// SchemaVersion is the newest schema that this program reads, and the one
// that it writes.
func SchemaVersion() int { return len(migrations) }

// migrate leads a database from schema version from to the newest one, or
// leaves it as it is.
func migrate(ctx context.Context, conn *sql.Conn, from int) (err error) {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	defer func() {
		if err != nil {
			_, _ = conn.ExecContext(ctx, "ROLLBACK")
		}
	}()
	for i, text := range migrations[from:] {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("schema %d: %w", from+i+1, err)
		}
	}
	if _, err := conn.ExecContext(ctx, views); err != nil {
		return fmt.Errorf("views: %w", err)
	}
	mark := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", applicationID, SchemaVersion())
	if _, err := conn.ExecContext(ctx, mark); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	return nil
}

// dsn names a database file to the driver, with SQLite's own URI parameters
// and pragmas. See https://www.sqlite.org/uri.html.
func dsn(file string, params url.Values) (string, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path.Clean(abs), RawQuery: params.Encode()}
	return u.String(), nil
}

// openDB opens a database of one connection.
func openDB(file string, params url.Values) (*sql.DB, error) {
	name, err := dsn(file, params)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// onConn opens a database for as long as do works on its connection.
func onConn(ctx context.Context, file string, params url.Values, do func(*sql.Conn) error) (err error) {
	db, err := openDB(file, params)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return do(conn)
}
