package watch

import (
	"fmt"

	"brink/internal/gauge"
)

// Details returns lines on each process of the server, the first saying what
// the server was taken for and why.
func Details(s *gauge.Server) []string {
	lines := []string{fmt.Sprintf("%s: %s", s.Kind, Clean(s.Why, widestReason))}
	for i := range s.Sockets {
		lines = append(lines, "  "+socketLine(&s.Sockets[i]))
	}
	for i := range s.Processes {
		lines = append(lines, "  "+processLine(&s.Processes[i]))
	}
	return lines
}

func socketLine(k *gauge.Socket) string {
	text := fmt.Sprintf("%s: %d in the accept queue, limit %s", cleanPath(k.Address(), widestAddress), k.Queue, count(k.Limit))
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
