package evidence

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tarball makes a compressed archive of headers and contents.
func tarball(t testing.TB, entries ...any) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for i := 0; i < len(entries); i += 2 {
		h := entries[i].(tar.Header)
		data := []byte(entries[i+1].(string))
		h.Mode, h.Size = 0o644, int64(len(data))
		if h.Typeflag != 0 && h.Typeflag != tar.TypeReg {
			h.Size, data = 0, nil
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func readArchive(t testing.TB, data []byte) *Case {
	t.Helper()
	c, err := ReadArchive(t.Context(), "case.tar.gz", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestHostileArchives(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	outside := filepath.Join(filepath.Dir(dir), "proc-of-others")
	c := readArchive(t, tarball(t,
		tar.Header{Name: "../../proc-of-others"}, "x",
		tar.Header{Name: "/etc/passwd"}, "root:x:0",
		tar.Header{Name: "t0/proc/meminfo", Typeflag: tar.TypeSymlink, Linkname: "/proc/meminfo"}, "",
		tar.Header{Name: "t0/proc/vmstat", Typeflag: tar.TypeLink, Linkname: "/etc/shadow"}, "",
		tar.Header{Name: "dev", Typeflag: tar.TypeChar}, "",
		tar.Header{Name: "t1/proc/meminfo"}, "MemTotal: 5 kB\n"))
	if len(c.Strangers) != 5 {
		t.Errorf("strangers: %+v", c.Strangers)
	}
	if len(c.Readings) != 1 || c.Last().Meminfo.MemTotal.Number != 5*1024 {
		t.Errorf("readings: %+v", c.Readings)
	}
	if _, err := os.Stat(outside); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s was written: %v", outside, err)
	}
}

func TestAnArchiveThatUnpacksToTooMuch(t *testing.T) {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	zeros := bytes.Repeat([]byte(strings.Repeat("x", 1023)+"\n"), 1024) // 1 MiB
	const mib = 70
	if err := w.WriteHeader(&tar.Header{Name: "big.log", Mode: 0o644, Size: mib << 20}); err != nil {
		t.Fatal(err)
	}
	for range mib {
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	c := readArchive(t, buf.Bytes())
	if len(c.Strangers) != 1 || !strings.Contains(c.Strangers[0].Why, "its first 6 MiB were not read, only its end") {
		t.Errorf("strangers: %+v", c.Strangers)
	}
	// The line that the end begins with may be one that was cut.
	if l := c.Logs[0]; l.Lines != 64<<10-1 {
		t.Errorf("%d lines were read", l.Lines)
	}
}

func TestArchivesThatEndEarly(t *testing.T) {
	whole := tarball(t, tar.Header{Name: "t0/proc/meminfo"}, "MemTotal: 5 kB\n", tar.Header{Name: "t1/proc/meminfo"}, strings.Repeat("MemTotal: 5 kB\n", 1000))
	for cut := 0; cut < len(whole); cut += 5 {
		c, err := ReadArchive(t.Context(), "x", bytes.NewReader(whole[:cut]))
		if err != nil && !errors.Is(err, ErrNothing) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if err == nil {
			wantWhole(t, c)
		}
	}
}

func TestAnArchiveWithinAnArchiveIsNotOpened(t *testing.T) {
	c := readArchive(t, tarball(t, tar.Header{Name: "inner.tar.gz"}, string(tarball(t, tar.Header{Name: "a"}, "b")), tar.Header{Name: "t0/proc/meminfo"}, "MemTotal: 5 kB\n"))
	if len(c.Strangers) != 1 || !strings.Contains(c.Strangers[0].Why, "unpack it first") {
		t.Errorf("strangers: %+v", c.Strangers)
	}
}

func TestZip(t *testing.T) {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, name := range []string{`..\..\evil`, "logs/docker.log"} {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(dockerLog))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c := readArchive(t, buf.Bytes())
	if len(c.Strangers) != 1 || c.LogOf("App Service docker log") == nil {
		t.Errorf("strangers: %+v, logs: %+v", c.Strangers, c.Logs)
	}
}

func FuzzArchive(f *testing.F) {
	f.Add(tarball(f, tar.Header{Name: "t0/proc/meminfo"}, "MemTotal: 5 kB\n", tar.Header{Name: "x", Typeflag: tar.TypeSymlink, Linkname: "/"}, ""))
	f.Add([]byte("PK\x03\x04"))
	f.Add([]byte{0x1f, 0x8b, 8, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ReadArchive(t.Context(), "x", bytes.NewReader(data))
		if err != nil && !errors.Is(err, ErrNothing) {
			t.Fatal(err)
		}
		wantWhole(t, c)
	})
}

func TestReadFolders(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("t0/proc/meminfo", "MemTotal: 5 kB\n")
	write("t0/proc/12/environ", "SECRET=1")
	write("t0/proc/12/schedstat", "1 2 3\n")
	write("t0/proc/kcore", "x")
	write("photo.jpg", "\xff\xd8\xff\x00")
	if err := os.Symlink("/proc/vmstat", filepath.Join(dir, "t0/proc/vmstat")); err != nil {
		t.Fatal(err)
	}
	c, err := Read(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range c.Strangers {
		names = append(names, s.File)
	}
	if got := strings.Join(names, " "); got != "t0/proc/vmstat photo.jpg" {
		t.Errorf("strangers: %s", got)
	}
	for _, in := range c.Inputs {
		if strings.Contains(in.File, "environ") || strings.Contains(in.File, "kcore") {
			t.Errorf("%s was read", in.File)
		}
	}
}

func TestInputsThatAreNone(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a path that is not there: %v", err)
	}
	if _, err := Read(t.Context(), dir); !errors.Is(err, ErrNothing) {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Read(t.Context(), "/dev/null"); err == nil || errors.Is(err, ErrNothing) {
		t.Errorf("a device: %v", err)
	}
}

func TestLongAndBrokenFiles(t *testing.T) {
	for name, text := range map[string]string{
		"one-line.log":   strings.Repeat("x", 5<<20),
		"broken.json":    `{"value":[{"name":`,
		"deep.json":      strings.Repeat("[", 200_000),
		"nothing.txt":    "the quick brown fox\n",
		"wide.csv":       strings.Repeat("a,", 50_000) + "\n" + strings.Repeat("1,", 50_000) + "\n",
		"binary.log":     "\x00\x01\x02",
		"unquoted.csv":   "a,b\n\"1,2\n3,4\n",
		"utf16.csv":      "\xff\xfea\x00,\x00b\x00\n\x001\x00,\x002\x00\n\x00",
		"empty.txt":      "",
		"AppService.log": "",
	} {
		c := readFiles(t, map[string]string{name: text})
		if len(c.Inputs)+len(c.Strangers) != 1 {
			t.Errorf("%s: inputs %v, strangers %v", name, c.Inputs, c.Strangers)
		}
		wantWhole(t, c)
	}
}

// Names that no file can have, and folders that lead too deep, are left out.
func TestNamesThatAreLeftOut(t *testing.T) {
	c := readArchive(t, tarball(t,
		tar.Header{Name: "t0/a\nHEALTHY: nothing.log"}, "x",
		tar.Header{Name: "\x1b[2J.log"}, "x",
		tar.Header{Name: strings.Repeat("a/", 40) + "x.log"}, "x",
		tar.Header{Name: "t0/proc/meminfo"}, "MemTotal: 5 kB\n"))
	if len(c.Strangers) != 3 {
		t.Errorf("strangers: %+v", c.Strangers)
	}
	for _, s := range c.Strangers {
		if strings.ContainsAny(s.File+s.Why, "\n\x1b") || !strings.HasSuffix(s.Why, "and was left out") {
			t.Errorf("%q: %q", s.File, s.Why)
		}
	}
}

// What is skipped has to be unpacked too, so that it counts.
func TestUnpackingEnds(t *testing.T) {
	const room = 1000
	got, err := io.ReadAll(&bounded{bytes.NewReader(make([]byte, 2*room)), room})
	if len(got) != room || err == nil {
		t.Errorf("%d bytes, %v; want %d and an error", len(got), err, room)
	}
	var g gathered
	archive := tarball(t, tar.Header{Name: "proc/kcore"}, strings.Repeat("\x00", 1<<20), tar.Header{Name: "t0/proc/meminfo"}, "MemTotal: 5 kB\n")
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.gunzip(&bounded{z, 1 << 19}, "bomb.tar.gz"); err != nil || len(g.files) != 0 {
		t.Errorf("%v, %d files", err, len(g.files))
	}
	if len(g.strangers) != 1 || !strings.Contains(g.strangers[0].Why, "it unpacks to more than") {
		t.Errorf("strangers: %+v", g.strangers)
	}
}

// A large log whose lines begin with a bracket or a brace is no JSON document.
func TestLargeLogsAreNoJSON(t *testing.T) {
	const line = "[2026-01-02 03:04:05 +0000] [7] [CRITICAL] WORKER TIMEOUT (pid:8)\n"
	padding := strings.Repeat(" ", mostJSON) + "\n"
	if newBuilder().parseJSON(&file{name: "a", data: []byte(line + padding + line)}) {
		t.Error("a log of gunicorn is taken for JSON")
	}
	const object = `{"log":"[2026-01-02 03:04:05 +0000] [7] [CRITICAL] WORKER TIMEOUT (pid:8)\n","time":"2026-01-02T03:04:05Z"}` + "\n"
	c := readFiles(t, map[string]string{"b.json": object + padding + object})
	if len(c.Strangers) != 0 || len(c.Logs) != 1 || len(c.Events) != 2 || c.Events[0].Kind != WorkerTimeout {
		t.Errorf("strangers %+v, %d logs, %d events", c.Strangers, len(c.Logs), len(c.Events))
	}
}

// A log packed by logrotate is long, and what the engineer came for is its end.
func TestThePackedEndOfALongLog(t *testing.T) {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	filler := bytes.Repeat([]byte(strings.Repeat("x", 1023)+"\n"), 1024)
	for range 66 {
		if _, err := z.Write(filler); err != nil {
			t.Fatal(err)
		}
	}
	_, err := z.Write([]byte(oneKill))
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	c := readArchive(t, buf.Bytes())
	if len(c.EventsOf(OOMKill)) != 1 || len(c.Strangers) != 1 || c.Strangers[0].Why != "its first 2 MiB were not read, only its end" {
		t.Errorf("events %+v, strangers %+v", c.Events, c.Strangers)
	}
}

func TestWhatACutArchiveHeldCouldNotBeSeen(t *testing.T) {
	whole := tarball(t, tar.Header{Name: "t0/proc/meminfo"}, "MemTotal: 5 kB\n", tar.Header{Name: "t1/proc/meminfo"}, "MemTotal: 5 kB\n")
	z, err := gzip.NewReader(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	const second = 3 * 512 // where the second file's contents begin: tar has blocks of 512 bytes
	c, err := ReadArchive(t.Context(), "case.tar", bytes.NewReader(plain[:second+2]))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range c.Unseen() {
		if g.Why != Unreadable || g.Detail != "case.tar ends early, and what stood behind is lost" {
			t.Errorf("%+v", g)
		}
	}
	if len(c.Unseen()) == 0 || slices.ContainsFunc(c.Unseen(), func(g Gap) bool { return g.What == HasMeminfo }) {
		t.Errorf("unseen: %+v", c.Unseen())
	}
}
