package agent

import (
	"errors"
	"time"

	"brink/internal/kernel"
	"brink/internal/wire"
)

// appSignals reads what belongs to one app and is not in its processes' stat.
type appSignals struct {
	app  *app
	args []string // the app's own command line, once it is known

	group  string // the cgroup that is open
	gone   bool   // it has been removed meanwhile
	memory *kernel.Reader[kernel.CgroupMemory]
	events *kernel.Reader[kernel.CgroupMemory]
	cpu    *kernel.Reader[kernel.CgroupCPU]
	psi    *kernel.Reader[kernel.PSI]

	mem      kernel.CgroupMemory
	happened kernel.CgroupMemory // events when they were last read
	used     kernel.CgroupCPU
	pressure kernel.PSI
	some     int64 // of pressure when it was last read, -1 if it is unknown
	full     int64

	heapPath string // "" for an app that writes none
	heap     heapFile

	waited []waiter
	// ended is what processes that are gone had waited for.
	ended kernel.Delays
}

// waiter is what a process of the app had waited for when it was last asked.
type waiter struct {
	id     identity
	delays kernel.Delays
	here   bool
}

func newAppSignals(a *app) *appSignals { return &appSignals{app: a, some: -1, full: -1} }

// launched tells how the app was started, which does not change.
func (g *appSignals) launched(l *launch) {
	if g.args != nil {
		return
	}
	g.args, g.heapPath = l.argv, heapPath(l.env)
	if l.serves != nil {
		g.args = l.serves
	}
}

func (g *appSignals) close() error {
	return errors.Join(g.leave(), g.heap.close())
}

// leave closes the files of the app's cgroup.
func (g *appSignals) leave() error {
	err := errors.Join(g.memory.Close(), g.events.Close(), g.cpu.Close(), g.psi.Close())
	g.memory, g.events, g.cpu, g.psi = nil, nil, nil, nil
	return err
}

// read fills in the app's sample. since tells what may have changed since the last.
func (g *appSignals) read(x *wire.Sample, now time.Time, since changes) {
	if path := g.app.cgroupPath(); path != g.group || g.gone {
		g.gone = g.gone && path == g.group
		g.enter(path)
	}
	if g.memory != nil {
		g.readMemory(x)
	}
	if !g.gone {
		g.readRest(x, since)
	}
	if g.heapPath != "" {
		g.heap.read(g.heapPath, x, now)
	}
}

// enter opens the files of the app's cgroup. What cannot be opened is unknown.
func (g *appSignals) enter(path string) {
	_ = g.leave()
	g.group = path
	g.some, g.full, g.happened = -1, -1, kernel.CgroupMemory{}
	if path == "" {
		return
	}
	c, err := g.app.agent.fs.Cgroup(path)
	if err != nil {
		return
	}
	g.memory, _ = c.MemoryUsageReader()
	g.gone = g.gone && g.memory == nil
	g.events, _ = c.MemoryEventsReader()
	g.cpu, _ = c.CPUUsageReader()
	g.psi, _ = c.PSIReader(kernel.PSIMemory)
}

func (g *appSignals) readMemory(x *wire.Sample) {
	// What is left of an error is unknown; a cgroup of the same name may be there
	// by the next sample.
	g.gone = errors.Is(g.memory.Read(&g.mem), kernel.ErrGone)
	m := &g.mem
	x.CgMemory, x.CgAnon, x.CgFile = known(m.Current), known(m.Anon), known(m.File)
	x.CgSlab, x.CgSwap = known(m.Slab), known(m.SwapCurrent)
	x.CgRefaultAnon, x.CgRefaultFile = known(m.RefaultAnon), known(m.RefaultFile)
}

// readRest reads what the cgroup has beside its memory.
func (g *appSignals) readRest(x *wire.Sample, since changes) {
	if g.events != nil {
		if since.killed || g.limited() || !g.happened.EventMax.Known {
			read(g.events, &g.happened)
		}
		x.CgOOMKills, x.CgMax = known(g.happened.EventOOMKill), known(g.happened.EventMax)
	}
	if g.cpu != nil {
		read(g.cpu, &g.used)
		x.CgCPUNs, x.CgThrottledNs = scaled(g.used.UsageMicros, 1000), scaled(g.used.ThrottledMicros, 1000)
		x.CgThrottled = known(g.used.Throttled)
	}
	if since.stalled || g.some < 0 {
		g.some, g.full = stalls(g.psi, &g.pressure)
	}
	x.CgPSIMemSome, x.CgPSIMemFull = g.some, g.full
}

// limited tells whether the app's cgroup has a limit of its own to hit.
func (g *appSignals) limited() bool { return g.app.spec.MemoryLimitMB > 0 }

// waits fills in what the app's processes have waited for. It asks for those
// that live and remembers what the others had waited for when they were last
// asked.
func (s *sampler) waits(x *wire.Sample, g *appSignals) {
	for i := range g.waited {
		g.waited[i].here = false
	}
	t := g.app.tree
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.members {
		if s.deaf {
			break
		}
		w := g.waiter(identity{m.proc.PID(), m.proc.StartTicks()})
		var d kernel.Delays
		err := s.delays.Delays(w.id.Pid, &d)
		// Any other error means that this kernel, or this user, cannot.
		s.deaf = err != nil && !errors.Is(err, kernel.ErrGone)
		if err == nil {
			w.delays, w.here = d, true
		}
	}
	if s.deaf {
		return
	}
	sum := g.settle()
	x.DelayReclaimNs, x.DelaySwapinNs = known(sum.ReclaimNanos), known(sum.SwapinNanos)
	x.DelayThrashNs, x.DelayIONs = known(sum.ThrashingNanos), known(sum.BlockIONanos)
}

func (g *appSignals) waiter(id identity) *waiter {
	for i := range g.waited {
		if g.waited[i].id == id {
			return &g.waited[i]
		}
	}
	g.waited = append(g.waited, waiter{id: id})
	return &g.waited[len(g.waited)-1]
}

// settle sums up, and moves processes that are gone to ended.
func (g *appSignals) settle() kernel.Delays {
	kept := g.waited[:0]
	sum := kernel.Delays{}
	for _, w := range g.waited {
		if w.here {
			sum = plus(sum, w.delays)
			kept = append(kept, w)
			continue
		}
		g.ended = plus(g.ended, w.delays)
	}
	g.waited = kept
	return plus(sum, g.ended)
}

// plus adds delays. Nothing at all is the zero Delays; a field that one process
// does not have is unknown in the sum, since all are of one kernel.
func plus(a, b kernel.Delays) kernel.Delays {
	switch (kernel.Delays{}) {
	case a:
		return b
	case b:
		return a
	}
	return kernel.Delays{
		CPUNanos: a.CPUNanos.Plus(b.CPUNanos), BlockIONanos: a.BlockIONanos.Plus(b.BlockIONanos),
		SwapinNanos: a.SwapinNanos.Plus(b.SwapinNanos), ReclaimNanos: a.ReclaimNanos.Plus(b.ReclaimNanos),
		ThrashingNanos: a.ThrashingNanos.Plus(b.ThrashingNanos),
	}
}

// freshen reads the CPU time and the memory of the members as they are now,
// which costs less than all that scan reads. One that has ended is left to scan.
func (t *tree) freshen(scratch *kernel.PIDStatm) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.members {
		// In this order: the number is still that of the process.
		cpu := processCPU(m.proc.PID())
		if m.noMemory(scratch) {
			continue
		}
		m.cpu = max(m.cpu, cpu)
		m.stat.RSSPages = int64(scratch.ResidentPages.Value)
	}
}

// pids appends the members that have not ended to dst.
func (t *tree) pids(dst []int) []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.members {
		if m.stat.State != 'Z' {
			dst = append(dst, m.proc.PID())
		}
	}
	return dst
}
