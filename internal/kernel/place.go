package kernel

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// place is a directory below which files are opened. On this machine it is a
// descriptor: the directories are the kernel's own, and opening a file this way
// takes one system call. A captured tree may hold links to anywhere, so that
// there it is an [os.Root], which nothing leads out of.
type place struct {
	root *os.Root // nil on this machine
	fd   int
}

// handle is an open file of a place.
type handle struct {
	fd   int
	file *os.File // owns fd in a captured tree
}

func (h handle) close() error {
	if h.file != nil {
		return h.file.Close()
	}
	return unix.Close(h.fd)
}

// open opens a file for reading. O_NONBLOCK keeps a FIFO in a captured tree
// from blocking the open.
func (p place) open(name string) (handle, error) {
	if p.root == nil {
		fd, err := openat(p.fd, name, unix.O_RDONLY|unix.O_NONBLOCK)
		return handle{fd: fd}, err
	}
	f, err := p.root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return handle{}, err
	}
	return handle{fd: int(f.Fd()), file: f}, nil
}

// below opens a directory as a place of its own.
func (p place) below(name string) (place, error) {
	if p.root == nil {
		fd, err := openat(p.fd, name, unix.O_RDONLY|unix.O_DIRECTORY)
		return place{fd: fd}, err
	}
	root, err := p.root.OpenRoot(name)
	return place{root: root}, err
}

// close closes the place. The number of its descriptor may soon be another's.
func (p *place) close() error {
	if p.root != nil {
		return p.root.Close()
	}
	if p.fd < 0 {
		return nil
	}
	fd := p.fd
	p.fd = -1
	return unix.Close(fd)
}

func (p place) readlink(name string) (string, error) {
	if p.root != nil {
		return p.root.Readlink(name)
	}
	var short [128]byte // as most links of proc are
	if n, err := unix.Readlinkat(p.fd, name, short[:]); err != nil || n < len(short) {
		return string(short[:max(n, 0)]), err
	}
	link := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(p.fd, name, link)
	return string(link[:max(n, 0)]), err
}

// names lists a directory.
func (p place) names(dir string) ([]string, error) {
	h, err := p.open(dir)
	if err != nil {
		return nil, err
	}
	defer h.close()
	if h.file != nil {
		return h.file.Readdirnames(-1)
	}
	// Without os.File, which would ask Go's poller to wait for a directory.
	var names []string
	buf := make([]byte, direntBuffer)
	for {
		n, err := unix.ReadDirent(h.fd, buf)
		if err != nil || n == 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

// direntBuffer holds some 250 names.
const direntBuffer = 8 << 10

// isDir tells whether there is a directory of this name.
func (p place) isDir(name string) bool {
	if p.root != nil {
		info, err := p.root.Stat(name)
		return err == nil && info.IsDir()
	}
	var st unix.Stat_t
	return unix.Fstatat(p.fd, name, &st, 0) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

func openat(dir int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) { // of a file system in user space, such as lxcfs
			return fd, err
		}
	}
}
