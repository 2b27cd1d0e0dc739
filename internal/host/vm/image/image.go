// Package image makes and keeps the root file systems of virtual machines: a
// Debian with the interpreters and servers that apps run on, and the kernel
// that boots it. Nothing of it is installed on the machine.
package image

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Errors of Find.
var (
	// ErrNone: no image of the current recipe was built.
	ErrNone = errors.New("the image for virtual machines was not built yet; brink image build does it")
	// ErrBroken: what is there cannot be used.
	ErrBroken = errors.New("build it again with: brink image build --force")
)

// Image is a built image.
type Image struct {
	// ID is the hash of its recipe.
	ID  string `json:"id"`
	Dir string `json:"dir"`
	// Built is when it was finished, and Took how long that took, in seconds.
	Built time.Time `json:"built"`
	Took  float64   `json:"took_s"`
	// Bytes is the disk space that it takes.
	Bytes int64 `json:"bytes"`
	// Kernel is the kernel's release, such as 6.1.0-57-cloud-amd64.
	Kernel string `json:"kernel"`
	// Packages are the versions of the packages of the recipe.
	Packages map[string]string `json:"packages"`
	// Node says which Node.js it has and where that came from.
	Node string `json:"node"`
	// NodePath is its path in the guest.
	NodePath string `json:"node_path"`
	// Current tells whether this brink would use it.
	Current bool `json:"current"`
	// Fault says in one clause, such as "vmlinuz is missing", why the image cannot
	// be used; empty where it can.
	Fault string `json:"fault,omitempty"`

	RootBytes   int64 `json:"root_bytes"`
	KernelBytes int64 `json:"kernel_bytes"`
}

// Names of an image's files.
const (
	rootFile   = "root.ext4"
	kernelFile = "vmlinuz"
	aboutFile  = "image.json"
)

// Root is the path of the root file system, KernelPath that of the kernel.
func (i *Image) Root() string       { return filepath.Join(i.Dir, rootFile) }
func (i *Image) KernelPath() string { return filepath.Join(i.Dir, kernelFile) }

// Dir is where images are kept below a cache directory.
func Dir(cache string) string { return filepath.Join(cache, "images") }

// CacheDir is this user's cache directory of brink.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("the directory for images: %w", err)
	}
	return filepath.Join(dir, "brink"), nil
}

// Find returns the image of the current recipe. The error wraps ErrNone or
// ErrBroken where the image is at fault.
func Find(cache string) (*Image, error) {
	return open(filepath.Join(Dir(cache), current.id()))
}

func open(dir string) (*Image, error) {
	b, err := os.ReadFile(filepath.Join(dir, aboutFile))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return nil, ErrNone
		}
	}
	if err != nil {
		return nil, broken(dir, unreadable(aboutFile, err))
	}
	i := new(Image)
	if err := json.Unmarshal(b, i); err != nil {
		return nil, broken(dir, fmt.Errorf("%s: %w", aboutFile, err))
	}
	i.Dir, i.ID = dir, filepath.Base(dir)
	i.Current, i.Fault = i.ID == current.id(), ""
	return i, i.check()
}

// brokenError says which image is broken and why. It wraps ErrBroken.
type brokenError struct {
	dir string
	why error
}

func broken(dir string, why error) error { return &brokenError{dir, why} }

func (e *brokenError) Error() string {
	return fmt.Sprintf("the image in %s is broken: %v; %v", e.dir, e.why, ErrBroken)
}

func (e *brokenError) Unwrap() []error { return []error{e.why, ErrBroken} }

// unreadable says that a file of an image cannot be read, and why.
func unreadable(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing", name)
	}
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err // the directory is named already
	}
	return fmt.Errorf("%s cannot be read: %w", name, err)
}

// check finds files that were cut off, replaced or written to. What changes
// without a write, [Image.Verify] finds.
func (i *Image) check() error {
	for _, f := range []struct {
		name string
		size int64
	}{{rootFile, i.RootBytes}, {kernelFile, i.KernelBytes}} {
		info, err := os.Stat(filepath.Join(i.Dir, f.name))
		if err != nil {
			return broken(i.Dir, unreadable(f.name, err))
		}
		if info.Size() != f.size {
			return broken(i.Dir, fmt.Errorf("%s has %d bytes of %d", f.name, info.Size(), f.size))
		}
	}
	if !isExt4(i.Root()) {
		return broken(i.Dir, fmt.Errorf("%s is no ext4 file system", rootFile))
	}
	return i.compare(false)
}

// isExt4 looks for the superblock's magic number
// (https://www.kernel.org/doc/html/latest/filesystems/ext4/globals.html#super-block).
func isExt4(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [2]byte
	_, err = f.ReadAt(magic[:], 1024+0x38)
	return err == nil && binary.LittleEndian.Uint16(magic[:]) == 0xEF53
}

// List returns all images in a cache, the current one first, then the newest.
// What is broken is in the list too, with its fault and without contents.
func List(cache string) ([]*Image, error) {
	entries, err := os.ReadDir(Dir(cache))
	if errors.Is(err, fs.ErrNotExist) {
		return []*Image{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the directory of images: %w", err)
	}
	list := []*Image{}
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		dir := filepath.Join(Dir(cache), e.Name())
		i, err := open(dir)
		if err != nil {
			i = &Image{ID: e.Name(), Dir: dir, Current: e.Name() == current.id(), Fault: faultOf(err)}
		}
		i.Bytes = diskUsage(dir)
		list = append(list, i)
	}
	slices.SortFunc(list, func(a, b *Image) int {
		if a.Current != b.Current {
			if a.Current {
				return -1
			}
			return 1
		}
		return b.Built.Compare(a.Built)
	})
	return list, nil
}

// faultOf takes out of an error what [Image.Fault] has.
func faultOf(err error) string {
	if b := (*brokenError)(nil); errors.As(err, &b) {
		return b.why.Error()
	}
	return err.Error()
}

// Remove deletes an image. Virtual machines that use it go on.
func Remove(cache, id string) error {
	dir := filepath.Join(Dir(cache), id)
	if id == "" || strings.HasPrefix(id, ".") || filepath.Base(id) != id {
		return fmt.Errorf("%q is no image; brink image list names them", id)
	}
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("there is no image %s; brink image list names them", id)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("image %s cannot be removed: %w", id, err)
	}
	return nil
}

// diskUsage is the space that the files of a directory take.
func diskUsage(dir string) int64 {
	var bytes int64
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			bytes += blocks(info)
		}
	}
	return bytes
}
