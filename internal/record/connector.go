package record

import (
	"context"
	"database/sql/driver"

	"modernc.org/sqlite"
)

// connector opens one database with a driver of its own.
type connector struct {
	driver *sqlite.Driver
	name   string
}

// Connect implements driver.Connector.
func (c connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.name) }

// Driver implements driver.Connector.
func (c connector) Driver() driver.Driver { return c.driver }
