package kernel

// PIDStatm is what of /proc/PID/statm the kernel still keeps, in pages of
// [FS.PageSize]. Resident is what [PIDStat] has too, costs a fraction of it and,
// since 6.2, is exact where that is not. A process without memory of its own, such as one that has
// ended, has zeros.
//
// https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html
type PIDStatm struct {
	SizePages, ResidentPages, SharedPages Num
}

// Statm reads /proc/PID/statm. The error is [ErrGone] when the process has
// ended.
func (p *Process) Statm(dst *PIDStatm) error {
	return readPart(p, &p.statm, dst, part[PIDStatm]{name: "statm", parse: parsePIDStatm, single: true})
}

func parsePIDStatm(s *PIDStatm, b []byte) error {
	line, _ := cutLine(b)
	var v [7]uint64
	rest := line
	for i := range v {
		var field []byte
		var ok bool
		field, rest = cutField(rest)
		if v[i], ok = parseNum(field); !ok {
			return &FieldError{Line: 1, Field: "statm", Text: shorten(line), Want: "seven whole numbers of pages"}
		}
	}
	*s = PIDStatm{Num{v[0], true}, Num{v[1], true}, Num{v[2], true}}
	return nil
}
