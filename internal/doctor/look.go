package doctor

import (
	"slices"
	"time"

	"brink/internal/evidence"
)

// look is a case with what several rules ask of it.
type look struct {
	*evidence.Case
	// usable is MemTotal without what huge pages set aside; headroom is what of
	// it could be given out without swapping, in percent.
	usable, available, headroom evidence.Value
	// estimated says that the kernel has no MemAvailable and it was estimated.
	estimated bool
	swap      paging
	stall     stall
}

func newLook(c *evidence.Case) *look {
	l := &look{Case: c}
	l.memory()
	l.swap = l.paging()
	l.stall = stallOf(c, func(r *evidence.Reading) evidence.Pressure { return r.PSI.Memory })
	return l
}

// meminfo reads a field of the latest reading that has it.
func (l *look) meminfo(get func(*evidence.Meminfo) evidence.Value) evidence.Value {
	return l.Latest(func(r *evidence.Reading) evidence.Value { return get(&r.Meminfo) })
}

// vmstat is the getter of a counter of /proc/vmstat.
func vmstat(get func(*evidence.Vmstat) evidence.Value) func(*evidence.Reading) evidence.Value {
	return func(r *evidence.Reading) evidence.Value { return get(&r.Vmstat) }
}

// memory works out how much is left. Kernels before 3.14 have no MemAvailable;
// it is estimated from what can be freed, without tmpfs, which cannot. Where the
// field is there and cannot be read, or nothing tells how much is cache, it stays
// unknown: MemFree is small on every machine that has run for long.
//
// https://docs.kernel.org/filesystems/proc.html (MemAvailable, HugePages)
func (l *look) memory() {
	total := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.MemTotal })
	l.usable = total
	if huge := l.hugePages(); huge.Above(0) {
		l.usable = total.Minus(huge)
	}
	l.available = l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.MemAvailable })
	cached := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.Cached })
	lacking := l.available.Why == evidence.NotSeen || l.available.Why == evidence.Absent
	if !l.available.Known && lacking && cached.Known {
		v := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.MemFree }).Plus(cached)
		for _, get := range []func(*evidence.Meminfo) evidence.Value{
			func(m *evidence.Meminfo) evidence.Value { return m.Buffers },
			func(m *evidence.Meminfo) evidence.Value { return m.SReclaimable },
		} {
			if part := l.meminfo(get); part.Known {
				v = v.Plus(part)
			}
		}
		if shmem := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.Shmem }); shmem.Known {
			v = v.Minus(shmem)
		}
		l.available, l.estimated = v, v.Known
	}
	l.headroom = l.available.PercentOf(l.usable)
}

// hugePages is what huge pages set aside, whether or not they are in use.
func (l *look) hugePages() evidence.Value {
	pages := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.HugePagesTotal })
	return l.pool(pages)
}

// pool is the memory of a number of huge pages.
func (l *look) pool(pages evidence.Value) evidence.Value {
	size := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.HugepageSize })
	if !pages.Known || !size.Known {
		return evidence.Missing(evidence.NotSeen, "no huge pages")
	}
	return evidence.Known(pages.Number*size.Number, evidence.Bytes, slices.Concat(pages.From, size.From)...)
}

// noSwap reports whether the machine is known to have no swap.
func (l *look) noSwap() bool {
	return l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.SwapTotal }).AtMost(0)
}

// swapFree is the share of swap that is free, missing without swap.
func (l *look) swapFree() evidence.Value {
	return l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.SwapFree }).
		PercentOf(l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.SwapTotal }))
}

// recently is the shortest stretch over which a rate is taken.
const recently = 10 * time.Second

// rate is how fast a counter rose: over all readings, or over the last of them
// if it was faster there. The longer a capture is, the less its whole says of
// its end.
func (l *look) rate(get func(*evidence.Reading) evidence.Value) evidence.Value {
	whole := l.Rate(get)
	n := len(l.Readings)
	for i := n - 2; i > 0; i-- {
		part := evidence.Case{Readings: l.Readings[i:]}
		s, _ := part.Span()
		if s.Duration() < recently {
			continue
		}
		if recent := part.Rate(get); recent.Known && (!whole.Known || recent.Number > whole.Number) {
			return recent
		}
		break
	}
	return whole
}

// paging is how fast pages move between memory and swap, in pages/s.
type paging struct {
	in, out evidence.Value
	// shownIn and shownOut are as the source has them.
	shownIn, shownOut evidence.Value
	tool              string
}

// paging takes the rates of the counters, or those that a tool printed.
func (l *look) paging() paging {
	in := l.rate(vmstat(func(v *evidence.Vmstat) evidence.Value { return v.Pswpin }))
	out := l.rate(vmstat(func(v *evidence.Vmstat) evidence.Value { return v.Pswpout }))
	if in.Known {
		return paging{in: in, out: out, shownIn: in, shownOut: out, tool: "/proc/vmstat"}
	}
	none := paging{in: in, out: out, shownIn: in, shownOut: out}
	best := none
	for i := range l.Activities {
		a := &l.Activities[i]
		if a.SinceBoot || !a.SwapIn.Known {
			continue
		}
		p := paging{in: l.pages(a.SwapIn), out: l.pages(a.SwapOut), shownIn: a.SwapIn, shownOut: a.SwapOut, tool: a.Tool}
		if !best.in.Known || p.in.Number > best.in.Number {
			best = p
		}
	}
	return best
}

// usualPage is the page of most machines, where the evidence does not tell.
const usualPage = 4096

// pages makes pages/s of KiB/s.
func (l *look) pages(v evidence.Value) evidence.Value {
	if v.Unit != evidence.KiB.PerSecond() {
		return v
	}
	page := l.Latest(func(r *evidence.Reading) evidence.Value { return r.Machine.PageBytes })
	size := float64(usualPage)
	if page.Known {
		size = page.Number
	}
	return v.Times(1024/size, evidence.Pages.PerSecond())
}

// stall is the share of time in which tasks waited, by PSI.
type stall struct {
	some, full kernelStall
}

type kernelStall struct {
	avg10, avg60, avg300 evidence.Value
	// share is from the totals of two readings, %.
	share evidence.Value
}

// stallOf reads a pressure file; its averages are over time already, so that
// one reading is enough for them.
//
// https://docs.kernel.org/accounting/psi.html
func stallOf(c *evidence.Case, get func(*evidence.Reading) evidence.Pressure) stall {
	one := func(pick func(evidence.Pressure) evidence.Stall) kernelStall {
		value := func(of func(evidence.Stall) evidence.Value) func(*evidence.Reading) evidence.Value {
			return func(r *evidence.Reading) evidence.Value { return of(pick(get(r))) }
		}
		k := kernelStall{
			avg10:  c.Latest(value(func(s evidence.Stall) evidence.Value { return s.Avg10 })),
			avg60:  c.Latest(value(func(s evidence.Stall) evidence.Value { return s.Avg60 })),
			avg300: c.Latest(value(func(s evidence.Stall) evidence.Value { return s.Avg300 })),
		}
		k.share = c.Rate(value(func(s evidence.Stall) evidence.Value { return s.Total })).Times(1e-4, evidence.Percent)
		// The kernel adds up what it has put off every two seconds.
		k.share.Number = min(k.share.Number, 100)
		return k
	}
	return stall{
		some: one(func(p evidence.Pressure) evidence.Stall { return p.Some }),
		full: one(func(p evidence.Pressure) evidence.Stall { return p.Full }),
	}
}

// most is the largest of what covers more than a moment.
func (k kernelStall) most() evidence.Value {
	best := k.avg10
	for i, v := range []evidence.Value{k.avg60, k.avg300, k.share} {
		if v.Known && (i == 0 || v.Number > best.Number) {
			best = v
		}
	}
	return best
}

// told says for how much of which time tasks waited: of that between the readings or
// of the last ten seconds, or of minutes before if there was more then.
func (k kernelStall) told(w *words, name string) string {
	now := k.share.Else(k.avg10)
	switch {
	case now.AtLeast(fullThrash) || now.Known && !k.avg60.Above(now.Number) && !k.avg300.Above(now.Number):
		if k.share.Known {
			return w.n(name, now) + " of the time"
		}
		return w.n(name, now) + " of the last ten seconds"
	case k.avg60.Known && !k.avg300.Above(k.avg60.Number):
		return w.n(name, k.avg60) + " of the last minute"
	}
	return w.n(name, k.avg300) + " of the last five minutes"
}

// lately is the share of the last ten seconds, or of the time between the
// readings.
func (k kernelStall) lately() evidence.Value { return k.avg10.Else(k.share).Else(k.avg60) }

// known reports whether there is anything to judge by.
func (k kernelStall) known() bool { return k.avg10.Known || k.share.Known }

// lasts reports whether the stall is at least x % and no spike of one moment:
// the minute's average, the five minutes' or the readings' share carries it.
func (k kernelStall) lasts(x float64) bool {
	return k.avg60.AtLeast(x) || k.avg300.AtLeast(x) || k.share.AtLeast(x) ||
		k.avg10.AtLeast(2*x) && k.avg60.AtLeast(x/2)
}

// below reports whether the stall is known and stays below x %.
func (k kernelStall) below(x float64) bool {
	return k.known() && !k.avg10.AtLeast(x) && !k.avg60.AtLeast(x) && !k.share.AtLeast(x)
}

// active finds a value in the activities, the largest that is no average since
// boot.
func (l *look) active(get func(*evidence.Activity) evidence.Value) evidence.Value {
	best := evidence.Missing(evidence.NotSeen, "nothing tells")
	for i := range l.Activities {
		if v := get(&l.Activities[i]); v.Known && !l.Activities[i].SinceBoot && (!best.Known || v.Number > best.Number) {
			best = v
		}
	}
	return best
}

// kswapd is the CPU time of the reclaiming threads in percent of one CPU: from
// the readings, or as top lists them.
func (l *look) kswapd() evidence.Value {
	if v := l.active(func(a *evidence.Activity) evidence.Value { return a.Kswapd }); v.Known {
		return v
	}
	for i := range l.Processes {
		if p := &l.Processes[i]; p.CPU.Known && len(p.Name) >= 6 && p.Name[:6] == "kswapd" {
			return p.CPU
		}
	}
	return evidence.Missing(evidence.NotSeen, "no input shows kswapd")
}

// iowait is the share of CPU time that was idle because of disks, in percent.
func (l *look) iowait() evidence.Value {
	return l.active(func(a *evidence.Activity) evidence.Value { return a.IOWait })
}

// blocked is how many tasks wait for disks.
func (l *look) blocked() evidence.Value {
	return l.active(func(a *evidence.Activity) evidence.Value { return a.Blocked })
}

// cpus is how many CPUs the machine has.
func (l *look) cpus() evidence.Value {
	return l.Latest(func(r *evidence.Reading) evidence.Value { return r.Machine.CPUs })
}

// load1 is the load average of a minute.
func (l *look) load1() evidence.Value {
	return l.Latest(func(r *evidence.Reading) evidence.Value { return r.Machine.Load1 })
}

// justNow is how long ago the kernel's log may tell of something for it to be
// about the present state of a machine that is looked at: its log goes back to
// the boot.
const justNow = 10 * time.Minute

// age is how long before the latest reading an event was, by the clock or by the
// time since the boot.
func (l *look) age(e *evidence.Event) (time.Duration, bool) {
	r := l.Last()
	switch {
	case r == nil:
	case !r.At.IsZero() && !e.At.IsZero():
		return r.At.Sub(e.At), true
	case e.Uptime.Known && r.Machine.Uptime.Known && e.Uptime.Number <= r.Machine.Uptime.Number:
		return time.Duration((r.Machine.Uptime.Number - e.Uptime.Number) * float64(time.Second)), true
	}
	return 0, false
}

// latelyKernel parts the kernel's own events: those of now, and those that are
// long over when the readings were taken. Without times all are of now.
func (l *look) latelyKernel(within time.Duration, kinds ...evidence.EventKind) (now, before []*evidence.Event) {
	for _, e := range l.EventsOf(kinds...) {
		if age, ok := l.age(e); ok && e.Origin == evidence.FromKernel && age > within {
			before = append(before, e)
		} else {
			now = append(now, e)
		}
	}
	return now, before
}

// frozen reports whether the source does not move.
func (l *look) frozen() bool {
	return slices.ContainsFunc(l.Readings, func(r evidence.Reading) bool { return r.Frozen })
}

// view says whose memory the readings show.
func (l *look) view() evidence.View {
	if r := l.Last(); r != nil {
		return r.View
	}
	return evidence.ViewUnknown
}

// cgroup is a getter for one cgroup.
func cgroup(path string, get func(*evidence.Cgroup) evidence.Value) func(*evidence.Reading) evidence.Value {
	return evidence.OfCgroup(path, get)
}

// lastCgroup returns the latest state of a cgroup.
func (l *look) lastCgroup(path string) *evidence.Cgroup {
	for i := len(l.Readings) - 1; i >= 0; i-- {
		if g := l.Readings[i].Cgroup(path); g != nil {
			return g
		}
	}
	return &evidence.Cgroup{}
}

// cgroupName is what sentences call a cgroup.
func cgroupName(g *evidence.Cgroup) string {
	if g.Own {
		return "this cgroup"
	}
	return "cgroup " + g.Path
}
