package watch

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"brink/internal/gauge"
	"brink/internal/kernel"
)

// unknownMark stands for what is unknown.
const unknownMark = "?"

var headings = []string{"LISTEN", "APP", "KIND", "WORKERS", "BUSY", "IDLE", "QUEUED", "OLDEST", "CPU", "MEM", "SUSTAINS", "WAIT"}

// textColumns are those that are read from the left.
const textColumns = 3

// Table returns the snapshot as lines of text, the first being the headings.
func Table(s *gauge.Snapshot) []string {
	rows := [][]string{headings}
	for _, server := range s.Servers {
		rows = append(rows, row(server))
	}
	return align(rows)
}

func row(s *gauge.Server) []string {
	wait, _ := ExpectedWait(s)
	return []string{
		address(s), cmp.Or(s.Name, unknownMark), string(s.Kind),
		count(s.Workers), atLeast(s.Busy, s.BusyAtLeast), count(s.Idle), atLeast(s.Queued, queued(s)),
		oldest(s), share100(s.CPU), memory(s), perSecond(Sustainable(s)), duration(wait),
	}
}

// address is the first socket's, with the number of others.
func address(s *gauge.Server) string {
	text := s.Sockets[0].Address()
	if more := len(s.Sockets) - 1; more > 0 {
		text += " +" + strconv.Itoa(more)
	}
	return text
}

func queued(s *gauge.Server) uint64 {
	var n uint64
	for i := range s.Sockets {
		n += uint64(s.Sockets[i].Queue)
	}
	return n
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

func align(rows [][]string) []string {
	widths := make([]int, len(headings))
	for _, cells := range rows {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, len(rows))
	for n, cells := range rows {
		var b strings.Builder
		for i, cell := range cells {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				b.WriteString("  ")
			}
			if i < textColumns {
				b.WriteString(cell + pad)
			} else {
				b.WriteString(pad + cell)
			}
		}
		lines[n] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// Details returns lines on each process of the server, the first saying what
// the server was taken for and why.
func Details(s *gauge.Server) []string {
	lines := []string{fmt.Sprintf("%s: %s", s.Kind, s.Why)}
	for i := range s.Sockets {
		lines = append(lines, "  "+socketLine(&s.Sockets[i]))
	}
	for i := range s.Processes {
		lines = append(lines, "  "+processLine(&s.Processes[i]))
	}
	return lines
}

func socketLine(k *gauge.Socket) string {
	text := fmt.Sprintf("%s: %d in the accept queue, limit %s", k.Address(), k.Queue, count(k.Limit))
	if k.Queue > 0 {
		text += fmt.Sprintf(", oldest %s, abandoned %s", duration(k.Oldest), count(k.Abandoned))
	}
	return text + fmt.Sprintf(", turned away %s since the reading before", count(k.Drops))
}

func processLine(p *gauge.Process) string {
	if p.Master {
		return fmt.Sprintf("pid %d: master, %d MB", p.PID, p.RSSBytes>>20)
	}
	text := fmt.Sprintf("pid %d: %s, holds %s, unread bytes %s, ran %s, waited %s for a CPU, %d MB",
		p.PID, p.State, count(p.Held), count(p.Unread), duration(p.Run), duration(p.Ready), p.RSSBytes>>20)
	switch {
	case p.Wait.Call == "":
	case !p.Wait.Peer.IsValid():
		text += ", in " + p.Wait.Call
	case p.Wait.Sure:
		text += fmt.Sprintf(", in %s for %s", p.Wait.Call, p.Wait.Peer)
	default:
		text += fmt.Sprintf(", in %s, probably for %s", p.Wait.Call, p.Wait.Peer)
	}
	return text
}
