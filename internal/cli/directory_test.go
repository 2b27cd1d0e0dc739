package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// Runs that begin in the same second do not share a directory.
func TestNewRunDirectoriesNeverCollide(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, want := range []string{"runs/x-1", "runs/x-1-2", "runs/x-1-3"} {
		got, err := newRunDirectory("x-1")
		if err != nil || filepath.ToSlash(got) != want {
			t.Errorf("%q, %v; want %s", got, err, want)
		}
		if info, err := os.Stat(got); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", got, err)
		}
	}
}
