package kernel

import (
	"bytes"
	"fmt"
	"strconv"
)

// PIDStat is /proc/PID/stat. Ticks are 1/[UserHz] s.
//
// https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
type PIDStat struct {
	PID        int
	Comm       string // may hold blanks and parentheses
	State      byte   // R S D Z T t X I; Z has ended and waits to be reaped
	PPID       int
	Kernel     bool // a thread of the kernel itself
	MinFaults  uint64
	MajFaults  uint64
	UserTicks  uint64 // all threads, ended ones included
	SysTicks   uint64
	ChildUser  int64 // ticks of children that were waited for
	ChildSys   int64
	Threads    int
	StartTicks uint64 // since boot
	VSize      uint64 // bytes
	RSSPages   int64  // pages of [FS.PageSize]; since 6.2 off by some pages per CPU; VmRSS in [PIDStatus] is exact
	Processor  int    // the CPU it ran on last
}

// reset keeps Comm, so that reading the same process again allocates nothing.
func (s *PIDStat) reset() { *s = PIDStat{Comm: s.Comm} }

// kernelThread is PF_KTHREAD of include/linux/sched.h.
const kernelThread = 0x00200000

// pidStatFields is the number of fields that every kernel since 2.6 has; fewer
// mean that the line was cut off.
const pidStatFields = 41

func parsePIDStat(s *PIDStat, b []byte) error {
	v := PIDStat{Comm: s.Comm}
	*s = PIDStat{}
	line := bytes.TrimRight(b, "\n")
	left, right := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if left < 0 || right < left {
		return pidStatError("comm", line, "a name in parentheses")
	}
	if comm := line[left+1 : right]; v.Comm != string(comm) {
		v.Comm = string(comm)
	}
	pid, _ := cutField(line[:left])
	if !parseSmall(&v.PID, pid) {
		return pidStatError("pid", pid, "a pid")
	}
	rest := line[right+1:]
	for n := 3; n <= pidStatFields; n++ {
		var field []byte
		field, rest = cutField(rest)
		if len(field) == 0 {
			return pidStatError("field "+strconv.Itoa(n), nil, fmt.Sprintf("there: the line was cut off before field %d", pidStatFields))
		}
		if !v.set(n, field) {
			return pidStatError("field "+strconv.Itoa(n), field, "what proc_pid_stat(5) gives")
		}
	}
	*s = v
	return nil
}

// set takes field n, numbered as in proc_pid_stat(5).
func (s *PIDStat) set(n int, field []byte) (ok bool) {
	switch n {
	case 3:
		s.State, ok = field[0], len(field) == 1
	case 4:
		ok = parseSmall(&s.PPID, field)
	case 9:
		flags, isNum := parseNum(field)
		s.Kernel, ok = flags&kernelThread != 0, isNum
	case 10:
		s.MinFaults, ok = parseNum(field)
	case 12:
		s.MajFaults, ok = parseNum(field)
	case 14:
		s.UserTicks, ok = parseNum(field)
	case 15:
		s.SysTicks, ok = parseNum(field)
	case 16:
		ok = parseSigned(&s.ChildUser, field)
	case 17:
		ok = parseSigned(&s.ChildSys, field)
	case 20:
		ok = parseSmall(&s.Threads, field)
	case 22:
		s.StartTicks, ok = parseNum(field)
	case 23:
		s.VSize, ok = parseNum(field)
	case 24:
		ok = parseSigned(&s.RSSPages, field)
	case 39:
		ok = parseSmall(&s.Processor, field)
	default:
		ok = true
	}
	return ok
}

func pidStatError(field string, text []byte, want string) error {
	return &FieldError{Line: 1, Field: field, Text: shorten(text), Want: want}
}

// parseSmall parses what the kernel prints as a 32-bit number that is not
// negative.
func parseSmall(dst *int, b []byte) bool {
	v, err := strconv.ParseUint(string(b), 10, 31)
	if err == nil {
		*dst = int(v)
	}
	return err == nil
}

func parseSigned(dst *int64, b []byte) bool {
	v, err := strconv.ParseInt(string(b), 10, 64)
	if err == nil {
		*dst = v
	}
	return err == nil
}
