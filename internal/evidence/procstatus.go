package evidence

import (
	"bytes"
	"strings"
)

// parseProcStatus reads /proc/PID/status, of one process or of several behind each
// other: how much memory and swap each has.
//
// https://man7.org/linux/man-pages/man5/proc_pid_status.5.html
func (b *builder) parseProcStatus(f *file) bool {
	if !bytes.HasPrefix(f.data, []byte("Name:\t")) || !bytes.Contains(f.data, []byte("\nPid:\t")) || len(f.data) > 8<<20 {
		return false
	}
	var list []Process
	n := 0
	for line := range bytes.Lines(f.data) {
		n++
		key, value, ok := strings.Cut(strings.TrimSpace(string(line[:min(len(line), 1024)])), ":")
		if value = strings.TrimSpace(value); !ok {
			continue
		}
		from := Source{File: f.name, Line: n, Field: key}
		if key == "Name" {
			if len(list) >= mostSockets {
				break
			}
			list = append(list, Process{Name: shorten(value), From: Source{File: f.name, Line: n}})
			continue
		}
		if len(list) == 0 {
			return false
		}
		p := &list[len(list)-1]
		switch key {
		case "Pid":
			p.PID = atoi(value)
		case "State":
			p.State, _, _ = strings.Cut(shorten(value), " ")
		case "VmRSS":
			p.RSS = kibOf(value, from)
		case "VmSwap":
			p.Swap = kibOf(value, from)
		}
	}
	b.c.Processes = append(b.c.Processes, list...)
	b.input(f, "status of processes", "")
	return true
}

func kibOf(text string, from Source) Value {
	return parsedNumber(strings.TrimSuffix(text, " kB"), Bytes, from).Times(1024, Bytes)
}
