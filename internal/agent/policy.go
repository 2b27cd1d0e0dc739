package agent

import (
	"fmt"
	"math"
	"time"

	"brink/internal/wire"
)

// policy is how the agent treats an app that is slow to start or exits.
type policy struct {
	// start bounds the time from started to healthy.
	start time.Duration
	ping  pinging
	// The pause before a restart doubles from backOff to longest.
	backOff, longest time.Duration
	restarts         int
	// patient policies try again when the first start fails.
	patient bool
}

const (
	// defaultStart applies without a StartLimitNs, platformStart with a policy:
	// WEBSITES_CONTAINER_START_TIME_LIMIT of App Service.
	defaultStart  = 30 * time.Second
	platformStart = 230 * time.Second
	// longestBackOff is where the doubling ends.
	longestBackOff = 5 * time.Minute
)

// ownPolicy is the agent's when there is no platform: three restarts after 1 s,
// 2 s and 4 s.
var ownPolicy = policy{
	start:    defaultStart,
	ping:     pinging{first: 20 * time.Millisecond, last: 250 * time.Millisecond, limit: 5 * time.Second},
	backOff:  time.Second,
	longest:  longestBackOff,
	restarts: 3,
}

// policyOf returns the policy for an app. The error is one sentence.
func policyOf(spec wire.App) (policy, error) {
	p := ownPolicy
	if w := spec.Policy; w != nil {
		for _, n := range []struct {
			name         string
			value, least int64
		}{
			{"interval between pings", w.PingEveryNs, int64(time.Millisecond)},
			{"time-out of pings", w.PingTimeoutNs, int64(time.Millisecond)},
			{"back-off", w.BackOffNs, 0},
			{"number of restarts", int64(w.Restarts), 0},
		} {
			if n.value != 0 && n.value < n.least {
				return p, fmt.Errorf("the platform's %s is %d; at least %d is allowed", n.name, n.value, n.least)
			}
		}
		p.patient, p.start, p.restarts = true, platformStart, w.Restarts
		p.backOff = time.Duration(w.BackOffNs)
		p.longest = max(p.backOff, longestBackOff)
		if w.PingEveryNs > 0 {
			p.ping.first = time.Duration(w.PingEveryNs)
			p.ping.last = p.ping.first
		}
		if w.PingTimeoutNs > 0 {
			p.ping.limit = time.Duration(w.PingTimeoutNs)
		}
	}
	if spec.StartLimitNs > 0 {
		p.start = time.Duration(spec.StartLimitNs)
	}
	return p, nil
}

// pause is how long to wait before the restart of that number, counted from 0.
func (p policy) pause(restart int) time.Duration {
	if p.backOff == 0 {
		return 0
	}
	d := float64(p.backOff) * math.Exp2(float64(restart))
	return time.Duration(min(d, float64(p.longest)))
}

// keep restarts the app when it exits, until it is stopped or has exited too
// often.
func (a *app) keep(p *process) {
	for p != nil {
		select {
		case <-a.ctx.Done():
			a.takeDown(p)
			a.emit(wire.Event{Kind: wire.Stopped, Pid: p.pid})
			return
		case <-p.exited:
			p, _ = a.revive(a.died(p))
		}
	}
}

// revive starts the app again, after it ended for the given reason, until it is
// healthy. It returns nil and the last reason when the app was stopped or may
// not be restarted any more.
func (a *app) revive(reason string) (*process, string) {
	for a.restarts < a.policy.restarts {
		if a.agent.clock.Sleep(a.ctx, a.policy.pause(a.restarts)) != nil {
			a.emit(wire.Event{Kind: wire.Stopped})
			return nil, reason
		}
		a.restarts++
		p, err := a.start(wire.Restarted, fmt.Sprintf("restart %d of %d: %s", a.restarts, a.policy.restarts, reason))
		if err != nil {
			reason = "it cannot be executed: " + err.Error()
			a.emit(wire.Event{Kind: wire.Exited, Detail: reason})
			continue
		}
		if reason = a.awaitHealthy(p); reason == "" {
			return p, ""
		}
		if a.ctx.Err() != nil {
			return nil, reason
		}
	}
	a.emit(wire.Event{Kind: wire.GaveUp, Detail: fmt.Sprintf("after %d restarts: %s", a.restarts, reason)})
	return nil, reason
}
