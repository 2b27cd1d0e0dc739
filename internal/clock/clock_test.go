package clock_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"brink/internal/clock"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestRealNowFollowsTheWallClockAndNeverStepsBack(t *testing.T) {
	before := time.Now().UnixNano()
	last := clock.Real.Now().UnixNano()
	// The wall clock may be slewed against the monotonic one while the tests
	// run; a second is far more than that and far less than a wrong epoch.
	if d := last - before; d < -int64(time.Second) || d > int64(time.Second) {
		t.Fatalf("Real.Now is %v away from the wall clock", time.Duration(d))
	}
	for range 10_000 {
		now := clock.Real.Now().UnixNano()
		if now < last {
			t.Fatalf("Real.Now stepped back by %d ns", last-now)
		}
		last = now
	}
}

func TestRealWaitsAtLeastAsLongAsAsked(t *testing.T) {
	const d = 3 * time.Millisecond
	ctx := t.Context()
	alarm, err := clock.Real.NewAlarm(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer alarm.Close()
	waits := map[string]func() error{
		"Sleep": func() error { return clock.Real.Sleep(ctx, d) },
		"After": func() error { <-clock.Real.After(d); return nil },
		"Timer": func() error { <-clock.Real.NewTimer(d).C(); return nil },
		"Alarm": func() error { return alarm.Wait(clock.Real.Now().Add(d)) },
	}
	for name, wait := range waits {
		start := clock.Real.Now()
		if err := wait(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := clock.Real.Now().Sub(start); got < d {
			t.Errorf("%s waited %v, want at least %v", name, got, d)
		}
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	fake := clock.NewFake(epoch)
	for name, clk := range map[string]clock.Clock{"real": clock.Real, "fake": fake} {
		ctx, cancel := context.WithCancel(t.Context())
		alarm, err := clk.NewAlarm(ctx)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 2)
		go func() { ended <- clk.Sleep(ctx, time.Hour) }()
		go func() { ended <- alarm.Wait(clk.Now().Add(time.Hour)) }()
		cancel()
		for range 2 {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: waiting ended with %v, want context.Canceled", name, err)
			}
		}
		if err := alarm.Wait(clk.Now().Add(time.Hour)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: a wait after the end returned %v, want context.Canceled", name, err)
		}
		if err := alarm.Close(); err != nil {
			t.Errorf("%s: close: %v", name, err)
		}
	}
}

func TestAlarmForThePastReturnsAtOnce(t *testing.T) {
	for name, clk := range map[string]clock.Clock{"real": clock.Real, "fake": clock.NewFake(epoch)} {
		alarm, err := clk.NewAlarm(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := alarm.Wait(clk.Now().Add(-time.Hour)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		alarm.Close()
	}
}

func TestFakeFiresEachTimerAtItsOwnInstant(t *testing.T) {
	fake := clock.NewFake(epoch)
	var mu sync.Mutex
	var woke []time.Duration
	var sleepers sync.WaitGroup
	for _, d := range []time.Duration{30, 10, 20} {
		timer := fake.NewTimer(d)
		sleepers.Go(func() {
			at := <-timer.C()
			mu.Lock()
			defer mu.Unlock()
			woke = append(woke, at.Sub(epoch))
		})
	}
	fake.AwaitWaiters(3)
	fake.Advance(9)
	fake.AwaitWaiters(3)
	fake.Advance(16) // 10 and 20 fire, 30 stays
	fake.AwaitWaiters(1)
	if got := fake.Now().Sub(epoch); got != 25 {
		t.Fatalf("the clock stands at %d ns, want 25", got)
	}
	if !fake.Step() {
		t.Fatal("Step found nobody waiting")
	}
	if got := fake.Now().Sub(epoch); got != 30 {
		t.Fatalf("Step moved the clock to %d ns, want 30", got)
	}
	if fake.Step() {
		t.Fatal("Step found a waiter after the last one was woken")
	}
	sleepers.Wait()
	slices.Sort(woke)
	if want := []time.Duration{10, 20, 30}; !slices.Equal(woke, want) {
		t.Fatalf("woke at %v, want %v", woke, want)
	}
}

func TestFakeTimerStopAndReset(t *testing.T) {
	fake := clock.NewFake(epoch)
	timer := fake.NewTimer(10)
	if !timer.Stop() || timer.Stop() {
		t.Fatal("Stop must report running exactly once")
	}
	fake.Advance(20)
	select {
	case <-timer.C():
		t.Fatal("a stopped timer fired")
	default:
	}
	if timer.Reset(5) {
		t.Fatal("Reset of a stopped timer reported it running")
	}
	fake.Advance(5)
	if timer.Reset(7) {
		t.Fatal("Reset of a fired timer reported it running")
	}
	select {
	case <-timer.C():
		t.Fatal("Reset kept a delivery of the earlier setting")
	default:
	}
	fake.Advance(7)
	if at := <-timer.C(); at.Sub(epoch) != 32 {
		t.Fatalf("fired at %v, want 32 ns", at.Sub(epoch))
	}
	timer.Reset(0)
	<-timer.C()
}
