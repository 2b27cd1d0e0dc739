package evidence

import (
	"math"
	"slices"
	"strconv"
)

// Value is a number of a [Case]: where it comes from, or why it is not known.
// Counters stay exact below 2^53.
type Value struct {
	Number float64
	Known  bool
	Unit   Unit
	Why    Reason // why it is not known
	Detail string // one phrase more
	From   []Source
}

// Unit is what a value counts.
type Unit string

// The units. A rate has "/s" after the unit of its counter.
const (
	NoUnit  Unit = ""
	Bytes   Unit = "bytes"
	Pages   Unit = "pages"
	KiB     Unit = "KiB"
	Events  Unit = "events" // and periods, requests, processes: things counted
	Micros  Unit = "µs"
	Millis  Unit = "ms"
	Seconds Unit = "s"
	Percent Unit = "%"
)

// PerSecond is the unit of a rate.
func (u Unit) PerSecond() Unit { return u + "/s" }

// Reason says why something is not known.
type Reason string

// The reasons.
const (
	NotSeen     Reason = "not seen"     // no input holds it
	Absent      Reason = "absent"       // the file is there without the field, or this kernel lacks it
	Unreadable  Reason = "unreadable"   // it is there, but not in the form that it should have
	Denied      Reason = "denied"       // this user may not read it
	Implausible Reason = "implausible"  // it contradicts the rest of its file
	Frozen      Reason = "frozen"       // the source does not move: it is not a live /proc
	OneReading  Reason = "one reading"  // a rate needs two
	NoInterval  Reason = "no interval"  // how far apart the readings are is not known
	Reset       Reason = "reset"        // the counter fell between the readings
	TooMuch     Reason = "too much"     // more than is read
	CannotTell  Reason = "cannot tell"  // the thing keeps it to itself
	SwitchedOff Reason = "switched off" // the kernel has it, and it is switched off
)

// Source is where something stands.
type Source struct {
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"` // from 1; 0 where lines mean nothing
	Field string `json:"field,omitempty"`
}

// String returns "FILE:LINE FIELD" of what is there.
func (s Source) String() string {
	text := s.File
	if s.Line > 0 {
		text += ":" + strconv.Itoa(s.Line)
	}
	switch {
	case s.Field == "":
		return text
	case text == "":
		return s.Field
	}
	return text + " " + s.Field
}

// Known returns a value that is known.
func Known(number float64, unit Unit, from ...Source) Value {
	return Value{Number: number, Known: true, Unit: unit, From: from}
}

// Missing returns a value that is not known.
func Missing(why Reason, detail string, from ...Source) Value {
	return Value{Why: why, Detail: detail, From: from}
}

// Get returns the number and whether it is known.
func (v Value) Get() (float64, bool) { return v.Number, v.Known }

// AtLeast reports whether the value is known and not below x.
func (v Value) AtLeast(x float64) bool { return v.Known && v.Number >= x }

// Above reports whether the value is known and above x.
func (v Value) Above(x float64) bool { return v.Known && v.Number > x }

// AtMost reports whether the value is known and not above x.
func (v Value) AtMost(x float64) bool { return v.Known && v.Number <= x }

// Below reports whether the value is known and below x.
func (v Value) Below(x float64) bool { return v.Known && v.Number < x }

// Else returns the value if it is known, and w otherwise.
func (v Value) Else(w Value) Value {
	if v.Known {
		return v
	}
	return w
}

// Plus returns the sum, missing if either side is.
func (v Value) Plus(w Value) Value {
	return v.with(w, v.Unit, func(a, b float64) float64 { return a + b })
}

// Minus returns the difference, missing if either side is.
func (v Value) Minus(w Value) Value {
	return v.with(w, v.Unit, func(a, b float64) float64 { return a - b })
}

// Over returns the quotient, missing if either side is or w is 0.
func (v Value) Over(w Value) Value {
	return v.with(w, NoUnit, func(a, b float64) float64 { return a / b })
}

// PercentOf returns v as a percentage of whole, missing if either is or whole
// is 0.
func (v Value) PercentOf(whole Value) Value {
	return v.with(whole, Percent, func(a, b float64) float64 { return 100 * a / b })
}

// Times returns the value multiplied by a constant, in another unit.
func (v Value) Times(factor float64, unit Unit) Value {
	v.Number *= factor
	v.Unit = unit
	return v
}

func (v Value) with(w Value, unit Unit, f func(a, b float64) float64) Value {
	switch {
	case !v.Known:
		return v
	case !w.Known:
		return w
	}
	from := joinSources(v.From, w.From)
	n := f(v.Number, w.Number)
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return Missing(Implausible, "a share of nothing", from...)
	}
	return Known(n, unit, from...)
}

// joinSources puts sources together, each once.
func joinSources(a, b []Source) []Source {
	joined := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(joined, s) {
			joined = append(joined, s)
		}
	}
	return joined
}

// Limit is a limit that the kernel or a platform enforces. A limit that is
// neither known nor unlimited could not be read.
type Limit struct {
	Value
	Unlimited bool `json:"unlimited,omitempty"`
}
