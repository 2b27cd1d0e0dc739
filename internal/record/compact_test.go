package record

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// compacted writes the compact form of a record and returns its file.
func compacted(t testing.TB, path string) string {
	t.Helper()
	file, err := ExportCompact(t.Context(), open(t, path), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// dump is every value of every table, as SQLite itself quotes it.
func dump(t *testing.T, r *Reader) map[string][]string {
	t.Helper()
	d := map[string][]string{}
	for _, table := range must(r.tables(t.Context()))(t) {
		columns := ask(t, r, "SELECT 'quote(\"' || name || '\")' FROM pragma_table_info('"+table+"')")
		d[table] = ask(t, r, "SELECT "+strings.Join(columns, " || '|' || ")+" FROM "+table)
	}
	return d
}

// A compact record holds what the record holds, NULLs included, whatever is in
// it; the reference is SQLite's own quoting of both.
func TestCompactHoldsTheSame(t *testing.T) {
	for _, file := range []string{golden, golden2} {
		r := open(t, file)
		c := open(t, compacted(t, file))
		want, got := dump(t, r), dump(t, c)
		if len(want["samples"]) == 0 || len(want["probes"]) == 0 {
			t.Fatalf("%s holds nothing", file)
		}
		for table, rows := range want {
			equal(t, file+" "+table, got[table], rows)
		}
		if len(got) != len(want) {
			t.Errorf("%d tables, want %d", len(got), len(want))
		}
		for _, view := range []string{"AppServiceHTTPLogs", "AzureMetrics"} {
			equal(t, view, ask(t, c, "SELECT count(*) FROM "+view), ask(t, r, "SELECT count(*) FROM "+view))
		}
	}
	checkFixture2(t, open(t, compacted(t, golden2)))
}

// Tables with more rows than are packed at a time lose none of them.
func TestChunksHoldAllRows(t *testing.T) {
	r := open(t, golden2)
	for _, most := range []int{1, 2, 4, chunkRows} {
		got := map[string][]string{}
		err := r.chunks(t.Context(), most, func(c *chunk) error {
			if c.rows < 1 || c.rows > most {
				t.Errorf("a chunk of %d rows, want 1 to %d", c.rows, most)
			}
			for row := range c.rows {
				got[c.table] = append(got[c.table], fmt.Sprint(c.columns[0].value(row)))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"probes", "samples", "events", "logs"} {
			first := ask(t, r, "SELECT name FROM pragma_table_info('"+table+"') WHERE cid = 0")[0]
			equal(t, table, got[table], ask(t, r, "SELECT "+first+" FROM "+table+" ORDER BY 1"))
		}
	}
}

// A directory with nothing but a compact record is a run; its temporary copy
// goes with the reader.
func TestCompactDirectoryIsARun(t *testing.T) {
	file := compacted(t, golden2)
	dir := filepath.Dir(file)
	if !IsRun(dir) || !IsRun(file) || !IsRun(newFixture(t)) {
		t.Error("a run is none")
	}
	if IsRun(t.TempDir()) || IsRun(filepath.Join(dir, "gone")) {
		t.Error("an empty directory is a run")
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	temp := r.temp.dir
	equal(t, "path", r.Path(), file)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(temp); err == nil {
		t.Errorf("%s is left", temp)
	}
	equal(t, "files", mustGlob(t, filepath.Join(dir, "*")), []string{file})
	if _, err := Resume(dir, "1"); !errors.Is(err, ErrNotResumable) || !strings.Contains(err.Error(), "it is a compact copy") {
		t.Errorf("resumed: %v", err)
	}
}

// The same record makes the same bytes, so that a committed one changes only
// when the record does.
func TestCompactIsReproducible(t *testing.T) {
	once, again := compacted(t, golden2), compacted(t, golden2)
	a, errA := os.ReadFile(once)
	b, errB := os.ReadFile(again)
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Error("two exports of one record differ")
	}
	c, err := os.ReadFile(compacted(t, once))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, c) {
		t.Error("the export of a compact record differs from it")
	}
}

func TestCompactOverwritesOnlyWhenAsked(t *testing.T) {
	file := compacted(t, golden2)
	r := open(t, golden)
	if _, err := ExportCompact(t.Context(), r, filepath.Dir(file)); !errors.Is(err, ErrExists) {
		t.Errorf("overwritten: %v", err)
	}
	if _, err := ExportCompact(t.Context(), r, filepath.Dir(file), Overwrite()); err != nil {
		t.Error(err)
	}
}

// A record that is being written would be a different one a moment later.
func TestCompactRefusesALiveRecord(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir)
	defer w.Close()
	begin(t, w)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	_, err := ExportCompact(t.Context(), open(t, dir), t.TempDir())
	if err == nil || !strings.HasSuffix(err.Error(), "is still being written: end its run first") {
		t.Errorf("got %v", err)
	}
}

// compress is the content of a compact file that holds parts.
func compress(t testing.TB, parts ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if _, err := z.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// decompress is what a compact file holds.
func decompress(t testing.TB, file string) []byte {
	t.Helper()
	z, err := openCompressed(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// bomb is a file of some hundred kilobytes that decompresses to more than may
// be read.
func bomb(t testing.TB) []byte {
	t.Helper()
	zeros := make([]byte, 1<<20)
	parts := slices.Repeat([][]byte{zeros}, maxColumnBytes/len(zeros))
	b := compress(t, append([][]byte{[]byte(compactMagic + "\x02")}, parts...)...)
	if len(b) > 1<<20 {
		t.Errorf("the bomb has %d bytes: it is none", len(b))
	}
	return b
}

func TestCompactRefusesWhatIsNone(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	whole := decompress(t, compacted(t, golden2))
	file, err := os.ReadFile(compacted(t, golden2))
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(file)
	flipped[len(flipped)/2] ^= 1
	head := len(compactMagic)
	const damaged, foreign = " is no record that can be read: it is damaged", " is no record: it is a compressed file of another program"
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"bomb":         {bomb(t), " is no record that can be read: it holds more than 128 MiB of values"},
		"cut off":      {file[:len(file)/2], damaged},
		"flipped":      {flipped, damaged},
		"only a head":  {file[:6], damaged},
		"another file": {compress(t, []byte("hello")), foreign},
		"nothing":      {compress(t), foreign},
		"no schema":    {compress(t, whole[:head], []byte{0}), damaged},
		"newer":        {compress(t, whole[:head], []byte{99}, whole[head+1:]), " was written by a newer brink (schema 99; this one reads up to 2)"},
		"other schema": {compress(t, whole[:head], []byte{1}, whole[head+1:]), damaged},
		"no run":       {compress(t, whole[:head+1], compactEnd), damaged},
		"no end":       {compress(t, whole[:len(whole)-2]), damaged},
		"more":         {compress(t, whole, []byte{0}), damaged},
		"long text":    {compress(t, whole[:head+1], []byte{0, 0xff, 0xff, 0xff, 0xff, 0x0f}), damaged},
		"twice":        {compress(t, whole[:len(whole)-2], whole[head+1:]), damaged},
	} {
		path := filepath.Join(t.TempDir(), CompactFileName)
		if err := os.WriteFile(path, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path)
		if err == nil {
			r.Close()
		}
		if err == nil || err.Error() != path+c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
	equal(t, "left behind", mustGlob(t, filepath.Join(os.TempDir(), scratchPattern)), nil)
}

// Columns of any values come back as they were, in any order of scopes.
func TestColumnsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(1, 40).Draw(t, "rows")
		number := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3, 300),
			rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, 0, -1, 4096}))
		c := newChunk("samples", []column{
			{name: "id"}, {name: "repetition_id"}, {name: "app", kind: texts}, {name: "at_ns"},
			{name: "a"}, {name: "b"}, {name: "c", kind: reals}, {name: "d", kind: texts},
		})
		c.rows = rows
		for i := range c.columns {
			x := &c.columns[i]
			for range rows {
				var v any
				if x.name != "app" && x.name != "repetition_id" && rapid.IntRange(0, 3).Draw(t, "null") == 0 {
					v = nil
				} else if v = any(number.Draw(t, "number")); x.kind == texts {
					v = rapid.StringN(0, 5, -1).Draw(t, "text")
				} else if x.kind == reals {
					v = rapid.Float64().Draw(t, "real")
				}
				if err := x.Scan(v); err != nil {
					t.Fatal(err)
				}
			}
		}
		packed := c.pack()
		u := newUnpacker(bytes.NewReader(packed), int64(len(packed)))
		u.tables = map[string][]column{"samples": newChunk("samples", c.columns).columns}
		got, err := u.chunk()
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.columns {
			for row := range rows {
				want, got := c.columns[i].value(row), got.columns[i].value(row)
				if want != got {
					t.Fatalf("column %s row %d: %v, want %v", c.columns[i].name, row, got, want)
				}
			}
		}
	})
}

// FuzzUnpack feeds what is no packed record to the unpacker, which answers
// with an error or with columns that fit together.
func FuzzUnpack(f *testing.F) {
	tables := map[string][]column{}
	err := open(f, golden2).chunks(context.Background(), chunkRows, func(c *chunk) error {
		tables[c.table] = newChunk(c.table, c.columns).columns
		f.Add(c.pack())
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(compactEnd)
	f.Fuzz(func(t *testing.T, b []byte) {
		u := newUnpacker(bytes.NewReader(b), int64(len(b)))
		u.tables = tables
		c, err := u.chunk()
		if err != nil || c == nil {
			return
		}
		for i := range c.columns {
			for row := range c.rows {
				c.columns[i].value(row)
			}
		}
	})
}
