//go:build !linux

package kernel

// fdDir is what only a living machine has.
type fdDir struct{}

func (*fdDir) close() error { return nil }

func (*fdDir) above() (place, error) { return place{}, ErrUnavailable }

// ending is what only a living machine tells.
type ending struct{}

func (*ending) close() error { return nil }
