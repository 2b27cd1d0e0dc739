package kernel

import (
	"bytes"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Forks is a number that is another one after any process or thread has been
// made: the pid that was given last in this process's own pid namespace or,
// where /proc/loadavg is not the kernel's, how many were made on the machine.
type Forks struct{ Mark Num }

// ForksReader opens what says so at the lowest cost: a tenth of [FS.StatReader].
//
// https://www.kernel.org/doc/html/latest/filesystems/proc.html (loadavg)
func (f *FS) ForksReader() (*Reader[Forks], error) {
	r, err := newReader(f.at, "", part[Forks]{name: "proc/loadavg", parse: parseLastPID, single: true, short: true})
	if err == nil && r.parts[0].file.inProcfs() {
		r.parts[0].file.hurry()
		return r, nil
	}
	if err == nil {
		r.Close()
	}
	return newReader(f.at, "", part[Forks]{name: "proc/stat", parse: parseForks, single: true})
}

// inProcfs tells the kernel's file from one that is put in its place: lxcfs
// brings the last pid up to date every few seconds only.
func (f *file) inProcfs() bool {
	var st unix.Statfs_t
	return unix.Fstatfs(f.fd, &st) == nil && st.Type == unix.PROC_SUPER_MAGIC
}

// hurry reads without telling Go's scheduler, which would make ready for a long
// wait ten times a second. The kernel keeps the memory that it writes to from
// the first reading on, so that it never waits for any.
func (f *file) hurry() {
	slow := f.pread
	f.pread = func(b []byte, at int64) (int, error) {
		if at != 0 || len(b) == 0 {
			return slow(b, at)
		}
		n, _, errno := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(f.fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), 0, 0, 0)
		if errno != 0 {
			return 0, errno
		}
		return int(n), nil
	}
}

// parseLastPID reads the last field of /proc/loadavg.
func parseLastPID(s *Forks, b []byte) error {
	line, _ := cutLine(b)
	last := line[bytes.LastIndexByte(line, ' ')+1:]
	v, ok := parseNum(last)
	if !ok {
		return &FieldError{Line: 1, Field: "last pid", Text: shorten(line), Want: "three averages, RUNNABLE/TASKS and a pid"}
	}
	s.Mark = Num{v, true}
	return nil
}

// parseForks reads "processes N" in /proc/stat.
func parseForks(s *Forks, b []byte) error {
	before, after, ok := bytes.Cut(b, []byte("\nprocesses "))
	text, _ := cutLine(after)
	v, isNum := parseNum(text)
	if !ok || !isNum {
		return &FieldError{Line: 2 + bytes.Count(before, []byte{'\n'}), Field: "processes", Text: shorten(text), Want: wantNumber}
	}
	s.Mark = Num{v, true}
	return nil
}
