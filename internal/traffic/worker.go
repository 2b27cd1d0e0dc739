package traffic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// worker carries one request at a time, and between requests the connection
// that it keeps. Its goroutine sits in Read on that connection, so a request on
// a kept connection wakes nobody but the one who reads the answer: whoever
// dispatches the request writes it.
type worker struct {
	pool  *pool
	wake  chan struct{} // a request to be sent on a new connection; closed to dismiss
	state atomic.Uint32 // one of the states below
	probe Probe
	reply answer
	buf   [2048]byte

	// Written by the worker under pool.mu, for the benefit of others.
	conn     net.Conn
	stopDial context.CancelFunc

	// Guarded by pool.mu.
	cut        cutShort
	writeErr   error
	prev, next *worker // in pool.underway
}

// The states of a worker. The worker and the dispatcher decide by one atomic
// step which of two comes first: the server closing an idle connection, or a
// request being written to it.
const (
	busy      uint32 = iota // with a request
	idleOpen                // and reading from its connection
	idleAlone               // without a connection
)

// cutShort is why a request was ended from outside.
type cutShort uint8

const (
	uncut cutShort = iota
	timedOut
	canceled
)

// bigBuffers serve what does not fit into a worker's own buffer.
var bigBuffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

func newWorker(p *pool) *worker {
	w := &worker{pool: p, wake: make(chan struct{}, 1)}
	w.state.Store(idleAlone)
	return w
}

// dispatch starts a request on a worker that was acquired. It reports false,
// and does nothing, when the run has been cancelled.
func (w *worker) dispatch(seq, due int64) bool {
	w.probe = Probe{Seq: seq, Due: due, ServedNs: -1}
	w.reply.reset(w.pool.toHead)
	if w.state.Load() == idleOpen {
		conn, ok := w.pool.depart(w)
		if !ok {
			return false
		}
		w.probe.Reused = true
		if w.state.CompareAndSwap(idleOpen, busy) {
			w.write(conn)
			return true
		}
		w.probe.Reused = false // the server has just closed it
	}
	w.state.Store(busy)
	w.wake <- struct{}{}
	return true
}

// write sends the request on a kept connection. The worker, which is reading
// from it, deals with a failure.
func (w *worker) write(conn net.Conn) {
	if _, err := conn.Write(w.pool.request); err != nil {
		w.pool.mu.Lock()
		w.writeErr = err
		w.pool.mu.Unlock()
		conn.Close()
	}
}

func (w *worker) run() {
	for {
		if w.conn != nil {
			n, err := w.conn.Read(w.buf[:])
			if !w.state.CompareAndSwap(idleOpen, idleAlone) {
				w.finish(w.receive(n, err))
				continue
			}
			w.drop() // the server closed it, or spoke without being asked
		}
		if _, ok := <-w.wake; !ok {
			return
		}
		w.finish(w.send())
	}
}

// send sends the request on a new connection and receives the answer.
func (w *worker) send() error {
	if w.probe.Sent == 0 {
		if _, ok := w.pool.depart(w); !ok {
			return context.Canceled
		}
	}
	if err := w.connect(); err != nil {
		return err
	}
	w.probe.Connected = w.pool.now()
	if _, err := w.conn.Write(w.pool.request); err != nil {
		return err
	}
	n, err := w.conn.Read(w.buf[:])
	return w.receive(n, err)
}

// connect opens a connection, which can be cut short meanwhile.
func (w *worker) connect() error {
	p := w.pool
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p.mu.Lock()
	w.stopDial = cancel
	if w.cut != uncut {
		cancel()
	}
	p.mu.Unlock()

	conn, err := p.dial(ctx, p.addr)

	p.mu.Lock()
	defer p.mu.Unlock()
	w.stopDial = nil
	if err != nil {
		return err
	}
	w.conn = quiet(conn)
	if w.cut != uncut {
		return context.Canceled
	}
	return nil
}

// receive reads the answer to its end. The first read has been done: it gave n
// bytes and err.
func (w *worker) receive(n int, err error) error {
	if n > 0 {
		w.probe.FirstByte = w.pool.now()
	}
	complete, err := w.digest(w.buf[:n], err)
	if complete || err != nil {
		return err
	}
	big := bigBuffers.Get().(*[64 << 10]byte)
	defer bigBuffers.Put(big)
	for !complete && err == nil {
		n, err = w.conn.Read(big[:])
		if n > 0 && w.probe.FirstByte == 0 {
			w.probe.FirstByte = w.pool.now()
		}
		complete, err = w.digest(big[:n], err)
	}
	return err
}

// digest takes what a read gave and reports whether the answer is complete.
func (w *worker) digest(p []byte, readErr error) (bool, error) {
	w.probe.Bytes += int64(len(p))
	used, err := w.reply.feed(p)
	if err != nil {
		return false, err
	}
	if w.reply.state == answerIsDone {
		if used < len(p) {
			w.reply.keepAlive = false // what follows is nobody's answer
		}
		return true, nil
	}
	if readErr == io.EOF {
		return true, w.reply.close()
	}
	return false, readErr
}

// finish completes the probe, hands it on and makes the worker idle.
func (w *worker) finish(err error) {
	p := &w.probe
	p.Done = w.pool.now()
	p.Status, p.Pid, p.ServedNs, p.By = w.reply.status, w.reply.pid, w.reply.servedNs, w.reply.by
	cut, writeErr := w.pool.arrive(w)
	if err != nil && writeErr != nil && p.FirstByte == 0 {
		err = writeErr // what ended the read is that the failed write closed the connection
	}
	switch {
	case err == nil:
		p.Outcome = outcomeOfStatus(p.Status)
	case cut == timedOut:
		p.Outcome, p.Err = OutcomeTimeout, w.progress(err)
	case cut == canceled && p.Sent == 0:
		p.Outcome, p.Err = OutcomeUnsent, notSent
	case cut == canceled:
		p.Outcome, p.Err = OutcomeCanceled, w.progress(err)
	default:
		p.Outcome, p.Err = classify(err)
	}
	if w.conn != nil && (err != nil || cut != uncut || !w.pool.reuse || !w.reply.keepAlive) {
		w.drop()
	}
	if w.conn != nil {
		w.state.Store(idleOpen)
	} else {
		w.state.Store(idleAlone)
	}
	w.pool.out.put(p, p.Done)
	w.pool.release(w)
}

// progress says how far a request had come when it was cut short, which ended it
// with err.
func (w *worker) progress(err error) string {
	p := &w.probe
	waited := time.Duration(p.Done - p.Sent).Round(time.Millisecond)
	switch {
	case p.FirstByte != 0:
		return fmt.Sprintf("answer incomplete after %v and %d bytes", waited, p.Bytes)
	case errors.As(err, new(handshakeError)):
		return fmt.Sprintf("connected, but no TLS handshake after %v", waited)
	case p.Connected == 0 && !p.Reused:
		return fmt.Sprintf("no connection after %v", waited)
	}
	return fmt.Sprintf("no answer after %v", waited)
}

// drop closes the connection.
func (w *worker) drop() {
	w.pool.mu.Lock()
	defer w.pool.mu.Unlock()
	w.conn.Close()
	w.conn = nil
}

// cutOff ends the request under way from outside. The pool is locked.
func (w *worker) cutOff(why cutShort) {
	if w.cut != uncut {
		return
	}
	w.cut = why
	if w.stopDial != nil {
		w.stopDial()
	}
	if w.conn != nil {
		w.conn.Close()
	}
}

// dismiss makes an idle worker's goroutine end. The pool is locked.
func (w *worker) dismiss() {
	close(w.wake)
	if w.conn != nil {
		w.conn.Close()
	}
}
