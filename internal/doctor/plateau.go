package doctor

import (
	"math"

	"brink/internal/evidence"
)

const (
	// plateauWidth is in points of MemoryPercentage.
	plateauWidth = 2
	// plateauLevel: below it there is room, and a flat line is nothing special.
	// The published plateau is at 85.7, a harmless flat one at 73 to 77.
	plateauLevel = 80
	// plateauCost is how many times start time or CPU must have grown. Half of
	// a doubled start, the first sign by the published guidance.
	plateauCost = 1.5
	// plateauSwap is how much more of memory went to swap, in percent, while
	// what is available stood still.
	plateauSwap = 10
)

var memoryPlateau = Rule{
	Mode:  MemoryPlateau,
	Needs: [][]evidence.Signal{{evidence.HasMetrics}, {evidence.HasMeminfo, evidence.HasSwap}},
	Judge: func(l *look, a *answer) {
		for _, b := range l.ladders() {
			if f := tablePlateau(b); f != nil {
				a.found(f)
			} else {
				b.calm(a)
			}
		}
		if f := readingsPlateau(l); f != nil {
			a.found(f)
		}
		for _, s := range l.SeriesOf("MemoryPercentage") {
			if f := seriesPlateau(l, s); f != nil {
				a.found(f)
			}
		}
	},
}

// tablePlateau looks for the longest stretch of steps at the end, before any
// errors, in which memory stands still while more is put on the plan. A value
// pinned at 100 % is no plateau.
func tablePlateau(b ladder) *Finding {
	steps := b.steps
	for i, s := range steps {
		if s.errors.Above(0) {
			steps = steps[:i]
			break
		}
	}
	end := len(steps) - 1
	if end < 1 {
		return nil
	}
	begin := end
	low, high := steps[end].memory.Number, steps[end].memory.Number
	for i := end - 1; i >= 0; i-- {
		m := steps[i].memory
		if !m.Known || !(steps[i].demand() < steps[i+1].demand()) {
			break
		}
		if max(high, m.Number)-min(low, m.Number) > plateauWidth {
			break
		}
		low, high, begin = min(low, m.Number), max(high, m.Number), i
	}
	last := steps[end]
	if begin == end || !last.memory.AtLeast(plateauLevel) || high >= 99.5 {
		return nil
	}
	// What the flat stretch cost is against the ladder's beginning.
	first := steps[0]
	slower, busier := grew(first.coldStart, last.coldStart, plateauCost), grew(first.cpu, last.cpu, plateauCost)
	paid := b.reclaim(first, last)
	if !slower && !busier && paid == "" {
		return nil
	}
	f := &Finding{}
	f.What = "Memory stands still at " + f.n("MemoryPercentage", last.memory) + " from " + steps[begin].label + " to " + last.label + " although more is put on the plan"
	f.see("MemoryPercentage before", steps[begin].memory)
	if slower {
		f.What += "; starts went from " + f.n("start time, first", first.coldStart) + " to " + f.n("start time, last", last.coldStart)
	}
	if busier {
		f.What += "; CPU went from " + f.n("CpuPercentage, first", first.cpu) + " to " + f.n("CpuPercentage, last", last.cpu)
	}
	if paid != "" {
		f.What += "; " + paid + " went from " + f.n(paid+", first", b.table.Value(first.row, paid)) + " to " + f.n(paid+", last", b.table.Value(last.row, paid))
	}
	f.What += ". The flat figure hides pressure."
	plateauText(f)
	f.level(Inferred, "a flat figure and a cost that grows, one repetition per step; swap and reclaim themselves were not seen")
	return f
}

// calm says that a ladder is in order: memory has room in every step, nothing
// fails, and neither starts nor CPU grow with what is put on the plan.
func (b *ladder) calm(a *answer) {
	first, last := b.steps[0], b.steps[len(b.steps)-1]
	top, grows := first.memory, first.demand() < last.demand()
	for _, s := range b.steps {
		if !s.memory.Below(plateauLevel) || s.errors.Above(0) {
			return
		}
		if s.memory.Number > top.Number {
			top = s.memory
		}
	}
	if !grows || !last.coldStart.Below(plateauCost*first.coldStart.Number) || last.cpu.Known && !last.cpu.Below(plateauCost*first.cpu.Number) {
		return
	}
	var w words
	a.fine(Memory, "From "+first.label+" to "+last.label+" memory is "+w.n("highest MemoryPercentage", top)+" at most, and starts take no longer ("+
		w.n("start time, first", first.coldStart)+", "+w.n("start time, last", last.coldStart)+").", &w)
}

var reclaimColumn = expression(`(?i)^(pswp(in|out)|pgscan_|allocstall|swap_?used|psi_)`)

// reclaim finds a column about swap or reclaim that grew along the ladder.
func (b *ladder) reclaim(first, last step) string {
	for _, c := range b.table.Columns {
		if reclaimColumn().MatchString(c.Metric) && grew(b.table.Value(first.row, c.Metric), b.table.Value(last.row, c.Metric), startGrowth) {
			return c.Metric
		}
	}
	return ""
}

// seriesPlateau looks at a metric that stands still over time while pages are
// written to swap.
func seriesPlateau(l *look, s *evidence.Series) *Finding {
	const least = 5
	last, low, high := s.Last(), s.Min(), s.Max()
	if len(s.Points) < least || !last.AtLeast(plateauLevel) || high.Number-low.Number > plateauWidth || high.Number >= 99.5 || !l.swap.out.AtLeast(swapInThrash) {
		return nil
	}
	f := &Finding{}
	f.What = "MemoryPercentage stands still between " + f.n("lowest MemoryPercentage", low) + " and " + f.n("highest MemoryPercentage", high) + " while " + f.n("swap out", l.swap.shownOut) +
		" are written to swap: the flat figure hides pressure."
	f.betweenSamples(s.Points)
	plateauText(f)
	f.level(Inferred, "a flat metric and swap traffic of the same machine; that both are of one time is taken for granted")
	return f
}

// readingsPlateau looks at the longest stretch at the end of the readings in which
// what is available stands still, while more and more of memory goes to swap.
func readingsPlateau(l *look) *Finding {
	const least = 3
	if l.frozen() {
		return nil
	}
	low, high := math.Inf(1), math.Inf(-1)
	var first, last evidence.Value
	n, begin := 0, 0
	for i := len(l.Readings) - 1; i >= 0; i-- {
		m := &l.Readings[i].Meminfo
		share, used := m.MemAvailable.PercentOf(m.MemTotal), m.SwapTotal.Minus(m.SwapFree)
		if !share.Known || !used.Known {
			continue
		}
		if max(high, share.Number)-min(low, share.Number) > 2*plateauWidth {
			break
		}
		low, high = min(low, share.Number), max(high, share.Number)
		if n++; n == 1 {
			last = used
		}
		first, begin = used, i
	}
	total := l.meminfo(func(m *evidence.Meminfo) evidence.Value { return m.MemTotal })
	grown := last.Minus(first).PercentOf(total)
	if n < least || !grown.AtLeast(plateauSwap) || !(100-high >= plateauLevel) {
		return nil
	}
	f := &Finding{}
	f.What = "Available memory stands still at " + f.n("available", l.headroom) + " while swap grows from " + f.n("swap used, first", first) + " to " + f.n("swap used, last", last) +
		": what is put on the machine is paid by moving out what was there."
	f.between(l.Readings[begin].At, l.Readings[len(l.Readings)-1].At)
	plateauText(f)
	f.level(Observed, "both were read over the same time")
	return f
}

func plateauText(f *Finding) {
	f.Cause = "Each new app's memory is paid for by reclaim and swap of what was there before, so the used share no longer rises."
	f.not("stable, with room for more apps", "demand grows and the figure does not: somebody else's pages left")
	f.Now = []string{"Put no further app on it.", "Look at swap, reclaim and stalls instead of the percentage: /proc/vmstat (pswpin, pswpout, pgscan_direct), /proc/pressure/memory."}
	f.Properly = []string{"Fewer apps or a larger size. Watch start times: a doubling comes before errors."}
	f.Settle = []string{"pswpout and pgscan_kswapd between two steps, and SwapFree."}
}
