package kernel

import (
	"bytes"
	"strconv"
)

// PSIResource is a resource whose pressure the kernel accounts.
type PSIResource string

// The resources of PSI. Irq exists since 6.1 and has only a full line.
const (
	PSICPU    PSIResource = "cpu"
	PSIMemory PSIResource = "memory"
	PSIIO     PSIResource = "io"
	PSIIRQ    PSIResource = "irq"
)

// PSI is a pressure file, of the machine or of a cgroup. Some: at least one
// task was stalled. Full: all that could run were. Before 5.13 cpu has no full
// line, and for the machine as a whole it is always 0 since then. A container
// sees the host's /proc/pressure.
//
// https://www.kernel.org/doc/html/latest/accounting/psi.html
type PSI struct {
	Some, Full Stall
}

// Stall is one line of a pressure file. Known is false where the kernel does
// not have the line. The averages are percentages of wall time, 0 to 100, over
// the last 10, 60 and 300 s; TotalMicros is µs since boot or since the cgroup
// was made, and is exact where the averages lag.
type Stall struct {
	Avg10, Avg60, Avg300 float64
	TotalMicros          uint64
	Known                bool
}

// PSI reads /proc/pressure/RESOURCE once. The error is [ErrUnavailable] before
// 4.20, where PSI is compiled out, and where it must be enabled with psi=1.
func (f *FS) PSI(r PSIResource) (PSI, error) { return once(f.PSIReader(r)) }

// PSIReader opens /proc/pressure/RESOURCE for repeated reading. Where PSI is
// switched off the file can be opened, and only Read is [ErrUnavailable].
func (f *FS) PSIReader(r PSIResource) (*Reader[PSI], error) {
	return newReader(f.at, "", part[PSI]{name: "proc/pressure/" + string(r), parse: parsePSI, single: true})
}

func parsePSI(p *PSI, b []byte) error {
	var bad faults
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = cutLine(b)
		kind, rest := cutField(line)
		var dst *Stall
		switch string(kind) {
		case "some":
			dst = &p.Some
		case "full":
			dst = &p.Full
		default:
			continue
		}
		if !dst.parse(rest) {
			*dst = Stall{}
			bad.add(n, string(kind), rest, "avg10= avg60= avg300= (0 to 100) and total= (µs)")
		}
	}
	return bad.err()
}

// parse reads the four fields, all of which have been there since 4.20, and
// steps over fields that it does not know.
func (s *Stall) parse(b []byte) bool {
	seen := 0
	for {
		var field []byte
		field, b = cutField(b)
		if len(field) == 0 {
			s.Known = seen == 4
			return s.Known
		}
		key, value, _ := bytes.Cut(field, []byte{'='})
		ok := true
		switch string(key) {
		case "avg10":
			s.Avg10, ok = parsePercent(value)
		case "avg60":
			s.Avg60, ok = parsePercent(value)
		case "avg300":
			s.Avg300, ok = parsePercent(value)
		case "total":
			s.TotalMicros, ok = parseNum(value)
		default:
			continue
		}
		if !ok {
			return false
		}
		seen++
	}
}

// parsePercent takes digits and a point only: no sign, exponent, NaN or Inf.
func parsePercent(b []byte) (float64, bool) {
	for _, c := range b {
		if (c < '0' || c > '9') && c != '.' {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(string(b), 64)
	return v, err == nil && v <= 100
}
