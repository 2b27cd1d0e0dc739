package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"brink/internal/clock"
	"brink/internal/kernel"
)

const (
	// watchEvery is how often the apps' processes are looked at, sampling or
	// not.
	watchEvery = 100 * time.Millisecond
	// inheritEvery is how often orphans are looked for although the machine has
	// not forked: they change their parent without a fork.
	inheritEvery = time.Second
)

// observer looks at the apps' processes: it finds new ones, notices ended
// ones, tells workers apart, and reaps orphans.
type observer struct {
	agent *agent

	mu     sync.Mutex
	reader *kernel.Reader[kernel.Forks]
	ends   *kernel.Ends // of the apps' processes
	self   *kernel.Process
	forks  kernel.Forks // when children were last looked for
	last   time.Time
	heir   time.Time // when orphans were last looked for
	// changes is the sum of the trees' changes at the last look.
	changes int
	pids    []int
	memory  kernel.PIDStatm
	strays  *tree // orphans that no app can be made out for
}

func newObserver(a *agent) (*observer, error) {
	reader, err := a.fs.ForksReader()
	if err != nil {
		return nil, err
	}
	self, err := a.fs.OpenProcess(os.Getpid())
	if err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	ends, err := kernel.NewEnds()
	if err != nil {
		return nil, errors.Join(err, reader.Close(), self.Close())
	}
	return &observer{agent: a, reader: reader, ends: ends, self: self, strays: newTree(a.fs)}, nil
}

func (o *observer) close() error {
	return errors.Join(o.reader.Close(), o.self.Close(), o.ends.Close())
}

// watch looks every watchEvery until ctx ends, unless the sampler has looked
// in the meantime. It waits for an alarm, which wakes nothing else: in an idle
// program the runtime's own timers wake two threads, one of them more than once.
func (o *observer) watch(ctx context.Context, clk clock.Clock) {
	wait := func(at time.Time) error { return clk.Sleep(ctx, at.Sub(clk.Now())) }
	if alarm, err := clk.NewAlarm(ctx); err == nil {
		defer alarm.Close()
		wait = alarm.Wait
	}
	for wait(clk.Now().Add(watchEvery)) == nil {
		o.mu.Lock()
		if now := clk.Now(); now.Sub(o.last) >= watchEvery/2 {
			o.look(now)
		}
		o.mu.Unlock()
	}
}

// lookIfDue looks when watch has not looked for a while. It does not wait for a
// look that goes on: under memory pressure one may take seconds, since it opens
// files.
func (o *observer) lookIfDue(now time.Time) {
	if !o.mu.TryLock() {
		return
	}
	defer o.mu.Unlock()
	if now.Sub(o.last) > 2*watchEvery {
		o.look(now)
	}
}

// look looks at all processes; o.mu is held. While none comes or goes it reads
// little more than their clocks, and allocates nothing.
func (o *observer) look(now time.Time) {
	o.last = now
	was := o.forks
	err := o.reader.Read(&o.forks)
	forked := err != nil || !o.forks.Mark.Known || o.forks != was
	apps := o.agent.list()
	for _, p := range apps {
		p.tree.readClocks()
	}
	ended, err := o.ends.Any()
	ended = ended || err != nil
	changes := 0
	for _, p := range apps {
		if ended || forked || !p.tree.settle(&o.memory) {
			p.tree.scan(forked)
		}
		changes += p.tree.change()
		if o.pids = p.tree.orphans(o.self.PID(), o.pids[:0]); len(o.pids) > 0 {
			o.agent.spawn.reap(o.pids)
		}
		o.pids = p.tree.workers(o.pids[:0])
		p.workers.scan(now.UnixNano(), o.pids)
	}
	if forked || now.Sub(o.heir) >= inheritEvery {
		o.heir = now
		if o.inherit() {
			o.forks = kernel.Forks{} // the new members may have children
		}
	}
	if changes != o.changes {
		o.changes = changes
		o.agent.register()
	}
}

// inherit looks through the agent's own children for orphans: those in the
// session of an app are its own, the others are strays, and what has ended is
// reaped. It tells whether a process has come to an app.
func (o *observer) inherit() (claimed bool) {
	kids, err := o.self.Inherited(o.pids[:0])
	o.pids = kids
	if err != nil {
		return false
	}
	for _, pid := range kids {
		if o.agent.spawn.owns(pid) || o.known(pid) {
			continue
		}
		if o.claimed(pid) {
			claimed = true
			continue
		}
		o.strays.mu.Lock()
		o.strays.adopt(pid)
		o.strays.mu.Unlock()
	}
	if o.strays.empty() {
		return claimed
	}
	o.strays.scan(true)
	o.agent.spawn.reap(o.strays.orphans(o.self.PID(), nil))
	return claimed
}

// known tells whether a process is an app's already.
func (o *observer) known(pid int) bool {
	for _, p := range o.agent.list() {
		if p.tree.has(pid) {
			return true
		}
	}
	return false
}

func (o *observer) claimed(pid int) bool {
	for _, p := range o.agent.list() {
		if p.tree.claim(pid) {
			return true
		}
	}
	return false
}

// killStrays ends orphans that no app could be made out for. No app runs any
// more.
func (o *observer) killStrays() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	clk := o.agent.clock
	deadline := clk.Now().Add(killLimit)
	for {
		o.inherit()
		if o.strays.empty() {
			return nil
		}
		if clk.Now().After(deadline) {
			return fmt.Errorf("%v, left behind by an app, cannot be ended", o.strays.living())
		}
		o.strays.kill()
		<-clk.After(10 * time.Millisecond)
	}
}
