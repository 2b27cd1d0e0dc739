package cli

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// screen is a terminal with brink in it.
type screen struct {
	s   *session
	cmd *exec.Cmd
	tty *os.File
	// over is closed when brink has let go of the terminal.
	over chan struct{}

	mu  sync.Mutex
	vt  *vt.Emulator
	raw bytes.Buffer
}

func (s *session) onScreen(columns uint16, env []string, args ...string) *screen {
	s.t.Helper()
	cmd := s.command(args...)
	cmd.SysProcAttr = nil // the terminal's own session, with Setctty
	cmd.Env = append(append(cmd.Env, "TERM=xterm-256color", "NO_COLOR="), env...)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: columns})
	if err != nil {
		s.t.Fatal(err)
	}
	v := &screen{s: s, cmd: cmd, tty: tty, vt: vt.NewEmulator(int(columns), 40), over: make(chan struct{})}
	go func() {
		defer close(v.over)
		_, _ = io.Copy(v, tty) // it ends with an error, as the other end is closed
	}()
	answering := make(chan struct{})
	go func() { // what brink asks the terminal
		defer close(answering)
		_, _ = io.Copy(tty, v.vt)
	}()
	s.t.Cleanup(func() {
		_ = v.vt.InputPipe().(io.Closer).Close()
		<-answering
		_ = tty.Close()
	})
	return v
}

func (v *screen) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.raw.Write(p)
	return v.vt.Write(p)
}

// shown is what the terminal shows now.
func (v *screen) shown() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.vt.String()
}

// written is everything that was written to the terminal.
func (v *screen) written() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.raw.String()
}

// await waits until the screen shows all of the texts at once.
func (v *screen) await(texts ...string) {
	v.s.t.Helper()
	var shown string
	defer func() {
		if v.s.t.Failed() {
			v.s.t.Logf("the screen is\n%s", shown)
		}
	}()
	v.s.await(strings.Join(texts, ", "), func() bool {
		shown = v.shown()
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				return false
			}
		}
		return true
	})
}

// end waits for brink and checks that it leaves the terminal as it was.
func (v *screen) end(code int) {
	t := v.s.t
	t.Helper()
	if got := exitCode(t, v.cmd.Wait()); got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
	mode, err := unix.IoctlGetTermios(int(v.tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	if want := uint32(unix.ECHO | unix.ICANON | unix.ISIG); mode.Lflag&want != want {
		t.Errorf("the terminal's mode is %#x: it neither echoes nor edits lines", mode.Lflag)
	}
	<-v.over
	text := v.written()
	if hidden, shown := strings.LastIndex(text, "\x1b[?25l"), strings.LastIndex(text, "\x1b[?25h"); hidden > shown {
		t.Error("the cursor stays hidden")
	}
	if screen := v.shown(); strings.Contains(screen, "in flight") || !strings.Contains(screen, "Report: run/report.html") {
		t.Errorf("the last screen is\n%s", screen)
	}
}

func TestLiveViewShowsARunAndLeavesTheTerminalAsItWas(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.file("one.yaml", experimentOf(builtIn, "{kind: batch, count: 3, path: /thread-hold?secs=2}"))
	v := s.onScreen(90, nil, "run", "one.yaml", "--out", "run", "--set", `hypotheses.H1.formula="4"`)
	v.await("step 1 of 2, about ", "s left", "s, repetition 1: traffic", "3 in flight, 0 answered, 0 failed", "ctrl-c stops cleanly")
	v.await("1 in flight, 2 answered, 0 failed")
	v.await("step 2 of 2", "repetition 2")
	v.end(exitDone)
	if text := v.written(); !strings.Contains(text, "\x1b[32m✓\x1b[0m") {
		t.Error("what is supported is not green")
	}
}

func TestLiveViewShowsTheLastErrors(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.file("one.yaml", experimentOf("runtime: command, command: [badapp, garbage]",
		"{kind: steady, every: 20ms, path: /ping, duration: 60s}"))
	v := s.onScreen(60, []string{"NO_COLOR=1"}, "run", "one.yaml", "--out", "run")
	v.await("0 answered, ", "! request: aborted: not HTTP: the answer starts with")
	if _, err := v.tty.Write([]byte{3}); err != nil { // Ctrl-C
		t.Fatal(err)
	}
	v.await("brink: interrupted; what was recorded is in run")
	v.end(exitBroken)
	if left := s.marked(); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	for _, line := range strings.Split(v.shown(), "\n") {
		if n := len([]rune(line)); n > 60 {
			t.Errorf("%d characters on a screen of 60: %s", n, line)
		}
	}
	if strings.Contains(v.written(), "\x1b[33m") {
		t.Error("there are colours in spite of NO_COLOR")
	}
}

func TestPagesFitTheTerminal(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	for _, columns := range []uint16{80, 100} {
		for _, args := range [][]string{
			{"show", "worker-exhaustion"}, {"list"}, {"query", "."}, {"validate", "worker-exhaustion", "--repetitions", "2"},
		} {
			v := s.onScreen(columns, nil, args...)
			<-v.over
			if code := exitCode(t, v.cmd.Wait()); code != exitDone {
				t.Errorf("%v: exit code %d", args, code)
			}
			text := ansi.Strip(v.written())
			if strings.TrimSpace(text) == "" {
				t.Errorf("%v printed nothing", args)
			}
			for line := range strings.SplitSeq(text, "\r\n") {
				if n := len([]rune(line)); n > int(columns) {
					t.Errorf("%v: %d characters on a terminal of %d: %s", args, n, columns, line)
				}
			}
		}
	}
}

// A run in the background may not touch the terminal, which would stop it.
func TestABackgroundRunPrintsLines(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.file("one.yaml", experimentOf(builtIn, "{kind: batch, count: 1, path: /ping}"))
	tty, cmd := s.shell(`brink run one.yaml --out run --repetitions 1 & wait $!; echo over $?`)
	var out bytes.Buffer
	_, _ = io.Copy(&out, tty)
	_ = cmd.Wait()
	text := out.String()
	if !strings.Contains(text, "[1/1] s  repetition 1  done") || !strings.Contains(text, "over 0") {
		t.Errorf("the terminal shows\n%s", text)
	}
}

// shell runs a line in a shell with job control on a terminal.
func (s *session) shell(line string) (*os.File, *exec.Cmd) {
	s.t.Helper()
	cmd := exec.Command("bash", "-c", "set -m; "+line)
	cmd.Dir = s.work
	cmd.Env = append(os.Environ(), s.mark, "XDG_RUNTIME_DIR="+s.path("runtime"), "TMPDIR="+s.path("tmp"), "TERM=xterm-256color")
	tty, err := pty.Start(cmd)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = tty.Close() })
	return tty, cmd
}
