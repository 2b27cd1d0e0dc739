package apps

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The folders on disk are the truth: what a user deploys by hand and what
// brink unpacks must be the same files with the same bytes.
func TestUnpackGivesTheFolderAsItStands(t *testing.T) {
	for _, name := range Names() {
		dir := filepath.Join(t.TempDir(), name)
		if err := Unpack(name, dir); err != nil {
			t.Fatal(err)
		}
		if got, want := tree(t, dir), tree(t, name); !slices.Equal(got, want) {
			t.Errorf("%s unpacks to\n%q\nwant\n%q", name, got, want)
		}
	}
}

func TestUnpackRefuses(t *testing.T) {
	err := Unpack("rails", t.TempDir())
	if want := `there is no app "rails" to unpack: the apps are flask, node`; err == nil || err.Error() != want {
		t.Errorf("unknown app: got %v, want %s", err, want)
	}
	dir := t.TempDir()
	if err := Unpack("node", dir); err != nil {
		t.Fatal(err)
	}
	if err := Unpack("node", dir); err == nil {
		t.Error("unpacking over files that exist: got no error")
	}
}

// Every folder needs what a platform looks for: a start command, a list of
// dependencies, a container recipe and a page for people.
func TestEachFolderIsDeployable(t *testing.T) {
	want := map[string][]string{
		"flask": {"Dockerfile", "Procfile", "README.md", "app.py", "asgi.py", "gunicorn.conf.py", "requirements.txt"},
		"node":  {"Dockerfile", "Procfile", "README.md", "package.json", "server.js"},
	}
	for name, files := range want {
		for _, file := range files {
			if info, err := os.Stat(filepath.Join(name, file)); err != nil || info.Size() == 0 {
				t.Errorf("apps/%s/%s is missing or empty (%v)", name, file, err)
			}
		}
	}
}

// tree lists the files below root as "path content", without what Python
// leaves behind and what go:embed leaves out.
func tree(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := filepath.Base(path)
		if path != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		content, err := os.ReadFile(filepath.Join(root, path))
		out = append(out, path+" "+string(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
