package traffic

import "sync"

// outbox carries finished probes from the workers to the one goroutine that
// calls the sink. Probes travel in batches, because waking a goroutine costs
// more than handling a probe. It holds a bounded number of them: a sink that
// cannot keep up makes the workers wait.
type outbox struct {
	mu      sync.Mutex
	changed sync.Cond
	filling []Probe
	spare   []Probe
	urgent  bool // somebody should not have to wait for a fuller batch
	closed  bool
	sparse  bool  // nothing is due soon
	taken   int64 // when the last batch was taken
}

const (
	batchSize = 256            // a batch of this size is worth a wake-up
	batchAge  = 50_000_000     // ns; so is one after this time
	outboxCap = 16 * batchSize // probes at which put blocks
)

func newOutbox() *outbox {
	o := &outbox{}
	o.changed.L = &o.mu
	return o
}

// put copies a probe in, at the instant now in Unix nanoseconds.
func (o *outbox) put(p *Probe, now int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.filling) >= outboxCap {
		o.changed.Wait()
	}
	o.filling = append(o.filling, *p)
	o.consider(now)
}

// pace tells the outbox what the dispatcher is about to do: when it sleeps for
// long, probes are delivered one by one as they finish, since no later one will
// come along and push them out.
func (o *outbox) pace(now, nextDue int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sparse = nextDue-now > batchAge
	o.consider(now)
}

func (o *outbox) consider(now int64) {
	if o.urgent || len(o.filling) == 0 {
		return
	}
	if o.sparse || len(o.filling) >= batchSize || now-o.taken >= batchAge {
		o.urgent = true
		o.taken = now
		o.changed.Broadcast()
	}
}

// close lets deliver return once it has handed over what is left.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.changed.Broadcast()
}

// deliver calls sink with every probe until the outbox is closed.
func (o *outbox) deliver(sink func(*Probe)) {
	for {
		batch := o.take()
		if len(batch) == 0 {
			return
		}
		for i := range batch {
			sink(&batch[i])
		}
	}
}

// take waits for a batch. It is empty only when the outbox is closed.
func (o *outbox) take() []Probe {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.urgent && !o.closed {
		o.changed.Wait()
	}
	batch := o.filling
	clear(o.spare) // lets go of the error texts
	o.filling, o.spare = o.spare[:0], batch
	o.urgent = false
	o.changed.Broadcast()
	return batch
}
