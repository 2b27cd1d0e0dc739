//go:build !linux

package evidence

import (
	"context"
	"errors"
	"io"
)

// ErrNotHere says that this system cannot be looked at live.
var ErrNotHere = errors.New("only Linux can be looked at live: give a bundle, a captured tree or exports")

// Live reads a captured tree; a machine can be looked at on Linux only.
func Live(ctx context.Context, o Options) (*Case, error) {
	o.complete()
	if o.Root != "/" {
		return Read(ctx, o.Root)
	}
	return nil, ErrNotHere
}

// Collect is for Linux only.
func Collect(_ context.Context, _ io.Writer, _ CollectOptions) (CollectSummary, error) {
	return CollectSummary{}, ErrNotHere
}
