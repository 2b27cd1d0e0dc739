package kernel

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func open(t testing.TB, root string) *FS {
	t.Helper()
	f, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func live(t testing.TB) *FS { return open(t, "/") }

// tree makes a captured tree of the given files.
func tree(t testing.TB, files map[string]string) (*FS, string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "proc"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	return open(t, dir), dir
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// output runs another tool, in a language whose words the tests know.
func output(t testing.TB, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	return string(must[[]byte](t)(cmd.Output()))
}

func num(v uint64) Num { return Num{v, true} }

func kb(v uint64) Num { return num(v * 1024) }

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantEqual[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// wantFieldError checks that err names the place, and that it is not silent.
func wantFieldError(t testing.TB, err error, file string, line int, field string) {
	t.Helper()
	var fe *FieldError
	if !errors.As(err, &fe) {
		t.Fatalf("error %v, want a FieldError", err)
	}
	if fe.File != file || fe.Line != line || fe.Field != field {
		t.Errorf("error is about %s line %d %s, want %s line %d %s", fe.File, fe.Line, fe.Field, file, line, field)
	}
}

func TestOpenRefusesWhatIsNoRoot(t *testing.T) {
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "neither proc nor sys") {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an absent directory: %v", err)
	}
}

func TestSymlinkOutOfTheRootIsNotFollowed(t *testing.T) {
	f, dir := tree(t, nil)
	if err := os.Symlink("/proc/meminfo", filepath.Join(dir, "proc/meminfo")); err != nil {
		t.Fatal(err)
	}
	if m, err := f.Meminfo(); err == nil {
		t.Errorf("read %v through a link to /proc/meminfo", m.MemTotal)
	}
}

func TestFIFOInTreeDoesNotBlock(t *testing.T) {
	f, dir := tree(t, nil)
	if err := unix.Mkfifo(filepath.Join(dir, "proc/meminfo"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Meminfo(); err == nil {
		t.Error("a FIFO was read as meminfo")
	}
}

func TestErrnoMeanings(t *testing.T) {
	for _, c := range []struct{ errno, want error }{
		{unix.ENOENT, ErrUnavailable},
		{unix.EOPNOTSUPP, ErrUnavailable}, // PSI compiled in, off
		{unix.ESRCH, ErrGone},             // process
		{unix.ENODEV, ErrGone},            // cgroup, through an open descriptor
	} {
		err := explain("proc/x", &os.PathError{Op: "read", Path: "x", Err: c.errno})
		if !errors.Is(err, c.want) || !errors.Is(err, c.errno) {
			t.Errorf("%v: %v", c.errno, err)
		}
	}
	err := explain("proc/x", &os.PathError{Op: "open", Path: "x", Err: unix.EACCES})
	if !errors.Is(err, os.ErrPermission) || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrGone) {
		t.Errorf("EACCES: %v", err)
	}
}

func TestAbsentFileIsUnavailable(t *testing.T) {
	f, _ := tree(t, nil)
	for name, err := range map[string]error{
		"meminfo": second(f.Meminfo()), "vmstat": second(f.Vmstat()), "stat": second(f.Stat()),
		"loadavg": second(f.Loadavg()), "psi": second(f.PSI(PSIMemory)), "netstat": second(f.Netstat()),
		"tcp": second(f.Listeners(0)), "cgroup": second(f.Cgroup("/")),
	} {
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v, want ErrUnavailable", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestReaderGrowsItsBuffer(t *testing.T) {
	var b strings.Builder
	for range 4000 {
		b.WriteString("Unknown_key:        1 kB\n")
	}
	b.WriteString("MemFree:        7 kB\n")
	f, _ := tree(t, map[string]string{"proc/meminfo": b.String()})
	m := must[Meminfo](t)(f.Meminfo())
	wantEqual(t, "MemFree", m.MemFree, kb(7))
}

// A reading that fails leaves nothing of the one before.
func TestFailedReadingLeavesNoOldNumbers(t *testing.T) {
	f, dir := tree(t, map[string]string{"proc/1/stat": "1 (a b) S" + strings.Repeat(" 5", 50) + "\n"})
	p := must[*Process](t)(f.OpenProcess(1))
	defer p.Close()
	var s PIDStat
	if err := p.Stat(&s); err != nil || s.Comm != "a b" {
		t.Fatal(s, err)
	}
	write(t, filepath.Join(dir, "proc/1/stat"), "1 (a b) S 5 5\n")
	wantFieldError(t, p.Stat(&s), "proc/1/stat", 1, "field 6")
	wantEqual(t, "stat", s, PIDStat{})
}
