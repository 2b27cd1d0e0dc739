package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"

	"brink/internal/lab"
)

// view shows the progress of a run.
type view interface {
	progress(lab.Progress)
	close()
}

// view chooses how progress is shown: live on a terminal, otherwise a line per
// step, or nothing. The context ends when the user stops the run from the view.
func (a *app) view(ctx context.Context) (context.Context, view) {
	switch f, isFile := a.stderr.(*os.File); {
	case a.quiet || a.json:
		return ctx, silent{}
	case isFile && term.IsTerminal(int(f.Fd())) && term.IsTerminal(int(os.Stdin.Fd())):
		return newLive(ctx, f)
	}
	return ctx, lines{a.stderr}
}

type silent struct{}

func (silent) progress(lab.Progress) {}
func (silent) close()                {}

// lines prints one line for each execution that ended.
type lines struct{ w io.Writer }

func (l lines) progress(p lab.Progress) {
	if p.Stage != lab.Done {
		return
	}
	text := fmt.Sprintf("[%*d/%d] %-22s repetition %d%s  %-7s %4d answered", len(fmt.Sprint(p.Total)), p.Index, p.Total, p.Step, p.Number, twin(p), p.Status, p.Answered)
	if p.Failed > 0 {
		text += fmt.Sprintf(", %d failed", p.Failed)
	}
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	if p.Left > 0 {
		text += fmt.Sprintf("  (about %s left)", p.Left.Round(time.Second))
	}
	fmt.Fprintln(l.w, text)
}

func (lines) close() {}

func twin(p lab.Progress) string {
	if p.Twin {
		return " (twin)"
	}
	return ""
}

// live is the view on a terminal.
type live struct {
	program *tea.Program
	done    chan struct{}
}

func newLive(ctx context.Context, f *os.File) (context.Context, view) {
	ctx, cancel := context.WithCancel(ctx)
	l := &live{done: make(chan struct{})}
	l.program = tea.NewProgram(model{stop: cancel, started: time.Now()}, tea.WithOutput(f), tea.WithoutSignalHandler())
	go func() {
		defer close(l.done)
		_, _ = l.program.Run() // a view that cannot draw must not stop the run
	}()
	return ctx, l
}

func (l *live) progress(p lab.Progress) { l.program.Send(p) }

func (l *live) close() {
	l.program.Quit()
	<-l.done
}

// model is the live view's state.
type model struct {
	stop     context.CancelFunc
	started  time.Time
	now      time.Time
	p        lab.Progress
	width    int
	stopping bool
}

type tick time.Time

func nextTick() tea.Cmd {
	return tea.Tick(250*time.Millisecond, func(t time.Time) tea.Msg { return tick(t) })
}

func (m model) Init() tea.Cmd { return nextTick() }

func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case lab.Progress:
		m.p = msg
	case tick:
		m.now = time.Time(msg)
		return m, nextTick()
	case tea.WindowSizeMsg:
		m.width = msg.Width
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
	p := m.p
	if p.Total == 0 {
		return tea.NewView("preparing …\n")
	}
	const cells = 30
	full := cells * max(p.Index-1, 0) / p.Total
	if p.Stage == lab.Done {
		full = cells * p.Index / p.Total
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[%s%s] step %d of %d", strings.Repeat("█", full), strings.Repeat("░", cells-full), p.Index, p.Total)
	if p.Left >= 0 {
		fmt.Fprintf(&b, ", about %s left", p.Left.Round(time.Second))
	}
	fmt.Fprintf(&b, "\n%s, repetition %d%s: %s", p.Step, p.Number, twin(p), p.Stage)
	fmt.Fprintf(&b, "   in flight %d, answered %d, failed %d\n", p.InFlight, p.Answered, p.Failed)
	for _, e := range p.Errors {
		fmt.Fprintf(&b, "  ! %s\n", printable(e, max(m.width, 40)-4))
	}
	if m.stopping {
		b.WriteString("stopping: taking everything down …\n")
	} else {
		b.WriteString("ctrl-c stops cleanly and keeps what was recorded\n")
	}
	return tea.NewView(b.String())
}

// printable cuts a text that an app may have written to one harmless line.
func printable(text string, width int) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return ' '
		}
		return r
	}, text)
	if r := []rune(clean); len(r) > width {
		return string(r[:max(width-1, 0)]) + "…"
	}
	return clean
}
