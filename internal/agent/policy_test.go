package agent

import (
	"strings"
	"testing"
	"time"

	"brink/internal/wire"
)

func TestPauseDoublesUpToFiveMinutes(t *testing.T) {
	p, err := policyOf(wire.App{Policy: &wire.Policy{BackOffNs: int64(time.Second), Restarts: 5000}})
	if err != nil {
		t.Fatal(err)
	}
	for restart, want := range map[int]time.Duration{0: time.Second, 1: 2 * time.Second, 8: 256 * time.Second, 9: 5 * time.Minute, 4999: 5 * time.Minute} {
		if got := p.pause(restart); got != want {
			t.Errorf("pause before restart %d: %s, want %s", restart, got, want)
		}
	}
	long, _ := policyOf(wire.App{Policy: &wire.Policy{BackOffNs: int64(time.Hour)}})
	none, _ := policyOf(wire.App{Policy: &wire.Policy{}})
	if long.pause(3) != time.Hour || none.pause(3) != 0 {
		t.Errorf("pauses %s and %s, want 1h and none", long.pause(3), none.pause(3))
	}
}

// App Service waits 230 s for a container to answer
// (WEBSITES_CONTAINER_START_TIME_LIMIT).
func TestStartLimits(t *testing.T) {
	for _, tc := range []struct {
		app  wire.App
		want time.Duration
	}{
		{wire.App{}, 30 * time.Second},
		{wire.App{Policy: &wire.Policy{}}, 230 * time.Second},
		{wire.App{StartLimitNs: 5, Policy: &wire.Policy{}}, 5},
	} {
		if p, err := policyOf(tc.app); err != nil || p.start != tc.want {
			t.Errorf("%+v: %s, %v, want %s", tc.app, p.start, err, tc.want)
		}
	}
}

func TestBadPolicies(t *testing.T) {
	for want, p := range map[string]wire.Policy{
		"interval between pings is 5; at least 1000000": {PingEveryNs: 5},
		"time-out of pings is -1":                       {PingTimeoutNs: -1},
		"back-off is -1":                                {BackOffNs: -1},
		"number of restarts is -2":                      {Restarts: -2},
	} {
		if _, err := policyOf(wire.App{Policy: &p}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", p, err, want)
		}
	}
}
