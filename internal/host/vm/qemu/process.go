package qemu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// ErrMissing is returned when QEMU is not installed.
var ErrMissing = errors.New(Program + " is not installed")

// Find returns the path of QEMU, or ErrMissing.
func Find() (string, error) {
	path, err := exec.LookPath(Program)
	if err != nil {
		return "", ErrMissing
	}
	return path, nil
}

// leastVersion is the first QEMU whose network can be a stream socket
// (https://wiki.qemu.org/ChangeLog/7.2).
var leastVersion = [2]int{7, 2}

// Fit returns ErrMissing, or an error that says how the QEMU that is there is too
// old. What does not tell its version is believed to be fit.
func Fit(ctx context.Context) error {
	path, err := Find()
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return nil // whatever is the matter, starting a machine shows it
	}
	var v [2]int
	if _, err := fmt.Sscanf(string(out), "QEMU emulator version %d.%d", &v[0], &v[1]); err == nil && slices.Compare(v[:], leastVersion[:]) < 0 {
		return fmt.Errorf("%s is version %d.%d", path, v[0], v[1])
	}
	return nil
}

// Process is a machine that was started.
type Process struct {
	cmd  *exec.Cmd
	said words
	// done is closed when the process has been waited for; err is valid then.
	done chan struct{}
	err  error
}

// Start starts the machine. Temporary files go to dir. What the guest writes to
// its console goes to console, which must not block. The process dies with this
// one, whatever ends it.
func (m Machine) Start(dir string, console io.Writer) (*Process, error) {
	path, err := Find()
	if err != nil {
		return nil, err
	}
	args, files := m.command()
	p := &Process{cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.cmd.ExtraFiles = files
	p.cmd.Stdout, p.cmd.Stderr = console, &p.said
	p.cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	// Of its own session, so that Ctrl-C reaches brink alone.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// PR_SET_PDEATHSIG is tied to the thread that forks, which therefore must
		// live as long: it is never unlocked, and ends with the goroutine.
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting QEMU: %w", err)
	}
	return p, nil
}

// PID is the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Kill ends the process at once and returns when it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it has ended, or will
	<-p.done
}

// Err says why the process failed, with what it said itself; nil when the
// machine powered off, or was reset, as a kernel does that panics.
func (p *Process) Err() error {
	<-p.done
	if p.err == nil {
		return nil
	}
	if said := p.said.String(); said != "" {
		return fmt.Errorf("QEMU said: %s (%w)", said, p.err)
	}
	return fmt.Errorf("QEMU: %w", p.err)
}

// maxWords bounds what is kept of a process's complaints.
const maxWords = 2 << 10

// words keeps the first part of what QEMU writes to stderr.
type words struct {
	mu   sync.Mutex
	text strings.Builder
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p[:min(len(p), maxWords-w.text.Len())])
	return len(p), nil
}

// String is the first line that is no warning, without the program's name.
func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range strings.Lines(w.text.String()) {
		line = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(line), Program+": "), "qemu: ")
		if line != "" && !strings.HasPrefix(line, "warning: ") {
			return line
		}
	}
	return ""
}
