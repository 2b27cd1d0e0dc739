package kernel

// SchedStat is /proc/PID/schedstat: what the scheduler did with one thread, the
// main one of the process. All fields are unknown if the kernel does not keep
// them (it then prints three zeros).
//
// https://www.kernel.org/doc/html/latest/scheduler/sched-stats.html#proc-pid-schedstat
type SchedStat struct {
	RunNanos   Num // on a CPU
	WaitNanos  Num // runnable, waiting for a CPU
	Timeslices Num
}

func parseSchedStat(s *SchedStat, b []byte) error {
	var v [3]uint64
	line, _ := cutLine(b)
	rest := line
	for i := range v {
		var field []byte
		var ok bool
		field, rest = cutField(rest)
		if v[i], ok = parseNum(field); !ok {
			return &FieldError{Line: 1, Field: "schedstat", Text: shorten(line), Want: "three whole numbers"}
		}
	}
	if v == [3]uint64{} {
		return nil
	}
	*s = SchedStat{Num{v[0], true}, Num{v[1], true}, Num{v[2], true}}
	return nil
}
