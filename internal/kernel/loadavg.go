package kernel

import (
	"bytes"
	"strconv"
)

// Loadavg is /proc/loadavg: the number of tasks running or in uninterruptible
// sleep, averaged over 1, 5 and 15 minutes, and the tasks now.
//
// https://www.kernel.org/doc/html/latest/filesystems/proc.html (loadavg)
type Loadavg struct {
	Load1, Load5, Load15 float64
	Runnable, Tasks      uint64
	Known                bool
}

// Loadavg reads /proc/loadavg once.
func (f *FS) Loadavg() (Loadavg, error) { return once(f.LoadavgReader()) }

// LoadavgReader opens /proc/loadavg for repeated reading.
func (f *FS) LoadavgReader() (*Reader[Loadavg], error) {
	return newReader(f.at, "", part[Loadavg]{name: "proc/loadavg", parse: parseLoadavg, single: true})
}

func parseLoadavg(l *Loadavg, b []byte) error {
	one, rest := cutField(b)
	five, rest := cutField(rest)
	fifteen, rest := cutField(rest)
	tasks, _ := cutField(rest)
	runnable, total, _ := bytes.Cut(tasks, []byte{'/'})
	var v Loadavg
	ok := parseLoad(&v.Load1, one) && parseLoad(&v.Load5, five) && parseLoad(&v.Load15, fifteen)
	if ok {
		v.Runnable, ok = parseNum(runnable)
	}
	if ok {
		v.Tasks, ok = parseNum(total)
	}
	if !ok {
		line, _ := cutLine(b)
		return &FieldError{Line: 1, Field: "load", Text: shorten(line), Want: "three averages and RUNNABLE/TASKS"}
	}
	v.Known = true
	*l = v
	return nil
}

func parseLoad(dst *float64, b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && c != '.' {
			return false
		}
	}
	v, err := strconv.ParseFloat(string(b), 64)
	*dst = v
	return err == nil
}
