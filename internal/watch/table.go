package watch

import (
	"cmp"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"brink/internal/gauge"
)

var headings = []string{"LISTEN", "APP", "KIND", "WORKERS", "BUSY", "IDLE", "QUEUED", "OLDEST", "CPU", "MEM", "SUSTAINS", "WAIT"}

// textColumns are those that are read from the left.
const textColumns = 3

// leastText is how narrow each of them may get before a server takes two lines.
var leastText = [textColumns]int{14, 12, 8}

// spared are the columns that are left out first where even two lines do not
// suffice.
var spared = []string{"MEM", "CPU", "IDLE", "OLDEST", "WAIT", "SUSTAINS", "WORKERS"}

// Table is a snapshot as lines of text.
type Table struct {
	Head    []string
	Servers [][]string // the lines of each, in the order of the snapshot
	Hidden  []string   // headings of the columns that there is no room for
}

// gap separates columns.
const gap = 2

// NewTable lays a snapshot out in lines of at most so many columns; 0 stands for
// any number. Where they are too few, names become shorter, then each server
// takes two lines, and only then columns are left out.
func NewTable(s *gauge.Snapshot, columns int) Table {
	rows := [][]string{headings}
	for _, server := range s.Servers {
		rows = append(rows, row(server))
	}
	widths := widthsOf(rows)
	text, numbers := widths[:textColumns], widths[textColumns:]
	room := columns - lineWidth(numbers) - gap
	if columns == 0 || lineWidth(text) <= room || room >= lineWidth(leastText[:]) {
		if columns > 0 {
			shrink(text, room)
		}
		return tableOf(rows, widths, nil)
	}
	return inTwoLines(rows, widths, columns)
}

// Lines are those of the whole table.
func (t *Table) Lines() []string { return append(slices.Clone(t.Head), slices.Concat(t.Servers...)...) }

func widthsOf(rows [][]string) []int {
	widths := make([]int, len(headings))
	for _, cells := range rows {
		for i, cell := range cells {
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	return widths
}

func lineWidth(widths []int) int {
	sum := gap * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// shrink makes the widest narrower until all fit.
func shrink(widths []int, room int) {
	for lineWidth(widths) > room {
		at := 0
		for i, w := range widths {
			if w-leastText[i] > widths[at]-leastText[at] {
				at = i
			}
		}
		if widths[at] <= 1 {
			return
		}
		widths[at]--
	}
}

func inTwoLines(rows [][]string, widths []int, columns int) Table {
	shrink(widths[:textColumns], columns)
	hidden := []string{}
	shown := func() (at []int, width int) {
		width = gap
		for i := textColumns; i < len(headings); i++ {
			if !slices.Contains(hidden, headings[i]) {
				at = append(at, i)
				width += widths[i] + gap
			}
		}
		return at, width - gap
	}
	for _, name := range spared {
		if _, width := shown(); width <= columns {
			break
		}
		hidden = append(hidden, name)
	}
	at, _ := shown()
	t := tableOf(rows, widths, at)
	t.Hidden = hidden
	return t
}

// tableOf makes one line of each row, or two if numbers are the columns of a
// second.
func tableOf(rows [][]string, widths, numbers []int) Table {
	var t Table
	for n, cells := range rows {
		var lines []string
		if numbers == nil {
			lines = []string{line(cells, widths, 0, len(cells))}
		} else {
			lines = []string{line(cells, widths, 0, textColumns), "  " + pick(cells, widths, numbers)}
		}
		if n == 0 {
			t.Head = lines
		} else {
			t.Servers = append(t.Servers, lines)
		}
	}
	return t
}

func line(cells []string, widths []int, from, to int) string {
	at := make([]int, 0, to-from)
	for i := from; i < to; i++ {
		at = append(at, i)
	}
	return pick(cells, widths, at)
}

// pick makes a line of some of the cells.
func pick(cells []string, widths, at []int) string {
	padded := make([]string, len(at))
	for n, i := range at {
		cell := cells[i]
		switch {
		case i == 0:
			cell = cleanPath(cell, widths[i])
		case i < textColumns:
			cell = ansi.Truncate(cell, widths[i], "…")
		}
		pad := strings.Repeat(" ", max(widths[i]-ansi.StringWidth(cell), 0))
		if i < textColumns {
			padded[n] = cell + pad
		} else {
			padded[n] = pad + cell
		}
	}
	return strings.TrimRight(strings.Join(padded, strings.Repeat(" ", gap)), " ")
}

// ByNeed returns the places of the servers in the snapshot, those first where
// requests wait, then those with the largest share of their workers busy, then
// those that use most CPU.
func ByNeed(s *gauge.Snapshot) []int {
	order := make([]int, len(s.Servers))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := s.Servers[a], s.Servers[b]
		return cmp.Or(cmp.Compare(waiting(y), waiting(x)), cmp.Compare(occupied(y), occupied(x)), cmp.Compare(y.CPU.Value, x.CPU.Value))
	})
	return order
}

func waiting(s *gauge.Server) uint64 { return max(s.Queued.Value, queued(s)) }

// occupied is the share of workers that are busy for certain, 0 where it is not
// known of how many.
func occupied(s *gauge.Server) float64 {
	if s.Workers.Value == 0 {
		return 0
	}
	return float64(max(s.BusyAtLeast, s.Busy.Value)) / float64(s.Workers.Value)
}
