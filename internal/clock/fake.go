package clock

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// Fake is a Clock whose time stands still until Advance or Step moves it. It is
// safe for use by several goroutines.
type Fake struct {
	mu      sync.Mutex
	changed sync.Cond // the number of waiting timers grew
	now     time.Time
	order   uint64
	waiting timerHeap
}

// NewFake returns a clock that stands at start.
func NewFake(start time.Time) *Fake {
	f := &Fake{now: start.Round(0)}
	f.changed.L = &f.mu
	return f
}

// Now is the instant to which the clock was last moved.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// Sleep waits until the clock has been moved by d.
func (f *Fake) Sleep(ctx context.Context, d time.Duration) error { return sleep(ctx, f, d) }

// After delivers the time once the clock has been moved by d.
func (f *Fake) After(d time.Duration) <-chan time.Time { return f.NewTimer(d).C() }

// NewTimer returns a timer that fires once the clock has been moved by d.
func (f *Fake) NewTimer(d time.Duration) Timer {
	t := &fakeTimer{clock: f, c: make(chan time.Time, 1), index: -1}
	t.Reset(d)
	return t
}

// NewAlarm returns an alarm that goes off when the clock reaches its instant.
func (f *Fake) NewAlarm(ctx context.Context) (Alarm, error) { return &fakeAlarm{ctx, f}, nil }

// Advance moves the clock forward by d and fires what falls due on the way, in
// order, each at its own instant. It does not wait for whoever is woken.
func (f *Fake) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	end := f.now.Add(d)
	for len(f.waiting) > 0 && !f.waiting[0].at.After(end) {
		f.fireNext()
	}
	f.now = end
}

// Step moves the clock to the next instant for which anything waits and fires
// all that is due then. It reports whether anything waited.
func (f *Fake) Step() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.waiting) == 0 {
		return false
	}
	at := f.waiting[0].at
	for len(f.waiting) > 0 && !f.waiting[0].at.After(at) {
		f.fireNext()
	}
	return true
}

// AwaitWaiters blocks until at least n sleepers, timers and alarms wait for
// this clock, so that a test moves it only when the code under test is asleep.
func (f *Fake) AwaitWaiters(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.waiting) < n {
		f.changed.Wait()
	}
}

func (f *Fake) fireNext() {
	t := heap.Pop(&f.waiting).(*fakeTimer)
	f.now = t.at
	t.deliver(f.now)
}

type fakeTimer struct {
	clock *Fake
	c     chan time.Time
	at    time.Time
	order uint64 // of setting: timers of one instant fire in this order
	index int    // in the clock's heap, -1 outside
}

func (t *fakeTimer) C() <-chan time.Time { return t.c }

func (t *fakeTimer) Reset(d time.Duration) bool {
	f := t.clock
	f.mu.Lock()
	defer f.mu.Unlock()
	running := t.withdraw()
	if d <= 0 {
		t.deliver(f.now)
		return running
	}
	f.order++
	t.at, t.order = f.now.Add(d), f.order
	heap.Push(&f.waiting, t)
	f.changed.Broadcast()
	return running
}

func (t *fakeTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.withdraw()
}

// withdraw takes the timer out of the heap and discards a delivery that nobody
// has taken, as time.Timer does since Go 1.23.
func (t *fakeTimer) withdraw() bool {
	select {
	case <-t.c:
	default:
	}
	if t.index < 0 {
		return false
	}
	heap.Remove(&t.clock.waiting, t.index)
	return true
}

func (t *fakeTimer) deliver(now time.Time) {
	select {
	case t.c <- now:
	default:
	}
}

type fakeAlarm struct {
	ctx   context.Context
	clock *Fake
}

func (a *fakeAlarm) Wait(at time.Time) error {
	return a.clock.Sleep(a.ctx, at.Sub(a.clock.Now()))
}

func (a *fakeAlarm) Close() error { return nil }

type timerHeap []*fakeTimer

func (h timerHeap) Len() int { return len(h) }

func (h timerHeap) Less(i, j int) bool {
	if h[i].at.Equal(h[j].at) {
		return h[i].order < h[j].order
	}
	return h[i].at.Before(h[j].at)
}

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *timerHeap) Push(x any) {
	t := x.(*fakeTimer)
	t.index = len(*h)
	*h = append(*h, t)
}

func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	t.index = -1
	return t
}
