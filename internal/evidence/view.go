package evidence

import "fmt"

// judgeView tells whose memory a meminfo shows by what cannot be: lxcfs
// replaces some fields by the container's and leaves the others the host's.
// Those of others are marked. See lxc/lxcfs issues 115 and 120.
func judgeView(r *Reading) View {
	m := &r.Meminfo
	mixed := false
	distrust := func(v *Value, than Value, why string) {
		if v.Known && than.Known && v.Number > than.Number {
			*v = Value{Why: Implausible, Detail: fmt.Sprintf("%.0f: %s", v.Number, why), Unit: v.Unit, From: v.From}
			mixed = true
		}
	}
	const whole = "more than MemTotal: it is the host's"
	for _, v := range []*Value{
		&m.MemFree, &m.Active, &m.Inactive, &m.ActiveAnon, &m.InactiveAnon, &m.ActiveFile, &m.InactiveFile,
		&m.Cached, &m.Buffers, &m.Shmem, &m.AnonPages, &m.Mapped, &m.Slab, &m.SReclaimable, &m.SUnreclaim,
		&m.MemAvailable, &m.PageTables,
	} {
		distrust(v, m.MemTotal, whole)
	}
	distrust(&m.SUnreclaim, m.Slab, "more than Slab: it is the host's")
	distrust(&m.SReclaimable, m.Slab, "more than Slab: it is the host's")
	distrust(&m.SwapFree, m.SwapTotal, "more than SwapTotal")
	switch {
	case mixed:
		return ViewMixed
	case m.MemTotal.Known:
		return r.View
	}
	return ViewUnknown
}

// judgeOwn looks at the memory of the machine from the cgroup that the capture
// was taken in: meminfo is of the machine around it.
func judgeOwn(r *Reading) {
	for i := range r.Cgroups {
		g := &r.Cgroups[i]
		if !g.Own || r.View == ViewMixed || !r.Meminfo.MemTotal.Known {
			continue
		}
		if g.Memory.Max.Known && g.Memory.Max.Number == r.Meminfo.MemTotal.Number {
			r.View = ViewMixed // lxcfs, and nothing contradicts it
			continue
		}
		r.View = ViewHost
	}
}

// judgeFrozen marks readings whose source does not move: the uptime of a
// living machine grows, and so do its page faults. Programs that put canned
// files in the place of /proc (proot) are told by this.
func judgeFrozen(readings []Reading) {
	for i := 1; i < len(readings); i++ {
		a, b := &readings[i-1], &readings[i]
		if frozen(a, b) {
			a.Frozen, b.Frozen = true, true
		}
	}
}

func frozen(a, b *Reading) bool {
	same := func(get func(*Reading) Value) (known, equal bool) {
		v, w := get(a), get(b)
		return v.Known && w.Known, v.Number == w.Number
	}
	moved := false
	for _, get := range []func(*Reading) Value{
		func(r *Reading) Value { return r.Vmstat.Pgfault },
		func(r *Reading) Value { return r.CPU.Idle },
		func(r *Reading) Value { return r.Vmstat.Pgpgout },
		func(r *Reading) Value { return r.Vmstat.PgscanKswapd },
	} {
		known, equal := same(get)
		moved = moved || known && !equal
	}
	if moved {
		return false
	}
	if known, equal := same(func(r *Reading) Value { return r.Machine.Uptime }); known {
		return equal
	}
	// Ten seconds without a page fault in the whole machine do not happen while
	// somebody takes readings.
	known, equal := same(func(r *Reading) Value { return r.Vmstat.Pgfault })
	return known && equal && between(a, b).Seconds.AtLeast(10)
}
