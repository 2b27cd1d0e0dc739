package agent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"brink/internal/gauge"
	"brink/internal/kernel"
	"brink/internal/system"
	"brink/internal/wire"
)

// minEvery is the shortest sampling interval.
const minEvery = time.Millisecond

// restEvery is how often that is read all the same of which something cheaper
// tells that it is as it was. It is a little less than a second, so that samples a
// second apart read everything each time.
const restEvery = 900 * time.Millisecond

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
	// Where it may not, the environment says so.
	_ = system.LockMemory()
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
			if smp.tick(due) != nil {
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
// its buffers have grown, opens its files once, and reads none that waits for
// a process's mmap lock. A reading that the kernel does not offer, or that
// fails, is -1 in the sample.
type sampler struct {
	agent    *agent
	pageSize int64
	machine  machine
	disks    swapDisks
	diag     *kernel.SockDiag
	gauge    *gauge.Gauge
	delays   *kernel.TaskStats
	deaf     bool // delays may not be asked for

	signals  []*appSignals
	followed []gauge.App
	self     *kernel.Process
	memory   kernel.PIDStatm
	queued   []kernel.QueuedConn
	samples  []wire.Sample
}

func newSampler(a *agent) (*sampler, error) {
	s := &sampler{agent: a, pageSize: int64(a.fs.PageSize().Bytes)}
	self, err := a.fs.OpenProcess(os.Getpid())
	if err != nil {
		return nil, err
	}
	s.self = self
	if err := errors.Join(s.machine.open(a.fs), s.disks.open(a.fs)); err != nil {
		return nil, errors.Join(err, s.close())
	}
	// Without them, what they tell is unknown, and the samples say so.
	s.diag, _ = kernel.DialSockDiag()
	s.gauge, _ = gauge.New(gauge.Config{})
	s.delays, _ = a.fs.TaskStats()
	return s, nil
}

func (s *sampler) close() error {
	err := errors.Join(s.self.Close(), s.machine.close(), s.disks.close(), s.delays.Close())
	for _, g := range s.signals {
		err = errors.Join(err, g.close())
	}
	if s.diag != nil {
		err = errors.Join(err, s.diag.Close())
	}
	if s.gauge != nil {
		err = errors.Join(err, s.gauge.Close())
	}
	return err
}

// tick takes and sends one sample of each app and one of the plan, which were
// due at that time. The error is of sending.
func (s *sampler) tick(due time.Time) error {
	s.take(due)
	for i := range s.samples {
		if err := s.agent.conn.Send(&s.samples[i]); err != nil {
			return err
		}
	}
	return nil
}

// take fills in samples: those of the apps, then the plan's.
func (s *sampler) take(due time.Time) {
	now := s.agent.clock.Now()
	s.agent.observer.lookIfDue(now)
	apps := s.agent.list()
	s.follow(apps)
	gauged := s.measure(now)
	accounted := s.delays != nil && !s.deaf && s.delays.Accounted() == nil
	s.samples = s.samples[:0]
	since := s.machine.changes()
	cpu, rss, procs := int64(0), int64(0), int64(0)
	for i, p := range apps {
		x := s.next(now)
		x.App = p.spec.Name
		p.tree.freshen(&s.memory, now, since.reclaimed)
		x.CPUNs, x.RSS, x.Procs = p.tree.usage(s.pageSize)
		cpu, rss, procs = cpu+x.CPUNs, rss+x.RSS, procs+x.Procs
		if gauged {
			s.queue(x, i, p.listens().Port())
		}
		s.signals[i].read(x, now, since)
		if accounted {
			s.waits(x, s.signals[i])
		}
	}
	plan := s.next(now)
	plan.CPUNs, plan.RSS, plan.Procs = cpu, rss, procs
	plan.LatenessNs = max(0, now.Sub(due).Nanoseconds())
	s.machine.read(plan, now)
	s.machine.listening(plan, s.drops(gauged), now)
	s.disks.read(plan)
	plan.PlatformCPUNs, plan.PlatformRSS = s.agent.platformUsage(s.pageSize)
	plan.AgentCPUNs = processCPU(s.self.PID())
	if s.self.Statm(&s.memory) == nil {
		plan.AgentRSS = scaled(s.memory.ResidentPages, uint64(s.pageSize))
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
func known(n kernel.Num) int64 { return scaled(n, 1) }

// scaled turns a reading in another unit into a sample's number.
func scaled(n kernel.Num, by uint64) int64 {
	if !n.Known || n.Value > math.MaxInt64/by {
		return -1
	}
	return int64(n.Value * by)
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

// read takes a reading, if there is one; dst holds unknowns where there is not.
func read[T any](r *kernel.Reader[T], dst *T) {
	if r == nil {
		return
	}
	// A field that cannot be understood is unknown, and the others are good;
	// after any other error all are unknown. Either is -1 in the sample.
	_ = r.Read(dst)
}
