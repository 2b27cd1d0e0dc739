//go:build !linux

package clock

import (
	"context"
	"time"
)

// NewAlarm returns an alarm with the resolution of the runtime's timers.
func (s system) NewAlarm(ctx context.Context) (Alarm, error) {
	return sleeper{ctx, s}, nil
}

type sleeper struct {
	ctx context.Context
	clk Clock
}

func (a sleeper) Wait(at time.Time) error { return a.clk.Sleep(a.ctx, at.Sub(a.clk.Now())) }

func (a sleeper) Close() error { return nil }
