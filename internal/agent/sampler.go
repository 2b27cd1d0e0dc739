package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"time"

	"brink/internal/kernel"
	"brink/internal/wire"
)

// minEvery is the shortest sampling interval.
const minEvery = time.Millisecond

// sampling is the sampler's goroutine, when there is one.
type sampling struct {
	agent *agent

	mu   sync.Mutex
	quit context.CancelFunc
	done chan struct{}
}

// start begins to sample, or replaces the interval.
func (s *sampling) start(every time.Duration) error {
	if every < minEvery {
		return &wire.Fault{Kind: wire.BadRequest, Text: fmt.Sprintf("a sampling interval of %s is shorter than %s", every, minEvery)}
	}
	s.stop()
	smp, err := newSampler(s.agent)
	if err != nil {
		return err
	}
	ctx, quit := context.WithCancel(context.Background())
	alarm, err := s.agent.clock.NewAlarm(ctx)
	if err != nil {
		quit()
		return errors.Join(err, smp.close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quit, s.done = quit, make(chan struct{})
	go func(done chan struct{}) {
		defer close(done)
		defer smp.close()
		defer alarm.Close()
		due := s.agent.clock.Now()
		for alarm.Wait(due) == nil {
			if smp.tick() != nil {
				return // the lab is gone
			}
			// A tick that came late does not bunch up those after it.
			late := s.agent.clock.Now().Sub(due)
			due = due.Add(every * (1 + late/every))
		}
	}(s.done)
	return nil
}

// stop ends sampling; no sample is sent after it.
func (s *sampling) stop() {
	s.mu.Lock()
	quit, done := s.quit, s.done
	s.quit, s.done = nil, nil
	s.mu.Unlock()
	if quit != nil {
		quit()
		<-done
	}
}

// sampler takes the plan's and the apps' samples. It allocates nothing once
// its buffers have grown. A reading that the kernel does not offer, or that
// fails, is -1 in the sample.
type sampler struct {
	agent    *agent
	pageSize int64

	meminfo *kernel.Reader[kernel.Meminfo]
	vmstat  *kernel.Reader[kernel.Vmstat]
	netstat *kernel.Reader[kernel.Netstat]
	psi     [3]*kernel.Reader[kernel.PSI] // cpu, memory, io
	diag    *kernel.SockDiag

	mem       kernel.Meminfo
	vm        kernel.Vmstat
	net       kernel.Netstat
	pressure  kernel.PSI
	self      kernel.PIDStat
	listeners []kernel.Listener
	queued    []kernel.QueuedConn
	samples   []wire.Sample
}

func newSampler(a *agent) (*sampler, error) {
	s := &sampler{agent: a, pageSize: int64(a.fs.PageSize().Bytes)}
	err := errors.Join(
		optionalReader(&s.meminfo, a.fs.MeminfoReader),
		optionalReader(&s.vmstat, a.fs.VmstatReader),
		optionalReader(&s.netstat, a.fs.NetstatReader),
	)
	for i, r := range [...]kernel.PSIResource{kernel.PSICPU, kernel.PSIMemory, kernel.PSIIO} {
		err = errors.Join(err, optionalReader(&s.psi[i], func() (*kernel.Reader[kernel.PSI], error) { return a.fs.PSIReader(r) }))
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	// Without it, queues are unreadable, and the samples say so.
	s.diag, _ = kernel.DialSockDiag()
	return s, nil
}

// optionalReader opens a reader; it stays nil where the kernel has no such file.
func optionalReader[T any](r **kernel.Reader[T], open func() (*kernel.Reader[T], error)) error {
	opened, err := open()
	if errors.Is(err, kernel.ErrUnavailable) {
		return nil
	}
	*r = opened
	return err
}

func (s *sampler) close() error {
	err := errors.Join(closeReader(s.meminfo), closeReader(s.vmstat), closeReader(s.netstat))
	for _, r := range s.psi {
		err = errors.Join(err, closeReader(r))
	}
	if s.diag != nil {
		err = errors.Join(err, s.diag.Close())
	}
	return err
}

func closeReader[T any](r *kernel.Reader[T]) error {
	if r == nil {
		return nil
	}
	return r.Close()
}

// read takes a reading, if there is one; after a failure dst holds unknowns.
func read[T any](r *kernel.Reader[T], dst *T) {
	if r == nil {
		return
	}
	// A field that cannot be understood is unknown, and the others are good;
	// after any other error all are unknown. Either is -1 in the sample.
	_ = r.Read(dst)
}

// tick takes and sends one sample of each app and one of the plan. The error
// is of sending.
func (s *sampler) tick() error {
	s.take()
	for i := range s.samples {
		if err := s.agent.conn.Send(&s.samples[i]); err != nil {
			return err
		}
	}
	return nil
}

// take fills in samples: those of the apps, then the plan's.
func (s *sampler) take() {
	o := s.agent.observer
	o.mu.Lock()
	defer o.mu.Unlock()
	now := s.agent.clock.Now()
	o.look(now)
	listening := s.listen()
	s.samples = s.samples[:0]
	cpu, rss, procs := int64(0), int64(0), int64(0)
	for _, p := range s.agent.list() {
		x := s.next(now)
		x.App = p.spec.Name
		x.CPUNs, x.RSS, x.Procs = p.tree.usage(s.pageSize)
		cpu, rss, procs = cpu+x.CPUNs, rss+x.RSS, procs+x.Procs
		if listening {
			s.queue(x, p.listens())
		}
	}
	plan := s.next(now)
	plan.CPUNs, plan.RSS, plan.Procs = cpu, rss, procs
	s.machine(plan, &o.stat)
	plan.AgentCPUNs = processCPU(os.Getpid())
	if o.self.Stat(&s.self) == nil {
		plan.AgentRSS = s.self.RSSPages * s.pageSize
	}
}

// next returns a sample in which nothing is known yet.
func (s *sampler) next(now time.Time) *wire.Sample {
	if len(s.samples) == cap(s.samples) {
		s.samples = append(s.samples, wire.Sample{})
	} else {
		s.samples = s.samples[:len(s.samples)+1]
	}
	x := &s.samples[len(s.samples)-1]
	x.Clear()
	x.AtNs = now.UnixNano()
	return x
}

// known turns a reading into a sample's number.
func known(n kernel.Num) int64 {
	if !n.Known {
		return -1
	}
	return int64(n.Value)
}

func (s *sampler) machine(p *wire.Sample, stat *kernel.Stat) {
	if busy := stat.Total.Busy(); busy.Known {
		p.BusyNs = int64(busy.Value) * nanosPerTick
	}
	read(s.meminfo, &s.mem)
	m := &s.mem
	p.MemTotal, p.MemAvailable, p.MemFree = known(m.MemTotal), known(m.MemAvailable), known(m.MemFree)
	p.Cached, p.AnonPages, p.Slab = known(m.Cached), known(m.AnonPages), known(m.Slab)
	p.SwapTotal, p.SwapFree = known(m.SwapTotal), known(m.SwapFree)

	read(s.vmstat, &s.vm)
	v := &s.vm
	p.PgscanKswapd, p.PgscanDirect = known(v.PgscanKswapd), known(v.PgscanDirect)
	p.PgstealKswapd, p.PgstealDirect = known(v.PgstealKswapd), known(v.PgstealDirect)
	p.Pswpin, p.Pswpout, p.Allocstall = known(v.Pswpin), known(v.Pswpout), known(v.Allocstall)
	p.Pgmajfault, p.OOMKills = known(v.Pgmajfault), known(v.OOMKill)
	p.RefaultAnon, p.RefaultFile = known(v.WorkingsetRefaultAnon), known(v.WorkingsetRefaultFile)

	read(s.netstat, &s.net)
	p.Overflows, p.ListenDrops = known(s.net.ListenOverflows), known(s.net.ListenDrops)

	p.PSICPUSome, _ = s.stalls(0)
	p.PSIMemSome, p.PSIMemFull = s.stalls(1)
	p.PSIIOSome, p.PSIIOFull = s.stalls(2)
}

func (s *sampler) stalls(i int) (some, full int64) {
	read(s.psi[i], &s.pressure)
	some, full = -1, -1
	if s.psi[i] == nil {
		return some, full
	}
	if s.pressure.Some.Known {
		some = int64(s.pressure.Some.TotalMicros)
	}
	if s.pressure.Full.Known {
		full = int64(s.pressure.Full.TotalMicros)
	}
	return some, full
}

func (s *sampler) listen() bool {
	if s.diag == nil {
		return false
	}
	var err error
	s.listeners, err = s.diag.Listeners(s.listeners[:0])
	return err == nil
}

// queue fills in the accept queue of the sockets that listen on addr; an app
// that does not listen has none, which is -1.
func (s *sampler) queue(x *wire.Sample, addr netip.AddrPort) {
	found := false
	for i := range s.listeners {
		l := &s.listeners[i]
		if !covers(l.Local, addr) {
			continue
		}
		if !found {
			found = true
			x.QueueDepth, x.QueueLimit, x.OldestMs, x.Abandoned = 0, 0, 0, 0
		}
		x.QueueDepth += int64(l.Queue)
		x.QueueLimit += known(l.Backlog)
	}
	if x.QueueDepth <= 0 {
		return
	}
	var err error
	if s.queued, err = s.diag.Queued(addr.Port(), s.queued[:0]); err != nil {
		x.OldestMs, x.Abandoned = -1, -1
		return
	}
	for i := range s.queued {
		q := &s.queued[i]
		if q.Closed {
			x.Abandoned++
		}
		x.OldestMs = max(x.OldestMs, known(q.SinceDataMillis))
	}
}
