package measure

// growth adds up how much a rising number grew within a window. Readings come
// in the order of time and are not kept; between two of them the number is taken
// to rise evenly. One that falls was reset, and did not grow for all that is
// known.
type growth struct {
	from, to int64
	lastAt   int64
	lastX    int64
	n        int64
	// dx is the growth over dt, the part of the window that readings cover.
	dx, dt float64
}

func (g *growth) add(at, x int64) {
	if x < 0 {
		return
	}
	if g.n > 0 && at > g.lastAt {
		if lo, hi := max(g.lastAt, g.from), min(at, g.to); hi > lo {
			g.dx += float64(max(0, x-g.lastX)) * float64(hi-lo) / float64(at-g.lastAt)
			g.dt += float64(hi - lo)
		}
	}
	g.lastAt, g.lastX = at, x
	g.n++
}

// value is the growth in units of scale.
func (g *growth) value(scale float64, none Value) Value {
	if g.dt == 0 {
		return none
	}
	return Value{X: g.dx / scale, N: g.n}
}

// share is the growth over the time that it took, in percent, for a number that
// grows by perNs for each nanosecond of 100 %.
func (g *growth) share(perNs float64, none Value) Value {
	if g.dt == 0 {
		return none
	}
	return Value{X: 100 * g.dx / perNs / g.dt, N: g.n}
}

func (m *mean) add(x float64) {
	m.sum += x
	m.n++
}

func (m *mean) value(none Value) Value {
	if m.n == 0 {
		return none
	}
	return Value{X: m.sum / float64(m.n), N: m.n}
}
