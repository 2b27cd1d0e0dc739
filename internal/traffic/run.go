package traffic

import (
	"context"
	"crypto/tls"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"brink/internal/clock"
)

// Option changes how Run works without changing what it sends.
type Option func(*options)

type options struct {
	dial     Dialer
	tls      *tls.Config
	inFlight *atomic.Int64
}

// WithDial makes Run open its connections with d, which is given Run's addr as
// it is, and not over the machine's own network. Nothing else changes: the
// schedule, the instants of a Probe and the outcomes are the same.
func WithDial(d Dialer) Option { return func(o *options) { o.dial = d } }

// WithTLS makes Run speak HTTP/1.1 over TLS. A connection stands, as in
// Probe.Connected, when the handshake is over. The config is not changed; it
// must name the server (ServerName) unless it verifies none.
func WithTLS(config *tls.Config) Option { return func(o *options) { o.tls = config } }

// WithInFlight makes Run keep the number of requests that have been sent and
// have not ended in n, to which other runs may add theirs.
func WithInFlight(n *atomic.Int64) Option { return func(o *options) { o.inFlight = n } }

// Run sends the requests of spec to addr (host:port) and returns when each of
// them has ended. It calls sink once for each scheduled request, as it ends, on
// the calling goroutine. The Probe is reused after the call: a sink keeps a
// copy, not the pointer. A sink that cannot keep up delays later requests, which
// shows in their send lag.
//
// No request outlasts spec.Timeout after it was sent. Steady and rate traffic
// that finds all connections taken stops trying spec.Timeout after the end of
// its schedule; requests that were not sent by then are OutcomeUnsent.
//
// When ctx ends, requests under way end at once as OutcomeCanceled; those that
// were due and waited for a connection are OutcomeUnsent. Run then returns the
// summary of what happened together with the context's error.
//
// A batch that is due at once and needs more open files than this process may
// have is an error, and nothing is sent; Room tells beforehand.
//
// Requests that fail are not an error of Run. Whether the traffic was what the
// spec asked for is said by Summary.Held.
func Run(ctx context.Context, clk clock.Clock, spec Spec, addr string, sink func(*Probe), opts ...Option) (Summary, error) {
	if err := spec.Validate(); err != nil {
		return Summary{}, err
	}
	if spec.Connections == 0 {
		if err := Room(spec.AtOnce(), 1); err != nil {
			return Summary{}, fmt.Errorf("traffic: %w", err)
		}
	}
	o := options{inFlight: new(atomic.Int64)}
	for _, opt := range opts {
		opt(&o)
	}
	if o.dial == nil {
		var err error
		if o.dial, err = systemDialer(ctx, addr); err != nil {
			return Summary{}, err
		}
	}
	if o.tls != nil {
		o.dial = overTLS(o.dial, o.tls)
	}
	alarm, err := clk.NewAlarm(ctx)
	if err != nil {
		return Summary{}, fmt.Errorf("traffic: %w", err)
	}
	defer alarm.Close()

	d := &dispatcher{spec: spec, alarm: alarm, pool: newPool(clk, spec, addr, o)}
	d.start = d.pool.now()
	t := newTally(spec, d.start)
	var sending sync.WaitGroup
	sending.Go(func() { err = d.run(ctx) })
	d.pool.out.deliver(func(p *Probe) {
		t.add(p)
		sink(p)
	})
	sending.Wait()
	if err != nil {
		err = fmt.Errorf("traffic: %w", err)
	}
	return t.summary(d, err != nil), err
}

func newPool(clk clock.Clock, spec Spec, addr string, o options) *pool {
	p := &pool{
		clk: clk, dial: o.dial, addr: addr, inFlight: o.inFlight,
		request: spec.request(addr),
		toHead:  spec.Method == "HEAD",
		reuse:   spec.Reuse,
		timeout: spec.Timeout,
		most:    spec.Connections,
		out:     newOutbox(),
	}
	if spec.Kind == KindSequential {
		p.most = 1
	}
	if p.most == 0 {
		p.most = max(spec.AtOnce(), MostConnections())
	}
	p.freed.L = &p.mu
	return p
}

// dispatcher follows the schedule: it waits for each request's due instant and
// gives the request to a worker. It keeps no queue. When it has to wait for a
// worker, the due instants pass meanwhile, and it catches up with them.
type dispatcher struct {
	spec  Spec
	alarm clock.Alarm
	pool  *pool
	start int64
	seq   int64

	queued  int64 // requests that waited for a connection
	waiting int64 // until when the dispatcher has last waited for one
}

// run sends the whole schedule, sees every request and worker off and closes
// the outbox. It returns an error when it could not send the whole schedule.
func (d *dispatcher) run(ctx context.Context) error {
	stopWatching := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { d.pool.watch(stopWatching) })
	detach := context.AfterFunc(ctx, d.pool.cancel)

	send := d.sendSchedule
	if d.spec.Kind == KindSequential {
		send = d.sendSequence
	}
	err := send(ctx)
	d.pool.out.pace(d.pool.now(), math.MaxInt64)
	d.pool.shut()

	if detached := detach(); !detached && err == nil {
		err = ctx.Err() // the last requests were cut short
	}
	close(stopWatching)
	watching.Wait()
	d.pool.out.close()
	return err
}

func (d *dispatcher) sendSchedule(ctx context.Context) error {
	next := d.spec.schedule()
	giveUp := d.giveUpAt()
	for offset, ok := next(); ok; offset, ok = next() {
		due := d.start + int64(offset)
		if now := d.pool.now(); now < due {
			d.pool.out.pace(now, due)
			if err := d.alarm.Wait(time.Unix(0, due)); err != nil {
				return err // before it was due: not a request yet
			}
		} else if now > giveUp && now > addCapped(due, d.spec.Timeout) {
			d.skip(due, "no connection was free for it")
			continue
		}
		if !d.send(due) {
			d.skipDue(due, next)
			return ctx.Err()
		}
	}
	return nil
}

// sendSequence sends each request when the one before it has ended.
func (d *dispatcher) sendSequence(ctx context.Context) error {
	for range d.spec.Count {
		if !d.send(d.start) {
			return ctx.Err()
		}
	}
	return nil
}

// send gives the request that is due to a worker. It reports false when the run
// was cancelled before that was possible.
func (d *dispatcher) send(due int64) bool {
	w, waited := d.pool.acquire()
	if waited {
		d.waiting = d.pool.now()
	}
	if w == nil {
		return false
	}
	if d.spec.Kind == KindSequential && d.seq > 0 {
		due = w.probe.Done
	}
	if !w.dispatch(d.seq, due) {
		d.pool.release(w)
		return false
	}
	d.count(due)
	return true
}

// count takes in a request that has been dealt with. One that was due while the
// dispatcher waited for a connection has waited for one too.
func (d *dispatcher) count(due int64) {
	d.seq++
	if due < d.waiting {
		d.queued++
	}
}

// skip records a request that is not sent.
func (d *dispatcher) skip(due int64, err string) {
	now := d.pool.now()
	d.pool.out.put(&Probe{Seq: d.seq, Due: due, Done: now, ServedNs: -1, Outcome: OutcomeUnsent, Err: err}, now)
	d.count(due)
}

const notSent = "the run was stopped before it was sent"

// skipDue records, after a cancellation, this request and the following ones
// whose due instant has passed.
func (d *dispatcher) skipDue(due int64, next schedule) {
	now := d.pool.now()
	for ok := true; ok && due <= now; {
		d.skip(due, notSent)
		var offset time.Duration
		offset, ok = next()
		due = d.start + int64(offset)
	}
}

// giveUpAt is when requests that still wait for a connection are given up. Only
// traffic that lasts as long as it is told to has such an end: a batch is as
// many requests as were asked for, however long they take.
func (d *dispatcher) giveUpAt() int64 {
	if d.spec.Kind != KindSteady && d.spec.Kind != KindRate {
		return math.MaxInt64
	}
	return addCapped(d.start, d.spec.span(), d.spec.Timeout)
}

// addCapped adds durations to an instant without running over.
func addCapped(at int64, ds ...time.Duration) int64 {
	for _, d := range ds {
		if at > math.MaxInt64-int64(d) {
			return math.MaxInt64
		}
		at += int64(d)
	}
	return at
}
