package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"brink/internal/lab"
)

// live is the view on a terminal.
type live struct {
	program *tea.Program
	// latest is what the next tick shows: a run never waits for its view.
	latest atomic.Pointer[lab.Progress]
	done   chan struct{}
}

func newLive(ctx context.Context, f *os.File) (context.Context, view) {
	ctx, cancel := context.WithCancel(ctx)
	l := &live{done: make(chan struct{})}
	l.program = tea.NewProgram(model{latest: &l.latest, stop: cancel, width: widest}, tea.WithOutput(f), tea.WithoutSignalHandler())
	go func() {
		defer close(l.done)
		_, _ = l.program.Run() // a view that cannot draw must not stop the run
	}()
	context.AfterFunc(ctx, func() { l.program.Send(stopping{}) })
	return ctx, l
}

func (l *live) progress(p lab.Progress) { l.latest.Store(&p) }

// close takes the view off the terminal.
func (l *live) close() {
	go l.program.Send(closing{}) // it would wait for ever for a view that could not start
	<-l.done
}

// model is the live view's state.
type model struct {
	latest *atomic.Pointer[lab.Progress]
	stop   context.CancelFunc
	p      lab.Progress
	// now is the last tick; begun is when the present estimate was first seen.
	now, begun time.Time
	width      int
	stopping   bool
	closed     bool
}

type (
	tick     time.Time
	stopping struct{}
	closing  struct{}
)

func nextTick() tea.Cmd {
	return tea.Tick(250*time.Millisecond, func(t time.Time) tea.Msg { return tick(t) })
}

func (m model) Init() tea.Cmd { return nextTick() }

func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tick:
		m.now = time.Time(msg)
		if p := m.latest.Load(); p != nil {
			if p.Left != m.p.Left {
				m.begun = m.now
			}
			m.p = *p
		}
		return m, nextTick()
	case tea.WindowSizeMsg:
		m.width = msg.Width
	case stopping:
		m.stopping = true
	case closing:
		m.closed = true
		return m, tea.Quit
	case tea.KeyPressMsg:
		switch msg.String() {
		case "ctrl+c", "q":
			m.stopping = true
			m.stop()
		}
	}
	return m, nil
}

func (m model) View() tea.View {
	if m.closed {
		return tea.NewView("")
	}
	var b strings.Builder
	for _, line := range m.lines() {
		b.WriteString(printable(line, m.width-1) + "\n")
	}
	return tea.NewView(b.String())
}

// lines are what the view shows, uncut.
func (m model) lines() []string {
	p := m.p
	if p.Total == 0 {
		return []string{"preparing …"}
	}
	all := []string{
		fmt.Sprintf("%s step %d of %d, about %s left", bar(p), p.Index, p.Total, m.left()),
		fmt.Sprintf("%s, repetition %d%s: %s   %d in flight, %d answered, %d failed",
			p.Step, p.Number, twin(p), p.Stage, p.InFlight, p.Answered, p.Failed),
	}
	for _, e := range p.Errors {
		all = append(all, "  ! "+e)
	}
	if m.stopping {
		return append(all, "stopping: taking everything down; what was recorded is kept")
	}
	return append(all, "ctrl-c stops cleanly and keeps what was recorded")
}

// left counts down from the last estimate.
func (m model) left() time.Duration {
	return max(0, m.p.Left-m.now.Sub(m.begun)).Round(time.Second)
}

func bar(p lab.Progress) string {
	const cells = 30
	done := p.Index - 1
	if p.Stage == lab.Done {
		done = p.Index
	}
	full := cells * max(done, 0) / p.Total
	return "[" + strings.Repeat("█", full) + strings.Repeat("░", cells-full) + "]"
}
