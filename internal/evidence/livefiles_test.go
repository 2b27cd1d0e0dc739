//go:build linux

package evidence

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"brink/internal/kernel"
)

// TestPagesAreLockedOnceMemoryIsWaitedFor has the files of
// https://docs.kernel.org/accounting/psi.html: total counts µs of waiting.
func TestPagesAreLockedOnceMemoryIsWaitedFor(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "proc", "pressure", "memory")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	stalled := func(avg10 float64, total int) {
		t.Helper()
		text := fmt.Sprintf("some avg10=%.2f avg60=0.00 avg300=0.00 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", avg10, total)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stalled(0, 700)
	fs, err := kernel.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer fs.Close()
	var p pageLock
	p.open(fs)
	defer p.pressure.Close()
	for _, look := range []struct {
		avg10 float64
		total int
		calm  bool
	}{{0, 700, true}, {0, 700, true}, {0, 701, false}, {0, 701, true}, {0.12, 701, false}} {
		stalled(look.avg10, look.total)
		if got := p.calm(); got != look.calm {
			t.Errorf("avg10=%v total=%d: calm is %v", look.avg10, look.total, got)
		}
	}
	if (&pageLock{}).calm() {
		t.Error("calm where the kernel does not say how much memory is waited for")
	}
}

func TestDirectoriesIn(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := directoriesIn(dir); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("directories %q", got)
	}
	if got := directoriesIn(filepath.Join(dir, "a")); len(got) > 0 {
		t.Errorf("directories %q in one that has a file only", got)
	}
}
