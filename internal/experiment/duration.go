package experiment

import (
	"fmt"
	"math"
	"time"
)

// Duration is a span of time, written as Go writes it ("1.5s", "2m") in files,
// in YAML and in JSON.
type Duration time.Duration

// String returns the duration as a file writes it.
func (d Duration) String() string { return time.Duration(d).String() }

// Seconds returns the duration in seconds.
func (d Duration) Seconds() float64 { return time.Duration(d).Seconds() }

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("duration %q: want a number with a unit, such as 1.5s or 2m", text)
	}
	*d = Duration(v)
	return nil
}

// times scales a duration, to the nearest microsecond so that a scaled level
// stays readable, but never down to nothing.
func (d Duration) times(scale float64) Duration {
	if scale == 1 || d == 0 {
		return d
	}
	micros := math.Round(float64(d) * scale / float64(time.Microsecond))
	if micros > math.MaxInt64/float64(time.Microsecond) {
		return math.MaxInt64
	}
	return Duration(max(micros, 1)) * Duration(time.Microsecond)
}
