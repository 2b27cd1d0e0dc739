package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"brink/internal/experiment"
	"brink/internal/host"
)

// Check says in one sentence what of the design the host cannot do at all, or
// returns nil. It asks nothing of the machine.
func Check(h host.Host, d *experiment.Design) error {
	if p, ok := h.(host.Pressable); ok && p.CanPress() {
		return nil
	}
	for _, s := range d.Steps {
		switch {
		case s.Pressure.MB > 0:
			return fmt.Errorf("step %s puts the plan under a pressure of %d MB, which the host %s cannot do", s.Name, s.Pressure.MB, h.Kind())
		case s.SwapIn:
			return fmt.Errorf("step %s brings everything back from swap between its phases, which the host %s cannot do", s.Name, h.Kind())
		}
	}
	return nil
}

var errNoPresser = errors.New("the host said that it can put a plan under pressure, but its session cannot")

// inflate puts the plan under the step's pressure, which deflate takes away.
// That memory cannot be had is data.
func (l *lab) inflate(ctx context.Context, d *deployment, p experiment.Pressure) (deflate func() error, err error) {
	if p.MB == 0 {
		return func() error { return nil }, nil
	}
	presser, ok := d.session.(host.Presser)
	if !ok {
		return nil, errNoPresser
	}
	if err := presser.Inflate(ctx, p.MB, time.Duration(p.Every)); err != nil {
		return nil, fmt.Errorf("a pressure of %d MB: %w", p.MB, err)
	}
	return func() error {
		if ctx.Err() != nil {
			return nil // the plan is taken down, and the memory with it
		}
		if err := presser.Deflate(ctx); err != nil {
			return fmt.Errorf("take away a pressure of %d MB: %w", p.MB, err)
		}
		return nil
	}, nil
}

// swapIn brings back what earlier phases have driven into swap.
func (l *lab) swapIn(ctx context.Context, d *deployment) error {
	presser, ok := d.session.(host.Presser)
	if !ok {
		return errNoPresser
	}
	if err := presser.SwapIn(ctx); err != nil {
		return fmt.Errorf("bring everything back from swap: %w", err)
	}
	return nil
}
