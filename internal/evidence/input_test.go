package evidence

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// laid writes files into a folder of their own and returns it.
func laid(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// why is what is said of a file that was not understood, or only in part.
func why(c *Case, name string) string {
	for _, s := range c.Strangers {
		if s.File == name {
			return s.Why
		}
	}
	return ""
}

const oneKill = "[81234.5] Out of memory: Killed process 4411 (ingest) total-vm:2210304kB, anon-rss:519204kB, file-rss:2040kB, shmem-rss:0kB\n"

// A file counts once, by whatever path it was given.
func TestAFileGivenTwiceCountsOnce(t *testing.T) {
	dir := laid(t, map[string]string{"dmesg.txt": oneKill})
	file := filepath.Join(dir, "dmesg.txt")
	link := filepath.Join(t.TempDir(), "link.txt")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, paths := range [][]string{{file, file}, {dir, file}, {dir, dir}, {file, link}} {
		c, err := Read(t.Context(), paths...)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(c.EventsOf(OOMKill)); n != 1 || len(c.Strangers) != 1 || !strings.Contains(c.Strangers[0].Why, "more than once") {
			t.Errorf("%v: %d kills, %+v", paths, n, c.Strangers)
		}
	}
	// So does a copy: no kernel kills one process twice at one time.
	c, err := Read(t.Context(), laid(t, map[string]string{"a.log": oneKill, "b.log": oneKill}))
	if err != nil || len(c.EventsOf(OOMKill)) != 1 || why(c, "b.log") != "it is line for line the same as a.log and counts once" {
		t.Errorf("two files: %v, %+v", err, c.Strangers)
	}
}

func TestLinksOfAFolderAreListed(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.log", "b.log", "c.log", "d.log", "e.log", "f.log"} {
		if err := os.Symlink("/nowhere", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Read(t.Context(), dir)
	if !errors.Is(err, ErrNothing) || !strings.Contains(err.Error(), "a.log: it is no regular file, and links are not followed") {
		t.Fatal(err)
	}
	if len(c.Strangers) != 4 || c.Strangers[3].File != "d.log" || !strings.HasPrefix(c.Strangers[3].Why, "it and 2 more are links") {
		t.Errorf("%+v", c.Strangers)
	}
}

// Sparse files take no room on the disk.
func TestLongFiles(t *testing.T) {
	dir := laid(t, map[string]string{"zeros.log": "", "small.bin": "\x00\x00\x00", "hole.log": ""})
	for name, text := range map[string]string{"zeros.log": "", "hole.log": "\n" + oneKill} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		const size = mostFileSize + 5<<20
		if err := errors.Join(f.Truncate(size), func() error { _, err := f.WriteAt([]byte(text), size); return err }(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Read(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := why(c, "small.bin"); got != "it holds only zero bytes" {
		t.Errorf("small.bin: %q", got)
	}
	if got := why(c, "hole.log"); got != "its first 5 MiB were not read, only its end" || len(c.EventsOf(OOMKill)) != 1 {
		t.Errorf("hole.log: %q, events %+v", got, c.Events)
	}
	if !slices.ContainsFunc(c.Strangers, func(s Stranger) bool {
		return s.File == "zeros.log" && s.Why == "its last 64 MiB hold only zero bytes, and no more was read"
	}) {
		t.Errorf("zeros.log: %+v", c.Strangers)
	}
}

// The first bytes are those of the formats' own documents: xz-file-format 2.1.1.1,
// RFC 8878, bzip2(1), LZ4 frame format, systemd's JOURNAL_FILE_FORMAT.
func TestFilesThatHaveToBeUnpackedFirst(t *testing.T) {
	for text, want := range map[string]string{
		"\xfd7zXZ\x00\x00\x04\xe6\xd6":        "it is compressed with xz, which is not read: unpack it first (xz -d)",
		"BZh91AY&SY\x00\xff":                  "it is compressed with bzip2, which is not read: unpack it first (bzip2 -d)",
		"\x28\xb5\x2f\xfd\x04\x00\xff\xfe":    "it is compressed with zstd, which is not read: unpack it first (zstd -d)",
		"\x04\x22\x4d\x18\x64\x40\xa7\x00":    "it is compressed with lz4, which is not read: unpack it first (lz4 -d)",
		"LPKSHHRH\x00\x00\x00\x00\xff\xfe":    "it is a journal as systemd keeps it: give the output of journalctl --file",
		"\x7fELF\x02\x01\x01\x00\xff\xfe\x00": "it is not text",
	} {
		c, err := Read(t.Context(), laid(t, map[string]string{"given.bin": text}))
		if !errors.Is(err, ErrNothing) || why(c, "given.bin") != want {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
