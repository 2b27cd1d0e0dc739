package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"brink/internal/experiment"
	"brink/internal/lab"
)

// view shows the progress of a run.
type view interface {
	progress(lab.Progress)
	close()
}

// view chooses how progress is shown: live on a terminal, otherwise a line per
// step, or nothing. The context ends when the user stops the run from the view.
func (a *app) view(ctx context.Context, d *experiment.Design) (context.Context, view) {
	switch f, isFile := a.stderr.(*os.File); {
	case a.quiet || a.json:
		return ctx, silent{}
	case isFile && interactive(f):
		return newLive(ctx, f)
	}
	return ctx, newLines(ctx, a.stderr, d)
}

type silent struct{}

func (silent) progress(lab.Progress) {}
func (silent) close()                {}

// lines prints one line for each execution that ended.
type lines struct {
	w io.Writer
	// width is that of the longest name of a step.
	width   int
	printed int
	stop    func() bool
}

func newLines(ctx context.Context, w io.Writer, d *experiment.Design) *lines {
	l := &lines{w: w}
	for _, s := range d.Steps {
		l.width = max(l.width, len(s.Name))
	}
	l.stop = context.AfterFunc(ctx, func() {
		fmt.Fprintln(w, "stopping: taking everything down; what was recorded is kept")
	})
	return l
}

func (l *lines) progress(p lab.Progress) {
	if p.Stage != lab.Done || p.Index == l.printed {
		return // what happens while the plan is taken down has no line
	}
	l.printed = p.Index
	text := fmt.Sprintf("[%*d/%d] %-*s  repetition %d%s  %-7s %4d answered",
		len(fmt.Sprint(p.Total)), p.Index, p.Total, l.width, p.Step, p.Number, twin(p), p.Status, p.Answered)
	if p.Failed > 0 {
		text += fmt.Sprintf(", %d failed", p.Failed)
	}
	if p.Reason != "" {
		text += ": " + printable(p.Reason, widestCell)
	}
	if p.Left > 0 {
		text += fmt.Sprintf("  (about %s left)", p.Left.Round(time.Second))
	}
	fmt.Fprintln(l.w, text)
}

func (l *lines) close() { l.stop() }

func twin(p lab.Progress) string {
	if p.Twin {
		return " (twin)"
	}
	return ""
}
