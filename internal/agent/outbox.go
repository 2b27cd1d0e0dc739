package agent

import (
	"fmt"
	"sync"

	"brink/internal/wire"
)

// maxLogBacklog bounds the memory of log lines that the lab has not read yet.
const maxLogBacklog = 4 << 20

// outbox sends what must not wait for the lab: a lab that reads slowly, or not
// at all, never blocks an app or the supervisor. Events and responses are few
// and always kept; log lines beyond maxLogBacklog are counted instead.
type outbox struct {
	conn *wire.Conn

	mu       sync.Mutex
	wake     sync.Cond
	queue    []wire.Message
	logBytes int
	lost     map[string]int
	closed   bool
	done     chan struct{}
}

func newOutbox(conn *wire.Conn) *outbox {
	o := &outbox{conn: conn, lost: map[string]int{}, done: make(chan struct{})}
	o.wake.L = &o.mu
	go o.run()
	return o
}

func (o *outbox) put(m wire.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.append(m)
}

func (o *outbox) append(m wire.Message) {
	if !o.closed {
		o.queue = append(o.queue, m)
		o.wake.Signal()
	}
}

func (o *outbox) log(l wire.Log) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.logBytes+len(l.Line) > maxLogBacklog {
		o.lost[l.App]++
		return
	}
	if n := o.lost[l.App]; n > 0 {
		delete(o.lost, l.App)
		o.append(notice(l, fmt.Sprintf("%d lines were left out: the lab did not keep up", n)))
	}
	o.logBytes += len(l.Line)
	o.append(l)
}

// notice is a line of the agent's own in an app's log.
func notice(like wire.Log, text string) wire.Log {
	return wire.Log{App: like.App, AtNs: like.AtNs, Stream: like.Stream, Line: "[brink] " + text}
}

// run sends until the box is closed and empty, or sending fails: then the lab
// is gone, and the receiving side has noticed too.
func (o *outbox) run() {
	defer close(o.done)
	for {
		batch, ok := o.take()
		if !ok {
			return
		}
		for _, m := range batch {
			if err := o.conn.Send(m); err != nil {
				o.discard()
				return
			}
			if l, ok := m.(wire.Log); ok {
				o.mu.Lock()
				o.logBytes -= len(l.Line)
				o.mu.Unlock()
			}
		}
	}
}

func (o *outbox) take() (batch []wire.Message, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) == 0 && !o.closed {
		o.wake.Wait()
	}
	batch, o.queue = o.queue, nil
	return batch, len(batch) > 0
}

func (o *outbox) discard() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed, o.queue = true, nil
}

// close lets the box send what it holds and end; done tells when it has.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for app, n := range o.lost {
		o.append(wire.Log{App: app, Stream: "stderr", Line: fmt.Sprintf("[brink] %d lines were left out: the lab did not keep up", n)})
	}
	o.closed = true
	o.wake.Broadcast()
}
