package kernel

import (
	"errors"
	"fmt"
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
	dir     place
	prefix  string
	last    PIDStat
	stat    *Reader[PIDStat]
	sched   *Reader[SchedStat]
	status  *Reader[PIDStatus]
	statm   *Reader[PIDStatm]
	kids    *Reader[children]
	syscall *Reader[PIDSyscall]
	fds     *fdDir
	end     *ending
	forked  children
}

// OpenProcess opens a process. The error is [ErrGone] if there is none.
func (f *FS) OpenProcess(pid int) (*Process, error) {
	p, err := f.openProcess(pid)
	if err != nil {
		return nil, err
	}
	if err := p.Meet(); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// openProcess opens the directory of a process and reads nothing.
func (f *FS) openProcess(pid int) (*Process, error) {
	p, err := f.process(pid)
	if err != nil {
		return nil, err
	}
	if p.dir, err = f.at.below(p.prefix); err != nil {
		return nil, gone(explain(p.prefix, err))
	}
	return p, nil
}

// process is one of which nothing is open.
func (f *FS) process(pid int) (*Process, error) {
	prefix := "proc/" + strconv.Itoa(pid) + "/"
	if pid <= 0 {
		return nil, fmt.Errorf("%s: a pid is above 0", prefix)
	}
	return &Process{fs: f, pid: pid, dir: place{fd: -1}, prefix: prefix}, nil
}

// enter opens the directory of the process after Approach: from that of its files,
// so that it is the same process's.
func (p *Process) enter() error {
	if p.dir.root != nil || p.dir.fd >= 0 {
		return nil
	}
	dir, err := p.fds.above()
	if err != nil {
		return gone(explain(p.prefix, err))
	}
	p.dir = dir
	return nil
}

// Meet completes what Approach has begun, to what OpenProcess returns.
func (p *Process) Meet() error {
	err := p.enter()
	if err != nil {
		return err
	}
	if p.stat, err = newReader(p.dir, p.prefix, part[PIDStat]{name: "stat", parse: parsePIDStat, single: true}); err != nil {
		return gone(err)
	}
	if err = p.stat.Read(&p.last); err != nil {
		return err
	}
	if p.last.PID != p.pid {
		return fmt.Errorf("%sstat: %w: it is of pid %d", p.prefix, ErrReused, p.last.PID)
	}
	p.start = p.last.StartTicks
	return nil
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

// LastStat returns what /proc/PID/stat said when the process was opened, or
// later, if another reading had to look at it.
func (p *Process) LastStat() PIDStat { return p.last }

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
	return errors.Join(p.stat.Close(), p.sched.Close(), p.status.Close(), p.statm.Close(), p.kids.Close(), p.syscall.Close(), p.fds.close(), p.end.close(), p.dir.close())
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
	if p.stat == nil {
		return gone(err)
	}
	if statErr := p.Stat(&p.last); statErr != nil {
		return statErr
	}
	return err
}
