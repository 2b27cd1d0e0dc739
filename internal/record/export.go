package record

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// An ExportOption changes how ExportCSV and ExportCompact work.
type ExportOption func(*export)

// Overwrite lets an export replace files of an earlier one.
func Overwrite() ExportOption { return func(e *export) { e.overwrite = true } }

type export struct {
	r         *Reader
	dir       string
	overwrite bool
}

// table is one file of an export.
type table struct {
	name   string
	header []string
	rows   iter.Seq2[[]string, error]
}

// trafficFile is the one file of an export that is no table of the record.
const trafficFile = "traffic.csv"

// ExportCSV writes every table of the record into dir, one file each, and
// traffic.csv: all requests with timestamp (when due), url, status and
// elapsed_ms (from due to done), then due, sent, outcome, app, step,
// repetition and twin. It makes dir, and returns the files that it wrote.
// Each file appears when it is complete. Files that are there already are not
// touched (ErrExists) without Overwrite. Text that a spreadsheet would take
// for a formula gets a leading apostrophe.
func ExportCSV(ctx context.Context, r *Reader, dir string, options ...ExportOption) ([]string, error) {
	e := &export{r: r, dir: dir}
	for _, o := range options {
		o(e)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	names, err := r.tables(ctx)
	if err != nil {
		return nil, err
	}
	if err := e.free(append(names, strings.TrimSuffix(trafficFile, ".csv"))); err != nil {
		return nil, err
	}
	var files []string
	for _, name := range names {
		t, err := r.table(ctx, name)
		if err != nil {
			return files, err
		}
		file, err := e.write(t)
		if err != nil {
			return files, err
		}
		files = append(files, file)
	}
	file, err := e.write(r.trafficTable(ctx))
	if err != nil {
		return files, err
	}
	return append(files, file), nil
}

// free looks for all files before the first is written.
func (e *export) free(names []string) error {
	for _, name := range names {
		if err := e.absent(name + ".csv"); err != nil {
			return err
		}
	}
	return nil
}

// absent refuses when a file would be overwritten that must not be.
func (e *export) absent(name string) error {
	if e.overwrite {
		return nil
	}
	file := filepath.Join(e.dir, name)
	if _, err := os.Lstat(file); err == nil {
		return say(file+" exists already: choose an empty directory, or ask for it to be overwritten", ErrExists)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

func (e *export) write(t table) (string, error) {
	return e.create(t.name, func(f *os.File) error { return writeCSV(f, t) })
}

// create writes one file under another name and renames it when complete.
func (e *export) create(name string, write func(*os.File) error) (_ string, err error) {
	path := filepath.Join(e.dir, name)
	f, err := os.CreateTemp(e.dir, "."+name+"-*")
	if err != nil {
		return "", fmt.Errorf("export: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
			err = fmt.Errorf("export %s: %w", path, err)
		}
	}()
	err = errors.Join(write(f), f.Chmod(0o644), f.Close())
	if err != nil {
		return "", err
	}
	return path, os.Rename(f.Name(), path)
}

func writeCSV(f *os.File, t table) error {
	w := csv.NewWriter(f)
	if err := w.Write(t.header); err != nil {
		return err
	}
	for row, err := range t.rows {
		if err != nil {
			return err
		}
		if err := w.Write(row); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// tables names the tables of the record.
func (r *Reader) tables(ctx context.Context) ([]string, error) { return tableNames(ctx, r.db) }

// tableNames are the names of all tables but SQLite's own, sorted.
func tableNames(ctx context.Context, q querier) ([]string, error) {
	const text = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
	return all(ctx, q, text, nil, func(row scanner) (name string, err error) {
		return name, row.Scan(&name)
	})
}

func (r *Reader) table(ctx context.Context, name string) (table, error) {
	const text = "SELECT name FROM pragma_table_info(?) ORDER BY cid"
	header, err := all(ctx, r.db, text, []any{name}, func(row scanner) (column string, err error) {
		return column, row.Scan(&column)
	})
	if err != nil {
		return table{}, err
	}
	values, dest, row := make([]any, len(header)), make([]any, len(header)), make([]string, len(header))
	for i := range values {
		dest[i] = &values[i]
	}
	rows := each(ctx, r.db, `SELECT * FROM "`+name+`"`, nil, func(s scanner) ([]string, error) {
		if err := s.Scan(dest...); err != nil {
			return nil, err
		}
		for i, x := range values {
			row[i] = FormatCell(x)
		}
		return row, nil
	})
	return table{name: name + ".csv", header: header, rows: rows}, nil
}

// FormatCell formats a value of a Query for a CSV file: NULL is empty, and text
// that a spreadsheet would take for a formula gets a leading apostrophe.
func FormatCell(x any) string {
	switch x := x.(type) {
	case nil:
		return ""
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case string:
		return escapeCell(x)
	case []byte:
		return escapeCell(string(x))
	}
	return escapeCell(fmt.Sprint(x))
}

// escapeCell puts an apostrophe before text that a spreadsheet would take for
// a formula, apps being free to write what they like. Text that already looks
// escaped is escaped too, so that unescaping has one answer.
// See https://owasp.org/www-community/attacks/CSV_Injection.
func escapeCell(s string) string {
	first, size := utf8.DecodeRuneInString(strings.TrimLeft(s, "'"))
	if size > 0 && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + s
	}
	return s
}

// trafficTable is the requests in the order of their streams. CROSS JOIN
// keeps SQLite from joining in another order and then sorting them all.
func (r *Reader) trafficTable(ctx context.Context) table {
	header := []string{
		"timestamp", "url", "status", "elapsed_ms", "due", "sent", "outcome", "app", "step", "repetition", "twin",
	}
	const text = `SELECT p.due_ns, 'http://' || a.addr || s.path, p.status, (p.done_ns - p.due_ns) / 1e6, p.sent_ns,
		o.name, a.name, t.name, r.number, r.twin
		FROM probes p
		CROSS JOIN outcomes o ON o.id = p.outcome
		CROSS JOIN streams s ON s.id = p.stream_id
		CROSS JOIN apps a ON a.id = s.app_id
		CROSS JOIN repetitions r ON r.id = s.repetition_id
		CROSS JOIN steps t ON t.id = r.step_id
		ORDER BY p.stream_id, p.seq`
	row := make([]string, len(header))
	var due, sent, status *int64
	var elapsed *float64
	var number, twin int64
	var url, outcome, app, step string
	rows := each(ctx, r.db, text, nil, func(s scanner) ([]string, error) {
		if err := s.Scan(&due, &url, &status, &elapsed, &sent, &outcome, &app, &step, &number, &twin); err != nil {
			return nil, err
		}
		row[0], row[4], row[5] = instant(due, milli), instant(due, nano), instant(sent, nano)
		row[1], row[6], row[7], row[8] = escapeCell(url), escapeCell(outcome), escapeCell(app), escapeCell(step)
		row[2], row[3] = "", ""
		if status != nil {
			row[2] = strconv.FormatInt(*status, 10)
		}
		if elapsed != nil {
			row[3] = strconv.FormatFloat(*elapsed, 'f', 3, 64)
		}
		row[9], row[10] = strconv.FormatInt(number, 10), strconv.FormatInt(twin, 10)
		return row, nil
	})
	return table{name: trafficFile, header: header, rows: rows}
}

// nano keeps all digits, where a Unix time in ns would lose some in a
// spreadsheet.
const (
	milli = "2006-01-02T15:04:05.000Z"
	nano  = "2006-01-02T15:04:05.000000000Z"
)

func instant(ns *int64, layout string) string {
	if ns == nil {
		return ""
	}
	return time.Unix(0, *ns).UTC().Format(layout)
}
