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
	kinds  *kernel.Reader[kernel.CgroupMemory]
	events *kernel.Reader[kernel.CgroupMemory]
	cpu    *kernel.Reader[kernel.CgroupCPU]
	psi    *kernel.Reader[kernel.PSI]

	mem      kernel.CgroupMemory
	ofKind   kernel.CgroupMemory // kinds when they were last read
	kindsAt  time.Time           // when that was
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
	cpu    int64 // what it had used just before, ns
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
	err := errors.Join(g.memory.Close(), g.kinds.Close(), g.events.Close(), g.cpu.Close(), g.psi.Close())
	g.memory, g.kinds, g.events, g.cpu, g.psi = nil, nil, nil, nil, nil
	return err
}

// read fills in the app's sample. since tells what may have changed since the last.
func (g *appSignals) read(x *wire.Sample, now time.Time, since changes) {
	if path := g.app.cgroupPath(); path != g.group || g.gone {
		g.gone = g.gone && path == g.group
		g.enter(path)
	}
	if g.memory != nil {
		g.readMemory(x, now, since)
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
	g.mem, g.kindsAt = kernel.CgroupMemory{}, time.Time{}
	if path == "" {
		return
	}
	c, err := g.app.agent.fs.Cgroup(path)
	if err != nil {
		return
	}
	g.memory, _ = c.MemoryUsageReader()
	g.gone = g.gone && g.memory == nil
	g.kinds, _ = c.MemoryKindsReader()
	g.events, _ = c.MemoryEventsReader()
	g.cpu, _ = c.CPUUsageReader()
	g.psi, _ = c.PSIReader(kernel.PSIMemory)
}

// readMemory reads how much memory the cgroup has. Of what kind it is costs ten
// times as much, and is read where that has changed or the kernel has reclaimed
// some, else each restEvery. What this misses meanwhile the kernel need not tell
// either: it takes pages for a cgroup in batches of 64 for each CPU, and may leave
// as many out of memory.stat for two seconds.
//
// https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/mm/memcontrol.c
func (g *appSignals) readMemory(x *wire.Sample, now time.Time, since changes) {
	current, swap := g.mem.Current, g.mem.SwapCurrent
	// What is left of an error is unknown; a cgroup of the same name may be there
	// by the next sample.
	g.gone = errors.Is(g.memory.Read(&g.mem), kernel.ErrGone)
	x.CgMemory, x.CgSwap = known(g.mem.Current), known(g.mem.SwapCurrent)
	if g.kinds == nil {
		return
	}
	same := g.mem.Current.Known && g.mem.Current == current && g.mem.SwapCurrent == swap
	if !same || since.reclaimed || now.Sub(g.kindsAt) >= restEvery {
		read(g.kinds, &g.ofKind)
		g.kindsAt = now
	}
	m := &g.ofKind
	x.CgAnon, x.CgFile, x.CgSlab = known(m.Anon), known(m.File), known(m.Slab)
	x.CgRefaultAnon, x.CgRefaultFile = known(m.RefaultAnon), known(m.RefaultFile)
	if m.SwapCurrent.Known { // v1
		x.CgSwap = known(m.SwapCurrent)
	}
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
// that live and have run, since one that has not is still waiting for the same,
// and remembers what the others had waited for when they were last asked.
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
		if w.cpu == m.rest.cpu && w.cpu > 0 {
			w.here = true
			continue
		}
		var d kernel.Delays
		err := s.delays.Delays(w.id.Pid, &d)
		// Any other error means that this kernel, or this user, cannot.
		s.deaf = err != nil && !errors.Is(err, kernel.ErrGone)
		if err == nil {
			w.delays, w.cpu, w.here = d, m.rest.cpu, true
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
// The memory of one that has not run is as it was unless the kernel has reclaimed
// some, and is read each restEvery then.
func (t *tree) freshen(scratch *kernel.PIDStatm, now time.Time, reclaimed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.members {
		cpu, rest := processCPU(m.proc.PID()), &m.rest
		if cpu == rest.cpu && !reclaimed && now.Sub(rest.at) < restEvery {
			m.stat.RSSPages = rest.pages // scan may have read it less exactly
			continue
		}
		// In this order: the number is still that of the process.
		if m.noMemory(scratch) {
			*rest = resting{}
			continue
		}
		m.cpu = max(m.cpu, cpu)
		m.stat.RSSPages = int64(scratch.ResidentPages.Value)
		*rest = resting{cpu: cpu, pages: m.stat.RSSPages, at: now}
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
