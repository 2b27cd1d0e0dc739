package evidence

import (
	"bytes"
	"fmt"
	"strings"
)

// parseFree reads what free prints, with procps's old and new columns. Without
// -h it names no unit: its size is taken for the unit that makes a likely
// machine, and the input's note says so. Shares do not depend on it.
//
// https://man7.org/linux/man-pages/man1/free.1.html
func (b *builder) parseFree(f *file) bool {
	head, rest, _ := bytes.Cut(bytes.TrimLeft(f.data, "\r\n"), []byte{'\n'})
	heading := strings.Fields(string(head[:min(len(head), 512)]))
	if len(heading) < 3 || heading[0] != "total" || heading[1] != "used" || heading[2] != "free" {
		return b.parseForeignFree(f, heading)
	}
	m := emptyReading("").Meminfo
	n := 1
	unit := ""
	for line := range bytes.Lines(rest) {
		n++
		words := strings.Fields(string(line[:min(len(line), 512)]))
		if len(words) < 2 || words[0] != "Mem:" && words[0] != "Swap:" {
			continue
		}
		if words[0] == "Mem:" && unit == "" {
			unit = freeUnit(words[1])
		}
		for i, h := range heading[:min(len(heading), len(words)-1)] {
			freeAmount(&m, words[0]+" "+h, freeSize(words[i+1]+unit, Source{File: f.name, Line: n, Field: words[0] + " " + h}))
		}
	}
	if !m.MemTotal.Known {
		return false
	}
	if !b.keepMemory(f, &m) {
		return true
	}
	b.input(f, "free", freeNote(unit))
	return true
}

func freeNote(unit string) string {
	if unit == "" {
		return ""
	}
	return fmt.Sprintf("it names no unit; by its size it is taken for %s", map[string]string{"B": "bytes", "Ki": "KiB", "Mi": "MiB", "Gi": "GiB"}[unit])
}

// freeUnit guesses the unit of a total that has none, empty if it has one.
func freeUnit(total string) string {
	if v := parsedNumber(total, NoUnit, Source{}); v.Known {
		switch {
		case v.Number >= 1<<30:
			return "B"
		case v.Number >= 1<<20:
			return "Ki"
		case v.Number >= 200:
			return "Mi"
		}
		return "Gi"
	}
	return ""
}

// freeSize reads an amount of memory, with the decimal comma of some languages.
func freeSize(text string, from Source) Value {
	return parsedSize(strings.Replace(text, ",", ".", 1), from)
}

func freeAmount(m *Meminfo, field string, v Value) {
	switch field {
	case "Mem: total":
		m.MemTotal = v
	case "Mem: free":
		m.MemFree = v
	case "Mem: available":
		m.MemAvailable = v
	case "Mem: shared":
		m.Shmem = v
	case "Mem: buffers":
		m.Buffers = v
	case "Mem: cached":
		m.Cached = v
	case "Swap: total":
		m.SwapTotal = v
	case "Swap: free":
		m.SwapFree = v
	}
}
