package evidence

import (
	"slices"
	"time"
)

// Span is two readings of the same machine and the time between them.
type Span struct {
	From, To *Reading
	// Seconds between the readings; missing where nothing tells.
	Seconds Value
}

// Span returns the first and the last reading. ok is false with fewer than two.
func (c *Case) Span() (s Span, ok bool) {
	if len(c.Readings) < 2 {
		return Span{}, false
	}
	return between(c.First(), c.Last()), true
}

// Spans returns the stretches from each reading to the next.
func (c *Case) Spans() []Span {
	var spans []Span
	for i := 1; i < len(c.Readings); i++ {
		spans = append(spans, between(&c.Readings[i-1], &c.Readings[i]))
	}
	return spans
}

// Delta returns how far a counter rose from the first to the last reading that
// know it. It is missing with fewer than two such readings, when the counter
// fell, and when the source is frozen.
func (c *Case) Delta(get func(*Reading) Value) Value {
	s, missing := c.spanOf(get)
	if missing != nil {
		return *missing
	}
	return s.Delta(get)
}

// Rate returns how fast a counter rose, per second, from the first to the last
// reading that know it.
func (c *Case) Rate(get func(*Reading) Value) Value {
	s, missing := c.spanOf(get)
	if missing != nil {
		return *missing
	}
	return s.Rate(get)
}

// spanOf returns the span between the first and the last reading in which a
// value is known, or why there is none.
func (c *Case) spanOf(get func(*Reading) Value) (Span, *Value) {
	var first, last *Reading
	for i := range c.Readings {
		if r := &c.Readings[i]; get(r).Known {
			if first == nil {
				first = r
			}
			last = r
		}
	}
	if first == nil {
		v := c.Latest(get)
		return Span{}, &v
	}
	if first == last {
		v := Missing(OneReading, "one reading shows a total since boot, not a rate", get(first).From...)
		return Span{}, &v
	}
	return between(first, last), nil
}

func between(from, to *Reading) Span {
	s := Span{From: from, To: to}
	switch {
	case from.Frozen || to.Frozen:
		s.Seconds = Missing(Frozen, "the source does not move")
	case from.Clock.Known && to.Clock.Known && to.Clock.Number > from.Clock.Number:
		s.Seconds = to.Clock.Minus(from.Clock)
	case from.Machine.Uptime.Known && to.Machine.Uptime.Known && to.Machine.Uptime.Number > from.Machine.Uptime.Number:
		s.Seconds = to.Machine.Uptime.Minus(from.Machine.Uptime)
	case !from.At.IsZero() && to.At.After(from.At):
		s.Seconds = Known(to.At.Sub(from.At).Seconds(), Seconds, from.AtFrom, to.AtFrom)
	default:
		s.Seconds = Missing(NoInterval, "how far apart the readings are is not known")
	}
	return s
}

// Delta returns how far a counter rose.
func (s Span) Delta(get func(*Reading) Value) Value {
	a, b := get(s.From), get(s.To)
	switch {
	case !a.Known:
		return a
	case !b.Known:
		return b
	case s.From.Frozen || s.To.Frozen:
		return Missing(Frozen, "the source does not move", slices.Concat(a.From, b.From)...)
	case b.Number < a.Number:
		return Missing(Reset, "the counter is lower in the later reading", slices.Concat(a.From, b.From)...)
	}
	return b.Minus(a)
}

// Rate returns how fast a counter rose, per second.
func (s Span) Rate(get func(*Reading) Value) Value {
	d := s.Delta(get)
	if !d.Known {
		return d
	}
	r := d.Over(s.Seconds)
	r.Unit = d.Unit.PerSecond()
	return r
}

// Duration is the span's length, 0 if it is not known.
func (s Span) Duration() time.Duration {
	return time.Duration(s.Seconds.Number * float64(time.Second))
}
