package record

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"

	sqlite3 "modernc.org/sqlite/lib"
)

// gzipMagic begins what gzip compressed. See RFC 1952, section 2.3.1.
var gzipMagic = []byte{0x1f, 0x8b}

// isCompact tells by its first bytes whether a file is a compact record.
func isCompact(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	b := make([]byte, len(gzipMagic))
	if _, err := io.ReadFull(f, b); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return bytes.Equal(b, gzipMagic), nil
}

// unpack makes the source a database of a compact record.
func (r *Reader) unpack(ctx context.Context) error {
	if err := r.makeTemp(); err != nil {
		return err
	}
	to := r.temp.file(FileName)
	switch err := unpackFile(ctx, r.path, to); {
	case err == nil:
	case errors.Is(err, errDamaged):
		return say(r.path+" is no record that can be read: it is damaged", ErrNotRecord)
	case errors.As(err, new(*NewerError)), errors.Is(err, ErrNotRecord):
		return err
	default:
		return fmt.Errorf("unpack %s in order to read it: %w", r.path, err)
	}
	r.compact, r.source = true, to
	return nil
}

func unpackFile(ctx context.Context, from, to string) error {
	size, err := columnBytes(from)
	if err != nil {
		return err
	}
	z, err := openCompressed(from)
	if err != nil {
		return err
	}
	defer z.Close()
	u := newUnpacker(z, size)
	if err := u.begins(from); err != nil {
		return err
	}
	version, err := u.number(1 << 31)
	switch {
	case err != nil:
		return err
	case version == 0:
		return errDamaged
	case int(version) > SchemaVersion():
		return &NewerError{Path: from, Version: int(version), Max: SchemaVersion()}
	}
	return onConn(ctx, to, unpackedParams, func(c *sql.Conn) error { return u.fill(ctx, c, int(version)) })
}

// columnBytes counts what a file decompresses to, before any of it is used.
func columnBytes(from string) (int64, error) {
	z, err := openCompressed(from)
	if err != nil {
		return 0, err
	}
	defer z.Close()
	n, err := io.Copy(io.Discard, io.LimitReader(z, maxColumnBytes+1))
	switch {
	case errors.As(err, new(*fs.PathError)):
		return 0, err
	case err != nil:
		return 0, errDamaged
	case n > maxColumnBytes:
		return 0, say(fmt.Sprintf("%s is no record that can be read: it holds more than %d MiB of values", from, maxColumnBytes>>20), ErrNotRecord)
	}
	return n, nil
}

// compressed is a file and what it decompresses to.
type compressed struct {
	*gzip.Reader
	file *os.File
}

func openCompressed(path string) (*compressed, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, errors.Join(damaged(err), f.Close())
	}
	return &compressed{z, f}, nil
}

// Close closes the file too.
func (c *compressed) Close() error { return errors.Join(c.Reader.Close(), c.file.Close()) }

func (u *unpacker) begins(from string) error {
	b := make([]byte, len(compactMagic))
	if _, err := io.ReadFull(u.r, b); err != nil || string(b) != compactMagic {
		return say(from+" is no record: it is a compressed file of another program", ErrNotRecord)
	}
	return nil
}

// unpackedParams are for a file that no crash has to spare: it is made anew.
var unpackedParams = url.Values{"_pragma": {
	"journal_mode(OFF)", "synchronous(OFF)", "locking_mode(EXCLUSIVE)", "foreign_keys(0)",
}}

// fill makes the tables of the given schema, puts the rows into them, and leads
// the database to the newest schema.
func (u *unpacker) fill(ctx context.Context, conn *sql.Conn, version int) error {
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	for _, text := range migrations[:version] {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	if err := u.tablesOf(ctx, conn); err != nil {
		return err
	}
	if err := u.insertAll(ctx, conn); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return err
	}
	return migrate(ctx, conn, version)
}

// tablesOf looks up the columns of all tables, and empties them.
func (u *unpacker) tablesOf(ctx context.Context, conn *sql.Conn) error {
	names, err := tableNames(ctx, conn)
	if err != nil {
		return err
	}
	u.tables = map[string][]column{}
	for _, name := range names {
		if u.tables[name], _, err = describe(ctx, conn, name); err != nil {
			return err
		}
		// The schema itself fills one of them.
		if _, err := conn.ExecContext(ctx, "DELETE FROM "+quote(name)); err != nil {
			return err
		}
	}
	return nil
}

// insertAll inserts the rows of all chunks. What the tables refuse, no record
// held.
func (u *unpacker) insertAll(ctx context.Context, conn *sql.Conn) error {
	for ofRun := false; ; {
		c, err := u.chunk()
		switch {
		case err != nil:
			return err
		case c == nil:
			if _, err := u.r.ReadByte(); err == nil || !ofRun {
				return errDamaged
			}
			return nil
		}
		ofRun = ofRun || c.table == "run" && c.rows > 0
		if err := c.insert(ctx, conn); err != nil {
			return err
		}
	}
}

func (c *chunk) insert(ctx context.Context, conn *sql.Conn) (err error) {
	names := make([]string, len(c.columns))
	for i := range c.columns {
		names[i] = quote(c.columns[i].name)
	}
	stmt, err := conn.PrepareContext(ctx, insert(quote(c.table), names...))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	args := make([]any, len(c.columns))
	for row := range c.rows {
		for i := range c.columns {
			args[i] = c.columns[i].value(row)
		}
		if _, err := stmt.ExecContext(ctx, args...); err != nil {
			if resultCode(err) == sqlite3.SQLITE_CONSTRAINT {
				return errDamaged
			}
			return err
		}
	}
	return nil
}

// value is that of one row.
func (x *column) value(row int) any {
	switch {
	case x.null[row]:
		return nil
	case x.kind == integers:
		return x.ints[row]
	case x.kind == texts:
		return x.texts[row]
	}
	return x.reals[row]
}
