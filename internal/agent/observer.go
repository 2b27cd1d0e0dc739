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
	// deepEvery is how often children are looked for although the machine has
	// not forked: an orphan changes its parent without a fork.
	deepEvery = time.Second
)

// observer looks at the apps' processes: it finds new ones, notices ended
// ones, tells workers apart, and reaps orphans.
type observer struct {
	agent *agent

	mu     sync.Mutex
	reader *kernel.Reader[kernel.Stat]
	self   *kernel.Process
	stat   kernel.Stat
	forks  kernel.Num // of the machine, at the last deep look
	last   time.Time
	deep   time.Time
	// changes is the sum of the trees' changes at the last look.
	changes int
	pids    []int
	strays  *tree // orphans that no app can be made out for
}

func newObserver(a *agent) (*observer, error) {
	reader, err := a.fs.StatReader()
	if err != nil {
		return nil, err
	}
	self, err := a.fs.OpenProcess(os.Getpid())
	if err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	return &observer{agent: a, reader: reader, self: self, strays: newTree(a.fs)}, nil
}

func (o *observer) close() error { return errors.Join(o.reader.Close(), o.self.Close()) }

// watch looks every watchEvery until ctx ends, unless the sampler has looked
// in the meantime.
func (o *observer) watch(ctx context.Context, clk clock.Clock) {
	for clk.Sleep(ctx, watchEvery) == nil {
		o.mu.Lock()
		if now := clk.Now(); now.Sub(o.last) >= watchEvery/2 {
			o.look(now)
		}
		o.mu.Unlock()
	}
}

// look reads all processes; o.mu is held. While nothing forks it allocates
// nothing between two deep looks.
func (o *observer) look(now time.Time) {
	o.last = now
	deep := now.Sub(o.deep) >= deepEvery
	if err := o.reader.Read(&o.stat); err != nil || !o.stat.Processes.Known || o.stat.Processes != o.forks {
		deep = true
	}
	if deep {
		o.deep, o.forks = now, o.stat.Processes
	}
	changes := 0
	for _, p := range o.agent.list() {
		p.tree.scan(deep)
		changes += p.tree.change()
		if o.pids = p.tree.orphans(o.self.PID(), o.pids[:0]); len(o.pids) > 0 {
			o.agent.spawn.reap(o.pids)
		}
		o.pids = p.tree.workers(o.pids[:0])
		p.workers.scan(now.UnixNano(), o.pids)
	}
	if deep {
		o.inherit()
	}
	if changes != o.changes {
		o.changes = changes
		o.agent.register()
	}
}

// inherit looks through the agent's own children for orphans: those in the
// session of an app are its own, the others are strays, and what has ended is
// reaped.
func (o *observer) inherit() {
	kids, err := o.self.Children(o.pids[:0])
	o.pids = kids
	if err != nil {
		return
	}
	for _, pid := range kids {
		if o.agent.spawn.owns(pid) || o.claimed(pid) {
			continue
		}
		o.strays.mu.Lock()
		o.strays.adopt(pid)
		o.strays.mu.Unlock()
	}
	o.strays.scan(true)
	o.agent.spawn.reap(o.strays.orphans(o.self.PID(), nil))
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
