// Package clock is the one source of time for everything that paces, waits or
// stamps. Code that takes a Clock runs against the machine's time through Real
// and against a time the test moves by hand through Fake.
package clock

import (
	"context"
	"time"
)

// Clock tells the time and waits for it.
type Clock interface {
	// Now is the current instant. Its Unix nanoseconds never step back.
	Now() time.Time

	// Sleep waits for d, or until ctx ends, in which case it returns the
	// context's error. A d of zero or less returns at once.
	Sleep(ctx context.Context, d time.Duration) error

	// After delivers the time once, d from now.
	After(d time.Duration) <-chan time.Time

	// NewTimer delivers the time on its channel once, d from now.
	NewTimer(d time.Duration) Timer

	// NewAlarm returns an alarm for one goroutine that must act at exact
	// instants. It fails when the system has no timer left to give (on Linux,
	// no file descriptor).
	NewAlarm(ctx context.Context) (Alarm, error)
}

// Timer is the part of time.Timer that a fake can offer too.
type Timer interface {
	// C is the channel on which the time is delivered.
	C() <-chan time.Time
	// Reset makes the timer fire d from now, whether it has fired or not. It
	// reports whether the timer was still running.
	Reset(d time.Duration) bool
	// Stop prevents the timer from firing. It reports whether it was running.
	Stop() bool
}

// Alarm wakes one goroutine at instants of its choosing. It is sharper than a
// Timer: the Go runtime waits for its timers in whole milliseconds when it has
// nothing else to do, an alarm is woken by the kernel's high-resolution timer.
type Alarm interface {
	// Wait blocks until at has come, or until the context that the alarm was
	// made with ends, in which case it returns that context's error. An instant
	// in the past returns at once.
	Wait(at time.Time) error
	// Close releases the alarm. No Wait may follow.
	Close() error
}

// Real is the machine's time. The wall clock is read once, when the program
// starts, and advanced by the monotonic clock from there: a wall clock that is
// stepped meanwhile moves neither Now nor what was stamped with it.
var Real Clock = system{origin: time.Now()}

type system struct{ origin time.Time }

func (s system) Now() time.Time { return s.origin.Add(time.Since(s.origin)) }

func (s system) Sleep(ctx context.Context, d time.Duration) error { return sleep(ctx, s, d) }

func (system) After(d time.Duration) <-chan time.Time { return time.After(d) }

func (system) NewTimer(d time.Duration) Timer { return systemTimer{time.NewTimer(d)} }

type systemTimer struct{ *time.Timer }

func (t systemTimer) C() <-chan time.Time { return t.Timer.C }

// sleep is Sleep for any clock, made of its timers.
func sleep(ctx context.Context, c Clock, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d <= 0 {
		return nil
	}
	t := c.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C():
		return nil
	}
}
