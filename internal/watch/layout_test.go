package watch

import (
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"brink/internal/gauge"
)

// withName is the example with a first server of that name and socket.
func withName(name, path string) *gauge.Snapshot {
	s := example()
	s.Servers[0].Name = name
	s.Servers[0].Sockets[0].Local, s.Servers[0].Sockets[0].Path = netip.AddrPort{}, path
	return s
}

const longPath = "/srv/www/sites/shop.example/releases/2026-03-01/run/gunicorn/app.sock"

// At 80 columns nothing of a server is missing, whatever it is called; below
// that, how busy its workers are is left out last.
func TestTableFitsItsWidth(t *testing.T) {
	s := withName("gunicorn shop.wsgi.production:application", longPath)
	for width, hidden := range map[int]string{
		0: "", 160: "", 110: "", 80: "", 60: "MEM CPU", 40: "MEM CPU IDLE OLDEST",
	} {
		table := NewTable(s, width)
		for _, line := range table.Lines() {
			if n := ansi.StringWidth(line); width > 0 && n > width {
				t.Errorf("%d columns: %q takes %d", width, line, n)
			}
		}
		if got := strings.Join(table.Hidden, " "); got != hidden {
			t.Errorf("%d columns: %s are left out, want %s", width, got, hidden)
		}
		head := strings.Fields(strings.Join(table.Head, " "))
		for _, heading := range headings {
			if slices.Contains(head, heading) == slices.Contains(table.Hidden, heading) {
				t.Errorf("%d columns: %v, although %v are left out", width, head, table.Hidden)
			}
		}
		text := strings.Join(table.Lines(), "\n")
		if !strings.Contains(text, "app.sock") || !strings.Contains(text, "gunicorn sh") {
			t.Errorf("%d columns: the path's end or the name's beginning is not in\n%s", width, text)
		}
	}
}

// Whatever a process calls itself, it has the lines of one server and controls
// nothing.
func TestHostileNames(t *testing.T) {
	forged := "x\n127.0.0.1:1  forged  nginx  1  1\r\x1b[2J\u2028\u202e" + strings.Repeat("long ", 500)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.Just(forged), rapid.String()).Draw(t, "name")
		path := rapid.OneOf(rapid.Just("/"+forged), rapid.StringMatching(`/.{0,100}`)).Draw(t, "path")
		s := withName(name, path)
		s.Servers[0].Why = name
		table := NewTable(s, rapid.SampledFrom([]int{0, 200, 80, 40}).Draw(t, "columns"))
		if len(table.Servers) != 3 || len(table.Servers[0]) > 2 {
			t.Fatalf("the servers are %q", table.Servers)
		}
		for _, line := range append(table.Lines(), Details(s.Servers[0])...) {
			if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) || ansi.StringWidth(line) > 400 {
				t.Fatalf("%q is no line to print", line)
			}
		}
	})
}

// Where not all servers are seen, it is those in need that are.
func TestByNeed(t *testing.T) {
	s := &gauge.Snapshot{Servers: []*gauge.Server{
		{Name: "idle", Workers: num(4), Busy: num(0), Idle: num(4), Queued: num(0), CPU: known(0.5)},
		{Name: "half", Workers: num(4), Busy: num(2), Queued: num(0)},
		{Name: "burning", CPU: known(1)},
		{Name: "full", Workers: num(2), Busy: num(2), Queued: num(0)},
		{Name: "waiting", Workers: num(9), Busy: num(9), Queued: num(3)},
		{Name: "foreign", Sockets: []gauge.Socket{{Queue: 5}}},
	}}
	var names []string
	for _, i := range ByNeed(s) {
		names = append(names, s.Servers[i].Name)
	}
	if got, want := strings.Join(names, " "), "foreign waiting full half burning idle"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A service time that is known roughly makes rough figures of what rests on it,
// and none where it leaves open whether four workers of 0.2 s keep up: they do
// below 20/s.
func TestRoughFigures(t *testing.T) {
	for _, c := range []struct {
		rate, off      float64
		sustains, wait string
	}{
		{15, 0, "20/s", "102ms"},
		{15, 0.02, "20/s", "≈102ms"},
		{15, 0.1, "≈20/s", "≈102ms"},
		{19, 0.05, "≈20/s", "?"}, // 17.1/20 to 20.9/20 of what they can do
		{30, 0.1, "≈20/s", "no end"},
	} {
		s := example().Servers[0]
		s.Rate, s.ServiceError = known(c.rate), known(c.off)
		if cells := row(s); cells[10] != c.sustains || cells[11] != c.wait {
			t.Errorf("%v/s, error %v: sustains %s, wait %s, want %s, %s", c.rate, c.off, cells[10], cells[11], c.sustains, c.wait)
		}
		wait, _ := ExpectedWait(s)
		doc := documentOf(s)
		if (doc.Saturated != nil) != wait.Known || wait.Known && *doc.Saturated != math.IsInf(wait.Value, 1) || *doc.Error != c.off {
			t.Errorf("%v/s, error %v: saturated %v with a wait of %v", c.rate, c.off, doc.Saturated, wait)
		}
	}
}
