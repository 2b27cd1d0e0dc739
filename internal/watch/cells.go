package watch

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"brink/internal/gauge"
	"brink/internal/kernel"
)

const (
	// unknownMark stands for what is unknown, roughMark before what is known
	// roughly.
	unknownMark = "?"
	roughMark   = "≈"
)

// The longest names and addresses that are shown in full.
const (
	widestName    = 40
	widestAddress = 60
	widestReason  = 300
)

// row is the cells of a server, in the order of the columns.
func row(s *gauge.Server) []string {
	wait, _ := ExpectedWait(s)
	return []string{
		address(s, widestAddress), cmp.Or(Clean(s.Name, widestName), unknownMark), string(s.Kind),
		count(s.Workers), atLeast(s.Busy, s.BusyAtLeast), count(s.Idle), queuedCell(s),
		oldest(s), share100(s.CPU), memory(s),
		rough(roughRate(s), perSecond(Sustainable(s))), rough(wait.Known && isRoughWait(s), duration(wait)),
	}
}

func rough(is bool, text string) string {
	if is && text != unknownMark {
		return roughMark + text
	}
	return text
}

// address is the first socket's, with the number of others.
func address(s *gauge.Server, widest int) string {
	more := ""
	if n := len(s.Sockets) - 1; n > 0 {
		more = " +" + strconv.Itoa(n)
	}
	return cleanPath(s.Sockets[0].Address(), widest-len(more)) + more
}

func queued(s *gauge.Server) uint64 {
	var n uint64
	for i := range s.Sockets {
		n += uint64(s.Sockets[i].Queue)
	}
	return n
}

// queuedCell is never unknown: what waits to be accepted is always told.
func queuedCell(s *gauge.Server) string {
	if !s.Queued.Known {
		return "≥" + strconv.FormatUint(queued(s), 10)
	}
	return s.Queued.String()
}

// oldest is the longest wait in any of the queues.
func oldest(s *gauge.Server) string {
	if queued(s) == 0 {
		return "-"
	}
	var most gauge.Measure
	for i := range s.Sockets {
		if k := &s.Sockets[i]; k.Oldest.Known && (!most.Known || k.Oldest.Value > most.Value) {
			most = k.Oldest
		}
	}
	return duration(most)
}

func memory(s *gauge.Server) string {
	if s.PID == 0 {
		return unknownMark
	}
	return fmt.Sprintf("%d MB", s.RSSBytes>>20)
}

func count(n kernel.Num) string {
	if !n.Known {
		return unknownMark
	}
	return n.String()
}

func atLeast(n kernel.Num, least uint64) string {
	if !n.Known && least > 0 {
		return "≥" + strconv.FormatUint(least, 10)
	}
	return count(n)
}

func share100(m gauge.Measure) string {
	if !m.Known {
		return unknownMark
	}
	return strconv.FormatFloat(100*m.Value, 'f', 1, 64) + "%"
}

func perSecond(m gauge.Measure) string {
	if !m.Known {
		return unknownMark
	}
	return strconv.FormatFloat(m.Value, 'g', 3, 64) + "/s"
}

func duration(m gauge.Measure) string {
	switch v := m.Value; {
	case !m.Known:
		return unknownMark
	case math.IsInf(v, 1):
		return "no end"
	case v < 1:
		return strconv.FormatFloat(1000*v, 'f', 0, 64) + "ms"
	default:
		return strconv.FormatFloat(v, 'f', 1, 64) + "s"
	}
}
