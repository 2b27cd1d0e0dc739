package kernel

import (
	"errors"
	"fmt"
	"os"
	"strconv"
)

// Process is one process, opened through its directory in proc. The kernel ties
// that directory to the process and not to the number: once the process has
// ended, every reading is [ErrGone], even if the pid is in use again.
//
// No reading but Cmdline takes the process's mmap lock, so the others do not
// wait for a process that is stuck in reclaim.
//
// https://www.kernel.org/doc/html/latest/filesystems/proc.html#process-specific-subdirectories
type Process struct {
	fs      *FS
	pid     int
	start   uint64
	dir     *os.Root
	prefix  string
	last    PIDStat
	stat    *Reader[PIDStat]
	sched   *Reader[SchedStat]
	status  *Reader[PIDStatus]
	statm   *Reader[PIDStatm]
	kids    *Reader[children]
	syscall *Reader[PIDSyscall]
	fds     *fdDir
	forked  children
}

// OpenProcess opens a process. The error is [ErrGone] if there is none.
func (f *FS) OpenProcess(pid int) (*Process, error) {
	name := "proc/" + strconv.Itoa(pid)
	if pid <= 0 {
		return nil, fmt.Errorf("%s: a pid is above 0", name)
	}
	dir, err := f.root.OpenRoot(name)
	if err != nil {
		return nil, gone(explain(name, err))
	}
	p := &Process{fs: f, pid: pid, dir: dir, prefix: name + "/"}
	if p.stat, err = newReader(dir, p.prefix, part[PIDStat]{name: "stat", parse: parsePIDStat, single: true}); err != nil {
		dir.Close()
		return nil, gone(err)
	}
	if err = p.stat.Read(&p.last); err == nil && p.last.PID != pid {
		err = fmt.Errorf("%sstat: %w: it is of pid %d", p.prefix, ErrReused, p.last.PID)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	p.start = p.last.StartTicks
	return p, nil
}

// gone turns the absence of what every process has into the end of the process.
func gone(err error) error {
	if errors.Is(err, ErrUnavailable) {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return err
}

// PID returns the process's number.
func (p *Process) PID() int { return p.pid }

// StartTicks returns when the process started, in ticks of 1/[UserHz] s since
// boot. Pid and start together name a process for as long as the machine runs.
func (p *Process) StartTicks() uint64 { return p.start }

// Stat reads /proc/PID/stat. The error is [ErrGone] when the process has ended
// and [ErrReused] when the file is of another process.
func (p *Process) Stat(dst *PIDStat) error {
	if err := p.stat.Read(dst); err != nil {
		return err
	}
	if dst.PID != p.pid || dst.StartTicks != p.start {
		was := *dst
		*dst = PIDStat{}
		return fmt.Errorf("%sstat: %w: started at tick %d, opened at tick %d", p.prefix, ErrReused, was.StartTicks, p.start)
	}
	return nil
}

// SchedStat reads /proc/PID/schedstat: the main thread's, not the process's.
// The error is [ErrGone] when the process has ended.
func (p *Process) SchedStat(dst *SchedStat) error {
	return readPart(p, &p.sched, dst, part[SchedStat]{name: "schedstat", parse: parseSchedStat, single: true})
}

// Status reads /proc/PID/status. The error is [ErrGone] when the process has
// ended.
func (p *Process) Status(dst *PIDStatus) error {
	return readPart(p, &p.status, dst, part[PIDStatus]{name: "status", parse: parsePIDStatus, single: true})
}

// Close closes the process's files. It does not touch the process.
func (p *Process) Close() error {
	return errors.Join(p.stat.Close(), p.sched.Close(), p.status.Close(), p.statm.Close(), p.kids.Close(), p.syscall.Close(), p.fds.close(), p.dir.Close())
}

// readPart takes a reading of a file of the process, opening it the first time.
func readPart[T any](p *Process, r **Reader[T], dst *T, what part[T]) error {
	if *r == nil {
		opened, err := newReader(p.dir, p.prefix, what)
		if err != nil {
			var nothing T
			*dst = nothing
			return p.absent(err)
		}
		*r = opened
	}
	return (*r).Read(dst)
}

// absent tells a file that this kernel does not have from a process that has
// ended: both answer ENOENT.
func (p *Process) absent(err error) error {
	if !errors.Is(err, ErrUnavailable) {
		return err
	}
	if statErr := p.Stat(&p.last); statErr != nil {
		return statErr
	}
	return err
}
