package vm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"brink/internal/clock"
	"brink/internal/experiment"
	"brink/internal/guest"
	"brink/internal/host"
	"brink/internal/wire"
)

const (
	// offLimit is how long a guest whose agent is done may take to power off.
	offLimit = 20 * time.Second
	// watchEvery is how often the clocks are compared, which also shows that
	// the guest lives.
	watchEvery = 10 * time.Second
)

// silenceLimit is how long a guest may be silent before it is said to hang: its
// agent is locked in memory and answers within a second even while it thrashes.
const silenceLimit = 90 * time.Second

// session is one machine that carries a plan.
type session struct {
	*machine
	host     *Host
	plan     experiment.Plan
	limits   []host.Limit
	observer host.Observer

	// watching ends the watch, watched is closed when it has ended. hung is why
	// the guest was given up, if it was.
	watching context.CancelFunc
	watched  chan struct{}
	hung     error

	closeOnce sync.Once
	closeErr  error
}

var _ host.Presser = (*session)(nil)

// Open boots a fresh machine, has its agent set the plan up and begins to
// sample.
func (h *Host) Open(ctx context.Context, plan experiment.Plan, every time.Duration, o host.Observer) (host.Session, error) {
	m, err := h.boot(ctx, sizeOf(plan), o)
	if err != nil {
		return nil, fmt.Errorf("the virtual machine: %w", err)
	}
	s := &session{machine: m, host: h, plan: plan, observer: o, watched: make(chan struct{})}
	o.Log(m.clock.note())
	watching, stop := context.WithCancel(context.Background())
	s.watching = stop
	go s.watch(watching)
	if err := s.prepare(ctx, every); err != nil {
		err = s.explainFault(err)
		return nil, errors.Join(fmt.Errorf("setting the plan up: %w", err), s.abandon())
	}
	return s, nil
}

// sizeOf is the machine that a plan asks for.
func sizeOf(plan experiment.Plan) size {
	return size{
		cpus: cpus(plan), memoryMB: memoryMB(plan), swapMB: plan.SwapMB, cacheMB: plan.Share.CacheMB,
	}
}

// prepare has the platform's share set up, and starts sampling before it so
// that the record shows it. The swap drive is slowed down after it: what the
// platform has in swap from the beginning got there long ago.
func (s *session) prepare(ctx context.Context, every time.Duration) error {
	if every > 0 {
		if err := s.client.Call(ctx, wire.StartSampling, wire.Sampling{EveryNs: int64(every)}, nil); err != nil {
			return err
		}
	}
	var limits []wire.Limit
	if err := s.client.Call(ctx, wire.Prepare, wirePlan(s.plan), &limits); err != nil {
		return err
	}
	for _, l := range limits {
		s.limits = append(s.limits, host.Limit(l))
	}
	s.limits = append(s.limits, s.ownLimits()...)
	// It is the only command that QEMU is given.
	defer s.hangUp()
	if s.plan.SwapIOPS == 0 && s.plan.SwapMBs == 0 {
		return nil
	}
	return s.monitor.Limit(ctx, guest.SwapDrive, s.plan.SwapIOPS, int64(s.plan.SwapMBs*(1<<20)))
}

// ownLimits are those that QEMU applies.
func (s *session) ownLimits() []host.Limit {
	list := []host.Limit{{
		Name: "machine", Wanted: "a machine of its own", Applied: true,
		How: fmt.Sprintf("QEMU gives the guest %d MB, of which its kernel keeps a part", s.ramMB),
	}}
	const how = "throttling of the swap drive by QEMU, reads and writes together"
	if s.plan.SwapIOPS > 0 {
		list = append(list, host.Limit{Name: "swap_iops", Wanted: fmt.Sprintf("%d operations/s", s.plan.SwapIOPS), Applied: true, How: how})
	}
	if s.plan.SwapMBs > 0 {
		list = append(list, host.Limit{Name: "swap_mb_s", Wanted: fmt.Sprintf("%g MB/s", s.plan.SwapMBs), Applied: true, How: how})
	}
	return list
}

// Limits says what was applied of the plan and what could not be.
func (s *session) Limits() []host.Limit { return s.limits }

// Clock is how far the guest's clock is ahead of this machine's, and how far
// that may be wrong. It has been taken out of all times that the observer hears.
func (s *session) Clock() (ahead, uncertainty time.Duration) { return s.clock.offset() }

// Deploy starts an app at the guest's address, on its port or on a free one.
func (s *session) Deploy(ctx context.Context, app experiment.App) (host.Endpoint, error) {
	img, err := s.host.theImage(ctx)
	if err != nil {
		return host.Endpoint{}, err
	}
	var at wire.Endpoint
	err = s.client.Call(ctx, wire.Deploy, wireApp(app, s.plan, img.NodePath), &at)
	var fault *wire.Fault
	switch {
	case err == nil:
		return host.Endpoint(at), nil
	case errors.As(err, &fault) && fault.Kind == wire.StartFailed:
		reason := fault.Text
		if trouble := s.console.trouble(); trouble != "" {
			reason += "; " + trouble
		}
		return host.Endpoint{}, &host.StartError{App: app.Name, Reason: reason}
	case errors.As(err, &fault):
		return host.Endpoint{}, fmt.Errorf("app %s: %w", app.Name, err)
	case ctx.Err() != nil:
		// The start is called off, but nobody waits for that; Close does.
		go func() {
			_ = s.client.Call(context.WithoutCancel(ctx), wire.StopApp, wire.AppName{Name: app.Name}, nil)
		}()
		return host.Endpoint{}, err
	}
	return host.Endpoint{}, fmt.Errorf("app %s: %w", app.Name, s.explainFault(err))
}

// Listen listens at the gateway of the guest's network.
func (s *session) Listen(context.Context) (net.Listener, string, error) {
	l, err := s.network.Listen(0)
	if err != nil {
		return nil, "", fmt.Errorf("listening for the plan's apps: %w", err)
	}
	return l, l.Addr().String(), nil
}

// Dial connects to addresses of the guest.
func (s *session) Dial() host.Dialer { return s.network.Dial }

// Inflate fills memory of the guest beside the apps.
func (s *session) Inflate(ctx context.Context, mb int, every time.Duration) error {
	return s.ask(ctx, wire.Inflate, wire.Inflation{MB: mb, TouchEveryNs: int64(every)})
}

// Deflate gives that memory back.
func (s *session) Deflate(ctx context.Context) error { return s.ask(ctx, wire.Deflate, nil) }

// SwapIn empties the guest's swap.
func (s *session) SwapIn(ctx context.Context) error { return s.ask(ctx, wire.SwapIn, nil) }

func (s *session) ask(ctx context.Context, method wire.Method, body any) error {
	return s.explainFault(s.client.Call(ctx, method, body, nil))
}

// explainFault adds what became of the guest where that is why a call failed.
func (s *session) explainFault(err error) error {
	var fault *wire.Fault
	if err == nil || errors.As(err, &fault) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return s.explain(err)
}

// watch compares the clocks, and ends a guest that does not answer.
func (s *session) watch(ctx context.Context) {
	defer close(s.watched)
	for clock.Real.Sleep(ctx, min(watchEvery, s.host.silence)) == nil {
		probing, cancel := context.WithTimeout(ctx, s.host.silence)
		err := s.clock.probe(probing, s.client)
		silent := errors.Is(probing.Err(), context.DeadlineExceeded)
		cancel()
		if err == nil {
			s.observer.Log(s.clock.note())
			continue
		}
		if silent && ctx.Err() == nil {
			s.hung = fmt.Errorf("the guest hangs: its agent has not answered for %s; %s", s.host.silence, s.console.tail())
			s.process.Kill()
		}
		return
	}
}

// Close stops all apps and powers the guest off. When it returns QEMU is gone.
func (s *session) Close() error {
	s.closeOnce.Do(func() { s.closeErr = s.shutdown() })
	return s.closeErr
}

func (s *session) shutdown() error {
	s.watching()
	<-s.watched
	if s.hung != nil {
		return errors.Join(s.hung, s.discard())
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), wire.ShutdownLimit, fmt.Errorf("the guest's agent did not end within %s", wire.ShutdownLimit))
	defer cancel()
	err := s.client.Call(ctx, wire.Shutdown, nil, nil)
	var fault *wire.Fault
	if err != nil && !errors.As(err, &fault) {
		return errors.Join(s.explain(err), s.discard())
	}
	// A guest in trouble has served all the same: what it says is part of the
	// outcome.
	if trouble := s.console.trouble(); trouble != "" {
		err = errors.Join(err, errors.New(trouble))
	}
	return errors.Join(err, s.off(offLimit))
}

// abandon ends a guest that is of no use.
func (s *session) abandon() error {
	s.watching()
	<-s.watched
	return s.discard()
}
