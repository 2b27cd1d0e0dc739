package image

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// stored puts an image with an empty file system into a cache.
func stored(t *testing.T, cache, id string, built time.Time) *Image {
	t.Helper()
	i := &Image{ID: id, Dir: filepath.Join(Dir(cache), id), Built: built, RootBytes: 4 << 20, KernelBytes: 6}
	if err := errors.Join(os.RemoveAll(i.Dir), os.MkdirAll(i.Dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := MakeDisk(t.Context(), Disk{Path: i.Root(), MB: 4}); err != nil {
		t.Fatal(err)
	}
	about, err := json.Marshal(i)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{i.KernelPath(): []byte("kernel"), filepath.Join(i.Dir, aboutFile): about} {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return i
}

func TestFindTellsNoneFromBroken(t *testing.T) {
	cache := t.TempDir()
	if _, err := Find(cache); !errors.Is(err, ErrNone) {
		t.Errorf("an empty cache: %v, want ErrNone", err)
	}
	i := stored(t, cache, current.id(), time.Now())
	if got, err := Find(cache); err != nil || got.ID != i.ID || !got.Current {
		t.Errorf("%+v, %v", got, err)
	}
	about := filepath.Join(i.Dir, aboutFile)
	for _, c := range []struct {
		name, fault string
		breakIt     func() error
	}{
		{"a kernel that is cut off", "vmlinuz has 3 bytes of 6", func() error { return os.Truncate(i.KernelPath(), 3) }},
		{"a root that is gone", "root.ext4 is missing", func() error { return os.Remove(i.Root()) }},
		{"root and kernel are gone", "root.ext4 is missing", func() error { return errors.Join(os.Remove(i.Root()), os.Remove(i.KernelPath())) }},
		{"a root of zeros", "root.ext4 is no ext4 file system", func() error { return errors.Join(os.Truncate(i.Root(), 0), os.Truncate(i.Root(), 4<<20)) }},
		{"a description that is gone", "image.json is missing", func() error { return os.Remove(about) }},
		{"a description of nothing", "image.json: unexpected end of JSON input", func() error { return os.WriteFile(about, []byte("{"), 0o644) }},
		{"a directory in its place", "image.json cannot be read: is a directory", func() error { return errors.Join(os.Remove(about), os.Mkdir(about, 0o755)) }},
	} {
		if err := os.RemoveAll(i.Dir); err != nil {
			t.Fatal(err)
		}
		stored(t, cache, current.id(), time.Now())
		if err := c.breakIt(); err != nil {
			t.Fatal(err)
		}
		want := "the image in " + i.Dir + " is broken: " + c.fault + "; build it again with: brink image build --force"
		if _, err := Find(cache); !errors.Is(err, ErrBroken) || err.Error() != want {
			t.Errorf("%s: %v, want ErrBroken with %q", c.name, err, want)
		}
		list, err := List(cache)
		if err != nil || len(list) != 1 || list[0].Fault != c.fault || !list[0].Current {
			t.Errorf("%s: the list is %+v, %v; want one with the fault %q", c.name, list, err, c.fault)
		}
	}
}

func TestListAndRemove(t *testing.T) {
	cache := t.TempDir()
	if list, err := List(cache); err != nil || len(list) != 0 {
		t.Errorf("an empty cache: %v, %v", list, err)
	}
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	stored(t, cache, "older", day)
	stored(t, cache, "newer", day.Add(time.Hour))
	stored(t, cache, current.id(), day.Add(-time.Hour))
	stored(t, cache, buildPrefix+"1", day)
	if err := os.Mkdir(filepath.Join(Dir(cache), "odd"), 0o755); err != nil {
		t.Fatal(err)
	}
	list, err := List(cache)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, i := range list {
		ids = append(ids, i.ID)
		if (i.Fault != "") != (i.ID == "odd") {
			t.Errorf("%s: its fault is %q", i.ID, i.Fault)
		}
	}
	if want := []string{current.id(), "newer", "older", "odd"}; !slices.Equal(ids, want) {
		t.Errorf("list %v, want %v", ids, want)
	}
	for _, id := range []string{"", "..", "../images", "absent", ".lock"} {
		if err := Remove(cache, id); err == nil {
			t.Errorf("removing %q: no error", id)
		}
	}
	if err := Remove(cache, "newer"); err != nil {
		t.Error(err)
	}
	if list, err := List(cache); err != nil || len(list) != 3 {
		t.Errorf("after removing one: %d, %v", len(list), err)
	}
}

// dumpe2fs is from the makers of the file system.
func TestADiskIsWhatWasAskedFor(t *testing.T) {
	tree, path := t.TempDir(), filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(filepath.Join(tree, "file"), []byte("text"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := MakeDisk(t.Context(), Disk{Path: path, MB: 16, Tree: tree, OffsetMB: 1}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 17<<20 {
		t.Errorf("%v, %v; want 17 MB", info, err)
	}
	part := filepath.Join(t.TempDir(), "part")
	if out, err := exec.Command("dd", "if="+path, "of="+part, "bs=1M", "skip=1").CombinedOutput(); err != nil {
		t.Fatalf("dd: %v: %s", err, out)
	}
	head, err := exec.Command("/usr/sbin/dumpe2fs", "-h", part).Output()
	if err != nil || strings.Contains(string(head), "has_journal") || !strings.Contains(string(head), "Filesystem magic number:  0xEF53") {
		t.Errorf("dumpe2fs: %v\n%s", err, head)
	}
	out, err := exec.Command("/usr/sbin/debugfs", "-R", "stat /file", part).Output()
	if err != nil || !strings.Contains(string(out), "Mode:  0640") || !strings.Contains(string(out), "User:     0   Group:     0") {
		t.Errorf("debugfs: %v\n%s", err, out)
	}
	if err := MakeDisk(t.Context(), Disk{Path: filepath.Join(t.TempDir(), "no", "disk"), MB: 4}); err == nil {
		t.Error("a disk in a directory that is not there: no error")
	}
}

func TestBuildsWaitForEachOtherAndSweep(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(t.Context(), dir, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var heard []string
	_, err = lock(ctx, dir, func(line string) { heard = append(heard, line); cancel() })
	if !errors.Is(err, context.Canceled) || len(heard) != 1 {
		t.Errorf("a second lock: %v after %q", err, heard)
	}
	unlock()
	again, err := lock(t.Context(), dir, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer again()
	for _, name := range []string{buildPrefix + "1/tree", buildPrefix + "2", "image"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := sweep(dir); err != nil {
		t.Error(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "[^.]*"))
	if err != nil || !slices.Equal(left, []string{filepath.Join(dir, "image")}) {
		t.Errorf("left %v, %v", left, err)
	}
}

// withoutNode is the current recipe without what is fetched first.
func withoutNode() recipe {
	r := current
	r.Node = ""
	return r
}

func TestABuildThatIsCalledOffLeavesNothing(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := build(ctx, Options{Cache: cache, Progress: func(line string) {
		if line == "installing the base system" {
			cancel()
		}
	}}, withoutNode())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	left, err := os.ReadDir(Dir(cache))
	if err != nil || len(left) != 1 || left[0].Name() != ".lock" {
		t.Errorf("left %v, %v; want the lock alone", left, err)
	}
}

func TestABuildSaysWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Build(t.Context(), Options{Cache: t.TempDir()}); !errors.Is(err, ErrNoBootstrap) {
		t.Errorf("without mmdebstrap: %v, want ErrNoBootstrap", err)
	}
}

// A mirror that nothing answers on is refused by the loopback interface.
func TestAMirrorThatIsNotThere(t *testing.T) {
	t.Parallel()
	_, err := build(t.Context(), Options{Cache: t.TempDir(), Mirror: "http://127.0.0.1:9/debian"}, withoutNode())
	if err == nil || !strings.Contains(err.Error(), "mmdebstrap: ") || !strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("error %v, want mmdebstrap's own", err)
	}
}
