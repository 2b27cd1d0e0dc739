package evidence

import "slices"

// Signal is a kind of evidence that a rule may need.
type Signal string

// The signals. Those with "rate" need two readings and the time between.
const (
	HasMeminfo     Signal = "meminfo"
	HasAvailable   Signal = "MemAvailable"
	HasSwap        Signal = "swap size"
	HasVmstat      Signal = "vmstat"
	HasReclaimRate Signal = "reclaim rate"
	HasSwapRate    Signal = "swap rate"
	HasRefaultRate Signal = "refault rate"
	HasMemoryPSI   Signal = "memory pressure"
	HasCPUPSI      Signal = "cpu pressure"
	HasIOPSI       Signal = "io pressure"
	HasCPURate     Signal = "cpu use"
	HasLoad        Signal = "load"
	HasCgroupMem   Signal = "cgroup memory"
	HasCgroupCPU   Signal = "cgroup cpu"
	HasThrottle    Signal = "throttle rate"
	HasListeners   Signal = "accept queue lengths"
	HasUnixQueues  Signal = "unix accept queue lengths"
	HasOverflows   Signal = "listen overflow rate"
	HasPools       Signal = "worker pools"
	HasSched       Signal = "run queue delay"
	HasKernelLog   Signal = "kernel log"
	HasServerLog   Signal = "server log"
	HasPlatformLog Signal = "platform log"
	HasContainers  Signal = "container states"
	HasRequests    Signal = "requests"
	HasMetrics     Signal = "metrics"
	HasConfig      Signal = "start command"
	HasProcesses   Signal = "processes"
)

// Signals lists all signals.
func Signals() []Signal { return slices.Clone(allSignals) }

var allSignals = []Signal{
	HasMeminfo, HasAvailable, HasSwap, HasVmstat, HasReclaimRate, HasSwapRate, HasRefaultRate,
	HasMemoryPSI, HasCPUPSI, HasIOPSI, HasCPURate, HasLoad, HasCgroupMem, HasCgroupCPU, HasThrottle,
	HasListeners, HasUnixQueues, HasOverflows, HasPools, HasSched, HasKernelLog, HasServerLog,
	HasPlatformLog, HasContainers, HasRequests, HasMetrics, HasConfig, HasProcesses,
}

// Has reports whether the case holds a signal.
func (c *Case) Has(s Signal) bool {
	level := func(get func(*Reading) Value) bool { return c.Latest(get).Known }
	rate := func(get func(*Reading) Value) bool { return c.Rate(get).Known }
	switch s {
	case HasMeminfo:
		return level(func(r *Reading) Value { return r.Meminfo.MemTotal })
	case HasAvailable:
		return level(func(r *Reading) Value { return r.Meminfo.MemAvailable })
	case HasSwap:
		return level(func(r *Reading) Value { return r.Meminfo.SwapTotal })
	case HasVmstat:
		return level(func(r *Reading) Value { return r.Vmstat.PgscanKswapd.Else(r.Vmstat.Pswpin) })
	case HasReclaimRate:
		return rate(func(r *Reading) Value { return r.Vmstat.PgscanKswapd.Else(r.Vmstat.PgscanDirect) })
	case HasSwapRate:
		return rate(func(r *Reading) Value { return r.Vmstat.Pswpin }) ||
			slices.ContainsFunc(c.Activities, func(a Activity) bool { return a.SwapIn.Known && !a.SinceBoot })
	case HasRefaultRate:
		return rate(func(r *Reading) Value { return r.Vmstat.WorkingsetRefaultFile })
	case HasMemoryPSI:
		return level(func(r *Reading) Value { return r.PSI.Memory.Some.Avg10.Else(r.PSI.Memory.Some.Total) })
	case HasCPUPSI:
		return level(func(r *Reading) Value { return r.PSI.CPU.Some.Avg10.Else(r.PSI.CPU.Some.Total) })
	case HasIOPSI:
		return level(func(r *Reading) Value { return r.PSI.IO.Some.Avg10.Else(r.PSI.IO.Some.Total) })
	case HasCPURate:
		return rate(func(r *Reading) Value { return r.CPU.User }) ||
			slices.ContainsFunc(c.Activities, func(a Activity) bool { return a.User.Known && !a.SinceBoot })
	case HasLoad:
		return level(func(r *Reading) Value { return r.Machine.Load1 })
	}
	return c.hasMore(s)
}

func (c *Case) hasMore(s Signal) bool {
	log := func(origins ...Origin) bool {
		return slices.ContainsFunc(c.Logs, func(l Log) bool { return slices.Contains(origins, l.Origin) })
	}
	switch s {
	case HasCgroupMem:
		return c.anyCgroup(func(g *Cgroup) bool { return g.Memory.Current.Known || g.Memory.EventMax.Known || g.Memory.Anon.Known })
	case HasCgroupCPU:
		return c.anyCgroup(func(g *Cgroup) bool {
			return g.CPU.UsageMicros.Known || g.CPU.Periods.Known || g.CPU.QuotaMicros.Known || g.CPU.QuotaMicros.Unlimited
		})
	case HasThrottle:
		return slices.ContainsFunc(c.CgroupPaths(), func(path string) bool {
			return c.Delta(OfCgroup(path, func(g *Cgroup) Value { return g.CPU.Periods })).Known
		})
	case HasListeners:
		return c.anyListener(func(l *Listener) bool { return !l.Unix && l.Queue.Known })
	case HasUnixQueues:
		return c.anyListener(func(l *Listener) bool { return l.Unix && l.Queue.Known })
	case HasOverflows:
		return c.Delta(func(r *Reading) Value { return r.Netstat.ListenOverflows }).Known
	case HasPools:
		// Of a server whose processes may not be looked at there are only sockets. A
		// run keeps what was counted, and no process.
		return slices.ContainsFunc(c.Pools, func(p Pool) bool {
			return p.Seen != PoolLive || p.PID != 0 || len(p.Members) > 0 || p.Workers.Known || p.BusyShare.Known
		})
	case HasSched:
		return slices.ContainsFunc(c.Readings, func(r Reading) bool { return len(r.Sched) > 0 })
	case HasKernelLog:
		return log(FromKernel)
	case HasServerLog:
		return log(FromServer)
	case HasPlatformLog:
		// Where brink itself was the platform it has told what it did.
		return log(FromPlatform, FromKubernetes, FromDocker, FromSystem) ||
			slices.ContainsFunc(c.Events, func(e Event) bool { return e.Origin == FromBrink })
	case HasContainers:
		return len(c.Containers) > 0
	case HasRequests:
		return len(c.Requests) > 0
	case HasMetrics:
		return len(c.Series) > 0 || len(c.Tables) > 0
	case HasConfig:
		return len(c.Config.Start) > 0
	case HasProcesses:
		return len(c.Processes) > 0
	}
	return false
}

func (c *Case) anyCgroup(ok func(*Cgroup) bool) bool {
	for i := range c.Readings {
		for j := range c.Readings[i].Cgroups {
			if ok(&c.Readings[i].Cgroups[j]) {
				return true
			}
		}
	}
	return false
}

func (c *Case) anyListener(ok func(*Listener) bool) bool {
	for i := range c.Readings {
		for j := range c.Readings[i].Listeners {
			if ok(&c.Readings[i].Listeners[j]) {
				return true
			}
		}
	}
	return false
}

// gapOf says why a signal is missing of which no gap was recorded: a value that is
// there and cannot be is not one that no input holds.
func (c *Case) gapOf(s Signal) Gap {
	levels := map[Signal]func(*Reading) Value{
		HasMeminfo:   func(r *Reading) Value { return r.Meminfo.MemTotal },
		HasAvailable: func(r *Reading) Value { return r.Meminfo.MemAvailable },
		HasSwap:      func(r *Reading) Value { return r.Meminfo.SwapTotal },
		HasVmstat:    func(r *Reading) Value { return r.Vmstat.PgscanKswapd },
		HasLoad:      func(r *Reading) Value { return r.Machine.Load1 },
	}
	if get := levels[s]; get != nil {
		if v := c.Latest(get); v.Why == Unreadable && len(v.From) > 0 {
			return Gap{What: s, Why: v.Why, Detail: v.Detail, From: v.From[0]}
		}
	}
	return Gap{What: s, Why: NotSeen}
}

// Unseen lists the signals that the case does not hold, with the reason where
// one was recorded, and worker pools and requests also where only some of them could be.
func (c *Case) Unseen() []Gap {
	var gaps []Gap
	for _, s := range allSignals {
		recorded := slices.IndexFunc(c.Gaps, func(g Gap) bool { return g.What == s })
		switch {
		case c.Has(s) && (recorded < 0 || s != HasPools && (s != HasRequests || c.Gaps[recorded].Why != Unreadable)):
		case recorded >= 0:
			gaps = append(gaps, c.Gaps[recorded])
		default:
			gaps = append(gaps, c.gapOf(s))
		}
	}
	return gaps
}
