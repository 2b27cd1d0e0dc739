package evidence

// spanActivities works out what the machine did between the first and the last
// reading.
func (c *Case) spanActivities() []Activity {
	s, ok := c.Span()
	if !ok || !s.Seconds.Known {
		return nil
	}
	a := Activity{Tool: "two readings", At: s.To.At, Seconds: s.Seconds}
	s.cpuShares(&a)
	rate := func(get func(*Reading) Value) Value { return s.Rate(get) }
	a.SwapIn = rate(func(r *Reading) Value { return r.Vmstat.Pswpin })
	a.SwapOut = rate(func(r *Reading) Value { return r.Vmstat.Pswpout })
	a.BlockIn = rate(func(r *Reading) Value { return r.Vmstat.Pgpgin })
	a.BlockOut = rate(func(r *Reading) Value { return r.Vmstat.Pgpgout })
	a.ScanKswapd = rate(func(r *Reading) Value { return r.Vmstat.PgscanKswapd })
	a.ScanDirect = rate(func(r *Reading) Value { return r.Vmstat.PgscanDirect })
	file := rate(func(r *Reading) Value { return r.Vmstat.WorkingsetRefaultFile })
	anon := rate(func(r *Reading) Value { return r.Vmstat.WorkingsetRefaultAnon })
	if a.Refault = file; anon.Known {
		a.Refault = file.Plus(anon) // kernels before 5.9 count file pages only
	}
	a.Kswapd = rate(func(r *Reading) Value { return r.KswapdTime }).Times(100, Percent)
	a.Runnable, a.Blocked = s.To.Machine.Runnable, s.To.Machine.Blocked
	return []Activity{a}
}

// cpuShares works out what the CPUs spent their time on. Guest time is part of
// user time already.
func (s Span) cpuShares(a *Activity) {
	part := func(get func(*CPUTimes) Value) Value {
		return s.Delta(func(r *Reading) Value { return get(&r.CPU) })
	}
	user := part(func(c *CPUTimes) Value { return c.User }).Plus(part(func(c *CPUTimes) Value { return c.Nice }))
	system := part(func(c *CPUTimes) Value { return c.System }).
		Plus(part(func(c *CPUTimes) Value { return c.IRQ })).Plus(part(func(c *CPUTimes) Value { return c.SoftIRQ }))
	idle := part(func(c *CPUTimes) Value { return c.Idle })
	steal := part(func(c *CPUTimes) Value { return c.Steal })
	wait := part(func(c *CPUTimes) Value { return c.IOWait })
	if wait.Why == Reset {
		wait = Known(0, Seconds, wait.From...) // it may go backwards
	}
	all := user.Plus(system).Plus(idle).Plus(steal).Plus(wait)
	own := func(v Value) Value {
		p := v.PercentOf(all)
		if p.Known {
			p.From = v.From
		}
		return p
	}
	a.User, a.System, a.Idle, a.IOWait, a.Steal = own(user), own(system), own(idle), own(wait), own(steal)
}

// emptyActivity is one of which a tool has told nothing yet.
func emptyActivity(tool string, at Source) Activity {
	none := Missing(Absent, tool+" does not tell", at)
	return Activity{Tool: tool, From: at, Seconds: none, User: none, System: none, Idle: none, IOWait: none, Steal: none,
		SwapIn: none, SwapOut: none, BlockIn: none, BlockOut: none, Runnable: none, Blocked: none, Kswapd: none,
		ScanKswapd: none, ScanDirect: none, Refault: none}
}
