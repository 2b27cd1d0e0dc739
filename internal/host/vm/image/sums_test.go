package image

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// summed puts an image with sums, whose files are two days old, into a cache.
func summed(t *testing.T, cache string) *Image {
	t.Helper()
	i := stored(t, cache, current.id(), time.Now())
	old := time.Now().Add(-48 * time.Hour)
	if err := errors.Join(os.Chtimes(i.Root(), old, old), os.Chtimes(i.KernelPath(), old, old), sumUp(i.Dir)); err != nil {
		t.Fatal(err)
	}
	return i
}

// scribble overwrites part of a file.
func scribble(path string, at int64, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(text), at)
	return errors.Join(err, f.Close())
}

func TestWhatWasWrittenToAnImageIsFound(t *testing.T) {
	cache := t.TempDir()
	for _, c := range []struct {
		name, want string
		breakIt    func(*Image) error
	}{
		{"nothing", "", func(*Image) error { return nil }},
		{"the superblock", "root.ext4 is no ext4 file system", func(i *Image) error { return scribble(i.Root(), 1024, strings.Repeat("\x00", 1024)) }},
		{"another superblock", "root.ext4 is damaged", func(i *Image) error { return scribble(i.Root(), 1024+0x68, strings.Repeat("u", 16)) }},
		{"the middle", "root.ext4 is damaged", func(i *Image) error { return scribble(i.Root(), 3<<20+77, "x") }},
		{"the end", "root.ext4 is damaged", func(i *Image) error { return scribble(i.Root(), 4<<20-1, "x") }},
		{"a root that is cut off", "root.ext4 has 2097152 bytes of 4194304", func(i *Image) error { return os.Truncate(i.Root(), 2<<20) }},
		{"the kernel", "vmlinuz is damaged", func(i *Image) error { return scribble(i.KernelPath(), 3, "x") }},
		{"the sums", "sums.json: ", func(i *Image) error { return scribble(filepath.Join(i.Dir, sumsFile), 0, "x") }},
	} {
		i := summed(t, cache)
		if err := c.breakIt(i); err != nil {
			t.Fatal(err)
		}
		_, err := Find(cache)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), i.Dir) {
			t.Errorf("%s: %v, want ErrBroken with %q and the directory", c.name, err, c.want)
		}
		if list, err := List(cache); err != nil || len(list) != 1 || !strings.Contains(list[0].Fault, c.want) {
			t.Errorf("%s: the list does not show it: %v, %v", c.name, list, err)
		}
	}
}

// What goes wrong on the disk itself leaves the file's time as it was.
func TestDamageThatNobodyWroteIsFoundByVerify(t *testing.T) {
	cache := t.TempDir()
	i := summed(t, cache)
	info, err := os.Stat(i.Root())
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Verify(); err != nil {
		t.Errorf("nothing has happened: %v", err)
	}
	if err := errors.Join(scribble(i.Root(), 2<<20, "x"), os.Chtimes(i.Root(), info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(cache); err != nil {
		t.Errorf("Find reads it as a whole: %v", err)
	}
	if err := i.Verify(); !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), "root.ext4 is damaged") {
		t.Errorf("Verify: %v, want ErrBroken", err)
	}
	i = summed(t, cache)
	if info, err = os.Stat(i.KernelPath()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(scribble(i.KernelPath(), 2, "x"), os.Chtimes(i.KernelPath(), info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(cache); !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), "vmlinuz is damaged") {
		t.Errorf("Find: %v, want that the kernel is damaged", err)
	}
}

// A copy has other times and may have zeros where the original has nothing. It
// is read once.
func TestACopyOfAnImageIsGood(t *testing.T) {
	cache, other := t.TempDir(), t.TempDir()
	i := summed(t, cache)
	if out, err := exec.Command("cp", "-r", "--sparse=never", filepath.Join(cache, "images"), other).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	sums := filepath.Join(Dir(other), i.ID, sumsFile)
	before, err := os.ReadFile(sums)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Find(other); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(sums)
	if err != nil || bytes.Equal(before, after) {
		t.Errorf("its new times are not noted: %v\n%s", err, after)
	}
	if _, err := Find(other); err != nil {
		t.Error(err)
	}
	if again, err := os.ReadFile(sums); err != nil || !bytes.Equal(again, after) {
		t.Errorf("it was read again: %v\n%s", err, again)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(sums), ".*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// Images of earlier versions have no sums. They get them as long as it is sure
// that they are what was built.
func TestAnImageWithoutSumsGetsThem(t *testing.T) {
	for late, want := range map[time.Duration]bool{-time.Hour: true, 2 * time.Second: false} {
		built := time.Now().Truncate(time.Second)
		i := stored(t, t.TempDir(), current.id(), built)
		at := built.Add(late)
		if err := errors.Join(os.Chtimes(i.Root(), at, at), i.Verify()); err != nil {
			t.Error(err)
		}
		_, err := os.Stat(filepath.Join(i.Dir, sumsFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		if got := err == nil; got != want {
			t.Errorf("written to %s after it was built: sums %v, want %v", late, got, want)
		}
		if err := scribble(i.Root(), 3<<20, "x"); err != nil {
			t.Fatal(err)
		}
		if err := i.Verify(); errors.Is(err, ErrBroken) != want {
			t.Errorf("damaged, with sums %v: %v", want, err)
		}
	}
}
