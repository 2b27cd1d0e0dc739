package traffic

import (
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"brink/internal/clock"
)

// pool holds the workers of a run: how many there are, which are idle, and
// which request has been under way for how long.
type pool struct {
	clk      clock.Clock
	dial     Dialer
	addr     string
	request  []byte
	toHead   bool
	reuse    bool
	timeout  time.Duration
	most     int // workers, and so connections, at once
	out      *outbox
	inFlight *atomic.Int64
	running  sync.WaitGroup // worker goroutines

	mu       sync.Mutex
	freed    sync.Cond // a worker became idle, or the run was cancelled
	workers  int
	idle     []*worker // the last one to finish comes first again: its connection is the freshest
	underway flights
	canceled bool
}

// acquire returns an idle worker, a new one while there may be more, or else
// the first to become idle, and whether that had to be waited for. It returns nil
// once the run is cancelled.
func (p *pool) acquire() (w *worker, waited bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 && p.workers == p.most && !p.canceled {
		waited = true
		p.out.pace(p.now(), math.MaxInt64)
		for len(p.idle) == 0 && !p.canceled {
			p.freed.Wait()
		}
	}
	if p.canceled {
		return nil, waited
	}
	if last := len(p.idle) - 1; last >= 0 {
		w = p.idle[last]
		p.idle = p.idle[:last]
		return w, waited
	}
	p.workers++
	w = newWorker(p)
	p.running.Go(w.run)
	return w, waited
}

// depart marks the worker's request as sent now. From here on its time runs and
// it can be cut short. It returns the kept connection, if there is one, and
// reports false, marking nothing, when the run has been cancelled.
func (p *pool) depart(w *worker) (net.Conn, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.cut, w.writeErr = uncut, nil
	if p.canceled {
		w.cut = canceled
		return nil, false
	}
	w.probe.Sent = p.now()
	p.underway.add(w)
	p.inFlight.Add(1)
	return w.conn, true
}

// arrive takes the worker's request out of those under way and returns why it
// was cut short, if it was, and what went wrong when it was written.
func (p *pool) arrive(w *worker) (cutShort, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.probe.Sent != 0 {
		p.underway.remove(w)
		p.inFlight.Add(-1)
	}
	return w.cut, w.writeErr
}

// release makes the worker available to acquire.
func (p *pool) release(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, w)
	p.freed.Signal()
}

// watch cuts requests short whose time is up, until stop is closed. All have
// the same time-out, so the one sent first is the first to run out of time, and
// one timer does for all of them: when it fires and the oldest request is
// younger than the time-out, the timer is set to that request's end.
func (p *pool) watch(stop <-chan struct{}) {
	timer := p.clk.NewTimer(p.timeout)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-timer.C():
			timer.Reset(p.expire())
		}
	}
}

// expire cuts short what is overdue and returns the time to the next look.
func (p *pool) expire() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for w := p.underway.first; w != nil; w = w.next {
		left := time.Duration(w.probe.Sent-now) + p.timeout
		if left > 0 {
			return left
		}
		w.cutOff(timedOut)
	}
	return p.timeout
}

// cancel cuts short everything under way and lets nothing start any more.
func (p *pool) cancel() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.canceled = true
	for w := p.underway.first; w != nil; w = w.next {
		w.cutOff(canceled)
	}
	p.freed.Broadcast()
}

// shut waits for all requests to end and then for all workers.
func (p *pool) shut() {
	p.mu.Lock()
	for len(p.idle) < p.workers {
		p.freed.Wait()
	}
	for _, w := range p.idle {
		w.dismiss()
	}
	p.mu.Unlock()
	p.running.Wait()
}

func (p *pool) now() int64 { return p.clk.Now().UnixNano() }

// flights is a list of the workers with a request under way, in the order in
// which the requests were sent.
type flights struct{ first, last *worker }

func (f *flights) add(w *worker) {
	w.prev, w.next = f.last, nil
	if f.last != nil {
		f.last.next = w
	} else {
		f.first = w
	}
	f.last = w
}

func (f *flights) remove(w *worker) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		f.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		f.last = w.prev
	}
	w.prev, w.next = nil, nil
}
