package stats

import (
	"fmt"
	"math"
)

// CliffsDelta is P(b > a) - P(b < a) over all pairs, from -1 to 1 (Cliff 1993,
// Psychological Bulletin 114, 494-509). As in rank tests, censored values count
// as ties at the lowest limit; the Reason then says so.
func CliffsDelta(a, b Sample) Estimate {
	if p := firstProblem(a, b); p != "" {
		return unknown(p)
	}
	values, note := commonValues([]Sample{a, b})
	pairs := len(a) * len(b)
	return Estimate{
		X:     float64(doubledU(values[0], values[1])-pairs) / float64(pairs),
		Bound: Exact, Reason: note,
	}
}

// Magnitude is the size of a ratio effect in a word.
type Magnitude int

const (
	// NoMagnitude: there is no word, for points and for what is unknown.
	NoMagnitude Magnitude = iota
	// Negligible is a change below 10 %.
	Negligible
	// Small is a change from 10 to below 25 %.
	Small
	// Medium is a change from 25 to 50 %.
	Medium
	// Large is a change above 50 %.
	Large
)

// String returns the word in lower case, "" for NoMagnitude.
func (m Magnitude) String() string {
	return [...]string{"", "negligible", "small", "medium", "large"}[m]
}

// RatioMagnitude is the word for a ratio, by the change in percent that a reader
// is shown: 0.7 is a change of 30 % and therefore medium.
func RatioMagnitude(ratio float64) Magnitude {
	if !finite(ratio) || ratio <= 0 {
		return NoMagnitude
	}
	// 1-0.9 is a little below 0.1 in floating point, and yet it is 10 %.
	change := math.Round(math.Abs(ratio-1)*1e9) / 1e9
	switch {
	case change < 0.10:
		return Negligible
	case change < 0.25:
		return Small
	case change <= 0.50:
		return Medium
	}
	return Large
}

// EffectWord is the word for a shift, with "at least" before it where the shift
// is a bound and could be larger. It is "" for points, for unknown shifts and for
// bounds that leave the direction or every word open.
func (s Shift) EffectWord() string {
	if s.Scale != Ratio {
		return ""
	}
	word := RatioMagnitude(s.Estimate.X)
	switch e := s.Estimate; {
	case e.Bound == Exact:
		return word.String()
	case e.Bound == LowerBound && e.X >= 1, e.Bound == UpperBound && e.X <= 1:
		switch word {
		case Large:
			return word.String()
		case Small, Medium:
			return "at least " + word.String()
		}
	case e.Bound == Between && RatioMagnitude(e.Upper) == word:
		if word == Negligible || (e.X >= 1) == (e.Upper >= 1) {
			return word.String()
		}
	}
	return ""
}

// Margin is an effect size on a scale: 0.10 on Ratio is 10 %, 5 on Points is
// five of the metric's units.
type Margin struct {
	Scale Scale
	Size  float64
}

// Irrelevant is the open range of shifts that are smaller than the margin: 0.9
// to 1.1 for 10 %, -5 to 5 for five points. A shift that is to count as an
// effect must have its interval clear of it (Interval.ClearOf).
func (m Margin) Irrelevant() (lo, hi float64) {
	if m.Scale == Ratio {
		return max(0, 1-m.Size), 1 + m.Size
	}
	return -m.Size, m.Size
}

// Equivalent is the range within which two steps do not differ. On Ratio it is
// symmetric in logarithms, 1/1.1 to 1.1, so that it does not matter which of the
// two is the base.
func (m Margin) Equivalent() (lo, hi float64) {
	if m.Scale == Ratio {
		return 1 / (1 + m.Size), 1 + m.Size
	}
	return -m.Size, m.Size
}

func (m Margin) problem() string {
	if !(m.Size > 0) || !finite(m.Size) {
		return fmt.Sprintf("the margin must be above zero, not %v", m.Size)
	}
	return ""
}
