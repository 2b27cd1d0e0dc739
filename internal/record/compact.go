package record

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// CompactFileName is the name of a compact record in the directory of a run.
const CompactFileName = "record.compact"

// compactMagic begins what a compact record holds, once it is decompressed.
const compactMagic = "brink compact record 1\n"

// compactEnd is a chunk without digits and of no table: the last one.
var compactEnd = []byte{0, 0}

// maxColumnBytes bounds what a compact record decompresses to, and with it the
// database that it unpacks to: a byte of it is at most nine there. The columns
// of a whole day with eight apps, once a second, are some 100 MiB.
const maxColumnBytes = 128 << 20

// IsRun tells whether path is the directory of a run or, by its name, a record.
func IsRun(path string) bool {
	switch filepath.Base(path) {
	case FileName, CompactFileName:
		info, err := os.Stat(path)
		return err == nil && !info.IsDir()
	}
	for _, name := range []string{FileName, CompactFileName} {
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			return true
		}
	}
	return false
}

// ExportCompact writes all that the record holds, and nothing of SQLite's, to
// dir/record.compact, making dir: every value of every row, column by column
// as differences, compressed. Open reads it like the record itself.
// It takes about a tenth of the record's size. The file appears when it is
// complete; one that is there already is not touched (ErrExists) without
// Overwrite. A record that a process writes, or that has more than can be
// unpacked again, is refused, and what was written is read back and compared
// before it gets its name. It returns the file's path.
func ExportCompact(ctx context.Context, r *Reader, dir string, options ...ExportOption) (string, error) {
	e := &export{r: r, dir: dir}
	for _, o := range options {
		o(e)
	}
	if r.live {
		return "", say(r.path + " is still being written: end its run first")
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", fmt.Errorf("export: %w", err)
	}
	if err := e.absent(CompactFileName); err != nil {
		return "", err
	}
	return e.create(CompactFileName, func(f *os.File) error {
		written, err := r.writeCompact(ctx, f)
		if err != nil {
			return err
		}
		if err := r.compareCompact(ctx, f.Name(), written); err != nil {
			return fmt.Errorf("what was written cannot take the record's place, keep that: %w", err)
		}
		return nil
	})
}

// compareCompact reads a compact record back: it must hold as many rows and
// the same values.
func (r *Reader) compareCompact(ctx context.Context, file string, want [sha256.Size]byte) (err error) {
	c, err := Open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	names, err := r.tables(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		var rows, kept int64
		count := "SELECT count(*) FROM " + quote(name)
		if err := r.db.QueryRowContext(ctx, count).Scan(&rows); err != nil {
			return err
		}
		if err := c.db.QueryRowContext(ctx, count).Scan(&kept); err != nil {
			return err
		}
		if rows != kept {
			return fmt.Errorf("of %d rows of %s it has %d", rows, name, kept)
		}
	}
	got, err := c.writeCompact(ctx, io.Discard)
	if err == nil && got != want {
		err = errors.New("its values differ")
	}
	return err
}

// writeCompact writes the record in its compact form and returns a checksum of
// that.
func (r *Reader) writeCompact(ctx context.Context, w io.Writer) (sum [sha256.Size]byte, err error) {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return sum, err
	}
	h := sha256.New()
	left := int64(maxColumnBytes)
	write := func(b []byte) error {
		if left -= int64(len(b)); left < 0 {
			return fmt.Errorf("it has more than %d MiB of values, the most that is unpacked again", maxColumnBytes>>20)
		}
		h.Write(b)
		_, err := z.Write(b)
		return err
	}
	err = write(binary.AppendUvarint([]byte(compactMagic), uint64(SchemaVersion())))
	if err == nil {
		err = r.chunks(ctx, chunkRows, func(c *chunk) error { return write(c.pack()) })
	}
	if err == nil {
		err = write(compactEnd)
	}
	h.Sum(sum[:0])
	return sum, errors.Join(err, z.Close())
}

// chunks passes all rows of all tables on, up to most of one table at a time.
func (r *Reader) chunks(ctx context.Context, most int, pass func(*chunk) error) error {
	names, err := r.tables(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		columns, key, err := describe(ctx, r.db, name)
		if err != nil {
			return err
		}
		c := newChunk(name, columns)
		text := "SELECT * FROM " + quote(name) + " ORDER BY " + key
		for _, err := range each(ctx, r.db, text, nil, func(row scanner) (struct{}, error) {
			return struct{}{}, c.add(row)
		}) {
			if err != nil {
				return err
			}
			if c.rows == most {
				if err := pass(c); err != nil {
					return err
				}
				c = newChunk(name, columns)
			}
		}
		if c.rows > 0 {
			if err := pass(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// add appends the row that a query stands on.
func (c *chunk) add(row scanner) error {
	dest := make([]any, len(c.columns))
	for i := range c.columns {
		dest[i] = &c.columns[i]
	}
	c.rows++
	return row.Scan(dest...)
}

// Scan implements sql.Scanner: it appends a value. Tables are STRICT, so that
// it has the column's type.
func (x *column) Scan(v any) error {
	x.null = append(x.null, v == nil)
	switch x.kind {
	case integers:
		n, _ := v.(int64)
		x.ints = append(x.ints, n)
	case texts:
		s, _ := v.(string)
		x.texts = append(x.texts, s)
	case reals:
		f, _ := v.(float64)
		x.reals = append(x.reals, f)
	}
	return nil
}

var kindsByType = map[string]kind{"INTEGER": integers, "TEXT": texts, "REAL": reals}

// describe returns the columns of a table and the order of its primary key.
func describe(ctx context.Context, q querier, table string) (columns []column, key string, err error) {
	const text = "SELECT name, type, pk FROM pragma_table_info(?) ORDER BY cid"
	keys := map[int]string{}
	columns, err = all(ctx, q, text, []any{table}, func(row scanner) (x column, err error) {
		var declared string
		var place int
		if err := row.Scan(&x.name, &declared, &place); err != nil {
			return x, err
		}
		k, ok := kindsByType[declared]
		if !ok {
			return x, fmt.Errorf("column %s of %s is declared as %q", x.name, table, declared)
		}
		x.kind = k
		if place > 0 {
			keys[place] = quote(x.name)
		}
		return x, nil
	})
	var parts []string
	for i := range len(keys) {
		parts = append(parts, keys[i+1])
	}
	return columns, strings.Join(parts, ", "), err
}

func quote(name string) string { return `"` + name + `"` }
