package kernel

import "bytes"

// UserHz is the number of ticks per second in which /proc counts CPU time and
// start times. It is 100 on every architecture that Go runs on, whatever the
// kernel's own HZ.
const UserHz = 100

// Stat is /proc/stat: totals since boot. CPU lists the CPUs that are online,
// and keeps its memory from one reading to the next.
//
// https://www.kernel.org/doc/html/latest/filesystems/proc.html#miscellaneous-kernel-statistics-in-proc-stat
type Stat struct {
	Total           CPUTimes // ID is -1
	CPU             []CPUTimes
	ContextSwitches Num
	BootTime        Num // seconds since 1970
	Processes       Num // forks
	Running         Num // now
	Blocked         Num // now, in uninterruptible sleep for I/O
}

// CPUTimes is what one CPU, or all, spent its time on, in ticks of 1/[UserHz] s.
// Guest and GuestNice are already part of User and Nice. IOWait is an
// approximation and may go backwards.
type CPUTimes struct {
	ID                                                    int
	User, Nice, System, Idle, IOWait, IRQ, SoftIRQ, Steal Num
	Guest, GuestNice                                      Num
}

// Busy returns the ticks that were neither idle, waiting for I/O, nor stolen by
// the hypervisor.
func (c *CPUTimes) Busy() Num {
	return c.User.Plus(c.Nice).Plus(c.System).Plus(c.IRQ).Plus(c.SoftIRQ)
}

// All returns all ticks, the guests' counted once.
func (c *CPUTimes) All() Num {
	return c.Busy().Plus(c.Idle).Plus(c.IOWait).Plus(c.Steal)
}

// Stat reads /proc/stat once.
func (f *FS) Stat() (Stat, error) { return once(f.StatReader()) }

// StatReader opens /proc/stat for repeated reading.
func (f *FS) StatReader() (*Reader[Stat], error) {
	return newReader(f.at, "", part[Stat]{name: "proc/stat", parse: parseStat, single: true})
}

func (s *Stat) reset() { *s = Stat{CPU: s.CPU[:0]} }

func parseStat(s *Stat, b []byte) error {
	var bad faults
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = cutLine(b)
		key, rest := cutField(line)
		if id, ok := bytes.CutPrefix(key, []byte("cpu")); ok {
			s.parseCPU(&bad, n, id, rest)
			continue
		}
		dst := s.slot(key)
		if dst == nil {
			continue
		}
		value, _ := cutField(rest)
		if dst.Value, dst.Known = parseNum(value); !dst.Known {
			bad.add(n, string(key), value, wantNumber)
		}
	}
	return bad.err()
}

func (s *Stat) slot(key []byte) *Num {
	switch string(key) {
	case "ctxt":
		return &s.ContextSwitches
	case "btime":
		return &s.BootTime
	case "processes":
		return &s.Processes
	case "procs_running":
		return &s.Running
	case "procs_blocked":
		return &s.Blocked
	}
	return nil
}

// parseCPU reads a cpu line; id is empty for the total.
func (s *Stat) parseCPU(bad *faults, n int, id, rest []byte) {
	c := CPUTimes{ID: -1}
	if len(id) > 0 {
		v, ok := parseNum(id)
		if !ok || v > 1<<20 {
			bad.add(n, "cpu", id, "the number of a CPU")
			return
		}
		c.ID = int(v)
	}
	columns := [...]*Num{
		&c.User, &c.Nice, &c.System, &c.Idle, &c.IOWait,
		&c.IRQ, &c.SoftIRQ, &c.Steal, &c.Guest, &c.GuestNice,
	}
	for _, dst := range columns {
		var field []byte
		field, rest = cutField(rest)
		if len(field) == 0 {
			break
		}
		v, ok := parseNum(field)
		if !ok {
			bad.add(n, "cpu"+string(id), field, "a whole number of ticks")
			continue
		}
		*dst = Num{v, true}
	}
	if c.ID < 0 {
		s.Total = c
		return
	}
	s.CPU = append(s.CPU, c)
}
