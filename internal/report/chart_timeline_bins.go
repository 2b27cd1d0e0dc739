package report

// lines are the signals that are drawn as lines.
var lines = []func(*TimelinePoint) *float64{
	func(p *TimelinePoint) *float64 { return &p.SwapUsed },
	func(p *TimelinePoint) *float64 { return &p.PSISome },
	func(p *TimelinePoint) *float64 { return &p.PSIFull },
	func(p *TimelinePoint) *float64 { return &p.AppsCPU },
	func(p *TimelinePoint) *float64 { return &p.PlatformCPU },
	func(p *TimelinePoint) *float64 { return &p.KswapdCPU },
}

// binnedTimeline joins neighbours until at most maxPoints are left, two of each
// group: they hold the lowest and the highest value of every line in the order in
// which they came, and the two readings of memory with the most and the least
// free, since parts of different readings would not add up.
func binnedTimeline(points []TimelinePoint) []TimelinePoint {
	if len(points) <= maxPoints {
		return points
	}
	const groups = maxPoints / 2
	out := make([]TimelinePoint, 0, maxPoints)
	for g := range groups {
		bin := points[g*len(points)/groups : (g+1)*len(points)/groups]
		free := func(p *TimelinePoint) *float64 { return &p.Free }
		i, j := extremes(bin, free)
		first, second := bin[i], bin[j]
		first.T, second.T = bin[0].T, bin[len(bin)-1].T
		for _, of := range lines {
			i, j := extremes(bin, of)
			*of(&first), *of(&second) = *of(&bin[i]), *of(&bin[j])
		}
		out = append(out, first, second)
	}
	return out
}

// extremes are the places of the lowest and the highest known value, in their
// order; the first and the last place where none is known.
func extremes(bin []TimelinePoint, of func(*TimelinePoint) *float64) (first, second int) {
	lo, hi := -1, -1
	for i := range bin {
		switch x := *of(&bin[i]); {
		case x < 0:
		case lo < 0:
			lo, hi = i, i
		case x < *of(&bin[lo]):
			lo = i
		case x >= *of(&bin[hi]):
			hi = i
		}
	}
	if lo < 0 {
		return 0, len(bin) - 1
	}
	return min(lo, hi), max(lo, hi)
}
