package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"brink/internal/agent"
	"brink/internal/clock"
	"brink/internal/experiment"
	"brink/internal/host"
	"brink/internal/wire"
)

// session is one agent with its run directory.
type session struct {
	host     *Host
	plan     experiment.Plan
	limits   []host.Limit
	registry string
	dir      string
	conn     io.Closer
	client   *wire.Client
	agent    *exec.Cmd
	said     *words
	// ended is closed when the agent's process has been waited for; endErr is
	// valid then. received is closed when its last message has been handled.
	ended    chan struct{}
	endErr   error
	received chan struct{}
	recvErr  error

	closeOnce sync.Once
	closeErr  error

	mu        sync.Mutex
	listeners []net.Listener
	closed    bool
}

// Open starts a fresh agent in a fresh run directory, after cleaning up what
// killed agents of this user have left.
func (h *Host) Open(ctx context.Context, plan experiment.Plan, every time.Duration, o host.Observer) (host.Session, error) {
	registry, err := agent.RegistryDir()
	if err != nil {
		return nil, err
	}
	if err := agent.Sweep(registry); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "brink-run-")
	if err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	s := &session{host: h, plan: plan, registry: registry, dir: dir, ended: make(chan struct{}), received: make(chan struct{})}
	conn, err := s.launch()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.conn = conn
	if err := s.greet(ctx, conn, o); err != nil {
		return nil, errors.Join(err, s.abandon())
	}
	if err := s.prepare(ctx, every); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// prepare sets up the plan, with sampling begun before it so that the record
// shows it.
func (s *session) prepare(ctx context.Context, every time.Duration) error {
	if every > 0 {
		if err := s.client.Call(ctx, wire.StartSampling, wire.Sampling{EveryNs: int64(every)}, nil); err != nil {
			return err
		}
	}
	if s.plan == (experiment.Plan{}) {
		return nil
	}
	var applied []wire.Limit
	if err := s.client.Call(ctx, wire.Prepare, host.WirePlan(s.plan), &applied); err != nil {
		return fmt.Errorf("setting the plan up: %w", err)
	}
	var err error
	s.limits, err = limits(s.plan, applied)
	return err
}

// launch starts the agent with one end of a socket pair and returns the other.
func (s *session) launch() (net.Conn, error) {
	argv, err := s.host.command(s.dir)
	if err != nil {
		return nil, err
	}
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("connecting to the agent: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "agent"), os.NewFile(uintptr(fds[1]), "lab")
	defer ours.Close() // FileConn has its own
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, fmt.Errorf("connecting to the agent: %w", err)
	}
	s.said = new(words)
	s.agent = exec.Command(argv[0], argv[1:]...)
	s.agent.ExtraFiles = []*os.File{theirs} // file descriptor 3, agent.FD
	s.agent.Stderr = s.said
	// Of its own session, so that Ctrl-C reaches brink alone; the agent ends
	// when brink closes the connection or dies.
	s.agent.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := s.agent.Start(); err != nil {
		conn.Close()
		return nil, fmt.Errorf("starting the agent: %w", err)
	}
	go func() {
		s.endErr = s.agent.Wait()
		close(s.ended)
	}()
	return conn, nil
}

// greet exchanges hellos and begins to receive.
func (s *session) greet(ctx context.Context, conn net.Conn, o host.Observer) error {
	c := wire.NewConn(conn)
	release := context.AfterFunc(ctx, func() { conn.Close() })
	_, err := c.Handshake(wire.Hello{Program: s.host.opts.Program})
	release()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return s.blame(err)
	}
	s.client = wire.NewClient(c, o)
	go func() {
		s.recvErr = s.client.Run()
		close(s.received)
	}()
	return nil
}

// blame adds what the agent said, which usually is the cause.
func (s *session) blame(err error) error {
	select {
	case <-s.ended:
	case <-clock.Real.After(time.Second):
	}
	if said := s.said.String(); said != "" {
		return fmt.Errorf("the agent said: %s (%w)", said, err)
	}
	return fmt.Errorf("the agent: %w", err)
}

// Limits says what was applied of the plan and what could not be.
func (s *session) Limits() []host.Limit { return s.limits }

// Deploy starts an app on the loopback interface, on its port or on a free one.
func (s *session) Deploy(ctx context.Context, app experiment.App) (host.Endpoint, error) {
	spec := wireApp(app, s.plan)
	var err error
	if spec.Interpreter, err = s.host.interpreter(ctx, app); err != nil {
		return host.Endpoint{}, err
	}
	var at wire.Endpoint
	err = s.client.Call(ctx, wire.Deploy, spec, &at)
	var fault *wire.Fault
	switch {
	case err == nil:
		return host.Endpoint(at), nil
	case errors.As(err, &fault) && fault.Kind == wire.StartFailed:
		return host.Endpoint{}, &host.StartError{App: app.Name, Reason: fault.Text}
	case errors.As(err, &fault):
		return host.Endpoint{}, fmt.Errorf("app %s: %w", app.Name, err)
	case ctx.Err() != nil:
		// The start is called off, but nobody waits for that; Close does.
		go func() {
			_ = s.client.Call(context.WithoutCancel(ctx), wire.StopApp, wire.AppName{Name: app.Name}, nil)
		}()
	}
	return host.Endpoint{}, err
}

// Listen listens on the loopback interface, where the apps are.
func (s *session) Listen(ctx context.Context) (net.Listener, string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("listening for the plan's apps: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, "", errors.Join(errors.New("listening for the plan's apps: the plan was taken down"), l.Close())
	}
	s.listeners = append(s.listeners, l)
	return l, l.Addr().String(), nil
}

// Dial is nil: apps are on this machine's own network.
func (*session) Dial() host.Dialer { return nil }

// Close stops all apps, ends the agent and removes the run directory.
func (s *session) Close() error {
	s.closeOnce.Do(func() {
		s.closeErr = s.shutdown()
		s.closeListeners()
	})
	return s.closeErr
}

// closeListeners closes those that are still open; most were closed by who
// asked for them.
func (s *session) closeListeners() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, l := range s.listeners {
		_ = l.Close()
	}
}

func (s *session) shutdown() error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go func() {
		if clock.Real.Sleep(ctx, wire.ShutdownLimit) == nil {
			cancel(fmt.Errorf("the agent did not end within %s", wire.ShutdownLimit))
		}
	}()
	err := s.client.Call(ctx, wire.Shutdown, nil, nil)
	var fault *wire.Fault
	if err != nil && !errors.As(err, &fault) {
		// It is gone, or stuck, and cannot say what it leaves behind.
		return errors.Join(s.blame(err), s.abandon())
	}
	s.conn.Close()
	<-s.ended
	<-s.received
	if err == nil && s.endErr != nil {
		err = s.blame(s.endErr)
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// abandon ends an agent that cannot be talked to, and does its work.
func (s *session) abandon() error {
	s.conn.Close()
	// An agent whose connection is closed ends by itself; one that does not is
	// killed, and its apps with it.
	select {
	case <-s.ended:
	case <-clock.Real.After(wire.ShutdownLimit):
		_ = s.agent.Process.Kill()
		<-s.ended
	}
	if s.client != nil {
		<-s.received
	}
	return errors.Join(agent.Sweep(s.registry), os.RemoveAll(s.dir))
}

// words keeps the first part of what an agent writes to stderr.
type words struct {
	mu   sync.Mutex
	text strings.Builder
}

const maxWords = 4 << 10

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p[:min(len(p), maxWords-w.text.Len())])
	return len(p), nil
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(strings.Fields(w.text.String()), " ")
}
