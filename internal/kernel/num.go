package kernel

import (
	"math"
	"strconv"
)

// Num is a number that this kernel may not report. The zero Num is unknown,
// which is not the number 0.
type Num struct {
	Value uint64
	Known bool
}

// Get returns the value and whether it is known.
func (n Num) Get() (value uint64, known bool) { return n.Value, n.Known }

// Plus returns the sum, unknown if either side is unknown or the sum does not
// fit 64 bits.
func (n Num) Plus(m Num) Num {
	if !n.Known || !m.Known || n.Value > math.MaxUint64-m.Value {
		return Num{}
	}
	return Num{n.Value + m.Value, true}
}

// String returns the decimal value, or "unknown".
func (n Num) String() string {
	if !n.Known {
		return "unknown"
	}
	return strconv.FormatUint(n.Value, 10)
}

// Limit is a limit that the kernel enforces. Unlimited says that there is none;
// a Limit that is neither Known nor Unlimited could not be read.
type Limit struct {
	Num
	Unlimited bool
}

// String returns the decimal limit, "max" or "unknown".
func (l Limit) String() string {
	if l.Unlimited {
		return "max"
	}
	return l.Num.String()
}
