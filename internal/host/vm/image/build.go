package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"brink/internal/clock"
	"brink/internal/guest"
)

// Options say how to build.
type Options struct {
	// Cache is brink's cache directory.
	Cache string
	// Mirror is the address of a mirror of Debian; by default the machine's own
	// package sources are used.
	Mirror string
	// Force builds anew what is there.
	Force bool
	// Progress hears in one line what is being done; nil hears nothing.
	Progress func(string)
}

// UnfitError is what the machine lacks for a build.
type UnfitError struct{ Err error }

func (e *UnfitError) Error() string { return "building the image: " + e.Err.Error() }

func (e *UnfitError) Unwrap() error { return e.Err }

// roomMB is what a build needs on the disk: the tree and the image side by side.
const roomMB = 1800

const buildPrefix = ".build-"

// Build builds the image of the current recipe unless it is there. Builds wait
// for each other, and what a killed one left is removed. The error is an
// *UnfitError when the machine lacks something.
func Build(ctx context.Context, o Options) (*Image, error) { return build(ctx, o, current) }

func build(ctx context.Context, o Options, r recipe) (*Image, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	dir := Dir(o.Cache)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("the directory for images: %w", err)
	}
	unlock, err := lock(ctx, dir, o.Progress)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := sweep(dir); err != nil {
		return nil, err
	}
	final := filepath.Join(dir, r.id())
	if have, err := open(final); err == nil && !o.Force {
		return have, nil
	}
	with, err := prepare(dir, o.Mirror, r)
	if err != nil {
		return nil, &UnfitError{err}
	}
	tmp, err := os.MkdirTemp(dir, buildPrefix)
	if err != nil {
		return nil, fmt.Errorf("the directory for images: %w", err)
	}
	err = (&builder{Options: o, recipe: r, means: with, dir: tmp}).build(ctx)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = publish(tmp, final)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("building the image: %w", err), os.RemoveAll(tmp))
	}
	return open(final)
}

// CanBuild says what the machine lacks for a build, before one is begun. It makes
// the directory for images.
func CanBuild(o Options) error {
	dir := Dir(o.Cache)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("the directory for images: %w", err)
	}
	_, err := prepare(dir, o.Mirror, current)
	return err
}

// prepare finds out whether the machine has what a build needs.
func prepare(dir, mirror string, r recipe) (means, error) {
	if err := enoughRoom(dir); err != nil {
		return means{}, err
	}
	return findMeans(mirror, r.Suite)
}

// lock takes the lock of a directory of images, which the kernel gives back
// however this process ends.
func lock(ctx context.Context, dir string, progress func(string)) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("the directory for images: %w", err)
	}
	for waiting := false; ; waiting = true {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("locking the directory for images: %w", err), f.Close())
		}
		if !waiting {
			progress("waiting for another brink that builds the image")
		}
		if err := clock.Real.Sleep(ctx, 200*time.Millisecond); err != nil {
			return nil, errors.Join(context.Cause(ctx), f.Close())
		}
	}
}

// sweep removes what killed builds left. The lock must be held.
func sweep(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, buildPrefix+"*"))
	for _, l := range left {
		err = errors.Join(err, os.RemoveAll(l))
	}
	if err != nil {
		return fmt.Errorf("cleaning up after an earlier build: %w", err)
	}
	return nil
}

func enoughRoom(dir string) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return fmt.Errorf("the directory for images: %w", err)
	}
	if free := int64(s.Bavail) * s.Bsize >> 20; free < roomMB {
		return fmt.Errorf("it needs %d MB on the disk of %s, which has %d MB left", roomMB, dir, free)
	}
	return nil
}

// publish puts a finished build in its place at once.
func publish(tmp, dir string) error {
	old := tmp + "-old"
	err := os.Rename(dir, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		return err
	}
	return os.RemoveAll(old)
}

// builder makes one image in a directory of its own.
type builder struct {
	Options
	recipe recipe
	means  means
	dir    string
}

func (b *builder) tree() string { return filepath.Join(b.dir, "tree") }

func (b *builder) build(ctx context.Context) error {
	began := clock.Real.Now()
	node, nodeErr := b.fetchNode(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	i := &Image{ID: b.recipe.id(), Node: node, NodePath: "/usr/local/bin/node"}
	packages := b.recipe.Packages
	if nodeErr != nil {
		b.Progress(fmt.Sprintf("Node.js %s could not be had (%v); the distribution's takes its place", b.recipe.Node, nodeErr))
		packages = append(packages[:len(packages):len(packages)], "nodejs")
	}
	if err := b.bootstrap(ctx, packages); err != nil {
		return err
	}
	var err error
	if i.Packages, err = b.versions(packages); err != nil {
		return err
	}
	if nodeErr != nil {
		i.NodePath = "/usr/bin/node"
		i.Node = fmt.Sprintf("%s, the distribution's (the registry's %s could not be had: %v)", i.Packages["nodejs"], b.recipe.Node, nodeErr)
	}
	if i.Kernel, err = b.placeKernel(); err != nil {
		return err
	}
	if err := b.finishTree(nodeErr == nil); err != nil {
		return err
	}
	b.Progress("making the file system")
	if err := MakeDisk(ctx, Disk{Path: filepath.Join(b.dir, rootFile), MB: b.recipe.DiskMB, Tree: b.tree()}); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(b.tree()), sumUp(b.dir)); err != nil {
		return err
	}
	return b.describe(i, began)
}

// finishTree adds what no package brings.
func (b *builder) finishTree(withNode bool) error {
	if withNode {
		bin := filepath.Join(b.tree(), "usr/local/bin")
		if err := os.MkdirAll(bin, 0o755); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(b.dir, nodeFile), filepath.Join(bin, "node")); err != nil {
			return err
		}
	}
	for _, dir := range []string{guest.Home, guest.CacheDir} {
		if err := os.MkdirAll(filepath.Join(b.tree(), dir), 0o755); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		"etc/hostname": "plan\n",
		"etc/hosts":    "127.0.0.1 localhost plan\n",
	} {
		if err := os.WriteFile(filepath.Join(b.tree(), name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// placeKernel takes kernel and modules out of what the hook unpacked.
func (b *builder) placeKernel() (release string, err error) {
	kernel := filepath.Join(b.tree(), kernelDir)
	found, err := filepath.Glob(filepath.Join(kernel, "boot", "vmlinuz-*"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("the package %s brought %d kernels where one is expected", b.recipe.Kernel, len(found))
	}
	if err := os.Rename(found[0], filepath.Join(b.dir, kernelFile)); err != nil {
		return "", err
	}
	order, err := moduleOrder(filepath.Join(kernel, "lib/modules"), b.recipe.Modules)
	if err != nil {
		return "", err
	}
	var list strings.Builder
	for _, file := range order {
		path := strings.TrimPrefix(file, kernel)
		to := filepath.Join(b.tree(), path)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return "", err
		}
		if err := os.Rename(file, to); err != nil {
			return "", err
		}
		fmt.Fprintln(&list, path)
	}
	if err := os.WriteFile(filepath.Join(b.tree(), guest.ModuleList), []byte(list.String()), 0o644); err != nil {
		return "", err
	}
	return strings.TrimPrefix(filepath.Base(found[0]), "vmlinuz-"), os.RemoveAll(kernel)
}

// describe writes the image's own description.
func (b *builder) describe(i *Image, began time.Time) error {
	for name, size := range map[string]*int64{rootFile: &i.RootBytes, kernelFile: &i.KernelBytes} {
		info, err := os.Stat(filepath.Join(b.dir, name))
		if err != nil {
			return err
		}
		*size = info.Size()
	}
	i.Built = clock.Real.Now().UTC().Truncate(time.Second)
	i.Took = clock.Real.Now().Sub(began).Seconds()
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.dir, aboutFile), append(text, '\n'), 0o644)
}

// blocks is the disk space of a file, which is less than its size when it is
// sparse.
func blocks(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}
