package agent

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"brink/internal/clock"
	"brink/internal/kernel"
	"brink/internal/wire"
)

// process is one start of an app's first process.
type process struct {
	pid     int
	started time.Time
	// exited is closed when the process has been waited for; state is valid
	// from then on.
	exited chan struct{}
	state  *os.ProcessState
	logs   sync.WaitGroup
	pipes  []*os.File
	tail   *tail
}

// launchProcess starts an app and begins to read its log.
func (a *app) launchProcess() (*process, error) {
	p, err := a.exec(a.launch)
	if err != nil {
		return nil, err
	}
	a.tree.start(p.pid)
	return p, nil
}

// exec starts a process of the app's, in the app's cgroup, and begins to read
// what it writes.
func (a *app) exec(l *launch) (*process, error) {
	p := &process{exited: make(chan struct{}), tail: new(tail)}
	cmd := exec.Command(l.argv[0], l.argv[1:]...)
	cmd.Dir, cmd.Env = l.dir, l.env
	if c := a.cgroup.Load(); c != nil {
		f, err := c.Place(cmd)
		if err != nil {
			return nil, err
		}
		defer f.Close()
	}
	stdout, outEnd, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stderr, errEnd, err := os.Pipe()
	if err != nil {
		stdout.Close()
		outEnd.Close()
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = outEnd, errEnd
	p.pipes = []*os.File{stdout, stderr}
	err = a.agent.spawn.start(cmd, a.spec.CPUs)
	outEnd.Close()
	errEnd.Close()
	if err != nil {
		stdout.Close()
		stderr.Close()
		return nil, err
	}
	p.pid, p.started = cmd.Process.Pid, a.agent.clock.Now()
	a.tree.add(p.pid)
	p.read(a, stdout, "stdout")
	p.read(a, stderr, "stderr")
	go func() {
		// The error only repeats the state.
		_ = a.agent.spawn.wait(cmd)
		p.state = cmd.ProcessState
		close(p.exited)
	}()
	return p, nil
}

func (p *process) read(a *app, from *os.File, stream string) {
	l := &lineReader{clock: a.agent.clock, app: a.spec.Name, stream: stream, emit: a.agent.out.log, seen: func(line string) {
		p.tail.add(stream, line)
		a.workers.line(a.agent.clock.Now().UnixNano(), line)
	}}
	p.logs.Go(func() { l.run(from) })
}

// terminate asks the process to end, unless it has.
func (p *process) terminate() {
	select {
	case <-p.exited:
	default:
		// A process that ends right now stays a zombie until it is waited for, so
		// the pid cannot be somebody else's; there is nobody to tell of an error.
		_ = syscall.Kill(p.pid, syscall.SIGTERM)
	}
}

// drain waits until the log is read to its end. Whatever could still write to
// it must be gone; a process that left the tree and lives on must not hold
// up the app, so drain gives up after limit.
func (p *process) drain(clk clock.Clock, limit time.Duration) {
	read := make(chan struct{})
	go func() {
		p.logs.Wait()
		close(read)
	}()
	select {
	case <-read:
	case <-clk.After(limit):
	}
	for _, f := range p.pipes {
		f.Close()
	}
	<-read
}

// outcome describes how a process ended.
func outcome(state *os.ProcessState) (code *int, signal int, text string) {
	ws, ok := state.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return nil, int(ws.Signal()), fmt.Sprintf("was ended by signal %d (%s)", ws.Signal(), ws.Signal())
	}
	c := state.ExitCode()
	return &c, 0, fmt.Sprintf("exited with code %d", c)
}

// checkAffinity compares where the kernel lets the process run with what the
// plan says.
func checkAffinity(fs *kernel.FS, pid, cpus int) error {
	if cpus == 0 {
		return nil
	}
	want, err := PlanCPUs(cpus)
	if err != nil {
		return err
	}
	p, err := fs.OpenProcess(pid)
	if err != nil {
		return nil // it has ended, which is told elsewhere
	}
	defer p.Close()
	var s kernel.PIDStatus
	if err := p.Status(&s); err != nil {
		return nil
	}
	if s.State != 'Z' && s.CPUsAllowedList != want {
		return &wire.Fault{Kind: wire.Internal, Text: fmt.Sprintf("the app may run on CPUs %s where the plan says %s", s.CPUsAllowedList, want)}
	}
	return nil
}

// tail keeps the last lines of an app for the reason why it did not start:
// those of stderr, or of stdout when there were none.
type tail struct {
	mu    sync.Mutex
	lines map[string][]string
}

const (
	tailLines  = 5
	tailLength = 300
)

func (t *tail) add(stream, line string) {
	line = strings.TrimSpace(line)
	if line == "" {
		return
	}
	if r := []rune(line); len(r) > tailLength {
		line = string(r[:tailLength]) + "…"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines == nil {
		t.lines = map[string][]string{}
	}
	kept := append(t.lines[stream], line)
	t.lines[stream] = kept[max(0, len(kept)-tailLines):]
}

// String is one line; it is empty when the app wrote nothing.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := t.lines["stderr"]
	if len(lines) == 0 {
		lines = t.lines["stdout"]
	}
	return strings.Join(lines, " | ")
}
