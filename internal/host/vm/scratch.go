package vm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"brink/internal/agent"
	"brink/internal/clock"
)

// scratchPrefix begins the names of scratch directories.
const scratchPrefix = "vm-"

// lockName is the file in a scratch directory that its process holds locked.
const lockName = "lock"

// scratch is a directory for sockets and files in the making. Its lock ends
// with this process, so that the next one can tell that nobody needs it.
type scratch struct {
	path string
	lock *os.File
}

// runtimeDir is where scratch directories are: short paths, for sockets.
func runtimeDir() (string, error) { return agent.RegistryDir() }

// scratch makes a directory, after removing those that killed processes left.
func (h *Host) scratch() (*scratch, error) {
	base, err := runtimeDir()
	if err != nil {
		return nil, err
	}
	if err := sweep(base); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(base, scratchPrefix)
	if err != nil {
		return nil, fmt.Errorf("a directory for the virtual machine: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("a directory for the virtual machine: %w", err), os.RemoveAll(dir))
	}
	return &scratch{path: dir, lock: lock}, nil
}

func (s *scratch) file(name string) string { return filepath.Join(s.path, name) }

func (s *scratch) remove() error {
	return errors.Join(os.RemoveAll(s.path), s.lock.Close())
}

// newborn is how long a directory may be without a lock.
const newborn = time.Minute

// sweep removes scratch directories whose process is gone. Machines end with
// their process (qemu.Machine.Start), and big files have no name, so that there
// is nothing else to end.
func sweep(base string) error {
	entries, err := os.ReadDir(base)
	if err != nil {
		return fmt.Errorf("cleaning up after earlier virtual machines: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), scratchPrefix) {
			continue
		}
		dir := filepath.Join(base, e.Name())
		if dead(dir, e) {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	return err
}

func dead(dir string, e fs.DirEntry) bool {
	f, err := os.Open(filepath.Join(dir, lockName))
	if err != nil {
		info, err := e.Info()
		return err == nil && clock.Real.Now().Sub(info.ModTime()) > newborn
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}
