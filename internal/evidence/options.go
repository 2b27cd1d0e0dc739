package evidence

import (
	"time"

	"brink/internal/clock"
)

// Options says how to look at a machine.
type Options struct {
	// For is how far apart the two readings are; 0 stands for 10 s. The servers
	// are looked at some six times meanwhile.
	For time.Duration
	// Root is "/" or empty for this machine, and otherwise the directory of a
	// captured tree.
	Root string
	// Clock is the machine's if it is nil.
	Clock clock.Clock
}

// Bounds of For.
const (
	usualFor = 10 * time.Second
	leastFor = 200 * time.Millisecond
	mostFor  = time.Hour
)

func (o *Options) complete() {
	if o.For == 0 {
		o.For = usualFor
	}
	o.For = min(max(o.For, leastFor), mostFor)
	if o.Root == "" {
		o.Root = "/"
	}
	if o.Clock == nil {
		o.Clock = clock.Real
	}
}

// looks is how often the servers are looked at after the first look, and how far
// apart.
func (o *Options) looks() (n int, every time.Duration) {
	every = min(max(o.For/5, 100*time.Millisecond), 2*time.Second)
	return max(int(o.For/every), 2), every
}
