package kernel

import (
	"bytes"
	"strconv"
)

// PIDSyscall is /proc/PID/syscall: where the main thread waits. Reading it
// needs the process's user and, with Yama, the right to trace it.
//
// https://man7.org/linux/man-pages/man5/proc_pid_syscall.5.html
type PIDSyscall struct {
	Running bool // on a CPU or runnable
	// Number is the call's, of this machine's architecture; -1 while it waits
	// outside of any call, for a page of memory, say.
	Number int
	Args   [6]uint64
}

func parsePIDSyscall(s *PIDSyscall, b []byte) error {
	line, _ := cutLine(b)
	if string(line) == "running" {
		s.Running = true
		return nil
	}
	field, rest := cutField(line)
	number, err := strconv.ParseInt(string(field), 10, 32)
	if err != nil {
		return syscallError(line)
	}
	if number == -1 {
		s.Number = -1
		return nil
	}
	v := PIDSyscall{Number: int(number)}
	for i := range v.Args {
		field, rest = cutField(rest)
		hex, ok := bytes.CutPrefix(field, []byte("0x"))
		if v.Args[i], err = strconv.ParseUint(string(hex), 16, 64); !ok || err != nil {
			return syscallError(line)
		}
	}
	*s = v
	return nil
}

func syscallError(line []byte) error {
	return &FieldError{Line: 1, Field: "syscall", Text: shorten(line), Want: "what proc_pid_syscall(5) gives"}
}

// Syscall reads /proc/PID/syscall of the main thread. The error is [ErrGone]
// when the process has ended.
func (p *Process) Syscall(dst *PIDSyscall) error {
	return readPart(p, &p.syscall, dst, part[PIDSyscall]{name: "syscall", parse: parsePIDSyscall})
}
