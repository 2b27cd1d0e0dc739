package goapp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Exit codes of a worker.
const (
	exitServing = 1 // it could not go on serving, or was told to abort
	exitBoot    = 3 // it could not boot, and would not the next time either
)

// RunIfWorker does not return in a process that Main started as a worker: it
// serves and exits. In every other process it does nothing. It must come
// before everything else in the program.
func RunIfWorker() {
	if config, ok := os.LookupEnv(workerEnv); ok {
		os.Exit(workerMain(config))
	}
}

func workerMain(config string) int {
	log := &logger{out: os.Stderr}
	w, err := boot(config)
	if err != nil {
		log.printf(levelError, "Worker (pid:%d) cannot boot: %v", os.Getpid(), err)
		return exitBoot
	}
	log.printf(levelInfo, "Worker ready with pid: %d", os.Getpid())
	if err := w.serve(); err != nil {
		log.printf(levelError, "Worker (pid:%d) cannot go on: %v", os.Getpid(), err)
		return exitServing
	}
	return 0
}

// worker serves one connection at a time.
type worker struct {
	cfg       Config
	listener  *net.TCPListener
	beat      heartbeat
	stopping  atomic.Bool
	block     block
	file      workFile
	served    int
	startedAt time.Time
}

func boot(config string) (*worker, error) {
	w := &worker{startedAt: time.Now(), beat: heartbeat{os.NewFile(fdHeartbeat, "heartbeat")}}
	if err := json.Unmarshal([]byte(config), &w.cfg); err != nil {
		return nil, fmt.Errorf("reading %s: %w", workerEnv, err)
	}
	if err := w.inheritListener(); err != nil {
		return nil, err
	}
	go endWithMaster()
	go w.obey(takeOrders())
	var err error
	if w.block, err = newBlock(w.cfg.AllocMB); err != nil {
		return nil, err
	}
	return w, nil
}

func (w *worker) inheritListener() error {
	file := os.NewFile(fdListener, "listener")
	defer file.Close()
	// FileListener sets O_NONBLOCK, which all holders of the socket share.
	l, err := net.FileListener(file)
	if err != nil {
		return fmt.Errorf("inheriting the listener: %w", err)
	}
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return fmt.Errorf("inheriting the listener: it is a %T", l)
	}
	w.listener = tcp
	return nil
}

// endWithMaster backs up the death signal, which does not come if the master
// died before the worker had asked for it.
func endWithMaster() {
	var b [1]byte
	_, _ = os.NewFile(fdLifeline, "lifeline").Read(b[:])
	os.Exit(0)
}

// takeOrders listens to the master. SIGINT is not an order: a terminal sends it
// to the whole process group, and it is for the master to say what it means.
func takeOrders() <-chan os.Signal {
	signal.Ignore(unix.SIGINT)
	orders := make(chan os.Signal, 4)
	signal.Notify(orders, unix.SIGTERM, unix.SIGQUIT, unix.SIGABRT)
	return orders
}

func (w *worker) obey(orders <-chan os.Signal) {
	for order := range orders {
		switch order.(syscall.Signal) {
		case unix.SIGTERM:
			w.stopping.Store(true)
			w.listener.Close()
		case unix.SIGQUIT:
			os.Exit(0)
		case unix.SIGABRT:
			os.Exit(exitServing)
		}
	}
}

// serve returns nil when the worker was told to stop.
func (w *worker) serve() error {
	for {
		if err := w.beat.alive(); err != nil {
			return err
		}
		conn, err := w.accept()
		switch {
		case w.stopping.Load():
			if err == nil {
				w.serveConn(conn)
			}
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, unix.ECONNABORTED):
			continue
		case err != nil:
			return err
		}
		w.serveConn(conn)
	}
}

// accept waits for a quarter of the time-out at most, so that an idle worker
// reports in time even on a machine that hesitates.
func (w *worker) accept() (net.Conn, error) {
	if w.cfg.Timeout > 0 {
		if err := w.listener.SetDeadline(time.Now().Add(w.cfg.Timeout / 4)); err != nil {
			return nil, err
		}
	}
	return w.listener.Accept()
}
