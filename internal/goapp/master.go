package goapp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrWorkerBoot ends Main when a worker gave up before it could serve: it
// would do so again. Gunicorn's master exits with code 3 in that case.
var ErrWorkerBoot = errors.New("worker failed to boot")

// Main listens and keeps cfg.Workers workers running, with its log on stderr,
// until it is told to stop, and returns nil then. SIGTERM and the end of ctx
// let workers finish their requests for up to cfg.GracefulTimeout; SIGINT and
// SIGQUIT do not. A program that calls Main must begin with RunIfWorker.
//
// Other errors: what Validate says; a listener that cannot be opened, which
// wraps the errno; ErrWorkerBoot.
func Main(ctx context.Context, cfg Config, stderr io.Writer) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	bind, err := netip.ParseAddrPort(cfg.Bind)
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program to start workers from: %w", err)
	}
	listener, bound, err := listen(bind, cfg.Backlog)
	if err != nil {
		return err
	}
	defer listener.Close()
	lifeline, keep, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("opening the workers' lifeline: %w", err)
	}
	defer lifeline.Close()
	defer keep.Close()

	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGQUIT)
	defer signal.Stop(signals)

	// A worker's death signal is tied to the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	m := &master{
		cfg:      cfg,
		exe:      exe,
		log:      &logger{out: stderr},
		listener: listener,
		lifeline: lifeline,
		signals:  signals,
		children: map[int]*child{},
		exits:    make(chan *child),
	}
	m.log.printf(levelInfo, "Listening at: http://%s (%d)", bound, os.Getpid())
	m.warnAboutBacklog()
	return m.run(ctx)
}

type master struct {
	cfg      Config
	exe      string
	log      *logger
	listener *os.File
	lifeline *os.File
	signals  chan os.Signal
	children map[int]*child
	exits    chan *child
}

func (m *master) warnAboutBacklog() {
	b, err := os.ReadFile("/proc/sys/net/core/somaxconn")
	if err != nil {
		m.log.printf(levelWarning, "Cannot tell whether the kernel grants a backlog of %d: %v", m.cfg.Backlog, err)
		return
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err == nil && limit < m.cfg.Backlog {
		m.log.printf(levelWarning, "The backlog of %d is cut to %d by net.core.somaxconn", m.cfg.Backlog, limit)
	}
}

func (m *master) run(ctx context.Context) error {
	m.fill()
	watch := time.NewTicker(m.watchEvery())
	defer watch.Stop()
	for {
		select {
		case c := <-m.exits:
			booted, err := m.reap(c)
			if err != nil {
				m.log.printf(levelError, "Worker failed to boot.")
				m.stop(unix.SIGQUIT)
				return err
			}
			// One that died while booting is replaced at the next look, so
			// that a crash at start does not become a busy loop.
			if booted {
				m.fill()
			}
		case <-watch.C:
			m.killSilent()
			m.fill()
		case s := <-m.signals:
			m.stop(m.order(s))
			return nil
		case <-ctx.Done():
			m.stop(unix.SIGTERM)
			return nil
		}
	}
}

// watchEvery looks often enough that a worker outlives its time-out by a tenth,
// or by gunicorn's one second at most.
func (m *master) watchEvery() time.Duration {
	if m.cfg.Timeout == 0 {
		return time.Second
	}
	return min(m.cfg.Timeout/10, time.Second)
}

// order is what a signal to the master tells the workers.
func (m *master) order(s os.Signal) syscall.Signal {
	m.log.printf(levelInfo, "Handling signal: %s", strings.ToLower(strings.TrimPrefix(unix.SignalName(s.(syscall.Signal)), "SIG")))
	if s == unix.SIGTERM {
		return unix.SIGTERM
	}
	return unix.SIGQUIT
}

func (m *master) fill() {
	for len(m.children) < m.cfg.Workers {
		c, err := m.start()
		if err != nil {
			m.log.printf(levelError, "Cannot start a worker, trying again: %v", err)
			return
		}
		m.children[c.pid] = c
		m.log.printf(levelInfo, "Booting worker with pid: %d", c.pid)
		go func() {
			c.state = c.wait()
			m.exits <- c
		}()
	}
}

// reap takes note of a worker's end. The error is ErrWorkerBoot.
func (m *master) reap(c *child) (booted bool, err error) {
	delete(m.children, c.pid)
	_, booted, err = c.beat.read()
	c.beat.file.Close()
	switch {
	case err != nil:
		m.log.printf(levelError, "Worker with pid %d left no heartbeat: %v", c.pid, err)
	case c.state.Signaled():
		m.log.printf(levelWarning, "Worker with pid %d was terminated due to signal %d", c.pid, c.state.Signal())
	case c.state.ExitStatus() == exitBoot && !booted:
		return false, ErrWorkerBoot
	case c.state.ExitStatus() != 0:
		m.log.printf(levelWarning, "Worker with pid %d exited with code %d", c.pid, c.state.ExitStatus())
	}
	return booted, nil
}

// killSilent asks a worker that has not reported in time to abort, and kills
// it if it is still there at the next look.
func (m *master) killSilent() {
	if m.cfg.Timeout == 0 {
		return
	}
	for _, c := range m.children {
		age, _, err := c.beat.read()
		switch {
		case err != nil:
			m.log.printf(levelError, "Worker with pid %d cannot be watched: %v", c.pid, err)
		case age <= m.cfg.Timeout:
		case c.aborted:
			c.signal(unix.SIGKILL)
		default:
			m.log.printf(levelCritical, "WORKER TIMEOUT (pid:%d)", c.pid)
			c.aborted = true
			c.signal(unix.SIGABRT)
		}
	}
}

// stop passes the order on and returns when no worker is left.
func (m *master) stop(order syscall.Signal) {
	m.listener.Close()
	m.signalAll(order)
	deadline := time.After(m.cfg.GracefulTimeout)
	for len(m.children) > 0 {
		select {
		case c := <-m.exits:
			// The error is of no interest any more: everything stops.
			_, _ = m.reap(c)
		case s := <-m.signals:
			m.signalAll(m.order(s))
		case <-deadline:
			m.signalAll(unix.SIGKILL)
		}
	}
	m.log.printf(levelInfo, "Shutting down: Master")
}

func (m *master) signalAll(s syscall.Signal) {
	for _, c := range m.children {
		c.signal(s)
	}
}
