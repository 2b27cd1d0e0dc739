package record

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// copyOf copies a file to a new directory under the name of a record.
func copyOf(t *testing.T, file string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), FileName)
	if err := copyFile(to, file); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	other := filepath.Join(dir, "other.db")
	db, err := sql.Open("sqlite", other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE x (y); PRAGMA user_version = 1"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	damaged, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	for i := range damaged[100:4096] {
		damaged[100+i] = 0xff
	}
	folder := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(folder, "deep", FileName), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, c := range map[string]struct {
		kind error
		want string
	}{
		filepath.Join(dir, "gone"):    {ErrNotRun, " is no run: it does not exist"},
		folder:                        {ErrNotRun, " is no run: it holds no record.db"},
		filepath.Join(folder, "deep"): {ErrNotRecord, FileName + " is no record: it is no regular file"},
		write("empty", nil):           {ErrNotRecord, " is no record: it is empty"},
		write("short", []byte("x")):   {ErrNotRecord, " is no record: it is no SQLite file"},
		write("text", []byte(strings.Repeat("text\n", 1e4))): {ErrNotRecord, " is no record: it is no SQLite file"},
		other:                     {ErrNotRecord, " is no record: it is an SQLite file of another program"},
		write("damaged", damaged): {ErrNotRecord, " is no record that can be read: it is damaged"},
	} {
		_, err := Open(path)
		if !errors.Is(err, c.kind) || !strings.HasPrefix(err.Error(), path) || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("got %v, want %s%s", err, path, c.want)
		}
	}
	if _, err := Open(filepath.Join(dir, "gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a path that is not there: %v", err)
	}
}

func TestOpenNewer(t *testing.T) {
	file := copyOf(t, golden)
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	// The file format puts the user version at offset 60, big-endian.
	if _, err := f.WriteAt(binary.BigEndian.AppendUint32(nil, 7), 60); err != nil {
		t.Fatal(err)
	}
	f.Close()
	_, err = Open(file)
	var newer *NewerError
	want := file + " was written by a newer brink (schema 7; this one reads up to 2)"
	if !errors.As(err, &newer) || newer.Version != 7 || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestOpenOlder reads a record of schema 1 as a program with one more schema
// than this would.
func TestOpenOlder(t *testing.T) {
	old := migrations
	t.Cleanup(func() { migrations = old })
	file := copyOf(t, golden)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	migrations = append(migrations[:len(old):len(old)], "ALTER TABLE facts ADD COLUMN unit TEXT NOT NULL DEFAULT 'none'")
	r := open(t, file)
	checkFixture(t, r)
	_, rows, err := r.Query(t.Context(), "SELECT unit FROM facts LIMIT 1")
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range rows {
		if err != nil || row[0] != "none" {
			t.Errorf("the new column holds %v, %v", row, err)
		}
	}
	after, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Error("reading an older record changed it")
	}
	temp := r.temp.dir
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(temp); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the copy is left at %s", temp)
	}
	r.db, r.queryDB, r.temp = nil, nil, nil
	migrations = append(migrations, "ALTER TABLE nothing ADD COLUMN x")
	if _, err := Open(file); err == nil || !strings.Contains(err.Error(), "which has schema 1: schema 4") {
		t.Errorf("a migration that fails gives %v", err)
	}
}

// TestOddPath holds names that a URI would read otherwise.
func TestOddPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?mode=rw&%41#x")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w := create(t, dir)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, FileName)); err != nil {
		t.Error(err)
	}
	open(t, dir)
}
