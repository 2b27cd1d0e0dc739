package cli

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"brink/internal/gauge"
	"brink/internal/kernel"
)

// crowd is a snapshot of n servers at ports from 8000 on, of which the last has
// a queue.
func crowd(n int) *gauge.Snapshot {
	s := &gauge.Snapshot{}
	for i := range n {
		address := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(8000+i))
		s.Servers = append(s.Servers, &gauge.Server{Name: fmt.Sprint("app", i), Kind: gauge.GunicornSync,
			Workers: kernel.Num{Value: 4, Known: true}, Sockets: []gauge.Socket{{Local: address}}})
	}
	s.Servers[n-1].Sockets[0].Queue = 9
	return s
}

// Nothing is cut at the right edge, and the servers in need come first if not
// all are seen.
func TestLiveTableFitsTheTerminal(t *testing.T) {
	for _, c := range []struct {
		servers, width, height int
		first, says            string
	}{
		{5, 120, 24, "127.0.0.1:8000", ""},
		{5, 80, 24, "127.0.0.1:8000", ""},
		{50, 120, 24, "127.0.0.1:8049", "… 30 more servers"},
		{50, 80, 24, "127.0.0.1:8049", "… 41 more servers"},
		{50, 40, 24, "127.0.0.1:8049", "too narrow for"},
	} {
		m := watchModel{snap: crowd(c.servers), width: c.width, height: c.height}
		text := m.View().Content
		lines := strings.Split(text, "\n")
		if len(lines) > c.height-1 {
			t.Errorf("%d servers at %d × %d: %d lines", c.servers, c.width, c.height, len(lines))
		}
		for _, line := range lines {
			if ansi.StringWidth(line) > c.width {
				t.Errorf("%d columns: %q", c.width, line)
			}
		}
		if c.width >= 80 {
			for _, heading := range []string{"QUEUED", "OLDEST", "CPU", "MEM", "SUSTAINS", "WAIT"} {
				if !strings.Contains(text, heading) {
					t.Errorf("%d columns: no %s in\n%s", c.width, heading, text)
				}
			}
		}
		if i := strings.Index(text, "127."); i < 0 || !strings.HasPrefix(text[i:], c.first) || !strings.Contains(text, c.says) {
			t.Errorf("%d servers at %d × %d: want %s first and %q in\n%s", c.servers, c.width, c.height, c.first, c.says, text)
		}
	}
}

func TestLiveDetailsAreCutBelow(t *testing.T) {
	m := watchModel{snap: crowd(3), width: 120, height: 10, detail: true}
	text := m.View().Content
	if n := strings.Count(text, "\n") + 1; n != 9 || !strings.Contains(text, "more lines") {
		t.Errorf("%d lines, want 9 and how many more there are:\n%s", n, text)
	}
}
