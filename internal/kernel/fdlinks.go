package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// FD is an open file of a process: a socket or an epoll instance.
type FD struct {
	Number int
	Inode  uint64 // of the socket; 0 for an epoll instance
	Epoll  bool
}

const fdBuffer = 8 << 10

// fdDir is /proc/PID/fd, kept open.
type fdDir struct {
	dir *os.File
	fd  int
	buf []byte
	// free is the lowest number that was not in use at the last listing.
	free int
	name [12]byte // of one link
	link [64]byte // what is behind it
}

func (d *fdDir) close() error {
	if d == nil {
		return nil
	}
	return d.dir.Close()
}

// FDs appends the process's sockets and epoll instances to dst. It needs the
// process's user, or CAP_SYS_PTRACE; os.ErrPermission is in the error
// otherwise. It allocates nothing once dst has grown. A file that is opened or
// closed meanwhile may be missed or listed.
//
// https://man7.org/linux/man-pages/man5/proc_pid_fd.5.html
func (p *Process) FDs(dst []FD) ([]FD, error) {
	if p.fds == nil {
		dir, err := p.dir.Open("fd")
		if err != nil {
			return dst, p.absent(explain(p.prefix+"fd", err))
		}
		p.fds = &fdDir{dir: dir, fd: int(dir.Fd()), buf: make([]byte, fdBuffer)}
	}
	list, err := p.fds.list(dst)
	if err != nil {
		return dst, gone(explain(p.prefix+"fd", err))
	}
	return list, nil
}

// LowestFreeFD returns the lowest descriptor that was not in use when FDs last
// listed them: the one that the process gets next, by POSIX. It is 0 if FDs has
// not been called.
func (p *Process) LowestFreeFD() int {
	if p.fds == nil {
		return 0
	}
	return p.fds.free
}

// SocketAt looks at one descriptor: whether it is in use, and which socket it
// is, 0 if it is something else. It costs a fraction of FDs, needs the same
// rights, and works only after FDs has. A process that has ended has none in
// use.
func (p *Process) SocketAt(fd int) (inode uint64, used bool, err error) {
	if p.fds == nil {
		return 0, false, fmt.Errorf("%sfd: %w: it has not been listed", p.prefix, ErrUnavailable)
	}
	name := strconv.AppendInt(p.fds.name[:0], int64(fd), 10)
	link := p.fds.link[:]
	n, err := readlinkat(p.fds.fd, append(name, 0), link)
	if errors.Is(err, unix.ENOENT) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, gone(explain(p.prefix+"fd", err))
	}
	inode, _ = parseFDLink(link[:n])
	return inode, true, nil
}

func (d *fdDir) list(dst []FD) ([]FD, error) {
	d.free = 0
	if _, err := unix.Seek(d.fd, 0, unix.SEEK_SET); err != nil {
		return dst, err
	}
	for {
		n, err := unix.Getdents(d.fd, d.buf)
		if err != nil || n == 0 {
			return dst, err
		}
		for entries := d.buf[:n]; len(entries) > 0; {
			var name []byte
			name, entries = nextDirent(entries)
			if len(name) == 0 || name[0] == '.' {
				continue // the directory itself and the one above
			}
			fd, ok := d.look(name)
			if fd.Number == d.free {
				d.free++ // they come in order
			}
			if ok {
				dst = append(dst, fd)
			}
		}
	}
}

// direntName is the offset of the name in a linux_dirent64 (getdents(2)).
const direntName = 19

// nextDirent returns the name of the first entry with the NUL behind it.
func nextDirent(b []byte) (name, rest []byte) {
	if len(b) < direntName {
		return nil, nil
	}
	size := int(native.Uint16(b[16:]))
	if size < direntName || size > len(b) {
		return nil, nil
	}
	name = b[direntName:size]
	if end := bytes.IndexByte(name, 0); end >= 0 {
		name = name[:end+1]
	}
	return name, b[size:]
}

// look reads one link. A file that has been closed meanwhile is none.
func (d *fdDir) look(name []byte) (FD, bool) {
	var fd FD
	if len(name) < 2 || !parseSmall(&fd.Number, name[:len(name)-1]) {
		return fd, false
	}
	n, err := readlinkat(d.fd, name, d.link[:])
	if err != nil {
		return fd, false
	}
	fd.Inode, fd.Epoll = parseFDLink(d.link[:n])
	return fd, fd.Epoll || fd.Inode != 0
}

// parseFDLink understands socket:[INODE] and anon_inode:[eventpoll].
func parseFDLink(link []byte) (inode uint64, epoll bool) {
	if string(link) == "anon_inode:[eventpoll]" {
		return 0, true
	}
	rest, ok := bytes.CutPrefix(link, []byte("socket:["))
	digits, closed := bytes.CutSuffix(rest, []byte("]"))
	if !ok || !closed {
		return 0, false
	}
	inode, _ = parseNum(digits)
	return inode, false
}

// NetNS returns the inode that names the network namespace of the process. It
// needs the same rights as FDs.
//
// https://man7.org/linux/man-pages/man7/network_namespaces.7.html
func (p *Process) NetNS() (uint64, error) {
	link, err := p.dir.Readlink("ns/net")
	if err != nil {
		return 0, p.absent(explain(p.prefix+"ns/net", err))
	}
	digits, ok := bytes.CutPrefix([]byte(link), []byte("net:["))
	inode, isNum := parseNum(bytes.TrimSuffix(digits, []byte("]")))
	if !ok || !isNum {
		return 0, &FieldError{File: p.prefix + "ns/net", Line: 1, Field: "link", Text: shorten([]byte(link)), Want: "net:[inode]"}
	}
	return inode, nil
}
