package record

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const (
	scratchPattern = "brink-record-*"
	scratchLock    = "lock"
)

// scratch is a temporary directory for a copy of a record. The lock in it
// tells that its process lives; the kernel drops it when the process dies.
type scratch struct {
	dir  string
	lock *os.File
}

// makeTemp makes the Reader's temporary directory, if it has none, and removes
// those of processes that died.
func (r *Reader) makeTemp() (err error) {
	if r.temp != nil {
		return nil
	}
	sweep()
	s := &scratch{}
	if s.dir, err = os.MkdirTemp("", scratchPattern); err != nil {
		return err
	}
	r.temp = s
	// It gets its name when it is held, so that nobody takes it for abandoned.
	fresh := s.file(scratchLock + ".new")
	if s.lock, err = os.Create(fresh); err != nil {
		return err
	}
	if err := syscall.Flock(int(s.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err
	}
	return os.Rename(fresh, s.file(scratchLock))
}

func (s *scratch) file(name string) string { return filepath.Join(s.dir, name) }

func (s *scratch) remove() error {
	err := os.RemoveAll(s.dir)
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

// sweep removes the directories of processes of this user that died before
// they could. It is an aid only: what it cannot remove stays.
func sweep() {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), scratchPattern))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		if mine(dir) {
			removeAbandoned(dir)
		}
	}
}

// mine tells whether a directory, and no link to one, is this user's.
func mine(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || info.Mode().Type() != fs.ModeDir {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// removeAbandoned removes a directory whose lock nobody holds. One without a
// lock may be about to get it.
func removeAbandoned(dir string) {
	lock, err := os.Open(filepath.Join(dir, scratchLock))
	if err != nil {
		return
	}
	defer lock.Close()
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		_ = os.RemoveAll(dir)
	}
}
