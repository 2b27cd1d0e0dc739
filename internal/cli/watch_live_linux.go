package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"brink/internal/gauge"
	"brink/internal/watch"
)

// watchModel is the table on a terminal.
type watchModel struct {
	g      *gauge.Gauge
	every  time.Duration
	snap   *gauge.Snapshot // nil before the first reading
	err    error
	detail bool
	width  int
	height int
}

func watchLive(ctx context.Context, g *gauge.Gauge, every time.Duration, out *os.File) error {
	m := watchModel{g: g, every: every, width: plainWidth, height: 24}
	p := tea.NewProgram(m, tea.WithOutput(out), tea.WithContext(ctx), tea.WithoutSignalHandler())
	end, err := p.Run()
	if ctx.Err() != nil {
		return nil
	}
	if m, ok := end.(watchModel); ok && err == nil {
		err = m.err
	}
	return err
}

func (m watchModel) Init() tea.Cmd { return func() tea.Msg { return tick(time.Now()) } }

func (m watchModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tick:
		if m = m.read(); m.err != nil {
			return m, tea.Quit
		}
		return m, tea.Tick(m.every, func(t time.Time) tea.Msg { return tick(t) })
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		switch msg.String() {
		case "ctrl+c", "q", "esc":
			return m, tea.Quit
		case "d":
			m.detail = !m.detail
			m.g.SetDetail(m.detail)
		}
	}
	return m, nil
}

func (m watchModel) read() watchModel {
	m.snap, m.err = m.g.Sample(time.Now())
	return m
}

func (m watchModel) View() tea.View {
	below := []string{"q quits, d shows the processes"}
	var lines []string
	if m.snap != nil {
		table := watch.NewTable(m.snap, m.width)
		if len(table.Hidden) > 0 {
			below = append(below, "too narrow for "+strings.Join(table.Hidden, ", "))
		}
		lines = m.lines(&table, max(m.height-1-len(below), 1))
	}
	var b strings.Builder
	for _, line := range append(lines, below...) {
		b.WriteString(printable(line, m.width) + "\n")
	}
	v := tea.NewView(strings.TrimSuffix(b.String(), "\n"))
	v.AltScreen = true
	return v
}

// lines are at most so many. Where the servers are more, those come first that
// need to be looked at.
func (m watchModel) lines(table *watch.Table, most int) []string {
	all := slices.Concat(table.Servers...)
	order := watch.ByNeed(m.snap)
	if fits := len(table.Head)+len(all) <= most; fits {
		slices.Sort(order) // by address
	}
	lines := slices.Clone(table.Head)
	for n, i := range order {
		left := len(order) - n
		room := most - len(lines)
		if left > 1 {
			room-- // for the line that counts the others
		}
		if len(table.Servers[i]) > room && len(all)+len(table.Head) > most {
			return append(lines, fmt.Sprintf("… %d more servers", left))
		}
		lines = append(lines, table.Servers[i]...)
	}
	if !m.detail {
		return lines
	}
	for _, i := range order {
		lines = append(append(lines, ""), watch.Details(m.snap.Servers[i])...)
	}
	if over := len(lines) - most; over > 0 {
		lines = append(lines[:most-1], fmt.Sprintf("… %d more lines", over+1))
	}
	return lines
}
