package kernel

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// FD is an open file of a process: a socket or an epoll instance.
type FD struct {
	Number int
	Inode  uint64 // of the socket; 0 for an epoll instance
	Epoll  bool
}

// fdBuffer holds the names of some 80 descriptors.
const fdBuffer = 2 << 10

// fdDir is /proc/PID/fd, kept open.
type fdDir struct {
	handle
	live bool
	// free is the lowest number that was not in use at the last listing, met
	// how many it has met, next the lowest that it has not come to.
	free, met, next int
	counted         Num      // how many were in use when it began
	name            [12]byte // of one link
	link            [64]byte // what is behind it
}

// Approach opens a process of which it is not yet known whether it is of
// interest, and reads nothing. Until Meet has succeeded it has neither a start
// nor readings but FDs, FirstFDs and NetNS. The error is [ErrGone] if there is
// none.
func (f *FS) Approach(pid int) (*Process, error) {
	if !f.live {
		return f.openProcess(pid)
	}
	p, err := f.process(pid)
	if err != nil {
		return nil, err
	}
	// Of most processes the files are all that will be looked at.
	if err := p.openFDs(f.at, p.prefix+"fd"); err != nil { // another user's, or it has ended
		return f.openProcess(pid)
	}
	return p, nil
}

// openFDs opens the directory of the process's files, which is name below from.
func (p *Process) openFDs(from place, name string) error {
	h, err := from.open(name)
	if err == nil {
		p.fds = &fdDir{handle: h, live: p.fs.live}
	}
	return err
}

// above is the directory of the process.
func (d *fdDir) above() (place, error) { return place{fd: d.fd}.below("..") }

func (d *fdDir) close() error {
	if d == nil {
		return nil
	}
	return d.handle.close()
}

// FDs appends the process's sockets and epoll instances to dst. It needs the
// process's user, or CAP_SYS_PTRACE; os.ErrPermission is in the error
// otherwise. It allocates nothing once dst has grown. A file that is opened or
// closed meanwhile may be missed or listed.
//
// https://man7.org/linux/man-pages/man5/proc_pid_fd.5.html
func (p *Process) FDs(dst []FD) ([]FD, error) {
	dst, _, err := p.FirstFDs(math.MaxInt, dst)
	return dst, err
}

// FirstFDs is FDs for the lowest descriptors in use, most of them; more says
// that there are others.
func (p *Process) FirstFDs(most int, dst []FD) (list []FD, more bool, err error) {
	if p.fds == nil {
		if err := p.openFDs(p.dir, "fd"); err != nil {
			return dst, false, p.absent(explain(p.prefix+"fd", err))
		}
	}
	list, more, err = p.fds.list(most, dst)
	if err != nil {
		return dst, false, gone(explain(p.prefix+"fd", err))
	}
	return list, more, nil
}

// FDMark is how far FirstFDs has come.
type FDMark struct {
	next, met int
	count     Num
}

// FDMark marks what the last listing has looked at.
func (p *Process) FDMark() FDMark {
	if p.fds == nil {
		return FDMark{}
	}
	return FDMark{next: p.fds.next, met: p.fds.met, count: p.fds.counted}
}

// FurtherFDs goes on where FirstFDs stopped, in this process or in the same opened
// anew, up to the lowest most. Where other descriptors are in use by now, by their
// number, or that cannot be told, it begins again.
func (p *Process) FurtherFDs(after FDMark, most int, dst []FD) ([]FD, error) {
	if p.fds == nil || !after.count.Known || p.fds.count() != after.count {
		dst, _, err := p.FirstFDs(most, dst)
		return dst, err
	}
	p.fds.free, p.fds.met = -1, after.met
	dst, _, err := p.fds.listOn(after.next, most, dst)
	if err != nil {
		return dst, gone(explain(p.prefix+"fd", err))
	}
	return dst, nil
}

// FDCount returns how many descriptors the process has in use, those included
// that are reserved: a process that blocks in accept(2) has one. It costs a
// hundredth of FDs, and works only after FDs has. It is unknown before Linux
// 6.2, in captured trees, and when the process has ended.
//
// https://man7.org/linux/man-pages/man5/proc_pid_fd.5.html
func (p *Process) FDCount() Num {
	if p.fds == nil {
		return Num{}
	}
	return p.fds.count()
}

func (d *fdDir) count() Num {
	var st unix.Stat_t
	if !d.live || unix.Fstat(d.fd, &st) != nil || st.Size <= 0 {
		return Num{}
	}
	return Num{Value: uint64(st.Size), Known: true}
}

// FDsMet returns how many descriptors, of files of all kinds, FDs has met when
// it was last called.
func (p *Process) FDsMet() int {
	if p.fds == nil {
		return 0
	}
	return p.fds.met
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

// OwnSockets returns the inodes of the sockets that this process has open. Its own
// descriptors it can ask itself, which costs a tenth of FDs.
func (f *FS) OwnSockets() ([]uint64, error) {
	names, err := f.at.names("proc/self/fd")
	if err != nil {
		return nil, explain("proc/self/fd", err)
	}
	var inodes []uint64
	for _, name := range names {
		var st unix.Stat_t
		fd, err := strconv.Atoi(name)
		if err == nil && unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK {
			inodes = append(inodes, st.Ino)
		}
	}
	return inodes, nil
}

// SocketAt looks at one descriptor: whether it is in use, and which socket it
// is, 0 if it is something else. It costs a fraction of FDs, needs the same
// rights, and works only after FDs has. A process that has ended has none in
// use.
func (p *Process) SocketAt(fd int) (inode uint64, used bool, err error) {
	if p.fds == nil {
		return 0, false, fmt.Errorf("%sfd: %w: it has not been listed", p.prefix, ErrUnavailable)
	}
	free, met := p.fds.free, p.fds.met // of the listing
	found, used, err := p.fds.look(fd)
	p.fds.free, p.fds.met = free, met
	if err != nil {
		return 0, false, gone(explain(p.prefix+"fd", err))
	}
	return found.Inode, used, nil
}

// list looks at the lowest most descriptors in use.
func (d *fdDir) list(most int, dst []FD) (list []FD, more bool, err error) {
	d.free, d.met = -1, 0
	return d.listOn(0, most, dst)
}

// listOn goes on from a number until it has met most. Where it is known how many
// there are it tries one after the other, which spares the kernel making a list,
// until that shows that they are far apart.
func (d *fdDir) listOn(tried, most int, dst []FD) (list []FD, more bool, err error) {
	const mostGaps = 1
	d.counted = d.count()
	count := int(d.counted.Value)
	for gaps := 0; d.met < min(count, most) && gaps <= mostGaps; tried++ {
		fd, used, err := d.look(tried)
		if err != nil {
			return dst, false, err
		}
		d.next = tried + 1
		if !used {
			gaps++
			continue
		}
		dst = appendSocket(dst, fd)
	}
	if count > 0 && d.met >= min(count, most) {
		if d.free < 0 {
			d.free = tried
		}
		return dst, d.met < count, nil
	}
	return d.listFrom(tried, count, most, dst)
}

// listFrom goes on with the descriptors from a number on, of count altogether, 0 if
// that is not known.
func (d *fdDir) listFrom(first, count, most int, dst []FD) (list []FD, more bool, err error) {
	if _, err := unix.Seek(d.fd, 0, unix.SEEK_SET); err != nil {
		return dst, false, err
	}
	var buf [fdBuffer]byte
	next := first
	for {
		n, err := unix.Getdents(d.fd, buf[:])
		if err != nil || n == 0 {
			if d.free < 0 {
				d.free = next
			}
			return dst, false, err
		}
		for entries := buf[:n]; len(entries) > 0; {
			var name []byte
			name, entries = nextDirent(entries)
			number := 0
			if len(name) == 0 || name[0] == '.' || !parseSmall(&number, name) || number < first {
				continue // the directory itself, the one above, and what was looked at
			}
			if d.free < 0 && number > next {
				d.free = next // on a living machine they come in order
			}
			if d.met == most {
				return dst, true, nil
			}
			fd, _, err := d.look(number)
			if err != nil {
				return dst, false, err
			}
			dst, next = appendSocket(dst, fd), number+1
			d.next = next
		}
		if d.met == count {
			if d.free < 0 {
				d.free = next
			}
			return dst, false, nil
		}
	}
}

func appendSocket(dst []FD, fd FD) []FD {
	if fd.Epoll || fd.Inode != 0 {
		return append(dst, fd)
	}
	return dst
}

// direntName is the offset of the name in a linux_dirent64 (getdents(2)).
const direntName = 19

// nextDirent returns the name of the first entry.
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
		name = name[:end]
	}
	return name, b[size:]
}

// look reads one link. A number that is not in use, or not any more, is no
// error: only what holds for all of them is.
func (d *fdDir) look(number int) (fd FD, used bool, err error) {
	name := append(strconv.AppendInt(d.name[:0], int64(number), 10), 0)
	n, errno := readlinkat(d.fd, name, d.link[:])
	switch errno {
	case 0:
	case unix.ENOENT:
		if d.free < 0 {
			d.free = number
		}
		return fd, false, nil
	default:
		return fd, false, errno
	}
	d.met++
	fd.Number = number
	fd.Inode, fd.Epoll = parseFDLink(d.link[:n])
	return fd, true, nil
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
	if err := p.enter(); err != nil {
		return 0, err
	}
	link, err := p.dir.readlink("ns/net")
	if err != nil {
		return 0, p.absent(explain(p.prefix+"ns/net", err))
	}
	digits, ok := strings.CutPrefix(link, "net:[")
	inode, isNum := parseNum([]byte(strings.TrimSuffix(digits, "]")))
	if !ok || !isNum {
		return 0, &FieldError{File: p.prefix + "ns/net", Line: 1, Field: "link", Text: shorten([]byte(link)), Want: "net:[inode]"}
	}
	return inode, nil
}
