package evidence

import (
	"time"

	"brink/internal/clock"
)

// CollectOptions says what to collect, and when.
type CollectOptions struct {
	// Every is the time between readings, For how long to go on; with a trigger,
	// how long to go on after it. 0 stands for 10 s each: two readings.
	Every, For time.Duration
	// Trigger is a condition such as "psi.memory.full > 20" to wait for; empty
	// collects at once. Before is how much of the time before it is kept; 0
	// stands for 5 min.
	Trigger string
	Before  time.Duration
	// Host is written in the place of the machine's name; empty stands for
	// "host".
	Host string
	// KeepHost leaves the machine's name as it is.
	KeepHost bool
	// Brink is the version that is written into the bundle.
	Brink string
	// Triggered is called when the trigger's condition holds; nil for nobody.
	Triggered func(at time.Time)
	Clock     clock.Clock
}

// CollectSummary says what a bundle holds. docs/evidence.md describes it as
// brink collect --json prints it.
type CollectSummary struct {
	Readings int `json:"readings"`
	// Dropped counts readings that were thrown away before the trigger, or for
	// want of room.
	Dropped int       `json:"dropped_readings"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	// Triggered is when the condition held; zero if it never did.
	Triggered time.Time `json:"triggered,omitzero"`
	// Interrupted says that the context ended before the time was up: the
	// bundle holds what there was until then.
	Interrupted bool  `json:"interrupted"`
	Servers     int   `json:"servers"`
	Gaps        []Gap `json:"gaps"`
}

const (
	leastEvery  = 100 * time.Millisecond
	usualBefore = 5 * time.Minute
	mostBefore  = time.Hour
	mostCollect = 24 * time.Hour
)

func (o *CollectOptions) complete() {
	if o.Every == 0 {
		o.Every = usualFor
	}
	if o.For == 0 {
		o.For = max(usualFor, o.Every)
	}
	o.Every = max(o.Every, leastEvery)
	o.For = min(o.For, mostCollect)
	if o.Before == 0 {
		o.Before = usualBefore
	}
	o.Before = min(o.Before, mostBefore)
	if o.Host == "" {
		o.Host = "host"
	}
	if o.Clock == nil {
		o.Clock = clock.Real
	}
}
