// Package kernel reads what Linux says about memory, CPU, pressure, processes,
// sockets and control groups: one file of this package per kernel file.
//
// Everything is read below a root directory, so a captured tree is read by the
// code that reads "/". Kernels differ: a field that this kernel does not have
// is an unknown [Num], never 0, and a whole file that it does not have is
// [ErrUnavailable]. A last line without a newline is read like any other; a
// capture that was cut off in the middle of its last number cannot be told from
// a whole one where the file has no units.
//
// Readings that are taken many times a second go through a [Reader], a
// [Process] or a [SockDiag]. These keep their descriptors and buffers, and
// allocate nothing once their buffers have grown to the size of the file,
// provided that the destination is kept by the caller and reused. None of them
// is safe for concurrent use.
package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

var (
	// ErrUnavailable says that this kernel (or this captured tree) does not
	// offer what was asked for: the file is absent, or reading it answers
	// EOPNOTSUPP, as pressure files do when PSI is switched off.
	ErrUnavailable = errors.New("not available here")

	// ErrGone says that the process or the cgroup behind a file has ended.
	ErrGone = errors.New("the process or cgroup has ended")

	// ErrReused says that the pid now belongs to another process than the one
	// that was opened: its start time differs.
	ErrReused = errors.New("the pid belongs to another process now")
)

// FS is a root directory with proc and sys below it. It follows no symbolic
// link out of that root.
type FS struct {
	root *os.Root
	at   place // the same directory
	live bool
	// mounts are kept, since finding a cgroup would read the table each time.
	mounts atomic.Pointer[cgroupMounts]
}

// Open opens a root: "/" for this machine, or the directory of a captured tree.
// It is an error if the directory has neither proc nor sys.
func Open(root string) (*FS, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("kernel root: %w", err)
	}
	f := &FS{root: r, at: place{root: r}, live: filepath.Clean(root) == "/"}
	if !f.at.isDir("proc") && !f.at.isDir("sys") {
		r.Close()
		return nil, fmt.Errorf("kernel root %s: it has neither proc nor sys below it", root)
	}
	if f.live {
		fd, err := openat(unix.AT_FDCWD, "/", unix.O_RDONLY|unix.O_DIRECTORY)
		if err != nil {
			r.Close()
			return nil, fmt.Errorf("kernel root: %w", err)
		}
		f.at = place{fd: fd}
	}
	return f, nil
}

// Close releases the root. Readers that were opened from it stay usable.
func (f *FS) Close() error {
	if f.live {
		return errors.Join(f.at.close(), f.root.Close())
	}
	return f.root.Close()
}

// PIDs lists the processes below proc, in the order of the directory.
func (f *FS) PIDs() ([]int, error) { return numericNames(f.at, "proc") }

// UserPIDs is PIDs without the threads of the kernel itself, as far as these
// can be told apart. It opens none of them.
func (f *FS) UserPIDs() ([]int, error) {
	pids, err := f.PIDs()
	if err != nil {
		return nil, err
	}
	threads, err := f.kernelThreads()
	if err != nil {
		return pids, nil
	}
	slices.Sort(threads)
	return slices.DeleteFunc(pids, func(pid int) bool {
		_, is := slices.BinarySearch(threads, pid)
		return is || pid == kthreadd
	}), nil
}

// numericNames lists the entries of a directory whose names are numbers.
func numericNames(p place, dir string) ([]int, error) {
	names, err := p.names(dir)
	if err != nil {
		return nil, explain(dir, err)
	}
	ids := make([]int, 0, len(names))
	for _, name := range names {
		if id, err := strconv.Atoi(name); err == nil && id > 0 {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// explain adds the file's name below the root and, where the kernel's errno
// has a meaning of its own, that meaning.
func explain(name string, err error) error {
	// Most come straight from a system call.
	if _, plain := err.(unix.Errno); !plain {
		if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
			err = pe.Err
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("%s: %w: %w", name, ErrUnavailable, err)
	case errors.Is(err, unix.ESRCH), errors.Is(err, unix.ENODEV):
		return fmt.Errorf("%s: %w: %w", name, ErrGone, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}
